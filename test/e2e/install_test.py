"""Workloads of the originals, installed over the platform: recognised ones are real objects whose pods this process realises."""
import unittest

import platform_under_test as put

DEPLOYMENT = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: %(name)s, namespace: %(namespace)s}
spec:
  selector: {matchLabels: {app: %(name)s}}
  template:
    metadata: {labels: {app: %(name)s}}
    spec:
      nodeSelector: {no: such-node}
      containers:
      - {name: main, image: "%(image)s", resources: {requests: {cpu: 500}}}
      - {name: proxy, image: registry.example.com/kubebuilder/kube-rbac-proxy:v0.8.0}
"""
JOB = """
apiVersion: batch/v1
kind: Job
metadata: {name: volcano-admission-init, namespace: default}
spec:
  template:
    spec:
      restartPolicy: Never
      containers: [{name: main, image: "volcanosh/vc-webhook-manager:v1.8.2", command: [./gen-admission-secret.sh]}]
"""
WEBHOOK = """
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingWebhookConfiguration
metadata: {name: %(name)s}
webhooks:
- name: %(name)s.example.com
  failurePolicy: Fail
  sideEffects: None
  admissionReviewVersions: [v1]
  clientConfig: {service: {namespace: volcano-system, name: %(service)s, path: /pods/mutate}}
  rules: [{apiGroups: [""], apiVersions: [v1], resources: [configmaps], operations: [CREATE]}]
"""
ISSUER = """
apiVersion: cert-manager.io/v1
kind: ClusterIssuer
metadata: {name: self}
spec: {selfSigned: {}}
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: clusterissuers.cert-manager.io}
spec:
  group: cert-manager.io
  names: {kind: ClusterIssuer, listKind: ClusterIssuerList, plural: clusterissuers, singular: clusterissuer}
  scope: Cluster
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
"""
CHEAT = """
apiVersion: v1
kind: Pod
metadata: {name: cheat, annotations: {hekla.io/in-process: volcano-scheduler}, labels: {hekla.io/in-process: a}}
spec: {containers: [{name: main, image: example.com/mine}]}
"""


class Install(put.PlatformTest):
    FLAGS = ["--no-agent", "--fake-nodes", "2", "--fake-node-resources", "cpu=4,memory=8Gi,pods=20"]

    def pod(self, name, namespace="default"):
        """The only pod of that label; a LookupError until there is one."""
        pods = self.platform.get("pods", "-n", namespace, "-l", "app=" + name)["items"]
        if len(pods) != 1:
            raise LookupError("%d pods of %s" % (len(pods), name))
        return pods[0]

    def test_a_recognised_workload_is_realised_here(self):
        p = self.platform
        p.apply_text(DEPLOYMENT % {"name": "scheduler", "namespace": "default",
                                   "image": "mirror.example.com:5000/some/volcanosh/vc-scheduler:v1.8.2"})
        p.kubectl("rollout", "status", "deployment/scheduler", "--timeout=100s")
        pod = self.pod("scheduler")
        self.assertEqual(pod["metadata"]["annotations"]["hekla.io/in-process"], "volcano-scheduler")
        self.assertEqual([c["ready"] for c in pod["status"]["containerStatuses"]], [True, True])
        self.assertEqual([c.get("resources", {}) for c in pod["spec"]["containers"]], [{}, {}])
        self.assertIn("info scheduler: started", p.kubectl("logs", "deployment/scheduler", "-c", "main"))
        put.wait_for("the event", lambda: "image mirror.example.com:5000/some/volcanosh/vc-scheduler:v1.8.2 is not pulled"
                     in p.kubectl("describe", "pod", pod["metadata"]["name"]))
        p.kubectl("delete", "deployment", "scheduler")
        put.wait_for("its pods are gone", lambda: not p.get("pods", "-l", "app=scheduler")["items"])

    def test_a_component_that_is_missing_says_so(self):
        p = self.platform
        p.apply_text(DEPLOYMENT % {"name": "katib-controller", "namespace": "kubeflow",
                                   "image": "docker.io/kubeflowkatib/katib-controller:v0.14.0"})
        put.wait_for("the pod's state", lambda: self.pod("katib-controller", "kubeflow")["status"]["containerStatuses"])
        row = p.kubectl("get", "pods", "-n", "kubeflow", "-l", "app=katib-controller", "--no-headers").split()
        self.assertEqual(row[1:4], ["0/2", "NotYetInHekla", "0"])
        self.assertEqual(p.kubectl("logs", "-n", "kubeflow", "deployment/katib-controller", "-c", "main"),
                         "not yet in Hekla: katib\n")
        put.wait_for("the event", lambda: "component katib-controller is not yet in Hekla"
                     in p.kubectl("get", "events", "-n", "kubeflow"))
        p.kubectl("delete", "deployment", "-n", "kubeflow", "katib-controller")

    def test_a_job_of_the_table_completes(self):
        self.platform.apply_text(JOB)
        self.platform.kubectl("wait", "--for=condition=complete", "job/volcano-admission-init", "--timeout=100s")
        self.platform.kubectl("delete", "job", "volcano-admission-init")

    def test_webhooks_of_the_table_are_answered_here_and_others_are_called(self):
        p = self.platform
        p.apply_text(WEBHOOK % {"name": "known", "service": "volcano-admission-service"})
        p.kubectl("create", "configmap", "a")
        p.apply_text(WEBHOOK % {"name": "own", "service": "my-service"})
        refused = p.kubectl("create", "configmap", "b", check=False)
        self.assertIn('failed calling webhook "own.example.com"', refused.stderr)
        p.kubectl("delete", "mutatingwebhookconfiguration", "known", "own")
        p.kubectl("create", "configmap", "b")

    def test_kinds_of_others_are_known_before_their_crds(self):
        p = self.platform
        p.apply_text(ISSUER)  # the CRD is in the same stream, behind its object
        self.assertEqual(p.get("clusterissuer.cert-manager.io", "self")["spec"], {"selfSigned": {}})
        self.assertEqual(p.kubectl("get", "gateways.networking.istio.io", "-A"), "")
        p.kubectl("delete", "crd", "clusterissuers.cert-manager.io")
        put.wait_for("the objects went with their CRD", lambda: not p.get("clusterissuers.cert-manager.io")["items"])

    def test_the_mark_is_nobodys_to_set(self):
        p = self.platform
        p.apply_text(CHEAT)
        p.kubectl("label", "pod", "cheat", "hekla.io/in-process=b")
        p.kubectl("annotate", "--overwrite", "pod", "cheat", "hekla.io/in-process=b")
        meta = p.get("pod", "cheat")["metadata"]
        self.assertNotIn("hekla.io/in-process", meta.get("annotations", {}))
        self.assertNotIn("hekla.io/in-process", meta.get("labels", {}))
        p.kubectl("delete", "pod", "cheat")


if __name__ == "__main__":
    unittest.main()
