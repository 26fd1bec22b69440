"""hekla explain, the watched configuration, and a record that is replayed, on one platform of fake nodes."""
import json
import os
import subprocess
import tempfile
import time
import unittest

import platform_under_test as put

SITUATIONS = """
apiVersion: scheduling.volcano.sh/v1beta1
kind: Queue
metadata: {name: small}
spec: {capability: {cpu: 300m}}
---
apiVersion: scheduling.volcano.sh/v1beta1
kind: Queue
metadata: {name: shut}
---
apiVersion: scheduling.volcano.sh/v1beta1
kind: Queue
metadata: {name: line}
spec: {dequeueStrategy: fifo}
---
apiVersion: v1
kind: Namespace
metadata: {name: squeezed}
---
apiVersion: v1
kind: ResourceQuota
metadata: {name: q, namespace: squeezed}
spec: {hard: {requests.cpu: 300m}}
""" + "".join("""---
apiVersion: batch.volcano.sh/v1alpha1
kind: Job
metadata: {name: %s, namespace: %s}
spec:
  minAvailable: %d
  queue: %s
  schedulerName: volcano
  tasks:
  - name: w
    replicas: %d
    template:
      spec:
        %s
        restartPolicy: Never
        containers: [{name: c, image: any, resources: {requests: {cpu: 200m}, limits: {%s}}}]
""" % (name, namespace, pods, queue, pods, more or "hostNetwork: false", limits)
    for name, namespace, queue, pods, more, limits in [
        ("over", "default", "small", 2, "", ""),
        ("late", "default", "shut", 1, "nodeSelector: {zone: nowhere}", ""),
        ("gpu", "default", "default", 1, "", "nvidia.com/gpu: 1"),
        ("tainted", "default", "default", 1, "nodeSelector: {kubernetes.io/hostname: %(first)s}", ""),
        ("nowhere", "default", "default", 1, "nodeSelector: {zone: nowhere}", ""),
        ("head", "default", "line", 1, "nodeSelector: {zone: nowhere}", ""),
        ("many", "squeezed", "default", 2, "", ""),
        ("classless", "default", "default", 1, "priorityClassName: nosuch", ""),
        ("second", "default", "line", 1, "", "")])

MAP = ("configmap", "volcano-scheduler-configmap", "-n", "volcano-system")


