"""What the node reports: logs of a job's gone pods, kubectl top, the pods of components in the process."""
import os
import re
import subprocess
import unittest

import platform_under_test as put

# The worker's end completes the job and takes the parameter server away.
JOB = """
apiVersion: batch.volcano.sh/v1alpha1
kind: Job
metadata: {name: train}
spec:
  minAvailable: 2
  schedulerName: volcano
  tasks:
  - name: ps
    replicas: 1
    template:
      spec:
        terminationGracePeriodSeconds: 0
        containers: [{name: c, image: any, command: [sh, -c, "echo ps says hello; sleep 600"]}]
  - name: worker
    replicas: 1
    policies: [{event: TaskCompleted, action: CompleteJob}]
    template:
      spec:
        restartPolicy: Never
        containers:
        - {name: c, image: any, command: [sh, -c, "until test -e /tmp/end; do sleep 0.1; done; echo worker done"]}
"""
BUSY = """
apiVersion: v1
kind: Pod
metadata: {name: busy, labels: {app: busy}}
spec:
  schedulerName: volcano
  terminationGracePeriodSeconds: 0
  containers:
  - {name: c, image: any, command: [sh, -c, "while :; do :; done"], resources: {limits: {cpu: 200m}}}
"""

SCALED = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: scaled}
spec:
  selector: {matchLabels: {app: scaled}}
  template:
    metadata: {labels: {app: scaled}}
    spec:
      terminationGracePeriodSeconds: 0
      containers:
      - name: c
        image: any
        command: [sh, -c, "while :; do :; done"]
        resources: {requests: {cpu: 50m}, limits: {cpu: 200m}}
---
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: scaled}
spec:
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: scaled}
  minReplicas: 1
  maxReplicas: 2
  metrics: [{type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: 100}}}]
