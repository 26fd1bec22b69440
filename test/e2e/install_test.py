"""Workloads of the originals, installed over the platform: recognised ones are real objects whose pods this process realises."""
import base64
import os
import subprocess
import tempfile
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
CERTIFICATES = """
apiVersion: cert-manager.io/v1
kind: Issuer
metadata: {name: own}
spec: {selfSigned: {}}
---
apiVersion: cert-manager.io/v1
kind: Certificate
metadata: {name: root}
spec: {secretName: root, isCA: true, commonName: the root, issuerRef: {name: own}}
---
apiVersion: cert-manager.io/v1
kind: Issuer
metadata: {name: ca}
spec: {ca: {secretName: root}}
---
apiVersion: cert-manager.io/v1
kind: Certificate
metadata: {name: web}
spec: {secretName: web-tls, dnsNames: [web.default.svc], issuerRef: {kind: Issuer, name: ca}}
"""
OLD_KINDS = """
apiVersion: policy/v1beta1
kind: PodDisruptionBudget
metadata: {name: istiod}
spec: {minAvailable: 1, selector: {matchLabels: {app: istiod}}}
---
apiVersion: autoscaling/v2beta2
kind: HorizontalPodAutoscaler
metadata: {name: activator}
spec:
  maxReplicas: 20
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: activator}
  metrics: [{type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: 100}}}]
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

    def test_certificates_are_signed(self):
        p = self.platform
        p.apply_text(CERTIFICATES)
        p.kubectl("wait", "--for=condition=Ready", "certificate/web", "issuer/ca", "--timeout=100s")
        secret = p.get("secret", "web-tls")
        self.assertEqual((secret["type"], sorted(secret["data"])), ("kubernetes.io/tls", ["ca.crt", "tls.crt", "tls.key"]))
        with tempfile.TemporaryDirectory() as place:
            for name, data in secret["data"].items():
                with open(os.path.join(place, name), "wb") as file:
                    file.write(base64.b64decode(data))
            said = subprocess.run(["openssl", "verify", "-CAfile", "ca.crt", "-verify_hostname", "web.default.svc", "tls.crt"],
                                  cwd=place, capture_output=True, text=True)
            self.assertEqual((said.returncode, said.stdout), (0, "tls.crt: OK\n"), said.stderr)
        p.kubectl("delete", "secret", "web-tls")
        put.wait_for("it is signed again", lambda: p.get("secret", "web-tls")["data"]["tls.crt"] != secret["data"]["tls.crt"])
        p.kubectl("delete", "certificates,issuers", "--all")

    def test_versions_of_their_time_are_accepted(self):
        p = self.platform
        p.apply_text(OLD_KINDS)
        self.assertEqual(p.get("pdb", "istiod")["apiVersion"], "policy/v1")
        self.assertEqual(p.get("hpa", "activator")["spec"]["metrics"][0]["resource"]["target"]["averageUtilization"], 100)
        self.assertNotIn("created", p.kubectl("apply", "-f", "-", stdin=OLD_KINDS))
        self.assertIn("unavailable in v1.25+; use policy/v1", p.kubectl(
            "get", "poddisruptionbudgets.v1beta1.policy", check=False).stderr)
        p.kubectl("delete", "-f", "-", stdin=OLD_KINDS)

    def test_the_mark_is_nobodys_to_set(self):
        p = self.platform
        p.apply_text(CHEAT)
        p.kubectl("label", "pod", "cheat", "hekla.io/in-process=b")
        p.kubectl("annotate", "--overwrite", "pod", "cheat", "hekla.io/in-process=b")
        meta = p.get("pod", "cheat")["metadata"]
        self.assertNotIn("hekla.io/in-process", meta.get("annotations", {}))
        self.assertNotIn("hekla.io/in-process", meta.get("labels", {}))
        p.kubectl("delete", "pod", "cheat")


class LeftOut(put.PlatformTest):
    """A component that somebody runs himself."""
    FLAGS = ["--no-agent", "--fake-nodes", "1", "--without", "training-operator"]

    def test_its_pods_are_anybodys(self):
        p = self.platform
        p.apply_text(DEPLOYMENT % {"name": "training-operator", "namespace": "kubeflow",
                                   "image": "docker.io/kubeflow/training-operator:v1"})
        put.wait_for("an ordinary pod", lambda: [
            pod for pod in p.get("pods", "-n", "kubeflow", "-l", "app=training-operator")["items"]
            if "hekla.io/in-process" not in pod["metadata"].get("annotations", {})
            and pod["spec"]["containers"][0]["resources"]["requests"]["cpu"] == "500"])

    def test_what_cannot_be_left_out_is_refused(self):
        for name, why in (("volcano-scheduler", "hekla up cannot be without it"),
                          ("training-operater", "there is no such component, did you mean training-operator?")):
            with tempfile.TemporaryDirectory() as place:
                done = subprocess.run([put.HEKLA, "up", "--data-dir", place, "--no-agent", "--without", name],
                                      capture_output=True, text=True, timeout=put.PATIENCE)
            self.assertNotEqual(done.returncode, 0)
            self.assertIn("--without %s: %s" % (name, why), done.stderr)


if __name__ == "__main__":
    unittest.main()
