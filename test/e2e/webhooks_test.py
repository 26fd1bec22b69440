"""Admission webhooks over HTTPS: a server on loopback with a certificate authority of its own, which the
configurations carry as caBundle."""
import base64
import json
import os
import shutil
import subprocess
import tempfile
import time

import https_server
import platform_under_test as put


class Webhooks(https_server.JsonHandler):
    """/label labels, /deny refuses what is called bad-*, /sleep answers too late, /broken with status 500, /convert
    converts: v1 has spec.host ("n:1"), v2 spec.name and spec.port."""
    reviews = []

    def do_POST(self):
        review = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        request = review["request"]
        path = self.path.split("?")[0]
        self.reviews.append((path, request))
        if path == "/convert":
            return self.answer({"apiVersion": review["apiVersion"], "kind": "ConversionReview", "response": {
                "uid": request["uid"], "result": {"status": "Success"},
                "convertedObjects": [convert(one, request["desiredAPIVersion"]) for one in request["objects"]]}})
        response = {"uid": request["uid"], "allowed": True}
        if path == "/label":
            patch = [{"op": "add", "path": "/data/by", "value": "webhook"}]
            response.update(patchType="JSONPatch", patch=base64.b64encode(json.dumps(patch).encode()).decode(),
                            warnings=["a key was added"])
        elif path == "/deny" and request["name"].startswith("bad-"):
            response.update(allowed=False, status={"message": "we do not like %s" % request["name"], "code": 403})
        elif path == "/sleep":
            time.sleep(3)
        self.answer({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response},
                    500 if path == "/broken" else 200)


def convert(host, version):
    spec = host["spec"]
    if version.endswith("/v2"):
        name, port = spec.pop("host").split(":")
        spec.update(name=name, port=int(port))
    else:
        spec["host"] = "%s:%d" % (spec.pop("name"), spec.pop("port"))
    return dict(host, apiVersion=version)


def certificates(directory):
    """A CA and a certificate for 127.0.0.1; returns the CA's text."""
    def openssl(*arguments):
        subprocess.run(["openssl"] + list(arguments), cwd=directory, check=True, capture_output=True)
    new_key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    openssl("req", "-x509", *new_key, "-keyout", "ca.key", "-out", "ca.crt", "-subj", "/CN=webhook-ca", "-days", "2")
    openssl("req", *new_key, "-keyout", "tls.key", "-out", "tls.csr", "-subj", "/CN=webhook")
    with open(os.path.join(directory, "san"), "w") as file:
        file.write("subjectAltName=IP:127.0.0.1\n")
    openssl("x509", "-req", "-in", "tls.csr", "-CA", "ca.crt", "-CAkey", "ca.key", "-CAcreateserial", "-days", "2",
            "-extfile", "san", "-out", "tls.crt")
    with open(os.path.join(directory, "ca.crt")) as file:
        return file.read()