class Explain(put.PlatformTest):
    RECORD = os.path.join(tempfile.gettempdir(), "hekla-record-%d" % os.getpid())
    FLAGS = ["--no-agent", "--fake-nodes", "2", "--fake-node-resources", "cpu=4,memory=8Gi,pods=110",
             "--record", RECORD]

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.addClassCleanup(lambda: os.path.exists(cls.RECORD) and os.remove(cls.RECORD))

    def hekla(self, *arguments, code=0):
        environment = {k: v for k, v in os.environ.items() if k != "KUBECONFIG"}
        done = subprocess.run([put.HEKLA] + list(arguments), capture_output=True, text=True, timeout=put.PATIENCE,
                              env=environment)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done.stdout + done.stderr

    def explain(self, *arguments, code=0):
        return self.hekla("explain", *arguments, "--data-dir", self.platform.data_dir, code=code)

    def test_a_gang_too_big_is_explained_with_numbers(self):
        p = self.platform
        p.apply_text(put.job("giant", 3, 3))
        put.wait_for("it waits", lambda: "gang-too-big" in self.explain("job", "giant", "-o", "json"))
        made = json.loads(self.explain("job", "giant", "-o", "json"))
        self.assertEqual(made["state"], "Pending")
        codes = [x["code"] for x in made["findings"]]
        self.assertIn("gang-too-big", codes, made)
        self.assertIn("9 cpu for 3 pods at once", self.explain("job", "giant"))
        self.assertIn("default/giant-", self.explain("queue", "default"))
        self.assertIn("does not exist", self.explain("job", "nobody", code=1))
        p.kubectl("delete", "vcjob", "giant")

    def waits(self, job, code, *words, namespace="default"):
        """The job waits, explain names this as a reason, and its text has these words."""
        def found():
            made = json.loads(self.explain("job", job, "-n", namespace, "-o", "json"))
            return [x for x in made["findings"] if x["code"] == code] and made
        try:
            made = put.wait_for("%s: %s" % (job, code), found, interval=0.2)
        except AssertionError as error:
            raise AssertionError("%s\n%s" % (error, self.explain("job", job, "-n", namespace)))
        finding = [x for x in made["findings"] if x["code"] == code][0]
        for word in words:
            self.assertIn(word, finding["text"])
        self.assertTrue(finding.get("advice"), finding)
        self.assertIn(finding["text"], self.explain("job", job, "-n", namespace))
        return made

    def test_every_common_reason_is_named(self):
        p = self.platform
        first = p.get("nodes")["items"][0]["metadata"]["name"]
        p.kubectl("taint", "node", first, "team=a:NoSchedule")
        *others, behind = (SITUATIONS % {"first": first}).split("---")
        p.apply_text("---".join(others))
        # A queue is open when a job comes; it may be closed while the job waits.
        self.waits("late", "affinity")
        self.hekla("queue", "operate", "--name", "shut", "--action", "close", "--kubeconfig", p.kubeconfig)
        self.waits("over", "queue-over-capability", "queue small may hold 300m cpu", "needs 400m cpu",
                   "100m cpu too much")
        self.waits("late", "queue-closed", "its queue shut is not open")
        self.waits("gpu", "missing-resource", "no node offers nvidia.com/gpu", "ask for 1 nvidia.com/gpu")
        self.waits("tainted", "taints", "1 node of 2 refused", "untolerated taint {team: a}")
        self.waits("nowhere", "affinity", "2 nodes of 2 refused", "node affinity/selector")
        time.sleep(1)  # ages are known to the second
        p.apply_text(behind)
        self.waits("second", "behind-fifo-head", "queue line is fifo and default/head-", "is ahead")
        self.waits("many", "quota", "ResourceQuota squeezed/q allows 300m requests.cpu", "needs 400m",
                   namespace="squeezed")
        self.waits("classless", "priority-class-missing", "no PriorityClass with name nosuch exists")
        p.kubectl("delete", "vcjob", "--all", "-A")
        p.kubectl("taint", "node", first, "team-")

    def test_a_lost_node_is_named(self):
        p = self.platform
        p.apply_text(put.job("stranded", 2, 3))
        p.wait_phase("stranded", "Running")
        lost = p.get("pod", "stranded-w-0")["spec"]["nodeName"]
        self.report_ready(lost, status="Unknown", reason="NodeStatusUnknown",
                          message="Kubelet stopped posting node status.")
        self.waits("stranded", "node-lost", "1 of its pods stand on node %s, which is not ready" % lost)
        p.kubectl("delete", "vcjob", "stranded")
        self.report_ready(lost, status="True", reason="KubeletReady", message="")

    def report_ready(self, name, **condition):
        """As the node's own agent would; kubectl 1.20 has no patch of a subresource."""
        def written():
            node = self.platform.get("node", name)
            for one in node["status"]["conditions"]:
                if one["type"] == "Ready":
                    one.update(condition)
            return self.platform.kubectl("replace", "--raw", "/api/v1/nodes/%s/status" % name, "-f", "-", check=False,
                                         stdin=json.dumps(node)).returncode == 0
        put.wait_for("the node's status is written", written)

    def test_the_configuration_is_watched(self):
        p = self.platform
        text = p.get(*MAP)["data"]["volcano-scheduler.conf"]
        self.assertIn("enqueue, allocate, backfill", text)
        patch = json.dumps({"data": {"volcano-scheduler.conf": text.replace("allocate", "alocate")}})
        p.kubectl("patch", *MAP, "--type", "merge", "-p", patch)
        put.wait_for("the mistake is said", lambda: "failed to find Action alocate" in p.kubectl(
            "get", "events", "-n", "volcano-system"))
        p.apply_text(put.job("works", 2, 1))
        p.wait_phase("works", "Running")
        p.kubectl("delete", "vcjob", "works")

    def test_the_record_is_replayed(self):
        p = self.platform
        p.apply_text(put.job("recorded", 2, 1))
        p.wait_phase("recorded", "Running")
        p.kubectl("delete", "vcjob", "recorded")
        self.assertIn("every session decided as it was recorded",
                      self.hekla("simulate", "--replay", self.RECORD))


if __name__ == "__main__":
    unittest.main()
