"""The chart deploy/helm/hekla on a Hekla API server: rendered, accepted, equal to its other forms, with rights that suffice and no more than
that; then the chart repository of tools/package, with the lines that tutorials type.

Environment: HEKLA (the binary), HEKLA_CACHE, HELM (the program; make test-chart builds it).
"""
import functools
import glob
import http.server
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import unittest

import yaml

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "e2e"))
import api_server  # noqa: E402
import platform_under_test as put  # noqa: E402
import registry  # noqa: E402

CHART = os.path.join(put.ROOT, "deploy/helm/hekla")
HELM = os.environ["HELM"]
IMAGE = "basic.image=registry.example.com/hekla:1"
SEPARATE = ["--set", "custom.operator_enable=false"]
# What the chart can be asked for: a name, the release, its namespace and the values.
FORMS = [
    ("as it is", "hekla", "hekla-system", []),
    ("with everything", "hekla", "hekla-system", [
        "--set", "custom.web_enable=true,custom.operator_replicas=2,custom.web_replicas=3,custom.cert_manager_enable=true",
        "--set", "custom.service_monitor_enable=true,custom.grafana_dashboard_enable=true,basic.image_pull_secret=pull",
        "--set", "custom.default_ns.disktype=ssd,custom.common_labels.team=blue,custom.scheduler_name=mine",
        "--set-json", 'custom.default_tolerations=[{"key":"x","operator":"Exists"}]']),
    ("in place of Volcano", "volcano", "volcano-system", SEPARATE + ["--set", "custom.scheduler_replicas=2"]),
    ("in place of Volcano, with a certificate of cert-manager's", "other", "batch", SEPARATE + [
        "--set", "custom.cert_manager_enable=true,custom.cert_manager_issuer.name=ca,custom.cert_manager_issuer.kind=ClusterIssuer"]),
]
# Kinds that the cluster has only where somebody has installed what they belong to.
GUESTS = ("ServiceMonitor",)


def run(*words, check=True, **options):
    done = subprocess.run(list(words), capture_output=True, text=True, timeout=2 * put.PATIENCE, **options)
    if check and done.returncode != 0:
        raise AssertionError("%s: exit %d\n%s%s" % (" ".join(words), done.returncode, done.stdout, done.stderr))
    return done


def read(path):
    with open(path) as file:
        return file.read()


def rendered(release, namespace, values):
    done = run(HELM, "template", release, CHART, "-n", namespace, "--set", IMAGE, *values)
    return [one for one in yaml.safe_load_all(done.stdout) if one]


def without_definitions(objects):
    return [one for one in objects if one["kind"] != "CustomResourceDefinition"]