class WebhookTest(put.PlatformTest):
    FLAGS = ["--no-agent"]

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        directory = tempfile.mkdtemp(prefix="hekla-e2e-webhook-")
        cls.addClassCleanup(shutil.rmtree, directory, ignore_errors=True)
        cls.directory = directory
        cls.ca = certificates(directory)
        cls.server = https_server.Server(Webhooks, directory)
        cls.addClassCleanup(cls.server.shutdown)

    def configure(self, kind, path, policy="Fail", ca=None):
        name = "test" + path.replace("/", "-")
        webhook = {"name": name + ".hekla.test", "admissionReviewVersions": ["v1"], "sideEffects": "None",
                   "failurePolicy": policy, "timeoutSeconds": 1 if path == "/sleep" else 30,
                   "clientConfig": {"url": "https://127.0.0.1:%d%s" % (self.server.server_port, path),
                                    "caBundle": base64.b64encode((ca or self.ca).encode()).decode()},
                   "rules": [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE", "UPDATE"],
                              "resources": ["configmaps"]}]}
        self.platform.kubectl("apply", "-f", "-", stdin=json.dumps({
            "apiVersion": "admissionregistration.k8s.io/v1", "kind": kind, "metadata": {"name": name},
            "webhooks": [webhook]}))
        self.addCleanup(self.platform.kubectl, "delete", kind, name, "--ignore-not-found")

    def create(self, name):
        return self.platform.kubectl("create", "configmap", name, "--from-literal=a=1", check=False)

    def test_a_mutation_is_stored_and_warned_of(self):
        self.configure("MutatingWebhookConfiguration", "/label")
        made = self.create("labelled")
        self.assertEqual(made.returncode, 0, made.stderr)
        self.assertIn("Warning: a key was added", made.stderr)
        self.assertEqual(self.platform.get("configmap", "labelled")["data"], {"a": "1", "by": "webhook"})
        path, request = Webhooks.reviews[-1]
        self.assertEqual((path, request["operation"], request["resource"]["resource"], request["namespace"]),
                         ("/label", "CREATE", "configmaps", "default"))

    def define_hosts(self, ca):
        def version(called, **properties):
            return {"name": called, "served": True, "storage": called == "v1", "schema": {"openAPIV3Schema": {
                "type": "object", "properties": {"spec": {"type": "object", "properties": {
                    key: {"type": value} for key, value in properties.items()}}}}}}
        self.platform.kubectl("apply", "-f", "-", stdin=json.dumps({
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": "hosts.hekla.test"},
            "spec": {"group": "hekla.test", "scope": "Namespaced", "names": {"plural": "hosts", "kind": "Host"},
                     "versions": [version("v1", host="string"), version("v2", name="string", port="integer")],
                     "conversion": {"strategy": "Webhook", "webhook": {
                         "conversionReviewVersions": ["v1"],
                         "clientConfig": {"url": "https://127.0.0.1:%d/convert" % self.server.server_port,
                                          "caBundle": base64.b64encode(ca.encode()).decode()}}}}}))

    def test_versions_are_converted_by_webhook(self):
        self.define_hosts(self.ca)
        self.addCleanup(self.platform.kubectl, "delete", "crd", "hosts.hekla.test")
        for number in range(3):
            self.platform.kubectl("create", "-f", "-", stdin=json.dumps({
                "apiVersion": "hekla.test/v1", "kind": "Host", "metadata": {"name": "h%d" % number},
                "spec": {"host": "n:%d" % number}}))
        del Webhooks.reviews[:]
        listed = self.platform.get("hosts.v2.hekla.test")["items"]
        self.assertEqual([one["spec"] for one in listed], [{"name": "n", "port": number} for number in range(3)])
        self.assertEqual([(path, len(review["objects"])) for path, review in Webhooks.reviews], [("/convert", 3)])
        self.platform.kubectl("patch", "hosts.v2.hekla.test", "h1", "--type=merge", "-p", '{"spec":{"port":99}}')
        self.assertEqual(self.platform.get("hosts.v1.hekla.test", "h1")["spec"], {"host": "n:99"})
        self.define_hosts(certificates(self.directory))
        refused = self.platform.kubectl("get", "hosts.v2.hekla.test", "h2", check=False)
        self.assertIn("conversion webhook for hekla.test/v1, Kind=Host failed: Post ", refused.stderr)
        self.assertEqual(self.platform.get("hosts.v1.hekla.test", "h2")["spec"], {"host": "n:2"})

    def test_a_denial_is_told_in_the_webhooks_words(self):
        self.configure("ValidatingWebhookConfiguration", "/deny")
        self.assertEqual(self.create("good-one").returncode, 0)
        refused = self.create("bad-one")
        self.assertEqual(refused.returncode, 1)
        self.assertIn('admission webhook "test-deny.hekla.test" denied the request: we do not like bad-one',
                      refused.stderr)
        self.assertEqual(self.platform.kubectl("get", "cm", "bad-one", check=False).returncode, 1)

    def test_a_webhook_gone_is_asked_no_more(self):
        self.configure("ValidatingWebhookConfiguration", "/deny")
        self.assertEqual(self.create("bad-two").returncode, 1)
        self.platform.kubectl("delete", "validatingwebhookconfiguration", "test-deny")
        self.assertEqual(self.create("bad-two").returncode, 0)

    def test_a_late_answer_counts_as_the_policy_says(self):
        self.configure("ValidatingWebhookConfiguration", "/sleep")
        late = self.create("late")
        self.assertEqual(late.returncode, 1)
        self.assertIn('failed calling webhook "test-sleep.hekla.test": failed to call webhook: Post', late.stderr)
        self.assertIn("context deadline exceeded", late.stderr)
        self.configure("ValidatingWebhookConfiguration", "/sleep", policy="Ignore")
        self.assertEqual(self.create("late").returncode, 0)

    def test_a_failing_webhook_counts_as_the_policy_says(self):
        self.configure("MutatingWebhookConfiguration", "/broken")
        self.assertIn("the server responded with the status code 500", self.create("broken").stderr)
        self.configure("MutatingWebhookConfiguration", "/broken", policy="Ignore")
        self.assertEqual(self.create("broken").returncode, 0)

    def test_another_authority_is_not_trusted(self):
        directory = tempfile.mkdtemp(prefix="hekla-e2e-webhook-")
        self.addCleanup(shutil.rmtree, directory)
        self.configure("ValidatingWebhookConfiguration", "/deny", ca=certificates(directory))
        seen = len(Webhooks.reviews)
        refused = self.create("good-two")
        self.assertEqual(refused.returncode, 1)
        self.assertIn("failed calling webhook", refused.stderr)
        self.assertEqual(len(Webhooks.reviews), seen)
