"""The tutorials' documents as their users wrote them, on fake nodes, and what kubectl prints of them."""
import os
import re
import unittest

import platform_under_test as put

HERE = os.path.join(os.path.dirname(__file__), "tutorials")


def doc(name):
    return os.path.join(HERE, name)


class Tutorials(put.PlatformTest):
    FLAGS = ["--no-agent", "--fake-nodes", "4",
             "--fake-node-resources", "cpu=32,memory=64Gi,pods=110,nvidia.com/gpu=4"]

    def test_1_queue_and_job(self):
        p = self.platform
        p.apply(doc("test-queue.yaml"))
        queue = put.wait_for("the queue is open", lambda: (lambda q: q.get("status", {}).get("state") == "Open" and q)(
            p.get("queue", "test")))
        self.assertEqual(queue["spec"]["capability"], {"cpu": 2})
        self.assertEqual((queue["spec"]["weight"], queue["spec"]["reclaimable"], queue["metadata"]["generation"]),
                         (1, False, 1))
        # Ten minutes are too long for a test; nothing else is changed.
        with open(doc("job-1.yaml")) as file:
            p.apply_text(file.read().replace("- 10m", "- 3s"))
        p.wait_phase("job-1", "Running")
        self.assert_rows(p.kubectl("get", "vcjob"), [
            ["NAME", "STATUS", "MINAVAILABLE", "RUNNINGS", "AGE"], ["job-1", "Running", "1", "1", "*"]])
        job = p.get("vcjob", "job-1")
        name = "job-1-" + job["metadata"]["uid"]
        self.assert_rows(p.kubectl("get", "podgroup", "-A"), [
            ["NAMESPACE", "NAME", "STATUS", "MINMEMBER", "RUNNINGS", "AGE"],
            ["default", name, "Running", "1", "1", "*"]])
        group = p.get("podgroup", name)
        self.assertEqual(group["spec"], {
            "minMember": 1, "minTaskMember": {"nginx": 1}, "queue": "test",
            "minResources": {"count/pods": "1", "cpu": "1", "limits.cpu": "1", "pods": "1", "requests.cpu": "1"}})
        scheduled = [c for c in group["status"]["conditions"] if c["type"] == "Scheduled"]
        self.assertEqual([(c["status"], c["reason"]) for c in scheduled],
                         [("True", "tasks in gang are ready to be scheduled")])
        queue = put.wait_for("the queue counts", lambda: (lambda q: q["status"]["allocated"].get("cpu") == "1" and q)(
            p.get("queue", "test")))
        self.assertEqual(queue["status"]["allocated"], {"cpu": "1", "memory": "0", "pods": "1"})
        p.wait_phase("job-1", "Completed")
        put.wait_for("version 3", lambda: p.get("vcjob", "job-1")["status"].get("version") == 3)
        self.assert_rows(p.kubectl("get", "vcjob"), [
            ["NAME", "STATUS", "MINAVAILABLE", "RUNNINGS", "AGE"], ["job-1", "Completed", "1", "*"]])
        job = p.get("vcjob", "job-1")
        self.assertEqual(job["metadata"]["generation"], 1)
        self.assertEqual(job["spec"], {
            "maxRetry": 3, "minAvailable": 1, "policies": [{"action": "RestartJob", "event": "PodEvicted"}],
            "queue": "test", "schedulerName": "volcano",
            "tasks": [{"maxRetry": 3, "minAvailable": 1, "name": "nginx",
                       "policies": [{"action": "CompleteJob", "event": "TaskCompleted"}], "replicas": 1,
                       "template": {"metadata": {}, "spec": {
                           "containers": [{"command": ["sleep", "3s"], "image": "nginx:latest", "name": "nginx",
                                           "resources": {"limits": {"cpu": "1"}, "requests": {"cpu": "1"}}}],
                           "restartPolicy": "Never"}}}]})
        status = job["status"]
        self.assertEqual([c["status"] for c in status["conditions"]],
                         ["Pending", "Running", "Completing", "Completed"])
        self.assertRegex(status["runningDuration"], r"^\d+(\.\d+)?s$")
        self.assertEqual({k: v for k, v in status.items() if k not in ("conditions", "runningDuration", "state")},
                         {"minAvailable": 1, "succeeded": 1, "taskStatusCount": {"nginx": {"phase": {"Succeeded": 1}}},
                          "version": 3})
        text = p.kubectl("describe", "vcjob", "job-1")
        for line in ("Running Duration: ", "Succeeded:  ", "Start to execute action CompleteJob"):
            self.assertIn(line, text)

    def test_2_volumes_and_a_missing_priority_class(self):
        p = self.platform
        done = p.kubectl("apply", "-f", doc("test-job.yaml"), check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("Warning: volume /myinput has neither", done.stderr)
        self.assertIn("Warning: volume /myoutput has both", done.stderr)
        claim = put.wait_for("the claim is made", lambda: p.kubectl(
            "get", "pvc", "testvolumeclaimname", "-o", "name", "--ignore-not-found"))
        self.assertIn("testvolumeclaimname", claim)
        put.wait_for("the missing class is named",
                     lambda: "high-priority" in p.kubectl("describe", "vcjob", "test-job").split("Events:")[-1])
        p.kubectl("delete", "vcjob", "test-job")

    def test_3_training_jobs(self):
        p = self.platform
        p.apply(doc("newqueue.yaml"), doc("volcano1.yml"), doc("tftest.yaml"))
        for name, pods in (("tensorflow-distributed-job", 5), ("tensorflow-dist-mnist", 3)):
            p.wait_phase(name, "Running")
            put.wait_for("%d pods run" % pods, lambda: p.get("vcjob", name)["status"].get("running") == pods)
        hosts = p.get("configmap", "tensorflow-distributed-job-svc")["data"]
        self.assertEqual(hosts["worker.host"],
                         "tensorflow-distributed-job-worker-0.tensorflow-distributed-job\n"
                         "tensorflow-distributed-job-worker-1.tensorflow-distributed-job")
        rows = p.kubectl("get", "pods", "-l", "volcano.sh/job-name=tensorflow-distributed-job").strip().splitlines()
        self.assertEqual([re.split(r"\s+", row)[0] for row in rows[1:]],
                         ["tensorflow-distributed-job-" + x for x in ("chief-0", "ps-0", "ps-1", "worker-0", "worker-1")])
        p.kubectl("delete", "vcjob", "--all")


if __name__ == "__main__":
    unittest.main()