class Rendering(unittest.TestCase):
    def test_helm_finds_no_fault(self):
        for name, _, _, values in FORMS:
            with self.subTest(name):
                said = run(HELM, "lint", "--strict", CHART, "--set", IMAGE, *values).stdout
                self.assertIn("1 chart(s) linted, 0 chart(s) failed", said)

    def test_it_asks_for_an_image(self):
        for _, release, namespace, values in FORMS:
            done = run(HELM, "template", release, CHART, "-n", namespace, *values, check=False)
            self.assertNotEqual(done.returncode, 0)
            self.assertIn("basic.image is not set: give the image of Hekla", done.stderr)

    def test_an_operator_without_work_is_refused(self):
        off = ",".join("custom.%s_enable=false" % part for part in ("scheduler", "controller", "admission", "training", "workbench"))
        done = run(HELM, "template", CHART, "--set", IMAGE, "--set", off, check=False)
        self.assertIn("the operator has nothing to do", done.stderr)

    def test_names_are_volcanos_where_it_stands_in_for_volcano(self):
        objects = without_definitions(rendered("volcano", "volcano-system", SEPARATE))
        names = {(one["kind"], one["metadata"]["name"]) for one in objects}
        for part in ("admission", "controllers", "scheduler"):
            self.assertIn(("Deployment", "volcano-" + part), names)
            self.assertIn(("ServiceAccount", "volcano-" + part), names)
        self.assertIn(("Service", "volcano-admission-service"), names)
        self.assertIn(("ConfigMap", "volcano-scheduler-configmap"), names)
        # A Deployment's selector cannot be changed: an upgrade from Volcano's chart must find it as it was.
        selectors = {one["metadata"]["name"]: one["spec"]["selector"]["matchLabels"] for one in objects if one["kind"] == "Deployment"}
        self.assertEqual(selectors, {"volcano-admission": {"app": "volcano-admission"}, "volcano-controllers": {"app": "volcano-controller"},
                                     "volcano-scheduler": {"app": "volcano-scheduler"}})

    def test_services_reach_pods_and_policies_let_them_in(self):
        for name, release, namespace, values in FORMS:
            objects = rendered(release, namespace, values)
            pods = [one["spec"]["template"] for one in objects if one["kind"] == "Deployment"]
            policies = [one["spec"] for one in objects if one["kind"] == "NetworkPolicy"]
            for service in (one for one in objects if one["kind"] == "Service"):
                with self.subTest(name, service=service["metadata"]["name"]):
                    selector = service["spec"]["selector"].items()
                    (pod,) = [one for one in pods if selector <= one["metadata"]["labels"].items()]
                    (policy,) = [one for one in policies if one["podSelector"]["matchLabels"].items() <= pod["metadata"]["labels"].items()]
                    ports = {port["name"]: port["containerPort"] for port in pod["spec"]["containers"][0]["ports"]}
                    for port in service["spec"]["ports"]:
                        number = ports.get(port["targetPort"], port["targetPort"])
                        self.assertIn(number, ports.values())
                        self.assertIn({"port": number}, policy["ingress"][0]["ports"])

    def test_flags_are_known_to_the_program(self):
        for name, release, namespace, values in FORMS:
            for one in rendered(release, namespace, values):
                if one["kind"] != "Deployment":
                    continue
                with self.subTest(name, deployment=one["metadata"]["name"]):
                    container = one["spec"]["template"]["spec"]["containers"][0]
                    helped = run(put.HEKLA, container["args"][0], "--help").stdout
                    for word in container["args"][1:]:
                        flag = word.split("=")[0]
                        self.assertRegex(helped, r"(?m)(^|[\s,])%s\b" % re.escape("-v" if flag == "-v" else flag), flag)

    def test_kustomize_renders_the_same(self):
        run(os.path.join(put.ROOT, "tools/render_kustomize"), HELM, "--check")
        built = run(put.kubectls()[0], "kustomize", os.path.join(put.ROOT, "deploy/kustomize/base")).stdout
        ours = {(one["kind"], one["metadata"]["name"]): one for one in yaml.safe_load_all(built)}
        charts = {(one["kind"], one["metadata"]["name"]): one for one in rendered("hekla", "hekla-system", ["--set", "basic.image=hekla"])}
        self.assertEqual(set(ours) - set(charts), {("Namespace", "hekla-system")})
        self.assertEqual(set(charts) - set(ours), set())
        listed = {os.path.basename(path) for path in glob.glob(os.path.join(put.ROOT, "api/crds/*.yaml"))}
        with open(os.path.join(put.ROOT, "api/crds/Kustomization")) as file:
            self.assertEqual(set(yaml.safe_load(file)["resources"]), listed)

    def test_the_installer_has_the_same(self):
        printed = run(put.HEKLA, "install", "--image", "hekla", "-o", "yaml").stdout
        ours = {(one["kind"], one["metadata"]["name"]) for one in yaml.safe_load_all(printed) if one}
        charts = {(one["kind"], one["metadata"]["name"]) for one in rendered("hekla", "hekla-system", [])}
        self.assertEqual(ours, charts | {("Namespace", "hekla-system")})

    def test_the_dashboard_shows_what_is_measured(self):
        with open(os.path.join(CHART, "config/dashboard.json")) as file:
            text = file.read()
        sources = "".join(read(path) for path in glob.glob(os.path.join(put.ROOT, "src/**/*.cpp"), recursive=True))
        for metric in set(re.findall(r"volcano_[a-z_]+", text)):
            base = re.sub(r"_bucket$", "", metric)
            self.assertTrue('"%s"' % base in sources or base.startswith("volcano_queue_pod_group_"), metric)


