"""kill -9 of hekla while a job runs: pods go on, logs are whole, the job completes; afterwards nothing is left."""
import os
import shutil
import tempfile
import unittest

import platform_under_test as put

JOB = """
apiVersion: batch.volcano.sh/v1alpha1
kind: Job
metadata: {name: survivor}
spec:
  minAvailable: 2
  schedulerName: volcano
  policies: [{event: PodFailed, action: RestartJob}, {event: PodEvicted, action: RestartJob}]
  tasks:
  - name: w
    replicas: 2
    policies: [{event: TaskCompleted, action: CompleteJob}]
    template:
      spec:
        restartPolicy: Never
        containers:
        - name: c
          image: any
          command: [sh, -c, 'echo begin $$; for i in 1 2 3 4 5 6 7 8; do echo line $i; sleep 0.5; done; echo end $$']
"""

POLITE = """
apiVersion: v1
kind: Pod
metadata: {name: polite}
spec:
  containers:
  - name: c
    image: any
    command: [sh, -c, 'trap "touch /marks/asked; exit 0" TERM; touch /marks/up; sleep 1000 & wait']
    volumeMounts: [{name: marks, mountPath: /marks}]
  volumes: [{name: marks, hostPath: {path: %s}}]
"""


class Crash(unittest.TestCase):
    def setUp(self):
        self.platform = put.Platform("--image-map", "*=host", "--node-name", "named")
        self.addCleanup(self.platform.destroy)
        self.platform.up()

    def test_pods_survive_and_the_job_completes(self):
        p = self.platform
        p.apply_text(JOB)
        p.wait_phase("survivor", "Running")
        before = {x["metadata"]["name"]: (x["metadata"]["uid"], x["status"]["containerStatuses"][0]["containerID"])
                  for x in p.get("pods")["items"]}
        p.kill()
        p.up()
        after = {x["metadata"]["name"]: (x["metadata"]["uid"], x["status"]["containerStatuses"][0]["containerID"])
                 for x in p.get("pods")["items"]}
        self.assertEqual(before, after, "the same pods and containers go on")
        p.wait_phase("survivor", "Completed")
        expected = ["begin"] + ["line %d" % i for i in range(1, 9)] + ["end"]
        for name in before:
            lines = p.kubectl("logs", name).splitlines()
            self.assertEqual([x if x.startswith("line") else x.split()[0] for x in lines], expected, name)
        job = p.get("vcjob", "survivor")
        self.assertEqual(job["status"].get("retryCount", 0), 0)
        self.assertEqual(job["status"]["succeeded"], 2)

    def test_a_crash_leaves_pods_and_down_leaves_nothing(self):
        p = self.platform
        p.apply_text(JOB.replace("sleep 0.5", "sleep 100"))
        p.wait_phase("survivor", "Running")
        self.assertNotEqual(put.leftovers(p.data_dir), [])
        self.assertNotEqual(put.machine_leftovers(p.data_dir), [])
        marks = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, marks)
        p.apply_text(POLITE % marks)
        p.kubectl("wait", "--for=condition=Ready", "pod/polite", "--timeout=110s")
        put.wait_for("it listens", lambda: os.listdir(marks) == ["up"])
        p.kill()
        self.assertTrue(any("conmon" in x for x in put.leftovers(p.data_dir)), "pods outlive a crash")
        done = p.down()
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(sorted(os.listdir(marks)), ["asked", "up"], "they are asked to end before they are killed")
        self.assertEqual(put.leftovers(p.data_dir), [])
        self.assertEqual(put.machine_leftovers(p.data_dir), [])

    def test_sigterm_ends_pods_and_leaves_nothing(self):
        p = self.platform
        p.apply_text(JOB.replace("sleep 0.5", "sleep 100"))
        p.wait_phase("survivor", "Running")
        self.assertEqual(p.terminate(), 0)
        self.assertEqual(put.leftovers(p.data_dir), [])
        self.assertEqual(put.machine_leftovers(p.data_dir), [])


if __name__ == "__main__":
    unittest.main()
