"""What the tutorials type to install Kubeflow and its surroundings, typed by a shell on a platform that runs pods; after each
of them a job and a plain pod run, everything is taken away again, and every object is as it was before.

The manifests are look-alikes (look_alikes.py), or those of MANIFESTS, a checkout of kubeflow/manifests with a file
local-path-storage.yaml in it. kubectl stands for kustomize, which it contains.
Environment: HEKLA (the binary), HEKLA_CACHE (kubectls), MANIFESTS.
"""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.request

import look_alikes

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "e2e"))
import platform_under_test as put  # noqa: E402

MANIFESTS = os.environ.get("MANIFESTS", "")
# Objects that come and go by themselves, and members that say when and how often something was written.
PASSING = {"events", "events.events.k8s.io", "leases.coordination.k8s.io", "endpointslices.discovery.k8s.io", "endpoints",
           "pods.metrics.k8s.io", "nodes.metrics.k8s.io", "replicasets.apps", "pods", "controllerrevisions.apps",
           "apiservices.apiregistration.k8s.io", "ipaddresses.networking.k8s.io", "persistentvolumes", "componentstatuses"}
# The login's accounts stand in dex's namespace and go with it; the login keeps those that it has read, and the next start
# makes the first one again.
ACCOUNTS = {("v1", "Namespace", "", "auth"), ("v1", "ConfigMap", "auth", "dex"),
            ("v1", "ConfigMap", "auth", "kube-root-ca.crt"), ("v1", "ServiceAccount", "auth", "default")}
JOB = put.job("after-install", 2, "100m", "sleep 1").replace("image: any", "image: host")
POD = """
apiVersion: v1
kind: Pod
metadata: {name: plain, namespace: kubeflow}
spec:
  restartPolicy: Never
  terminationGracePeriodSeconds: 1
  containers: [{name: c, image: host, command: [sh, -c, "echo it runs"]}]
"""
# The namespaces of the seven `get pods`, with the pods that must be there by the names of their workloads.
PODS = {
    "cert-manager": "cert-manager cert-manager-cainjector cert-manager-webhook",
    "istio-system": "authservice cluster-local-gateway istio-ingressgateway istiod",
    "auth": "dex",
    "knative-eventing": "eventing-controller eventing-webhook",
    "knative-serving": "activator autoscaler controller domain-mapping domainmapping-webhook net-istio-controller "
                       "net-istio-webhook webhook",
    "kubeflow": "admission-webhook-deployment cache-server centraldashboard jupyter-web-app-deployment katib-controller "
                "katib-db-manager katib-mysql katib-ui kserve-controller-manager kserve-models-web-app "
                "kubeflow-pipelines-profile-controller metacontroller metadata-envoy-deployment metadata-grpc-deployment "
                "metadata-writer minio ml-pipeline ml-pipeline-persistenceagent ml-pipeline-scheduledworkflow ml-pipeline-ui "
                "ml-pipeline-viewer-crd ml-pipeline-visualizationserver mysql notebook-controller-deployment "
                "profiles-deployment tensorboard-controller-deployment tensorboards-web-app-deployment training-operator "
                "volumes-web-app-deployment workflow-controller",
}
# Components that are not in Hekla yet: 0/N and NotYetInHekla, never a false Ready.
NOT_YET = re.compile(r"^(katib|kserve|metadata)-|^kubeflow-pipelines-profile|^(activator|autoscaler|controller|domain|net-istio|webhook)")
SEED = """
kustomize build common/cert-manager/cert-manager/base > compnentFile/001-cert-manager.yaml
kustomize build common/cert-manager/kubeflow-issuer/base > compnentFile/002-kubeflow-issuer.yaml
kustomize build common/istio-1-14/istio-crds/base > compnentFile/003-istio-crds.yaml
kustomize build common/istio-1-14/istio-namespace/base > compnentFile/004-istio-namespace.yaml
kustomize build common/istio-1-14/istio-install/base > componentFile/005-istio-install.yaml
kustomize build common/dex/overlays/istio > componentFile/006-dex-overlays-istio.yaml
kustomize build common/oidc-authservice/base > componentFile/007-oidc-authservice.yaml
kustomize build common/kubeflow-namespace/base > componentFile/008-kubeflow-namespace.yaml
kustomize build common/knative/knative-serving/overlays/gateways > componentFile/009-knative-serving.yaml
kustomize build common/istio-1-14/cluster-local-gateway/base > 010-cluster-local-gateway.yaml
kustomize build common/knative/knative-eventing/base > 011-knative-eventing.yaml
kustomize build apps/centraldashboard/upstream/overlays/kserve > 012.centraldashboard.yaml
kustomize build apps/admission-webhook/upstream/overlays/cert-manager > 013-admission-webhook.yaml
kustomize build common/kubeflow-roles/base > componentFile/014-kubeflow-roles.yaml
kustomize build common/istio-1-14/kubeflow-istio-resources/base > componentFile/015-kubeflow-istio-resources.yaml
kustomize build apps/jupyter/notebook-controller/upstream/overlays/kubeflow > componentFile/016-notebook-controller
kustomize build apps/jupyter/jupyter-web-app/upstream/overlays/istio > componentFile/017-jupyter-web-app.yaml
kustomize build apps/profiles/upstream/overlays/kubeflow > componentFile/018-profiles.yaml
kustomize build apps/volumes-web-app/upstream/overlays/istio > componentFile/019-volumes-web-app.yaml
kustomize build apps/tensorboard/tensorboards-web-app/upstream/overlays/istio > componentFile/020-tensorboards-web-app.yaml
kustomize build apps/tensorboard/tensorboard-controller/upstream/overlays/kubeflow > componentFile/021-tensorboard-controller.yaml
kustomize build apps/training-operator/upstream/overlays/kubeflow > componentFile/022-training-operator.yaml
kustomize build apps/katib/upstream/installs/katib-with-kubeflow > componentFile/023-katib-with-kubeflow.yaml
kustomize build contrib/kserve/kserve > componentFile/024.kserve.yaml
kustomize build contrib/kserve/models-web-app/overlays/kubeflow > componentFile/025-models-web-app.yaml
kustomize build apps/pipeline/upstream/env/cert-manager/platform-agnostic-multi-user > componentFile/026-platform-agnostic-multi-user.yaml
kustomize build common/user-namespace/base > 027-user-namespace.yaml
"""
PNS = """
kustomize build apps/pipeline/upstream/env/platform-agnostic-multi-user-pns > componentFile/026-platform-agnostic-multi-user-pns.yaml
"""