class Lone(unittest.TestCase):
    """`hekla apiserver`, with every kind that the chart speaks of."""

    @classmethod
    def setUpClass(cls):
        cls.directory = tempfile.mkdtemp(prefix="hekla-chart-")
        cls.addClassCleanup(shutil.rmtree, cls.directory, ignore_errors=True)
        policy = cls.file("policy.yaml", "apiVersion: audit.k8s.io/v1\nkind: Policy\nomitStages: [RequestReceived]\n"
                                         "rules: [{level: Metadata}]\n")
        cls.audit = os.path.join(cls.directory, "audit.log")
        cls.server = api_server.ApiServer("--audit-log-path", cls.audit, "--audit-policy-file", policy)
        cls.addClassCleanup(cls.server.destroy)
        cls.server.start()
        cls.kubeconfig = os.path.join(cls.server.directory, "data/admin.kubeconfig")

    @classmethod
    def file(cls, name, text):
        path = os.path.join(cls.directory, name)
        with open(path, "w") as file:
            file.write(text)
        return path

    @classmethod
    def kubectl(cls, *words, check=True, stdin=None):
        return run(put.kubectls()[0], "--kubeconfig", cls.kubeconfig, *words, check=check, input=stdin,
                   env=dict(os.environ, HOME=cls.directory)).stdout

    @classmethod
    def get(cls, *words):
        return json.loads(cls.kubectl("get", *words, "-o", "json"))

    @classmethod
    def create(cls, *objects):
        cls.kubectl("create", "-f", "-", stdin=yaml.safe_dump_all(objects))


GUEST_DEFINITIONS = [("certificates", "Certificate", "cert-manager.io", "v1"), ("issuers", "Issuer", "cert-manager.io", "v1"),
                     ("servicemonitors", "ServiceMonitor", "monitoring.coreos.com", "v1")]


def definition(plural, kind, group, version):
    return {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": plural + "." + group},
            "spec": {"group": group, "scope": "Namespaced", "names": {"plural": plural, "kind": kind},
                     "versions": [{"name": version, "served": True, "storage": True, "schema": {"openAPIV3Schema": {
                         "type": "object", "x-kubernetes-preserve-unknown-fields": True}}}]}}


class Acceptance(Lone):
    def test_the_server_accepts_every_object(self):
        for one in GUEST_DEFINITIONS:
            if self.kubectl("get", "crd", one[0] + "." + one[2], "--ignore-not-found") == "":
                self.create(definition(*one))
        for name, release, namespace, values in FORMS:
            with self.subTest(name):
                self.kubectl("create", "namespace", namespace, check=False)
                objects = rendered(release, namespace, values)
                text = yaml.safe_dump_all(objects)
                said = self.kubectl("apply", "--dry-run=server", "-n", namespace, "-f", "-", stdin=text)
                self.assertEqual(said.count("(server dry run)"), len(objects), said)

    def test_the_installers_objects_too(self):
        self.kubectl("create", "namespace", "hekla-system", check=False)
        printed = run(put.HEKLA, "install", "--image", "hekla:1", "-o", "yaml").stdout
        said = self.kubectl("apply", "--dry-run=server", "-f", "-", stdin=printed)
        self.assertEqual(said.count("(server dry run)"), printed.count("\nkind: "), said)


NODE = {"allocatable": {"cpu": "4", "memory": "8Gi", "pods": "110"}, "capacity": {"cpu": "4", "memory": "8Gi", "pods": "110"},
        "conditions": [{"type": "Ready", "status": "True"}]}
