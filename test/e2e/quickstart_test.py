"""The tutorial's queue and job-1, and the five-pod parameter-server job, as kubectl shows them."""
import json
import os
import re
import subprocess
import tempfile
import unittest

import platform_under_test as put


class QuickStart(put.PlatformTest):
    def test_1_queue_and_job_print_as_the_tutorial_shows(self):
        p = self.platform
        self.assertEqual(p.apply(os.path.join(put.QUICKSTART, "00-queue.yaml")),
                         "queue.scheduling.volcano.sh/test created\n")
        self.assert_rows(p.kubectl("get", "queue"), [
            ["NAME", "AGE", "PARENT"], ["default", "*", "root"], ["root", "*"], ["test", "*", "root"]])
        with open(os.path.join(put.QUICKSTART, "job-1.yaml")) as file:
            job = file.read()
        # Time enough to look at it.
        wait = '- sh\n              - -c\n              - "until test -e /tmp/end; do sleep 0.1; done"'
        job = job.replace('- sleep\n              - "2"', wait)
        self.assertIn(wait, job)
        self.assertEqual(p.apply_text(job), "job.batch.volcano.sh/job-1 created\n")
        p.wait_phase("job-1", "Running")
        self.check_running(p)
        p.kubectl("exec", "job-1-nginx-0", "--", "touch", "/tmp/end")
        p.wait_phase("job-1", "Completed")
        self.check_completed(p)

    def check_running(self, p):
        uid = p.get("vcjob", "job-1")["metadata"]["uid"]
        groups = put.wait_for("its group runs", lambda: (
            lambda text: text if "Running" in text else "")(p.kubectl("get", "podgroup", "-A")))
        self.assert_rows(groups, [["NAMESPACE", "NAME", "STATUS", "MINMEMBER", "RUNNINGS", "AGE"],
                                  ["default", "job-1-" + uid, "Running", "1", "1", "*"]])
        group = p.get("podgroup", "job-1-" + uid)
        self.assertEqual(group["spec"], {
            "minMember": 1, "minTaskMember": {"nginx": 1}, "queue": "test",
            "minResources": {"count/pods": "1", "cpu": "1", "limits.cpu": "1", "pods": "1",
                             "requests.cpu": "1"}})
        conditions = [(c["type"], c["status"], c["reason"], c.get("message", ""))
                      for c in group["status"]["conditions"]]
        self.assertEqual(conditions, [
            ("Unschedulable", "True", "NotEnoughResources",
             "1/0 tasks in gang unschedulable: pod group is not ready, 1 minAvailable"),
            ("Scheduled", "True", "tasks in gang are ready to be scheduled", "")])
        self.assertEqual(p.get("queue", "test")["metadata"]["generation"], 1)
        put.wait_for("the queue counts it", lambda: p.get("queue", "test")["status"] == {
            "allocated": {"cpu": "1", "memory": "0", "pods": "1"}, "reservation": {}, "running": 1,
            "state": "Open"})

    def check_completed(self, p):
        self.assert_rows(p.kubectl("get", "vcjob"), [
            ["NAME", "STATUS", "MINAVAILABLE", "RUNNINGS", "AGE"], ["job-1", "Completed", "1", "*"]])
        put.wait_for("version 3", lambda: p.get("vcjob", "job-1")["status"].get("version") == 3)
        job = json.loads(p.kubectl("get", "--raw", "/apis/batch.volcano.sh/v1alpha1/namespaces/default/jobs/job-1"))
        self.assertEqual([c["status"] for c in job["status"]["conditions"]],
                         ["Pending", "Running", "Completing", "Completed"])
        self.assertEqual(job["status"]["succeeded"], 1)
        self.assertEqual(job["status"]["taskStatusCount"], {"nginx": {"phase": {"Succeeded": 1}}})
        self.assertRegex(job["status"]["runningDuration"], put.GO_DURATION)
        self.assertEqual(job["metadata"]["generation"], 1)
        self.assertEqual(job["spec"]["maxRetry"], 3)
        self.assertEqual(set(job["status"]), {"conditions", "minAvailable", "runningDuration", "state", "succeeded",
                                              "taskStatusCount", "version"})
        managers = {(m["manager"], m["operation"], m.get("subresource", ""))
                    for m in job["metadata"]["managedFields"]}
        self.assertEqual(managers, {("kubectl-client-side-apply", "Update", ""),
                                    ("vc-controller-manager", "Update", "status")})
        described = p.kubectl("describe", "vcjob", "job-1")
        for text in ["Name:         job-1", "Namespace:    default", "API Version:  batch.volcano.sh/v1alpha1",
                     "Kind:         Job",
                     "Max Retry:      3", "Scheduler Name:  volcano", "Version:          3"]:
            self.assertIn(text, described)
        self.assertRegex(described, r"Normal +ExecuteAction +\S+ +vc-controller-manager +"
                                    r"Start to execute action CompleteJob")

    def test_2_parameter_servers_train_and_logs_follow(self):
        p = self.platform
        p.apply(os.path.join(put.QUICKSTART, "parameter-server.yaml"))
        put.wait_for("five pods", lambda: len(
            p.get("pods", "-l", "volcano.sh/job-name=parameter-server")["items"]) == 5)
        put.wait_for("the chief runs", lambda: p.kubectl(
            "get", "pod", "parameter-server-chief-0", "-o", "jsonpath={.status.phase}", "--ignore-not-found")
            in ("Running", "Succeeded"))
        followed = p.kubectl("logs", "-f", "parameter-server-chief-0", timeout=2 * put.PATIENCE)
        self.assertIn("connected to 2 parameter servers and 2 workers", followed)
        losses = [float(x) for x in re.findall(r"epoch \d/5 loss ([0-9.]+)", followed)]
        self.assertEqual(len(losses), 5)
        self.assertLess(losses[-1], losses[0] / 100)
        self.assertIn("updates [300, 300], samples [4800, 4800]", followed)
        self.assertTrue(followed.endswith("chief-0: training completed\n"), followed)
        p.wait_phase("parameter-server", "Completed")
        pods = p.get("pods", "-l", "volcano.sh/job-name=parameter-server")["items"]
        self.assertEqual([pod["status"]["phase"] for pod in pods], ["Succeeded"])

    def test_3_deleting_the_job_removes_what_it_owned(self):
        p = self.platform
        p.kubectl("delete", "vcjob", "--all")
        put.wait_for("pods, groups and services are gone", lambda: not (
            p.get("pods")["items"] or p.get("podgroups")["items"]
            or [s for s in p.get("services")["items"] if s["metadata"]["name"] != "kubernetes"]))


