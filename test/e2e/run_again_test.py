"""hekla run again and again, as one does who edits a job: what it says of a job that is there, and --replace."""
import os
import subprocess
import unittest

import platform_under_test as put

JOB = """
apiVersion: batch.volcano.sh/v1alpha1
kind: Job
metadata: {name: %s}
spec:
  minAvailable: %d
  schedulerName: volcano
  tasks:
  - name: w
    replicas: %d
    policies: [{event: TaskCompleted, action: CompleteJob}]
    template:
      spec:
        restartPolicy: Never
        containers: [{name: c, image: any, command: [sh, -c, "sleep %d"], resources: {requests: {cpu: %d}}}]
"""


class RunAgain(put.PlatformTest):
    FLAGS = ["--no-agent", "--fake-nodes", "1", "--fake-node-resources", "cpu=4,memory=8Gi,pods=20"]

    def run_text(self, text, *flags, code=0, name="job.yaml"):
        path = os.path.join(self.platform.home, name)
        with open(path, "w") as file:
            file.write(text)
        return self.run_file(path, *flags, code=code)

    def run_file(self, path, *flags, code=0):
        done = subprocess.run([put.HEKLA, "run", "-f", path, "--data-dir", self.platform.data_dir, "--no-logs", *flags],
                              capture_output=True, text=True, timeout=put.PATIENCE)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done.stdout + done.stderr

    def test_a_job_that_has_ended_is_not_run_again_unless_it_is_replaced(self):
        first = self.run_text(JOB % ("again", 1, 1, 1, 1))
        self.assertIn("job.batch.volcano.sh/again created\n", first)
        self.assertIn("job again ended as Completed after ", first)
        uid = self.platform.get("vcjob", "again")["metadata"]["uid"]
        second = self.run_text(JOB % ("again", 1, 1, 1, 1))
        self.assertIn("job.batch.volcano.sh/again unchanged\n", second)
        self.assertRegex(second, r"job again completed \d+s ago: nothing was run; to run it again, add --replace\n")
        self.assertNotIn("ended as", second)
        changed = JOB % ("again", 1, 1, 2, 1)
        self.assertIn("job updates may not change fields", self.run_text(changed, code=1))
        self.assertIn("to delete the job of this name and run this one, add --replace", self.run_text(changed, code=1))
        third = self.run_text(changed, "--replace")
        self.assertIn('job.batch.volcano.sh "again" deleted\njob.batch.volcano.sh/again created\n', third)
        self.assertIn("job again ended as Completed after ", third)
        self.assertNotEqual(self.platform.get("vcjob", "again")["metadata"]["uid"], uid)
        # --replace of what is not there is a plain run.
        self.assertNotIn("deleted", self.run_text(JOB % ("fresh", 1, 1, 1, 1), "--replace"))

    def test_a_job_that_failed_stays_failed(self):
        failing = (JOB % ("fails", 1, 1, 0, 1)).replace("sleep 0", "exit 3")
        self.run_text(failing, code=1)
        self.assertRegex(self.run_text(failing, code=1), r"job fails failed \d+s ago: nothing was run")

    def test_events_of_a_namesake_that_is_gone_are_not_shown(self):
        self.platform.apply_text(JOB % ("big", 3, 3, 1, 3))
        put.wait_for("it waits", lambda: "3 minAvailable" in self.platform.kubectl("get", "events"))
        self.platform.kubectl("delete", "vcjob", "big")
        said = self.run_text(JOB % ("big", 1, 1, 1, 1))
        self.assertIn("job big ended as Completed", said)
        self.assertNotIn("3 minAvailable", said)

    def test_directories_and_files_without_jobs(self):
        place = os.path.join(self.platform.home, "place")
        os.mkdir(place)
        for name, text in (("1.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: one}\n"),
                           ("2.yaml", JOB % ("two", 1, 1, 0, 1)), ("notes.txt", "not YAML: [")):
            with open(os.path.join(place, name), "w") as file:
                file.write(text)
        said = self.run_file(place)
        self.assertTrue(said.startswith("configmap/one created\njob.batch.volcano.sh/two created\n"), said)
        self.assertEqual(self.run_file(os.path.join(place, "1.yaml")),
                         "configmap/one unchanged\nhekla: the files contain no job, so there is nothing to follow\n")


if __name__ == "__main__":
    unittest.main()
