"""The tutorials' documents as their users wrote them, on fake nodes, and what kubectl prints of them."""
import os
import re
import time
import unittest

import platform_under_test as put

HERE = os.path.join(os.path.dirname(__file__), "tutorials")


def doc(name):
    return os.path.join(HERE, name)


def described(text):
    """kubectl's description without what versions of kubectl lay out differently: managed fields, gaps, counts."""
    lines, skipping = [], False
    for line in text.rstrip().splitlines():
        if re.search(r"Warning +PodGroupPending .* unschedule,reason: 1/0 tasks in gang unschedulable: pod group is not "
                     r"ready, 1 minAvailable$", line):
            continue  # only when it had to wait
        if line.startswith("  Managed Fields:"):
            skipping = True
        elif skipping and not line.startswith("   "):
            # The last of the managed fields' own members have the indent of the metadata's.
            skipping = bool(re.match(r"    ?(Manager|Operation|Subresource|Time):", line))
        if not skipping and not re.match(r" {4}(Manager|Operation|Subresource|Time): ", line):
            lines.append(re.sub(r"(?<=\S) {2,}", "  ", line.rstrip()))
    return lines


class Tutorials(put.PlatformTest):
    FLAGS = ["--no-agent", "--fake-nodes", "4",
             "--fake-node-resources", "cpu=32,memory=64Gi,pods=110,nvidia.com/gpu=4"]

    def assert_printed(self, printed, name):
        """Line by line what the tutorial prints, as soon as all of it is known; a * there stands for what differs from
        run to run."""
        deadline = time.monotonic() + put.PATIENCE
        while True:
            try:
                return self.assert_lines(printed(), name)
            except AssertionError:
                if time.monotonic() > deadline:
                    raise

    def assert_lines(self, lines, name):
        with open(os.path.join(HERE, "expected", name)) as file:
            wanted = file.read().rstrip().splitlines()
        if name.endswith(".describe"):
            wanted = described("\n".join(wanted))
        for want, line in zip(wanted, lines):
            self.assertRegex(line, "^" + re.escape(want).replace(r"\*", ".*") + "$", "\n".join(lines))
        self.assertEqual(len(lines), len(wanted), "\n".join(lines))

    def yaml(self, *what):
        text = self.platform.kubectl("get", *what, "-o", "yaml")
        return re.sub(r"\n  managedFields:\n(  - .*\n(    .*\n)*)+", "\n", text).rstrip().splitlines()

    def group(self, name):
        lines = self.yaml("podgroup", name)
        if any("type: Unschedulable" in line for line in lines):
            # A group that was let in before it had pods says so, in these words.
            begin = lines.index("    message: '1/0 tasks in gang unschedulable: pod group is not ready, "
                                "1 minAvailable'") - 1
            self.assertEqual(lines[begin + 2:begin + 4], ["    reason: NotEnoughResources", '    status: "True"'])
            del lines[begin:begin + 6]
        return lines

    def test_1_queue_and_job(self):
        p = self.platform
        p.apply(doc("test-queue.yaml"))
        queue = put.wait_for("the queue is open", lambda: (lambda q: q.get("status", {}).get("state") == "Open" and q)(
            p.get("queue", "test")))
        self.assertEqual(queue["spec"]["capability"], {"cpu": 2})
        self.assertEqual((queue["spec"]["weight"], queue["spec"]["reclaimable"], queue["metadata"]["generation"]),
                         (1, False, 1))
        # Ten minutes are too long for a test, but a slow machine takes its time to look; nothing else is changed.
        with open(doc("job-1.yaml")) as file:
            p.apply_text(file.read().replace("- 10m", "- 30s"))
        p.wait_phase("job-1", "Running")
        self.assert_rows(p.kubectl("get", "vcjob"), [
            ["NAME", "STATUS", "MINAVAILABLE", "RUNNINGS", "AGE"], ["job-1", "Running", "1", "1", "*"]])
        name = "job-1-" + p.get("vcjob", "job-1")["metadata"]["uid"]
        put.wait_for("its group runs", lambda: p.get("podgroup", name)["status"].get("running") == 1)
        self.assert_rows(p.kubectl("get", "podgroup", "-A"), [
            ["NAMESPACE", "NAME", "STATUS", "MINMEMBER", "RUNNINGS", "AGE"],
            ["default", name, "Running", "1", "1", "*"]])
        self.assert_printed(lambda: self.group(name), "podgroup.yaml")
        put.wait_for("the queue counts", lambda: (lambda status: status["allocated"].get("cpu") == "1" and
                                                  status.get("running"))(p.get("queue", "test")["status"]))
        self.assert_printed(lambda: self.yaml("queue", "test"), "queue.yaml")
        p.wait_phase("job-1", "Completed")
        put.wait_for("version 3", lambda: p.get("vcjob", "job-1")["status"].get("version") == 3)
        self.assert_rows(p.kubectl("get", "vcjob"), [
            ["NAME", "STATUS", "MINAVAILABLE", "RUNNINGS", "AGE"], ["job-1", "Completed", "1", "*"]])
        self.assertRegex(p.get("vcjob", "job-1")["status"]["runningDuration"], put.GO_DURATION)
        self.assert_printed(lambda: self.yaml("vcjob", "job-1"), "job-1.yaml")
        self.assert_printed(lambda: described(p.kubectl("describe", "vcjob", "job-1")), "job-1.describe")

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
        # With its classes it runs.
        p.apply_text("apiVersion: scheduling.k8s.io/v1\nkind: PriorityClass\nmetadata: {name: high-priority}\nvalue: 1000\n"
                     "---\napiVersion: storage.k8s.io/v1\nkind: StorageClass\nmetadata: {name: my-storage-class}\n"
                     "provisioner: example.com/none\nvolumeBindingMode: WaitForFirstConsumer\n")
        p.apply(doc("test-job.yaml"))
        p.wait_phase("test-job", "Running")
        pod = p.get("pod", "test-job-default-nginx-0")
        mounts = {mount["mountPath"]: mount["name"] for mount in pod["spec"]["containers"][0]["volumeMounts"]}
        volumes = {volume["name"]: volume for volume in pod["spec"]["volumes"]}
        self.assertIn("emptyDir", volumes[mounts["/myinput"]])
        self.assertEqual(volumes[mounts["/myoutput"]]["persistentVolumeClaim"], {"claimName": "testvolumeclaimname"})
        self.assertEqual(pod["spec"]["priority"], 1000)
        claim = p.get("pvc", "testvolumeclaimname")
        self.assertEqual((claim["spec"]["storageClassName"], claim["spec"]["resources"]["requests"]["storage"]),
                         ("my-storage-class", "1Gi"))
        p.kubectl("delete", "vcjob", "test-job")

    def test_5_samples(self):
        """The sample queue and group, as outputs without what the server sets."""
        p = self.platform
        p.apply(doc("default-queue.yaml"), doc("podgroup.yaml"))
        self.assertEqual(p.get("queue", "default")["spec"], {
            "capability": {"cpu": "4", "memory": "4096Mi"}, "dequeueStrategy": "traverse", "parent": "root",
            "reclaimable": True, "weight": 1})
        self.assert_rows(p.kubectl("get", "queue"), [
            ["NAME", "AGE", "PARENT"], ["default", "*", "root"], ["root", "*"], ["test", "*", "root"]])
        group = p.get("podgroup", "test")
        self.assertEqual(group["spec"]["minResources"], {"cpu": "3", "memory": "2048Mi"})
        p.kubectl("delete", "podgroup", "test")

    def test_4_the_default_scheduler(self):
        """Such a job has its group, but its pods are placed one by one."""
        p = self.platform
        p.apply_text(put.job("lone", 3, "20").replace("schedulerName: volcano", "schedulerName: default-scheduler"))
        put.wait_for("what fits is placed", lambda: sum(
            "nodeName" in pod["spec"] for pod in p.get("pods", "-l", "volcano.sh/job-name=lone")["items"]) == 3)
        self.assertEqual({pod["spec"]["schedulerName"] for pod in
                          p.get("pods", "-l", "volcano.sh/job-name=lone")["items"]}, {"default-scheduler"})
        p.wait_phase("lone", "Running")
        p.kubectl("delete", "vcjob", "lone")

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
