"""A Kubernetes control plane on loopback, with nodes that kwok plays, and processes of Hekla beside it that log in as
their service accounts."""
import concurrent.futures
import glob
import http.client
import json
import os
import re
import signal
import subprocess
import sys
import time
import urllib.request

import yaml

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "differential"))
import servers  # noqa: E402

ROOT = servers.ROOT
HEKLA = servers.HEKLA
PATIENCE = 120.0
NAMESPACE = "hekla-system"
KUBECONFIG = """
apiVersion: v1
kind: Config
current-context: c
contexts: [{name: c, context: {cluster: c, user: u}}]
clusters: [{name: c, cluster: {server: "https://127.0.0.1:%d", certificate-authority: %s}}]
users: [{name: u, user: %s}]
"""


def wait_for(what, condition, timeout=PATIENCE, interval=0.1):
    """Polls until condition() is true; its value."""
    deadline = time.monotonic() + timeout
    while True:
        try:
            value, missing = condition(), None
            if value:
                return value
        except (LookupError, OSError, RuntimeError) as error:
            missing = error
        if time.monotonic() > deadline:
            raise AssertionError("%s: not within %d s (%s)" % (what, timeout, missing))
        time.sleep(interval)


class ControlPlane:
    def __init__(self, nodes=20, cpu="32", memory="256Gi", pods="110"):
        self.server = servers.kubernetes()
        self.directory = self.server.directory
        self.api_command = self.server.processes[1].args
        self.helpers = []
        try:
            self.server.wait_ready()
            self.admin = self.path("admin.kubeconfig")
            self.write(self.admin, KUBECONFIG % (self.server.port, self.path("ca.crt"), "{client-certificate: %s, client-key: %s}" % (
                self.path("admin.crt"), self.path("admin.key"))))
            self.start_helpers()
            self.add_nodes(nodes, {"cpu": cpu, "memory": memory, "pods": pods})
        except BaseException:
            self.stop()
            raise

    def path(self, name):
        return os.path.join(self.directory, name)

    def write(self, path, text):
        with open(path, "w") as file:
            file.write(text)
        return path

    def start_helpers(self):
        parts = []
        for part in (os.path.join(servers.PEERS, "kwok-stages.yaml"), os.path.join(ROOT, "test/cluster/stages.yaml")):
            with open(part) as file:
                parts.append(file.read())
        stages = self.write(self.path("stages.yaml"), "---\n".join(parts))
        kwok, manager = servers.free_ports(2)
        self.start_helper("kwok", "--kubeconfig", self.admin, "--manage-all-nodes=false",
                          "--manage-nodes-with-annotation-selector", "kwok.x-k8s.io/node=fake",
                          "--node-lease-duration-seconds", "0", "--server-address", "127.0.0.1:%d" % kwok, "--config", stages)
        self.start_helper("kube-controller-manager", "--kubeconfig", self.admin, "--bind-address", "127.0.0.1",
                          "--secure-port", str(manager), "--leader-elect=false",
                          "--service-account-private-key-file", self.path("sa.key"), "--root-ca-file", self.path("ca.crt"),
                          "--use-service-account-credentials=false", "--cert-dir", self.directory,
                          "--controllers", "*,-node-lifecycle-controller,-node-ipam-controller,-node-route-controller,"
                          "-cloud-node-lifecycle-controller,-service-lb-controller")

    def start_helper(self, name, *arguments):
        with open(self.path(name + ".log"), "ab") as log:
            self.helpers.append(subprocess.Popen([os.path.join(servers.PEERS, "bin", name)] + list(arguments), stdout=log,
                                                 stderr=log, start_new_session=True, cwd=self.directory))

    def add_nodes(self, count, resources):
        def add(number):
            self.call("POST", "/api/v1/nodes", {
                "apiVersion": "v1", "kind": "Node",
                "metadata": {"name": "fake-%d" % number, "annotations": {"kwok.x-k8s.io/node": "fake"},
                             "labels": {"kubernetes.io/hostname": "fake-%d" % number}},
                "status": {"allocatable": resources, "capacity": resources}})
        for number in range(count):
            add(number)
        wait_for("nodes are ready", lambda: count == sum(
            any(c["type"] == "Ready" and c["status"] == "True" for c in node["status"].get("conditions", []))
            for node in self.list("/api/v1/nodes")))

    # ---- the API ----

    def call(self, method, path, body=None, headers=None, expect=(200, 201, 202)):
        answer = self.server.ask(method, path, body, headers)
        if answer.code not in expect:
            raise RuntimeError("%s %s: %s %s" % (method, path, answer.code, str(answer.body)[:500]))
        return answer.body

    def list(self, path):
        return self.call("GET", path)["items"]

    def apply(self, *arguments, text=None):
        """kubectl apply --server-side."""
        command = [os.path.join(servers.PEERS, "bin/kubectl"), "--kubeconfig", self.admin, "apply", "--server-side",
                   "--force-conflicts"]
        done = subprocess.run(command + list(arguments) + (["-f", "-"] if text else []), input=text, text=True,
                              capture_output=True, timeout=PATIENCE)
        if done.returncode:
            raise RuntimeError(done.stderr)
        return done.stdout

    def refused(self, text):
        """Why the object is not taken."""
        try:
            self.apply(text=text)
        except RuntimeError as error:
            return str(error)
        raise AssertionError("it was taken: " + text)

    def server_metrics(self, name):
        """Of the API server: {labels: value}."""
        text = self.server.ask("GET", "/metrics", headers={"Accept": "text/plain"}).raw.decode()
        return samples(text, name)

    def restart_api_server(self, pause=3.0):
        process = self.server.processes[1]
        process.send_signal(signal.SIGKILL)
        process.wait()
        time.sleep(pause)
        with open(self.path("kube-apiserver.log"), "ab") as log:
            self.server.processes[1] = subprocess.Popen(self.api_command, stdout=log, stderr=log, start_new_session=True,
                                                        cwd=self.directory)
        self.server.connection = None
        self.server.wait_ready()

    # ---- Hekla ----

    def install(self, *rbac):
        """CRDs, and for each process of deploy/rbac its account with its rights."""
        crds = sorted(glob.glob(os.path.join(ROOT, "api/crds/*.yaml")))
        self.apply(*[part for crd in crds for part in ("-f", crd)])
        wait_for("the CRDs are served", lambda: self.list("/apis/batch.volcano.sh/v1alpha1/jobs") == []
                 and self.list("/apis/kubeflow.org/v1/tfjobs") == [] and self.list("/apis/kubeflow.org/v1/pytorchjobs") == [])
        self.apply(text=json.dumps({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}))
        for process in rbac:
            self.grant(process)
        wait_for("the default account", lambda: self.server.ask(
            "GET", "/api/v1/namespaces/default/serviceaccounts/default").code == 200)

    def grant(self, process, without=()):
        """Gives the account of a process the rights of deploy/rbac, but for some resources."""
        account = {"kind": "ServiceAccount", "name": "hekla-" + process, "namespace": NAMESPACE}
        objects = [dict(apiVersion="v1", kind="ServiceAccount", metadata={k: account[k] for k in ("name", "namespace")})]
        for role in rules_of(process):
            for rule in role["rules"]:
                rule["resources"] = [one for one in rule["resources"] if one not in without]
            role["rules"] = [rule for rule in role["rules"] if rule["resources"]]
            metadata = dict(role["metadata"])
            objects += [role, dict(apiVersion=role["apiVersion"], kind=role["kind"] + "Binding", metadata=metadata,
                                   subjects=[account], roleRef={"apiGroup": "rbac.authorization.k8s.io", "kind": role["kind"],
                                                                "name": metadata["name"]})]
        self.apply(text=yaml.safe_dump_all(objects))

    def token(self, namespace, account):
        spec = {"expirationSeconds": 36000}
        return self.call("POST", "/api/v1/namespaces/%s/serviceaccounts/%s/token" % (namespace, account), {
            "apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": spec})["status"]["token"]

    def kubeconfig_of(self, process):
        """A login with a token of the process's account."""
        path = self.write(self.path(process + ".token"), self.token(NAMESPACE, "hekla-" + process))
        return self.write(self.path(process + ".kubeconfig"), KUBECONFIG % (
            self.server.port, self.path("ca.crt"), "{tokenFile: %s}" % path))

    def stop(self):
        for process in reversed(self.helpers):
            end(process)
        self.server.stop()


