"""The audit log of `hekla up` and of `hekla apiserver`: a policy file, requests, and the lines they leave."""
import json
import os
import shutil
import tempfile
import unittest

import api_server
import platform_under_test as put

# Each level for a resource of its own.
POLICY = """
apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- {level: None, resources: [{resources: [secrets]}]}
- {level: Metadata, resources: [{resources: [configmaps]}]}
- {level: Request, resources: [{resources: [serviceaccounts]}]}
- {level: RequestResponse, resources: [{resources: [services]}], namespaces: [default], omitManagedFields: true}
"""


class Audit(unittest.TestCase):
    def setUp(self):
        self.directory = tempfile.mkdtemp(prefix="hekla-e2e-audit-")
        self.addCleanup(shutil.rmtree, self.directory, ignore_errors=True)
        self.log = os.path.join(self.directory, "audit.log")
        policy = os.path.join(self.directory, "policy.yaml")
        with open(policy, "w") as file:
            file.write(POLICY)
        self.flags = ["--audit-log-path", self.log, "--audit-policy-file", policy]

    def events(self, resource, **wanted):
        with open(self.log) as file:
            events = [json.loads(line) for line in file]
        return [event for event in events if event["objectRef"]["resource"] == resource and
                all(event.get(key) == value for key, value in wanted.items())]

    def only(self, *arguments, **wanted):
        # The line is written when the answer has been: it may come after it.
        found = put.wait_for("a line", lambda: self.events(*arguments, **wanted))
        self.assertEqual(len(found), 1, found)
        return found[0]

    def test_up_writes_a_line_for_each_level(self):
        platform = put.Platform("--no-agent", *self.flags)
        self.addCleanup(platform.destroy)
        platform.up()
        platform.kubectl("create", "secret", "generic", "audited", "--from-literal=password=hush")
        platform.kubectl("create", "configmap", "audited", "--from-literal=a=1")
        platform.kubectl("create", "serviceaccount", "audited")
        platform.kubectl("create", "service", "clusterip", "audited", "--tcp=80")
        platform.kubectl("get", "configmap", "missing", check=False)
        self.assertEqual(self.events("secrets"), [])
        made = self.only("configmaps", verb="create")
        self.assertEqual((made["level"], made["stage"], made["objectRef"]["name"], made["responseStatus"]["code"]),
                         ("Metadata", "ResponseComplete", "audited", 201))
        self.assertEqual(made["user"]["username"], "kubernetes-admin")
        self.assertRegex(made["user"]["extra"]["authentication.kubernetes.io/credential-id"][0], "^X509SHA256=[0-9a-f]{64}$")
        self.assertNotIn("requestObject", made)
        asked = self.only("serviceaccounts", verb="create")
        self.assertEqual((asked["level"], asked["requestObject"]["metadata"]["name"]), ("Request", "audited"))
        self.assertNotIn("responseObject", asked)
        whole = self.only("services", verb="create")
        self.assertEqual(whole["requestObject"]["spec"]["ports"][0]["port"], 80)
        self.assertRegex(whole["responseObject"]["spec"]["clusterIP"], r"^\d+\.")
        self.assertNotIn("managedFields", whole["responseObject"]["metadata"])
        missing = self.only("configmaps", verb="get")
        self.assertEqual((missing["responseStatus"]["code"], missing["responseStatus"]["reason"]), (404, "NotFound"))

    def test_the_api_server_alone_does_the_same(self):
        server = api_server.ApiServer(*self.flags)
        self.addCleanup(server.destroy)
        server.start()
        client = server.connect()
        client.call("POST", "/api/v1/namespaces/default/configmaps", {"metadata": {"name": "audited"}})
        client.call("POST", "/api/v1/namespaces/default/serviceaccounts", {"metadata": {"name": "audited"}})
        self.assertEqual(self.only("configmaps", verb="create")["level"], "Metadata")
        self.assertEqual(self.only("serviceaccounts", verb="create")["level"], "Request")

    def test_a_policy_without_a_log_is_a_mistake(self):
        done = put.subprocess.run([put.HEKLA, "up", "--no-agent", "--data-dir", self.directory] + self.flags[2:],
                                  capture_output=True, text=True, timeout=put.PATIENCE)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("--audit-policy-file: say where to write: --audit-log-path", done.stderr)


if __name__ == "__main__":
    unittest.main()
