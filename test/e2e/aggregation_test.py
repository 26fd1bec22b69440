"""Another API server behind Hekla's: a server on loopback that believes only who has the front proxy's certificate, as
those that Kubernetes' libraries make do."""
import base64
import json
import os
import shutil
import subprocess
import tempfile
import time
import unittest

import api_server
import https_server
import platform_under_test as put

PATH = "/apis/zoo.example.org/v1"
SERVICES = "/apis/apiregistration.k8s.io/v1/apiservices"


class Zoo(https_server.JsonHandler):
    """Serves animals, which it forgets with the process."""
    animals = {}
    seen = []  # (user, groups, path)

    def handle_any(self):
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        path, _, query = self.path.partition("?")
        self.seen.append((self.headers.get("X-Remote-User"), self.headers.get_all("X-Remote-Group"), path))
        below = path[len(PATH) + len("/namespaces/default/animals"):].strip("/")
        if path == PATH:
            verbs = ["create", "delete", "get", "list", "watch"]
            self.answer({"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": "zoo.example.org/v1", "resources": [
                {"name": "animals", "singularName": "animal", "namespaced": True, "kind": "Animal", "verbs": verbs,
                 "shortNames": ["an"]}]})
        elif "watch=true" in query or "watch=1" in query:
            self.watch()
        elif self.command == "POST":
            animal = json.loads(body)
            animal["metadata"]["uid"] = "1"
            self.animals[animal["metadata"]["name"]] = animal
            self.answer(animal, 201)
        elif below in self.animals:
            self.answer(self.animals.pop(below) if self.command == "DELETE" else self.animals[below])
        elif below or not path.startswith(PATH):
            self.answer({"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "NotFound", "code": 404,
                         "message": "no such animal"}, 404)
        else:
            self.answer({"kind": "AnimalList", "apiVersion": "zoo.example.org/v1", "metadata": {"resourceVersion": "1"},
                         "items": list(self.animals.values())})

    do_GET = do_POST = do_DELETE = handle_any

    def watch(self):
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for name in ("ape", "bee"):
            event = json.dumps({"type": "ADDED", "object": animal_named(name)}).encode() + b"\n"
            self.wfile.write(b"%x\r\n%s\r\n" % (len(event), event))
            self.wfile.flush()
            time.sleep(0.3)
        self.wfile.write(b"0\r\n\r\n")


def animal_named(name):
    return {"apiVersion": "zoo.example.org/v1", "kind": "Animal", "metadata": {"name": name, "namespace": "default"}}


def own_certificate(directory):
    """tls.crt and tls.key of the service zoo, signed by itself."""
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
                    "-keyout", "tls.key", "-out", "tls.crt", "-subj", "/CN=zoo", "-days", "2",
                    "-addext", "subjectAltName=DNS:zoo.default.svc"], cwd=directory, check=True, capture_output=True)