WORK = """
apiVersion: scheduling.volcano.sh/v1beta1
kind: Queue
metadata: {name: team}
spec: {weight: 1, reclaimable: true}
---
apiVersion: scheduling.k8s.io/v1
kind: PriorityClass
metadata: {name: urgent}
value: 1000
---
apiVersion: batch.volcano.sh/v1alpha1
kind: Job
metadata: {name: gang, namespace: default}
spec:
  minAvailable: 2
  queue: team
  plugins: {env: [], svc: [], ssh: []}
  policies: [{event: TaskCompleted, action: CompleteJob}]
  ttlSecondsAfterFinished: 1
  volumes: [{mountPath: /data, volumeClaim: {accessModes: [ReadWriteOnce], storageClassName: late, resources: {requests: {storage: 1Gi}}}}]
  tasks:
  - {name: w, replicas: 2, template: {spec: {restartPolicy: Never, containers: [{name: c, image: i, resources: {requests: {cpu: "1"}}}]}}}
---
apiVersion: batch.volcano.sh/v1alpha1
kind: CronJob
metadata: {name: often, namespace: default}
spec:
  schedule: "* * * * *"
  suspend: true
  jobTemplate: {spec: {tasks: [{name: w, replicas: 1, template: {spec: {containers: [{name: c, image: i}]}}}]}}
---
apiVersion: flow.volcano.sh/v1alpha1
kind: JobTemplate
metadata: {name: step, namespace: default}
spec: {minAvailable: 1, queue: team, tasks: [{name: w, replicas: 1, template: {spec: {restartPolicy: Never, containers: [{name: c, image: i}]}}}]}
---
apiVersion: flow.volcano.sh/v1alpha1
kind: JobFlow
metadata: {name: flow, namespace: default}
spec: {jobRetainPolicy: delete, flows: [{name: step}]}
---
apiVersion: v1
kind: Pod
metadata: {name: plain, namespace: default}
spec: {schedulerName: volcano, containers: [{name: c, image: i}]}
---
apiVersion: batch.volcano.sh/v1alpha1
kind: Job
metadata: {name: doomed, namespace: default}
spec: {minAvailable: 1, queue: team, tasks: [{name: w, replicas: 1, template: {spec: {containers: [{name: c, image: i}]}}}]}
"""
COMMAND = """
apiVersion: bus.volcano.sh/v1alpha1
kind: Command
metadata: {name: stop, namespace: default, ownerReferences: [{apiVersion: batch.volcano.sh/v1alpha1, kind: Job, name: doomed, uid: %s, controller: true}]}
action: AbortJob
target: {apiVersion: batch.volcano.sh/v1alpha1, kind: Job, name: doomed, uid: %s, controller: true}
"""
CLASS = """
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: late}
provisioner: example.com/none
volumeBindingMode: WaitForFirstConsumer
"""
# Rules that this little cluster does not ask for, by part, resource and verb ("*": whichever), and when they are needed.
SELDOM = {
    ("scheduler", "pods", "get"): "a binding that timed out is looked up",
    ("scheduler", "pods", "delete"): "preemption and reclaim",
    ("scheduler", "persistentvolumes", "patch"): "a volume that is there is bound to a claim",
    ("scheduler", "resourceclaims", "patch"): "devices",
    ("scheduler", "resourceclaims/status", "patch"): "devices",
    ("scheduler", "nodes.metrics.k8s.io", "list"): "the plugin usage",
    ("controllers", "hypernodes", "*"): "discovery of the network's topology",
    ("controllers", "hypernodes/status", "*"): "discovery of the network's topology",
    ("controllers", "*/finalizers", "update"): "OwnerReferencesPermissionEnforcement",
    ("scheduler", "pods/status", "patch"): "a pod that cannot be placed is told why",
    ("scheduler", "events", "patch"): "an event that comes again",
    ("scheduler", "persistentvolumeclaims", "patch"): "a claim that waits for its pod",
    ("controllers", "*", "get"): "a write that timed out is looked up",
    ("controllers", "cronjobs/status", "patch"): "a schedule that is due",
    ("controllers", "events", "patch"): "an event that comes again",
    ("controllers", "podgroups", "patch"): "a job that is scaled",
    ("controllers", "queues", "patch"): "a queue without a parent",
    ("controllers", "secrets", "patch"): "a job that comes again",
    ("controllers", "jobs.batch", "get"): "owners of plain pods",
    ("controllers", "daemonsets.apps", "*"): "owners of plain pods",
    ("controllers", "cronjobs", "*"): "a schedule that is due",
    ("controllers", "*", "delete"): "what a job brought along, when its plugin is taken away",
    ("admission", "secrets", "patch"): "a certificate that is renewed",
    ("admission", "customresourcedefinitions", "patch"): "a kind of several versions",
    ("admission", "poddefaults", "watch"): "where the kind is served",
    ("admission", "*", "get"): "what is not yet in the caches when a review asks for it",
}


def qualified(group, resource):
    """As the exceptions name a resource: with its group where kinds of others have the same name."""
    return resource + "." + group if group in ("batch", "apps", "metrics.k8s.io") else resource


def is_seldom(part, resource, verb):
    names = {resource, "*/" + resource.split("/")[1]} if "/" in resource else {resource, "*"}
    return any((part, name, which) in SELDOM for name in names for which in (verb, "*"))