"""


class NodeReports(put.PlatformTest):
    def logs(self, *arguments, check=True):
        done = subprocess.run([put.HEKLA, "logs"] + list(arguments), capture_output=True, text=True,
                              timeout=put.PATIENCE, env=dict(os.environ, KUBECONFIG=self.platform.kubeconfig))
        if check:
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done

    def test_a_deployment_scales_with_its_load(self):
        self.platform.apply_text(SCALED)
        self.addCleanup(self.platform.kubectl, "delete", "deployment,hpa", "scaled", "--wait=false")
        put.wait_for("the load asks for another pod",
                     lambda: self.platform.get("deployment", "scaled")["spec"]["replicas"] == 2)
        scaler = self.platform.get("hpa.v2.autoscaling", "scaled")
        self.assertGreater(scaler["status"]["currentMetrics"][0]["resource"]["current"]["averageUtilization"], 100)
        self.assertIn({"type": "ScalingActive", "status": "True", "reason": "ValidMetricFound"},
                      [{key: one[key] for key in ("type", "status", "reason")} for one in scaler["status"]["conditions"]])

    def test_logs_outlive_the_pods_of_a_job(self):
        self.platform.apply_text(JOB)
        put.wait_for("the parameter server speaks", lambda: self.platform.kubectl("logs", "train-ps-0"))
        put.wait_for("the worker runs", lambda: self.platform.get(
            "pod", "train-worker-0")["status"]["phase"] == "Running")
        self.platform.kubectl("exec", "train-worker-0", "--", "touch", "/tmp/end")
        self.platform.wait_phase("train", "Completed")
        put.wait_for("the parameter server is gone", lambda: "train-ps-0" not in self.platform.kubectl("get", "pods"))
        put.wait_for("its log is kept", lambda: "train-ps-0" in self.platform.kubectl("get", "podlogs"))
        self.assertEqual(self.logs("train").stdout, "train-ps-0 | ps says hello\ntrain-worker-0 | worker done\n")
        self.assertEqual(self.logs("vcjob/train").stdout, self.logs("train").stdout)
        self.assertEqual(self.logs("train-ps-0").stdout, "ps says hello\n")
        # Also when the process has been another one meanwhile.
        self.platform.kill()
        self.platform.up()
        self.assertIn("train-ps-0 | ps says hello\n", self.logs("train").stdout)
        self.platform.kubectl("delete", "vcjob", "train")
        put.wait_for("the log has gone with the job", lambda: "train" not in self.platform.kubectl("get", "podlogs"))
        gone = self.logs("train", check=False)
        self.assertEqual(gone.returncode, 1)
        self.assertIn('there is no job and no pod "train" in namespace default', gone.stderr)

    def component(self, namespace, name):
        """The name of the component's only pod: of a Deployment, or of one that has done its work."""
        names = [pod["metadata"]["name"] for pod in self.platform.get("pods", "-n", namespace)["items"]]
        found = [one for one in names if re.fullmatch(name + r"(-[0-9a-z]{6,10}-[0-9a-z]{5}|-[0-9a-f]{5})", one)]
        return found[0] if len(found) == 1 else None

    def test_components_show_themselves(self):
        for name in ("volcano-admission", "volcano-admission-init", "volcano-controllers", "volcano-scheduler"):
            put.wait_for(name, lambda: self.component("volcano-system", name))
        for tool in put.kubectls():
            self.assert_rows(self.platform.kubectl("get", "pods", "-n", "volcano-system", tool=tool), [
                ["NAME", "READY", "STATUS", "RESTARTS", "AGE"],
                [self.component("volcano-system", "volcano-admission"), "1/1", "Running", "*", "*"],
                [self.component("volcano-system", "volcano-admission-init"), "0/1", "Completed", "*", "*"],
                [self.component("volcano-system", "volcano-controllers"), "1/1", "Running", "*", "*"],
                [self.component("volcano-system", "volcano-scheduler"), "1/1", "Running", "*", "*"]])
            scheduler = self.component("volcano-system", "volcano-scheduler")
            self.assertIn("info scheduler: started", self.platform.kubectl("logs", "-n", "volcano-system", scheduler,
                                                                           tool=tool))
        init = self.component("volcano-system", "volcano-admission-init")
        self.assertRegex(init, r"^volcano-admission-init-[0-9a-f]{5}$")
        self.assertIn("certificates are ready", self.platform.kubectl("logs", "-n", "volcano-system", init))
        pod = self.platform.get("pod", scheduler, "-n", "volcano-system")
        self.assertEqual(pod["metadata"]["annotations"]["hekla.io/in-process"], "volcano-scheduler")
        self.assertEqual(pod["metadata"]["ownerReferences"][0]["kind"], "ReplicaSet")
        self.assertIsNotNone(self.component("local-path-storage", "local-path-provisioner"))
        self.platform.kubectl("rollout", "status", "-n", "kubeflow", "deployment/training-operator", "--timeout=60s")
        refused = self.platform.kubectl("exec", "-n", "volcano-system", scheduler, "--", "true", check=False)
        self.assertIn("is a part of hekla itself", refused.stderr)
        # Deleted, it comes back: the component has never gone.
        self.platform.kubectl("delete", "deployment", "-n", "volcano-system", "volcano-scheduler")
        put.wait_for("the pod is back", lambda: self.component("volcano-system", "volcano-scheduler")
                     not in (None, scheduler))

    def test_top(self):
        self.platform.apply_text(BUSY)
        put.wait_for("the pod runs", lambda: self.platform.get("pod", "busy")["status"].get("phase") == "Running")
        for tool in put.kubectls():
            def usage():  # in its first moments a container may use what it did not use before
                rows = self.platform.kubectl("top", "pods", "-l", "app=busy", "--no-headers", tool=tool).split()
                self.assertEqual(rows[0], "busy")
                return rows if 50 <= int(rows[1].rstrip("m")) <= 300 else None
            rows = put.wait_for("the pod's usage is its limit", usage)
            self.assertRegex(rows[2], r"^\d+Mi$")
            rows = self.platform.kubectl("top", "nodes", "--no-headers", tool=tool).split()
            self.assertEqual(len(rows), 5)
            self.assertTrue(re.match(r"^[1-9]\d*m$", rows[1]), rows)
            self.assertTrue(re.match(r"^[1-9]\d*Mi$", rows[3]), rows)


if __name__ == "__main__":
    unittest.main()