class Aggregation(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.api = api_server.ApiServer(tokens={"keeper-token": "keeper"}).start()
        cls.addClassCleanup(cls.api.destroy)
        cls.directory = tempfile.mkdtemp(prefix="hekla-e2e-zoo-")
        cls.addClassCleanup(shutil.rmtree, cls.directory, ignore_errors=True)
        cls.client = cls.api.connect()
        cls.addClassCleanup(cls.client.close)
        path = "/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication"
        put.wait_for("the map is there", lambda: cls.client.call("GET", path)[0] == 200)
        told = cls.client.call("GET", path)[1]
        own_certificate(cls.directory)
        cls.server = https_server.Server(Zoo, cls.directory, client_ca=told["data"]["requestheader-client-ca-file"])
        cls.addClassCleanup(cls.server.shutdown)

    def register(self, **spec):
        service = {"metadata": {"name": "zoo"}, "spec": {"type": "ExternalName", "externalName": "localhost"}}
        self.client.call("POST", "/api/v1/namespaces/default/services", service)
        status, answer = self.client.call("POST", SERVICES, {
            "metadata": {"name": "v1.zoo.example.org"},
            "spec": {"group": "zoo.example.org", "version": "v1", "groupPriorityMinimum": 100, "versionPriority": 10,
                     "service": {"namespace": "default", "name": "zoo", "port": self.server.server_port}, **spec}})
        self.assertEqual(status, 201, answer)
        self.addCleanup(self.client.call, "DELETE", SERVICES + "/v1.zoo.example.org")

    def condition(self, wanted):
        """Waits for the condition's reason; returns its message."""
        end = time.monotonic() + put.PATIENCE
        while time.monotonic() < end:
            _, service = self.client.call("GET", SERVICES + "/v1.zoo.example.org")
            conditions = service.get("status", {}).get("conditions", [])
            if conditions and conditions[0]["reason"] == wanted:
                return conditions[0]["message"]
            time.sleep(0.1)
        self.fail("not %s: %s" % (wanted, service))

    def kubectl(self, *arguments, stdin=None):
        config = os.path.join(self.api.directory, "data/admin.kubeconfig")
        done = subprocess.run([put.kubectls()[0], "--kubeconfig", config, *arguments], capture_output=True, text=True,
                              input=stdin, env=dict(os.environ, HOME=self.api.directory), timeout=put.PATIENCE)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def test_its_kinds_are_as_good_as_ours(self):
        with open(os.path.join(self.directory, "tls.crt"), "rb") as file:
            self.register(caBundle=base64.b64encode(file.read()).decode())
        self.assertEqual(self.condition("Passed"), "all checks passed")
        self.assertIn("zoo.example.org/v1", self.kubectl("api-resources", "--api-group=zoo.example.org"))
        self.kubectl("create", "--validate=false", "-f", "-", stdin=json.dumps(animal_named("cat")))
        self.assertEqual(self.kubectl("get", "an", "-o", "name"), "animal.zoo.example.org/cat\n")
        self.assertEqual(Zoo.seen[-1], ("kubernetes-admin", ["system:masters", "system:authenticated"],
                                        PATH + "/namespaces/default/animals"))
        self.kubectl("delete", "animal", "cat", "--wait=false")
        self.assertEqual(self.client.call("GET", PATH + "/namespaces/default/animals/cat")[0], 404)
        keeper = self.api.connect(token="keeper-token")
        self.addCleanup(keeper.close)
        self.assertEqual(keeper.call("GET", PATH + "/namespaces/default/animals")[0], 403)
        self.kubectl("create", "clusterrole", "keeper", "--verb=list", "--resource=animals.zoo.example.org")
        self.kubectl("create", "clusterrolebinding", "keeper", "--clusterrole=keeper", "--user=keeper")
        self.assertEqual(keeper.call("GET", PATH + "/namespaces/default/animals")[0], 200)
        self.assertEqual(Zoo.seen[-1][:2], ("keeper", ["system:authenticated"]))

    def test_a_watch_comes_as_it_happens(self):
        with open(os.path.join(self.directory, "tls.crt"), "rb") as file:
            self.register(caBundle=base64.b64encode(file.read()).decode())
        self.condition("Passed")
        watcher = self.api.connect()
        self.addCleanup(watcher.close)
        watcher.http.request("GET", PATH + "/namespaces/default/animals?watch=true", None,
                             {"Authorization": "Bearer " + api_server.TOKEN})
        response = watcher.http.getresponse()
        begun = time.monotonic()
        self.assertEqual(json.loads(response.readline())["object"]["metadata"]["name"], "ape")
        first = time.monotonic()
        self.assertEqual(json.loads(response.readline())["object"]["metadata"]["name"], "bee")
        self.assertGreater(time.monotonic() - first, 0.1, "both at once, %f s after the head" % (first - begun))
        self.assertEqual(response.read(), b"")

    def test_a_server_that_is_not_the_one_meant_is_not_asked(self):
        self.register()  # without its authority
        self.assertIn("certificate", self.condition("FailedDiscoveryCheck"))
        self.assertEqual(self.client.call("GET", PATH + "/namespaces/default/animals")[0], 503)
        _, groups = self.client.call("GET", "/apis")
        self.assertIn("zoo.example.org", [group["name"] for group in groups["groups"]])


# Says who asks.
POD_PROGRAM = """
import http.server, json, ssl
class H(http.server.BaseHTTPRequestHandler):
  protocol_version = 'HTTP/1.1'
  def do_GET(self):
    answer = {'kind': 'APIResourceList', 'groupVersion': 'zoo.example.org/v1', 'resources': []}
    if self.path != '/apis/zoo.example.org/v1': answer = {'user': self.headers['X-Remote-User']}
    body = json.dumps(answer).encode()
    self.send_response(200); self.send_header('Content-Type', 'application/json')
    self.send_header('Content-Length', str(len(body))); self.end_headers(); self.wfile.write(body)
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain('/tls/tls.crt', '/tls/tls.key')
context.verify_mode = ssl.CERT_REQUIRED
context.load_verify_locations('/tls/front-proxy-ca.crt')
server = http.server.ThreadingHTTPServer(('', 8443), H)
server.socket = context.wrap_socket(server.socket, server_side=True)
server.serve_forever()
"""
POD = """
apiVersion: v1
kind: Pod
metadata: {name: zoo, labels: {app: zoo}}
spec:
  terminationGracePeriodSeconds: 0
  containers: [{name: c, image: any, command: [python3, -c, %s], volumeMounts: [{name: tls, mountPath: /tls}]}]
  volumes: [{name: tls, secret: {secretName: zoo}}]
---
apiVersion: v1
kind: Service
metadata: {name: zoo}
spec: {selector: {app: zoo}, ports: [{port: 443, targetPort: 8443}]}
---
apiVersion: apiregistration.k8s.io/v1
kind: APIService
metadata: {name: v1.zoo.example.org}
spec:
  group: zoo.example.org
  version: v1
  groupPriorityMinimum: 100
  versionPriority: 10
  caBundle: %s
  service: {namespace: default, name: zoo}
"""


class InAPod(put.PlatformTest):
    def test_it_is_reached_through_the_pods_network(self):
        p = self.platform
        directory = tempfile.mkdtemp(prefix="hekla-e2e-zoo-")
        self.addCleanup(shutil.rmtree, directory, ignore_errors=True)
        own_certificate(directory)
        put.wait_for("the map is there", lambda: p.kubectl(
            "get", "configmap", "-n", "kube-system", "extension-apiserver-authentication", check=False).returncode == 0)
        told = p.get("configmap", "extension-apiserver-authentication", "-n", "kube-system")["data"]
        with open(os.path.join(directory, "front-proxy-ca.crt"), "w") as file:
            file.write(told["requestheader-client-ca-file"])
        p.kubectl("create", "secret", "generic", "zoo", *("--from-file=" + os.path.join(directory, name) for name in (
            "tls.crt", "tls.key", "front-proxy-ca.crt")))
        with open(os.path.join(directory, "tls.crt"), "rb") as file:
            p.apply_text(POD % (json.dumps(POD_PROGRAM), base64.b64encode(file.read()).decode()))
        p.kubectl("wait", "--for=condition=Available", "apiservice/v1.zoo.example.org", "--timeout=%ds" % put.PATIENCE)
        self.assertEqual(json.loads(p.kubectl("get", "--raw", PATH + "/animals")), {"user": "kubernetes-admin"})
        p.kubectl("delete", "pod", "zoo")
        p.kubectl("wait", "--for=condition=Available=false", "apiservice/v1.zoo.example.org",
                  "--timeout=%ds" % put.PATIENCE)
        refused = p.kubectl("get", "--raw", PATH + "/animals", check=False)
        self.assertIn("the server is currently unable to handle the request", refused.stderr)


if __name__ == "__main__":
    unittest.main()