class Rights(Lone):
    """Scheduler, controllers and admission with the flags and the service accounts of the chart."""

    NAMESPACE = "volcano-system"
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.objects = rendered("volcano", cls.NAMESPACE, SEPARATE)
        cls.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": cls.NAMESPACE}})
        kept = ("CustomResourceDefinition", "ServiceAccount", "ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding")
        cls.create(*[one for one in cls.objects if one["kind"] in kept])
        cls.create(*yaml.safe_load_all(CLASS))
        for name in ("n1", "n2"):
            cls.create({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name}}})
            cls.kubectl("patch", "node", name, "--subresource=status", "--type=merge", "-p", json.dumps({"status": NODE}))
            cls.kubectl("patch", "node", name, "--type=merge", "-p", '{"spec":{"taints":null}}')  # that of a new node
        for one in cls.objects:
            if one["kind"] == "Deployment":
                cls.start(one)

    @classmethod
    def kubeconfig_of(cls, account):
        token = cls.kubectl("create", "token", account, "-n", cls.NAMESPACE).strip()
        return cls.file(account + ".kubeconfig", json.dumps({
            "apiVersion": "v1", "kind": "Config", "current-context": "c", "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
            "clusters": [{"name": "c", "cluster": {"server": "https://127.0.0.1:%d" % cls.server.port, "insecure-skip-tls-verify": True}}],
            "users": [{"name": "u", "user": {"token": token}}]}))

    @classmethod
    def start(cls, deployment):
        """The container's arguments; its files are the ConfigMaps', its ports are free ones, and admission is reached by its address."""
        spec = deployment["spec"]["template"]["spec"]
        places = {mount["name"]: mount["mountPath"] for mount in spec["containers"][0].get("volumeMounts", [])}
        words = []
        for word in spec["containers"][0]["args"]:
            for volume in spec.get("volumes", []):
                (data,) = [one["data"] for one in cls.objects if one["kind"] == "ConfigMap"
                           and one["metadata"]["name"] == volume["configMap"]["name"]]
                for name, text in data.items():
                    word = word.replace(places[volume["name"]] + "/" + name, os.path.join(cls.directory, name))
                    cls.file(name, text)
            if word.startswith("--port="):
                port = put.free_port()
                words += ["--port=%d" % port, "--listen-address=127.0.0.1", "--webhook-url=https://127.0.0.1:%d" % port, "--webhook-ip=127.0.0.1"]
            elif not word.startswith(("--enable-healthz", "--enable-metrics")):
                words.append(word)
        name = deployment["metadata"]["name"]
        with open(os.path.join(cls.directory, name + ".log"), "w") as log:
            process = subprocess.Popen([put.HEKLA, *words, "--kubeconfig", cls.kubeconfig_of(name)], stdout=log, stderr=log)
        cls.addClassCleanup(process.wait)
        cls.addClassCleanup(process.terminate)

    def phase(self, kind, name):
        status = self.get(kind, name, "-n", "default").get("status", {})
        return status.get("state", {}).get("phase")

    def play(self, until):
        """Until it is so, pods run where they were placed, claims are bound to what a provisioner has made, and one gang ends."""
        def step():
            for pod in self.get("pods", "-n", "default")["items"]:
                if pod["spec"].get("nodeName") and pod["status"].get("phase") == "Pending":
                    self.status("pod", pod, {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]})
                elif pod["status"].get("phase") == "Running" and pod["metadata"]["name"].startswith(("gang-", "flow-")):
                    self.status("pod", pod, {"phase": "Succeeded"})
            for claim in self.get("pvc", "-n", "default")["items"]:
                chosen = claim["metadata"].get("annotations", {}).get("volume.kubernetes.io/selected-node")
                if chosen and not claim["spec"].get("volumeName"):
                    self.provision(claim)
            return until()
        try:
            put.wait_for("the work is done", step, interval=0.3)
        except AssertionError as error:
            logs = "".join(read(path)[-3000:] for path in glob.glob(os.path.join(self.directory, "volcano-*.log")))
            raise AssertionError("%s\n%s\n%s" % (error, self.kubectl("get", "pods,pvc,podgroups,vcjob,jobflow,events", "-n", "default"), logs)) from error

    def provision(self, claim):
        name, namespace = claim["metadata"]["name"], claim["metadata"]["namespace"]
        self.create({"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": "made"}, "spec": {
            "capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], "storageClassName": "late", "hostPath": {"path": "/made"},
            "claimRef": {"namespace": namespace, "name": name, "uid": claim["metadata"]["uid"]}}})
        self.kubectl("patch", "pvc", name, "-n", namespace, "--type=merge", "-p", json.dumps({
            "metadata": {"annotations": {"pv.kubernetes.io/bind-completed": "yes"}}, "spec": {"volumeName": "made"}}))
        self.status("pvc", claim, {"phase": "Bound"})

    def status(self, kind, one, status):
        self.kubectl("patch", kind, one["metadata"]["name"], "-n", one["metadata"]["namespace"], "--subresource=status", "--type=merge",
                     "-p", json.dumps({"status": status}), check=False)

    def events(self):
        with open(self.audit) as file:
            for line in file:
                event = json.loads(line)
                match = re.fullmatch("system:serviceaccount:%s:volcano-(.*)" % self.NAMESPACE, event["user"]["username"])
                if match:
                    yield match.group(1), event

    def test_1_work_is_done(self):
        put.wait_for("admission is registered", lambda: self.kubectl("get", "validatingwebhookconfigurations", "-o", "name"))
        put.wait_for("the work is taken", lambda: self.kubectl("apply", "-f", "-", stdin=WORK, check=False).count("\n") == 8)
        # Here is no garbage collector who would end the deletion.
        self.play(lambda: self.phase("vcjob", "gang") == "Completed")
        put.wait_for("the time to live is over", lambda: self.get("vcjob", "gang", "-n", "default")["metadata"]["deletionTimestamp"])
        self.play(lambda: self.phase("jobflow", "flow") == "Succeed" and self.phase("vcjob", "doomed") == "Running")
        uid = self.get("vcjob", "doomed", "-n", "default")["metadata"]["uid"]
        self.kubectl("apply", "-f", "-", stdin=COMMAND % (uid, uid))
        put.wait_for("the command is obeyed", lambda: self.phase("vcjob", "doomed") in ("Aborting", "Aborted"))
        refused = run(put.kubectls()[0], "--kubeconfig", self.kubeconfig, "create", "-f", "-", check=False, input=json.dumps({
            "apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job", "metadata": {"name": "bad", "namespace": "default"},
            "spec": {"minAvailable": 5, "tasks": [{"name": "w", "replicas": 1, "template": {"spec": {"containers": [
                {"name": "c", "image": "i"}]}}}]}}))
        self.assertIn("job 'minAvailable' should not be greater than total replicas in tasks", refused.stderr)

    def test_2_nobody_was_refused(self):
        refused = {(part, event["verb"], event["requestURI"]) for part, event in self.events() if event["responseStatus"]["code"] == 403}
        self.assertEqual(refused, set())

    def test_3_no_rule_is_idle(self):
        used = set()
        for part, event in self.events():
            at = event.get("objectRef")
            if at:
                resource = at["resource"] + ("/" + at["subresource"] if at.get("subresource") else "")
                used.add((part, at.get("apiGroup", ""), resource, event["verb"]))
                if event["verb"] == "patch" and event["responseStatus"]["code"] == 201:
                    used.add((part, at.get("apiGroup", ""), resource, "create"))  # an apply that creates needs both
        idle = []
        for one in self.objects:
            if one["kind"] not in ("ClusterRole", "Role") or one["metadata"]["name"] in ("volcano-view", "volcano-edit"):
                continue
            part = one["metadata"]["name"].removeprefix("volcano-")
            for rule in one["rules"]:
                idle += [(part, qualified(group, resource), verb) for group in rule["apiGroups"] for resource in rule["resources"]
                         for verb in rule["verbs"] if (part, group, resource, verb) not in used]
        self.assertEqual([one for one in idle if not is_seldom(*one)], [])

    def test_4_the_registrations_belong_to_the_role(self):
        uid = self.get("clusterrole", "volcano-admission")["metadata"]["uid"]
        for kind in ("validatingwebhookconfigurations", "mutatingwebhookconfigurations"):
            for one in self.get(kind)["items"]:
                self.assertEqual([owner["uid"] for owner in one["metadata"]["ownerReferences"]], [uid], one["metadata"]["name"])