class QuickStartWithDebiansKubectl(QuickStart):
    """The same with kubectl 1.20, which wants other things of a server."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.platform.tool = put.kubectls()[-1]


class RunVerb(unittest.TestCase):
    """hekla run starts what it needs, exits with the outcome, and stops what it started."""

    def run_job(self, script, *flags):
        directory = tempfile.mkdtemp(prefix="hekla-e2e-run-")
        self.addCleanup(lambda: subprocess.run(["rm", "-rf", directory]))
        path = os.path.join(directory, "job.yaml")
        with open(path, "w") as file:
            file.write("""
apiVersion: batch.volcano.sh/v1alpha1
kind: Job
metadata: {name: script}
spec:
  minAvailable: 1
  schedulerName: volcano
  maxRetry: 1
  tasks:
  - name: main
    replicas: 1
    policies: [{event: TaskCompleted, action: CompleteJob}]
    template:
      spec:
        restartPolicy: Never
        containers: [{name: main, image: anything, command: [sh, -c, '%s']}]
""" % script)
        data = os.path.join(directory, "data")
        done = subprocess.run([put.HEKLA, "run", "-f", path, "--data-dir", data, "--timeout", "180"] + list(flags),
                              capture_output=True, text=True, timeout=240)
        self.assertEqual(put.leftovers(data), [])
        return done

    def test_success_and_failure_become_the_exit_code(self):
        good = self.run_job("echo it works", "--image-map", "*=host")
        self.assertEqual(good.returncode, 0, good.stdout + good.stderr)
        self.assertIn("script-main-0 | it works", good.stdout)
        self.assertIn("job script ended as Completed", good.stdout)
        bad = self.run_job("exit 3", "--image-map", "*=host")
        self.assertEqual(bad.returncode, 1, bad.stdout + bad.stderr)
        self.assertIn("job script ended as Failed", bad.stdout)

    def test_it_applies_as_kubectl_does(self):
        platform = put.Platform("--no-agent")
        self.addCleanup(platform.destroy)
        platform.up()

        def run(data):
            path = os.path.join(platform.home, "map.yaml")
            with open(path, "w") as file:
                file.write("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\ndata: %s\n" % data)
            done = subprocess.run([put.HEKLA, "run", "-f", path, "--kubeconfig", platform.kubeconfig],
                                  capture_output=True, text=True, timeout=put.PATIENCE)
            self.assertEqual(done.returncode, 0, done.stderr)
            return done.stdout

        self.assertEqual(run("{a: one, b: two}"), "configmap/settings created\n")
        platform.kubectl("patch", "configmap", "settings", "-p", '{"data":{"mine":"kept"}}')
        self.assertEqual(run("{a: one, b: two}"), "configmap/settings unchanged\n")
        self.assertEqual(run("{a: three}"), "configmap/settings configured\n")
        self.assertEqual(platform.get("configmap", "settings")["data"], {"a": "three", "mine": "kept"})
        # kubectl knows what was applied before it.
        self.assertIn("unchanged", platform.kubectl("apply", "-f", os.path.join(platform.home, "map.yaml")))
        platform.apply_text("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\ndata: {c: four}\n")
        self.assertEqual(platform.get("configmap", "settings")["data"], {"c": "four", "mine": "kept"})


if __name__ == "__main__":
    unittest.main()
