"""Kubernetes' own workloads, budgets and quotas as kubectl drives them, on nodes that are played."""
import json
import unittest

import platform_under_test as put

TEMPLATE = """
    metadata: {labels: {app: %s}}
    spec:
      terminationGracePeriodSeconds: 0
      containers: [{name: c, image: "%s", command: [sh, -c, "%s"], resources: {requests: {cpu: 10m}}}]
"""

CRON_JOB = """
apiVersion: batch/v1
kind: CronJob
metadata: {name: often}
spec:
  schedule: "* * * * *"
  jobTemplate:
    spec:
      template: {spec: {restartPolicy: OnFailure, containers: [{name: c, image: i, command: [sleep, "0"]}]}}
"""

BUDGET = """
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: guard}
spec: {selector: {matchLabels: {app: guarded}}, %s}
"""


def deployment(name, replicas, image="one:1"):
    return """
apiVersion: apps/v1
kind: Deployment
metadata: {name: %s}
spec:
  replicas: %d
  selector: {matchLabels: {app: %s}}
  template: %s
""" % (name, replicas, name, TEMPLATE % (name, image, "sleep 3600"))


class Workloads(put.PlatformTest):
    FLAGS = ["--no-agent", "--fake-nodes", "3"]

    def field(self, kind, name, path):
        return self.platform.kubectl("get", kind, name, "-o", "jsonpath={%s}" % path)

    def wait_field(self, kind, name, path, value):
        try:
            put.wait_for("", lambda: self.field(kind, name, path) == value)
        except AssertionError:
            self.fail("%s of %s %s is %r, not %r\n%s" % (path, kind, name, self.field(kind, name, path), value,
                                                         self.platform.kubectl("describe", kind, name)))

    def pods(self, app):
        return self.platform.get("pods", "-l", "app=" + app)["items"]

    def images(self, app):
        """Of the pods that are to stay: those of an older revision may be on their way out."""
        return {x["spec"]["containers"][0]["image"] for x in self.pods(app)
                if not x["metadata"].get("deletionTimestamp")}

    def test_deployment_rolls_out_back_and_on(self):
        p = self.platform
        p.apply_text(deployment("web", 3))
        self.assertIn('deployment "web" successfully rolled out', p.kubectl("rollout", "status", "deploy/web"))
        p.kubectl("set", "image", "deploy/web", "c=two:2")
        p.kubectl("rollout", "status", "deploy/web")
        self.assertEqual(self.images("web"), {"two:2"})
        history = [line.split()[0] for line in p.kubectl("rollout", "history", "deploy/web").splitlines()[2:] if line]
        self.assertEqual(history, ["1", "2"])
        self.assertIn("one:1", p.kubectl("rollout", "history", "deploy/web", "--revision=1"))
        self.assertIn("rolled back", p.kubectl("rollout", "undo", "deploy/web"))
        p.kubectl("rollout", "status", "deploy/web")
        self.assertEqual(self.field("deploy", "web", ".spec.template.spec.containers[0].image"), "one:1")
        p.kubectl("rollout", "pause", "deploy/web")
        p.kubectl("set", "image", "deploy/web", "c=three:3")
        self.wait_field("deploy", "web", ".status.conditions[?(@.type==\"Progressing\")].reason", "DeploymentPaused")
        self.assertEqual(self.images("web"), {"one:1"})
        p.kubectl("rollout", "resume", "deploy/web")
        p.kubectl("rollout", "restart", "deploy/web")
        p.kubectl("rollout", "status", "deploy/web")
        p.kubectl("scale", "deploy/web", "--replicas=1")
        self.wait_field("deploy", "web", ".status.replicas", "1")
        p.kubectl("autoscale", "deploy/web", "--min=2", "--max=4", "--cpu-percent=50")
        self.wait_field("deploy", "web", ".status.readyReplicas", "2")
        put.wait_for("the scaler says why", lambda: "New size: 2; reason: Current number of replicas below "
                     "Spec.MinReplicas" in p.kubectl("describe", "hpa", "web"))
        p.kubectl("delete", "deploy,hpa", "web")

    def test_stateful_set_goes_in_order(self):
        p = self.platform
        p.apply_text("""
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: db}
spec:
  serviceName: db
  replicas: 3
  selector: {matchLabels: {app: db}}
  template: %s
""" % (TEMPLATE % ("db", "one:1", "sleep 3600")))
        p.kubectl("rollout", "status", "sts/db")
        made = sorted(self.pods("db"), key=lambda x: int(x["metadata"]["resourceVersion"]))
        self.assertEqual(sorted(x["metadata"]["name"] for x in made), ["db-0", "db-1", "db-2"])
        put.wait_for("an event for each", lambda: sorted(
            e["message"] for e in p.get("events", "--field-selector", "reason=SuccessfulCreate")["items"]
            if "StatefulSet db" in e["message"]) == [
                "create Pod db-%d in StatefulSet db successful" % i for i in range(3)])
        p.kubectl("set", "image", "sts/db", "c=two:2")
        p.kubectl("rollout", "status", "sts/db")
        p.kubectl("scale", "sts/db", "--replicas=1")
        put.wait_for("the last ones go", lambda: [x["metadata"]["name"] for x in self.pods("db")] == ["db-0"])
        p.kubectl("delete", "sts", "db")

    def test_daemon_set_is_everywhere(self):
        p = self.platform
        p.apply_text("""
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: probe}
spec:
  selector: {matchLabels: {app: probe}}
  template: %s
""" % (TEMPLATE % ("probe", "one:1", "sleep 3600")))
        p.kubectl("rollout", "status", "ds/probe")
        self.assertEqual(sorted(x["spec"]["nodeName"] for x in self.pods("probe")), ["fake-0", "fake-1", "fake-2"])
        p.kubectl("cordon", "fake-0")
        put.wait_for("the taint of a cordon", lambda: "node.kubernetes.io/unschedulable:NoSchedule" in
                     p.kubectl("describe", "node", "fake-0"))
        p.kubectl("uncordon", "fake-0")
        p.kubectl("taint", "node", "fake-1", "gone=yes:NoExecute")
        put.wait_for("the pod leaves", lambda: "fake-1" not in [x["spec"].get("nodeName") for x in self.pods("probe")])
        p.kubectl("taint", "node", "fake-1", "gone-")
        p.kubectl("rollout", "status", "ds/probe")
        p.kubectl("delete", "ds", "probe")

    def job(self, name, spec, command):
        return """
apiVersion: batch/v1
kind: Job
metadata: {name: %s}
spec: {%s, template: {metadata: {labels: {app: %s}}, spec: {restartPolicy: Never,
  containers: [{name: c, image: i, command: [sh, -c, "%s"]}]}}}
""" % (name, spec, name, command)

    def test_jobs(self):
        p = self.platform
        p.apply_text(self.job("indexed", "completions: 3, parallelism: 3, completionMode: Indexed", "sleep 0"))
        p.apply_text(self.job("broken", "backoffLimit: 0", "sleep 0; exit 3"))
        p.apply_text(self.job("held", "suspend: true", "sleep 0"))
        p.apply_text(self.job("brief", "ttlSecondsAfterFinished: 0", "sleep 0"))
        p.kubectl("wait", "--for=condition=complete", "job/indexed", "--timeout=110s")
        self.assertEqual(self.field("job", "indexed", ".status.completedIndexes"), "0-2")
        p.kubectl("wait", "--for=condition=failed", "job/broken", "--timeout=110s")
        self.assertEqual(self.field("job", "broken", ".status.conditions[?(@.type==\"Failed\")].reason"),
                         "BackoffLimitExceeded")
        self.wait_field("job", "held", ".status.conditions[?(@.type==\"Suspended\")].status", "True")
        self.assertEqual(self.pods("held"), [])
        p.kubectl("patch", "job", "held", "-p", '{"spec":{"suspend":false}}')
        p.kubectl("wait", "--for=condition=complete", "job/held", "--timeout=110s")
        put.wait_for("the brief one is gone", lambda: p.kubectl("get", "job", "brief", check=False).returncode != 0)
        p.apply_text(CRON_JOB)
        # What `kubectl create job now --from=cronjob/often` makes; 1.20 asks for versions that left Kubernetes.
        often = p.get("cronjob", "often")
        p.apply_text(json.dumps({
            "apiVersion": "batch/v1", "kind": "Job", "spec": often["spec"]["jobTemplate"]["spec"],
            "metadata": {"name": "now", "annotations": {"cronjob.kubernetes.io/instantiate": "manual"},
                         "ownerReferences": [{"apiVersion": "batch/v1", "kind": "CronJob", "name": "often",
                                              "uid": often["metadata"]["uid"], "controller": True}]}}))
        p.kubectl("wait", "--for=condition=complete", "job/now", "--timeout=110s")
        p.kubectl("delete", "cronjob,job", "--all")

    def test_drain_obeys_budgets(self):
        p = self.platform
        p.apply_text(deployment("guarded", 2))
        p.kubectl("rollout", "status", "deploy/guarded")
        p.apply_text(BUDGET % "minAvailable: 2")
        self.wait_field("pdb", "guard", ".status.currentHealthy", "2")
        self.assertEqual(self.field("pdb", "guard", ".status.disruptionsAllowed"), "0")
        node = self.pods("guarded")[0]["spec"]["nodeName"]
        refused = p.kubectl("drain", node, "--ignore-daemonsets", "--timeout=10s", "--force", check=False)
        self.assertNotEqual(refused.returncode, 0)
        self.assertIn("Cannot evict pod as it would violate the pod's disruption budget.",
                      refused.stdout + refused.stderr)
        p.kubectl("delete", "pdb", "guard")
        p.apply_text(BUDGET % "maxUnavailable: 1")
        self.wait_field("pdb", "guard", ".status.disruptionsAllowed", "1")
        p.kubectl("drain", node, "--ignore-daemonsets", "--timeout=110s", "--force")
        p.kubectl("uncordon", node)
        self.wait_field("pdb", "guard", ".status.currentHealthy", "2")
        p.kubectl("delete", "pdb,deploy", "--all")

    def test_quotas_and_limits(self):
        p = self.platform
        p.kubectl("create", "namespace", "small")
        p.kubectl("-n", "small", "create", "quota", "q", "--hard=pods=2,requests.cpu=1,count/configmaps=2")
        put.wait_for("the quota is counted", lambda: "hard" in p.get("quota", "q", "-n", "small").get("status", {}))
        p.apply_text("""
apiVersion: v1
kind: LimitRange
metadata: {name: l, namespace: small}
spec: {limits: [{type: Container, default: {cpu: 400m}, max: {cpu: "1"}}]}
""")
        p.kubectl("-n", "small", "create", "deployment", "d", "--image=i", "--replicas=3")
        put.wait_for("two of three", lambda: p.get("quota", "q", "-n", "small")["status"]["used"] == {
            "pods": "2", "requests.cpu": "800m", "count/configmaps": "1"})
        put.wait_for("why not three", lambda: "exceeded quota: q, requested: pods=1,requests.cpu=400m, used: pods=2,"
                     "requests.cpu=800m, limited: pods=2,requests.cpu=1" in p.kubectl("-n", "small", "get", "events"))
        described = p.kubectl("-n", "small", "describe", "quota", "q")
        self.assertRegex(described, r"requests.cpu\s+800m\s+1")
        greedy = p.kubectl("-n", "small", "run", "greedy", "--image=i", check=False, stdin=None)
        self.assertIn("exceeded quota: q", greedy.stderr)
        p.kubectl("-n", "small", "delete", "deployment", "d")
        put.wait_for("given back", lambda: p.get("quota", "q", "-n", "small")["status"]["used"]["pods"] == "0")
        p.kubectl("delete", "namespace", "small", "--timeout=110s")

    def test_claims_stay_while_used(self):
        p = self.platform
        p.apply_text("""
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data}
spec: {accessModes: [ReadWriteOnce], storageClassName: none, resources: {requests: {storage: 1Gi}}}
---
apiVersion: v1
kind: Pod
metadata: {name: user}
spec:
  nodeName: fake-0
  terminationGracePeriodSeconds: 0
  containers: [{name: c, image: i, command: [sleep, "3600"]}]
  volumes: [{name: v, persistentVolumeClaim: {claimName: data}}]
""")
        p.kubectl("wait", "--for=condition=Ready", "pod/user", "--timeout=110s")
        put.wait_for("the claim is guarded", lambda: self.field("pvc", "data", ".metadata.finalizers"))
        p.kubectl("delete", "pvc", "data", "--wait=false")
        self.assertEqual(json.loads(self.field("pvc", "data", ".metadata.finalizers")), ["kubernetes.io/pvc-protection"])
        self.assertIn("Terminating", p.kubectl("get", "pvc", "data"))
        p.kubectl("delete", "pod", "user")
        put.wait_for("the claim goes", lambda: p.kubectl("get", "pvc", "data", check=False).returncode != 0)


if __name__ == "__main__":
    unittest.main()