class Repository:
    """The chart repository of tools/package on loopback."""

    def __init__(self, directory):
        run(os.path.join(put.ROOT, "tools/package"), put.HEKLA, directory, "--charts")
        handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=os.path.join(directory, "charts"))
        handler.func.log_message = lambda *_: None
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self.url = "http://127.0.0.1:%d" % self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()


class Tutorial(put.PlatformTest):
    """What a tutorial types to install Volcano, with this repository in the place of Volcano's, on the platform itself."""

    FLAGS = ["--no-agent", "--fake-nodes", "3"]

    def helm(self, *words, check=True):
        return run(HELM, *words, check=check, env=dict(os.environ, KUBECONFIG=self.platform.kubeconfig, HOME=self.platform.home))

    def deployments(self, namespace):
        return {one["metadata"]["name"] for one in self.platform.get("deployments", "-n", namespace)["items"]}

    def works(self, name):
        self.platform.apply_text(put.job(name, 2, "1", "sleep 1"))
        self.platform.wait_phase(name, "Completed")

    def test_volcano_is_installed_and_removed(self):
        p, system = self.platform, "volcano-system"
        repository = Repository(p.home)
        self.addCleanup(repository.close)
        self.assertIn('"volcano-sh" has been added to your repositories', self.helm("repo", "add", "volcano-sh", repository.url).stdout)
        self.assertIn("Update Complete", self.helm("repo", "update").stdout)
        self.helm("install", "volcano", "volcano-sh/volcano", "-n", system, "--create-namespace")
        for name in ("admission", "controllers", "scheduler"):
            p.kubectl("rollout", "status", "deployment/volcano-" + name, "-n", system, "--timeout=60s")
        pods = p.kubectl("get", "pods", "-n", system)
        for name in ("admission", "controllers", "scheduler"):
            self.assertRegex(pods, r"(?m)^volcano-%s-[0-9a-f]+-[0-9a-z]{5} +1/1 +Running " % name)
        self.works("during")
        self.helm("upgrade", "volcano", "volcano-sh/volcano", "-n", system, "--set", "custom.scheduler_replicas=2")
        self.assertIn('release "volcano" uninstalled', self.helm("uninstall", "volcano", "-n", system, "--wait").stdout)
        self.works("afterwards")
        self.assertEqual(self.deployments(system), set())
        put.wait_for("the configuration is back", lambda: p.get("configmap", "volcano-scheduler-configmap", "-n", system))

    def test_hekla_is_installed_and_removed(self):
        p = self.platform
        repository = Repository(p.home)
        self.addCleanup(repository.close)
        self.helm("repo", "add", "own", repository.url)
        said = self.helm("install", "hekla", "own/hekla", "-n", "hekla-system", "--create-namespace", "--wait", "--timeout", "60s").stdout
        self.assertIn("This server is Hekla itself", said)
        self.works("operated")
        self.helm("uninstall", "hekla", "-n", "hekla-system", "--wait")
        self.works("unattended")


