"""The command line without kubectl, and vcctl's commands with their tables."""
import os
import subprocess
import tempfile
import unittest

import platform_under_test as put

JOB = """
apiVersion: scheduling.volcano.sh/v1beta1
kind: Queue
metadata: {name: cli}
spec: {weight: 2}
---
apiVersion: batch.volcano.sh/v1alpha1
kind: Job
metadata: {name: one, labels: {team: a}}
spec:
  queue: cli
  tasks:
  - name: t
    replicas: 2
    template: {spec: {restartPolicy: Never, containers: [{name: c, image: i, command: [sleep, "600"]}]}}
"""


class CommandLine(put.PlatformTest):
    FLAGS = ["--no-agent", "--fake-nodes", "2", "--fake-node-resources", "cpu=8,memory=16Gi,pods=20"]

    def hekla(self, *arguments, name=None, check=True, stdin=None):
        environment = dict(os.environ, KUBECONFIG=self.platform.kubeconfig)
        program = put.HEKLA
        if name:
            program = os.path.join(self.platform.home, name)
            if not os.path.exists(program):
                os.symlink(put.HEKLA, program)
        done = subprocess.run([program] + list(arguments), capture_output=True, text=True, input=stdin,
                              env=environment, timeout=60)
        if check:
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            return done.stdout
        return done

    def test_1_objects(self):
        # A queue and a job in it, in one file, applied once.
        self.assertEqual(self.hekla("apply", "-f", "-", stdin=JOB),
                         "queue.scheduling.volcano.sh/cli created\njob.batch.volcano.sh/one created\n")
        self.assertEqual(self.hekla("apply", "-f", "-", stdin=JOB),
                         "queue.scheduling.volcano.sh/cli unchanged\njob.batch.volcano.sh/one unchanged\n")
        self.assertIn("condition met", self.hekla(
            "wait", "vcjob/one", "--for", "jsonpath={.status.state.phase}=Running", "--timeout", "30s"))
        self.assertEqual(self.hekla("get", "vcjob", "-A").splitlines()[0].split(),
                         ["NAMESPACE", "NAME", "STATUS", "MINAVAILABLE", "RUNNINGS", "AGE"])
        self.assertEqual(self.hekla("get", "vcjob", "-l", "team=a", "-o", "name"), "job.batch.volcano.sh/one\n")
        self.assertEqual(self.hekla("get", "vcjob", "one"), self.platform.kubectl("get", "vcjob", "one"))
        self.assertEqual(self.hekla("get", "vcjob/one", "-o", "yaml"),
                         self.platform.kubectl("get", "vcjob", "one", "-o", "yaml"))
        self.assertIn("Min Available:", self.hekla("describe", "vcjob", "one"))
        missing = self.hekla("get", "vcjob", "none", check=False)
        self.assertEqual(missing.returncode, 1)
        self.assertIn('jobs.batch.volcano.sh "none" not found', missing.stderr)

    def test_2_vcctl(self):
        self.hekla("job", "run", "-N", "two", "-r", "2", "-m", "1", "-R", "cpu=100m,memory=10Mi",
                   "-L", "cpu=100m,memory=10Mi", name="vcctl")
        self.platform.wait_phase("two", "Running")
        table = [line.split() for line in self.hekla("job", "list", "--selector", "two").splitlines()]
        self.assertEqual(table[0], ["Name", "Creation", "Phase", "JobType", "Replicas", "Min", "Pending", "Running",
                                    "Succeeded", "Failed", "Unknown", "RetryCount"])
        self.assertEqual(table[1][0], "two")
        self.assertEqual(table[1][2:6], ["Running", "Batch", "2", "1"])
        self.assertIn("two-two-0", self.hekla("pod", "list", "-j", "two"))
        self.hekla("job", "suspend", "-N", "two")
        self.platform.wait_phase("two", "Aborted")
        self.hekla("-n", "two", name="vresume")
        self.platform.wait_phase("two", "Running")
        self.assertNotIn("retryCount", self.platform.get("vcjob", "two")["status"])
        self.assertEqual(self.hekla("-n", "two", name="vcancel"), "delete job two successfully\n")

    def test_3_queues(self):
        self.hekla("queue", "create", "-n", "q3", "-w", "4")
        self.assertEqual(self.hekla("queue", "get", "-n", "q3").splitlines()[1].split()[:4], ["q3", "4", "Open", "root"])
        self.hekla("queue", "operate", "-n", "q3", "-a", "update", "-w", "7")
        self.assertEqual(self.platform.get("queue", "q3")["spec"]["weight"], 7)
        self.hekla("queue", "operate", "-n", "q3", "-a", "close")
        put.wait_for("closed", lambda: self.platform.get("queue", "q3")["status"].get("state") == "Closed")
        self.assertIn("q3", self.hekla(name="vqueues"))
        self.hekla("queue", "delete", "-n", "q3")
        wrong = self.hekla("queue", "operate", "-n", "q3", "-a", "burn", check=False)
        self.assertEqual(wrong.returncode, 1)
        self.assertIn("valid actions are open, close and update", wrong.stderr)

    def test_4_flows(self):
        with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
            file.write("apiVersion: flow.volcano.sh/v1alpha1\nkind: JobFlow\nmetadata: {name: f}\n"
                       "spec: {flows: [{name: missing}]}\n")
            file.flush()
            self.assertEqual(self.hekla("jobflow", "create", "-f", file.name), "Created JobFlow: default/f\n")
        self.assertEqual(self.hekla("jobflow", "list").splitlines()[0].split(), ["Name", "Namespace", "Phase", "Age"])
        self.assertIn("kind: JobFlow", self.hekla("jobflow", "describe", "-N", "f"))
        self.assertEqual(self.hekla("jobflow", "delete", "-N", "f"), "Deleted JobFlow: default/f\n")


if __name__ == "__main__":
    unittest.main()