def settled(value):
    """An object without what differs from one moment to the next."""
    value = json.loads(json.dumps(value))
    metadata = value["metadata"]
    for member in ("resourceVersion", "uid", "creationTimestamp", "managedFields", "generation", "deletionTimestamp"):
        metadata.pop(member, None)
    annotations = metadata.get("annotations", {})
    for name in ("deployment.kubernetes.io/revision", "hekla.io/wanted-hash"):  # the hash knows the owner's uid
        annotations.pop(name, None)
    if not annotations:
        metadata.pop("annotations", None)
    for owner in metadata.get("ownerReferences", []):
        owner.pop("uid", None)
    spec = value.get("spec")
    if isinstance(spec, dict):  # addresses and ports that were given
        for member in ("clusterIP", "clusterIPs", "volumeName"):
            spec.pop(member, None)
        for port in spec.get("ports", []) if isinstance(spec.get("ports"), list) else []:
            port.pop("nodePort", None)
    value.pop("status", None)
    return value


class Installs(put.PlatformTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.place = tempfile.mkdtemp(prefix="hekla-tutorials-")
        cls.addClassCleanup(shutil.rmtree, cls.place, ignore_errors=True)
        cls.tree = MANIFESTS or os.path.join(cls.place, "manifests")
        print("manifests: %s" % (MANIFESTS or "look-alikes made from test/tutorials/inventory"), flush=True)
        if not MANIFESTS:
            look_alikes.write_tree("kubeflow-1.6.0", cls.tree)
            look_alikes.write_stream("local-path-0.0.20", os.path.join(cls.tree, "local-path-storage.yaml"))
        cls.newest = os.path.join(cls.place, "newest")
        look_alikes.write_tree("kubeflow-master-2026-04", cls.newest)
        tools = os.path.join(cls.place, "bin")
        os.makedirs(tools)
        os.symlink(cls.platform.tool, os.path.join(tools, "kubectl"))
        for name in ("kfctl", "Kfctl", "docker"):
            os.symlink(put.HEKLA, os.path.join(tools, name))
        with open(os.path.join(tools, "kustomize"), "w", opener=lambda path, flags: os.open(path, flags, 0o755)) as file:
            file.write('#!/bin/sh\n[ "$1" = build ] && exec kubectl kustomize "$2"\n')
        cls.environment = dict(os.environ, KUBECONFIG=cls.platform.kubeconfig, HOME=cls.platform.home,
                               PATH=tools + ":" + os.environ["PATH"])

    def shell(self, text, directory=None, check=True, timeout=5 * put.PATIENCE):
        begun = time.monotonic()
        done = subprocess.run(["bash", "-c", text], cwd=directory or self.tree, env=self.environment, capture_output=True,
                              text=True, timeout=timeout)
        print("== %.0f s: %s" % (time.monotonic() - begun, text.strip().splitlines()[0][:100]), flush=True)
        if check and done.returncode != 0:
            raise AssertionError("exit %d: %s\n%s\n%s\n--- hekla log\n%s" % (
                done.returncode, text, done.stdout[-3000:], done.stderr[-5000:], self.platform.log()))
        return done

    def everything(self):
        """Every object that stays, by kind, namespace and name."""
        p, found = self.platform, {}
        listed = p.kubectl("api-resources", "--verbs=list,create", "-o", "name").split()
        kinds = sorted(kind for kind in listed if kind not in PASSING and kind + ".v1" not in PASSING)
        for one in p.get(",".join(kinds), "-A")["items"]:
            metadata = one["metadata"]
            found[one["apiVersion"].split("/")[0], one["kind"], metadata.get("namespace", ""), metadata["name"]] = settled(one)
        for pod in p.get("pods", "-A")["items"]:  # their names end in hashes
            owner = re.sub(r"(-[a-f0-9]{6,10})?-[a-z0-9]{5}$", "", pod["metadata"]["name"])
            ready = [one["ready"] for one in pod["status"].get("containerStatuses", [])]
            found["v1", "Pod", pod["metadata"]["namespace"], owner] = {"phase": pod["status"].get("phase"), "ready": ready}
        return found

    def steady(self):
        """Everything, when it has not changed for a moment."""
        def unchanged():
            before = self.everything()
            time.sleep(3)
            return before if before == self.everything() else None
        return put.wait_for("nothing changes any more", unchanged)

    def assert_same(self, before, after):
        self.assertEqual(sorted(set(before) - set(after) - ACCOUNTS), [], "is gone")
        self.assertEqual(sorted(set(after) - set(before)), [], "was left behind")
        for key in set(before) & set(after):
            self.assertEqual(after[key], before[key], key)

    def assert_platform_works(self):
        p = self.platform
        p.apply_text(JOB)
        p.wait_phase("after-install", "Completed")
        p.kubectl("delete", "vcjob", "after-install")
        p.apply_text(POD)
        put.wait_for("the plain pod has run", lambda: p.get("pod", "plain", "-n", "kubeflow")["status"]["phase"] == "Succeeded")
        self.assertEqual(p.kubectl("logs", "plain", "-n", "kubeflow"), "it runs\n")
        p.kubectl("delete", "pod", "plain", "-n", "kubeflow")

    def assert_front_door(self):
        """kubectl port-forward svc/istio-ingressgateway, and the login page behind it."""
        put.wait_for("the gateway's pod", lambda: [
            pod["status"]["phase"] for pod in self.platform.get(
                "pods", "-n", "istio-system", "-l", "app=istio-ingressgateway")["items"]] == ["Running"])
        port = put.free_port()
        forward = subprocess.Popen(
            ["kubectl", "port-forward", "svc/istio-ingressgateway", "-n", "istio-system", "%d:80" % port],
            env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        try:
            self.assertIn(b"Forwarding from 127.0.0.1:%d -> 8080" % port, put.line_of(forward))
            with urllib.request.urlopen("http://localhost:%d/" % port, timeout=put.PATIENCE) as answer:
                self.assertIn("<html", answer.read().decode().lower())
        finally:
            forward.terminate()
            forward.wait(put.PATIENCE)
            forward.stdout.close()

    def assert_pods(self, more=""):
        """The seven `get pods`; `more`: in the namespace kubeflow."""
        for namespace, names in PODS.items():
            wanted = sorted((names + " " + more if namespace == "kubeflow" else names).split())

            def all_there(namespace=namespace, wanted=wanted):
                rows = [row.split() for row in self.shell("kubectl get pods -n " + namespace).stdout.splitlines()[1:]]
                found = sorted(re.sub(r"(-[a-f0-9]{6,10}-[a-z0-9]{5}|-\d+)$", "", row[0]) for row in rows)
                self.assertEqual(found, wanted)
                for name, ready, status, restarts in (row[:4] for row in rows):
                    have, of = ready.split("/")
                    states = [(of, "Running", "0")] + [("0", "NotYetInHekla", "0")] * bool(NOT_YET.search(name))
                    self.assertIn((have, status, restarts), states, name)
                return True
            put.wait_for("the pods of " + namespace, all_there, 60)

    def file_names(self, text):
        return [line.rsplit("> ", 1)[1] for line in text.strip().splitlines()]

    def typed_file_by_file(self, sed, pns):
        before = self.steady()
        directory = tempfile.mkdtemp(dir=self.place)
        lines = SEED.strip().splitlines()
        if pns:
            lines = [PNS.strip() if "> componentFile/026" in line else line for line in lines]
        self.shell("mkdir %s/compnentFile %s/componentFile" % (directory, directory))
        self.shell("\n".join(line.replace("> ", "> %s/" % directory) for line in lines))
        if sed:
            self.shell("sed -i 's/gcr.io/gcr.m.daocloud.io/g' ./*/* ./0*", directory)
        files = self.file_names("\n".join(lines))
        for file in files:
            self.shell("kubectl apply -f " + file, directory)  # exit 0 at the first pass
        self.assert_pods("cache-deployer-deployment" if pns else "")
        self.assert_platform_works()
        for file in reversed(files):
            self.shell("kubectl delete --ignore-not-found -f " + file, directory)
        self.assert_platform_works()
        self.assert_same(before, self.steady())

    def test_1_local_path(self):
        p, before = self.platform, self.steady()
        self.shell("kubectl apply -f local-path-storage.yaml")
        self.shell("kubectl rollout status -n local-path-storage deployment/local-path-provisioner --timeout=60s")
        put.wait_for("one pod", lambda: re.fullmatch(
            r"local-path-provisioner-\w+-\w+ +1/1 +Running +0 .*\n",
            self.shell("kubectl get pod -n local-path-storage --no-headers").stdout))
        self.shell("""kubectl patch storageclass local-path -p '{"metadata": {"annotations":"""
                   """{"storageclass.kubernetes.io/is-default-class":"true"}}}'""")
        self.assertRegex(self.shell("kubectl get sc").stdout,
                         r"\nlocal-path \(default\) +rancher.io/local-path +Delete +WaitForFirstConsumer +false ")
        self.assert_platform_works()
        self.shell("kubectl delete -f local-path-storage.yaml")
        put.wait_for("the class is back", lambda: p.get("storageclass", "local-path"))
        self.assert_same(before, self.steady())

    def test_2_all_in_one_stream(self):
        before = self.steady()
        done = self.shell("kustomize build example | kubectl apply -f -")  # the loop's body: its first pass ends it
        self.assertNotIn("unchanged", done.stdout)
        self.assert_pods()
        self.assert_front_door()
        self.assertIn("deployment.apps/ml-pipeline ", self.shell("kubectl -n kubeflow get all").stdout)
        self.assert_platform_works()
        self.shell("while ! kustomize build example | kubectl apply -f -; do echo again; exit 1; done")
        self.shell("kustomize build example | kubectl delete --ignore-not-found -f -")
        self.assert_platform_works()
        self.assert_same(before, self.steady())

    def test_0_the_front_door_is_there_before_anything_is_installed(self):
        self.assert_front_door()

    def test_3_file_by_file(self):
        self.typed_file_by_file(sed=False, pns=False)

    def test_4_by_a_mirror_and_without_docker(self):
        self.typed_file_by_file(sed=True, pns=True)

    def test_5_the_newest_by_server_side_apply(self):
        before = self.steady()
        build = "kubectl kustomize example"
        self.shell(build + " | kubectl apply --server-side --force-conflicts -f -", self.newest)
        self.assert_platform_works()
        self.shell(build + " | kubectl delete --ignore-not-found -f -", self.newest)
        self.assert_platform_works()
        self.assert_same(before, self.steady())


if __name__ == "__main__":
    unittest.main()