class Installer(Lone):
    """hekla install, upgrade and uninstall. Nothing runs Deployments here, so the test plays the part of who does."""

    def hekla(self, *words, check=True):
        return run(put.HEKLA, *words, "--kubeconfig", self.kubeconfig, check=check)

    def present(self, kind, name, namespace="hekla-system"):
        return self.kubectl("get", kind, name, "-n", namespace, "--ignore-not-found") != ""

    def test_1_it_asks_for_an_image(self):
        done = self.hekla("install", check=False)
        self.assertEqual(done.returncode, 2)
        self.assertEqual(done.stderr, "hekla: which image? --image REGISTRY/hekla:VERSION names one that is there, --push REGISTRY/hekla builds and "
                                      "pushes one\n")
        done = self.hekla("upgrade", check=False)
        self.assertEqual(done.stderr, "hekla: hekla is not installed in hekla-system: use hekla install\n")
        self.assertEqual(self.hekla("uninstall", check=False).stderr, "hekla: hekla is not installed in hekla-system\n")

    def test_2_it_installs_and_says_what_is_missing(self):
        foreign = definition("queues", "Queue", "scheduling.volcano.sh", "v1beta1")
        foreign["spec"]["scope"] = "Cluster"
        self.create(foreign)
        done = self.hekla("install", "--image", "registry.example.com/hekla:1", "--timeout", "2s", check=False)
        self.assertEqual(done.returncode, 1)
        self.assertIn("customresourcedefinition.apiextensions.k8s.io/jobs.batch.volcano.sh created\n", done.stdout)
        self.assertIn("queues.scheduling.volcano.sh kept, for it is somebody else's\n", done.stdout)
        self.assertIn("deployment.apps/hekla-operator created\n", done.stdout)
        self.assertEqual(done.stderr, "hekla: still waiting for deployment/hekla-operator: 0 of 1 ready\n")
        again = self.hekla("install", "--image", "registry.example.com/hekla:1", check=False)
        self.assertEqual(again.stderr, "hekla: hekla is installed in hekla-system already: use hekla upgrade\n")

    def test_3_it_upgrades(self):
        deployment = self.get("deployment", "hekla-operator", "-n", "hekla-system")
        self.kubectl("patch", "deployment", "hekla-operator", "-n", "hekla-system", "--subresource=status", "--type=merge", "-p", json.dumps({
            "status": {"observedGeneration": deployment["metadata"]["generation"] + 1, "replicas": 1, "updatedReplicas": 1, "availableReplicas": 1,
                       "readyReplicas": 1}}))
        stale = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "of-an-old-version", "namespace": "hekla-system", "labels": {
            "app.kubernetes.io/managed-by": "hekla", "app.kubernetes.io/name": "hekla"}}}
        self.create(stale)
        said = self.hekla("upgrade").stdout
        self.assertIn("deployment.apps/hekla-operator unchanged\n", said)
        self.assertIn("configmap/of-an-old-version deleted\n", said)
        self.assertTrue(said.endswith("hekla runs in hekla-system\n"), said)
        self.assertIn("deployment.apps/hekla-operator configured\n", self.hekla("upgrade", "--image", "registry.example.com/hekla:2").stdout)
        deployment = self.get("deployment", "hekla-operator", "-n", "hekla-system")
        self.assertEqual(deployment["spec"]["template"]["spec"]["containers"][0]["image"], "registry.example.com/hekla:2")

    def test_4_it_goes_and_leaves_objects(self):
        self.create({"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job", "metadata": {"name": "kept", "namespace": "default"},
                     "spec": {"tasks": [{"name": "w", "replicas": 1, "template": {"spec": {"containers": [{"name": "c", "image": "i"}]}}}]}})
        registration = {"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration", "metadata": {"name": "left"},
                        "webhooks": [{"name": "left.hekla.io", "sideEffects": "None", "admissionReviewVersions": ["v1"], "clientConfig": {
                            "service": {"name": "hekla-webhook", "namespace": "hekla-system"}}}]}
        self.create(registration)
        said = self.hekla("uninstall").stdout
        for name in ("deployment.apps/hekla-operator", "clusterrole.rbac.authorization.k8s.io/hekla-operator", "namespace/hekla-system",
                     "validatingwebhookconfiguration.admissionregistration.k8s.io/left"):
            self.assertIn(name + " deleted\n", said)
        self.assertTrue(self.present("vcjob", "kept", "default"))
        self.assertFalse(self.present("clusterrole", "hekla-operator"))
        self.assertEqual(self.hekla("uninstall", "--crds", check=False).returncode, 0)
        put.wait_for("the kinds are gone", lambda: not self.present("crd", "jobs.batch.volcano.sh"))
        self.assertTrue(self.present("crd", "queues.scheduling.volcano.sh"))

    def test_6_it_builds_and_pushes_its_image(self):
        store = registry.Registry()
        self.addCleanup(store.close)
        self.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "pushed"}})
        data = os.path.join(self.directory, "data")
        run(put.HEKLA, "image", "login", store.host, "-u", "user", "-p", "secret", "--data-dir", data)
        said = run(put.HEKLA, "install", "--kubeconfig", self.kubeconfig, "-n", "pushed", "--push", store.host + "/hekla", "--logins", data,
                   "--no-wait").stdout
        version = json.loads(run(put.HEKLA, "version", "-o", "json").stdout)["version"]
        self.assertIn("pushing %s/hekla:%s\n" % (store.host, version), said)
        deployment = self.get("deployment", "hekla-operator", "-n", "pushed")
        image = deployment["spec"]["template"]["spec"]["containers"][0]["image"]
        self.assertRegex(image, r"^%s/hekla@sha256:[0-9a-f]{64}$" % re.escape(store.host))
        self.assertEqual(store.tags["hekla:" + version], image.split("@")[1])

    def test_5_helms_is_left_to_helm(self):
        self.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "helms"}})
        self.create(*[dict(one, metadata=dict(one["metadata"], namespace="helms")) for one in rendered("hekla", "helms", [])
                      if one["kind"] == "Deployment"])
        for verb, words in (("install", ["--image", "x"]), ("upgrade", []), ("uninstall", [])):
            done = self.hekla(verb, "-n", "helms", *words, check=False)
            self.assertRegex(done.stderr, r"^hekla: hekla in helms was installed by helm: use helm (upgrade|uninstall) hekla -n helms\n$")


if __name__ == "__main__":
    unittest.main()