def rules_of(process):
    with open(os.path.join(ROOT, "deploy/rbac", process + ".yaml")) as file:
        return list(yaml.safe_load_all(file))


def end(process, timeout=20):
    if process.poll() is None:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(timeout)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
    if process.stdout:
        process.stdout.close()
    return process.returncode


def samples(text, name):
    """The samples of one metric in the text that Prometheus reads: {labels: value}."""
    found = {}
    for line in text.splitlines():
        match = re.match(re.escape(name) + r"(?:\{(.*)\})? ([-+.e\d]+)$", line)
        if match:
            found[tuple(sorted(re.findall(r'(\w+)="([^"]*)"', match[1] or "")))] = float(match[2])
    return found


class Operator:
    """hekla operator as a process of its own."""
    SHORT_LEASE = ["--leader-elect-lease-duration", "8s", "--leader-elect-renew-deadline", "6s", "--leader-elect-retry-period",
                   "500ms"]

    def __init__(self, plane, *arguments, program=HEKLA):
        self.webhook_port, self.port = servers.free_ports(2)
        self.log = plane.path("operator-%d.log" % self.port)
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(
                [program, "operator", "--kubeconfig", plane.kubeconfig_of("operator"), "--namespace", NAMESPACE,
                 "--listen-address", "127.0.0.1:%d" % self.port, "--webhook-listen-address", "127.0.0.1",
                 "--webhook-port", str(self.webhook_port), "--webhook-ip", "127.0.0.1",
                 "--webhook-url", "https://127.0.0.1:%d" % self.webhook_port, "--shutdown-delay", "0s"] + list(arguments),
                stdout=log, stderr=log, start_new_session=True)

    def get(self, path):
        with urllib.request.urlopen("http://127.0.0.1:%d%s" % (self.port, path), timeout=10) as answer:
            return answer.read().decode()

    def wait_ready(self):
        wait_for("the operator is ready", lambda: self.get("/readyz") == "ok")
        return self

    def requests(self):
        """What it has asked of the API server: {(verb, resource, outcome): count}."""
        return {(dict(labels)["verb"], dict(labels)["resource"], dict(labels)["outcome"]): int(value)
                for labels, value in samples(self.get("/metrics"), "hekla_api_requests_total").items()}

    def forbidden(self):
        return sorted(one for one in self.requests() if one[2] == "Forbidden")

    def kill(self):
        self.process.kill()
        self.process.wait()

    def end(self):
        return end(self.process)


class Web:
    """hekla web as a process of its own."""

    def __init__(self, plane):
        self.port, self.health = servers.free_ports(2)
        with open(plane.path("web.log"), "ab") as log:
            self.process = subprocess.Popen(
                [HEKLA, "web", "--kubeconfig", plane.kubeconfig_of("web"), "--listen", "127.0.0.1:%d" % self.port,
                 "--health-listen", "127.0.0.1:%d" % self.health], stdout=log, stderr=log, start_new_session=True)

    def get(self, path, token=None):
        """(status, body), redirects not followed."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        try:
            connection.request("GET", path, headers={"Authorization": "Bearer " + token} if token else {})
            response = connection.getresponse()
            return response.status, response.read().decode()
        finally:
            connection.close()

    def wait_ready(self):
        def ready():
            with urllib.request.urlopen("http://127.0.0.1:%d/readyz" % self.health, timeout=10) as answer:
                return answer.read() == b"ok"
        wait_for("the page is served", ready)
        return self

    def end(self):
        return end(self.process)


def in_parallel(work, items, workers=8):
    with concurrent.futures.ThreadPoolExecutor(workers) as pool:
        return list(pool.map(work, items))
