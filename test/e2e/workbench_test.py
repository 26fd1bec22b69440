"""The workbench's kinds as kubectl sees them: a notebook whose image is this machine and a small server."""
import json
import os
import subprocess
import tempfile

from platform_under_test import HEKLA, PlatformTest, wait_for

PROGRAM = """
import http.server, os
class Echo(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        body = (os.environ['NB_PREFIX'] + ' ' + self.path).encode()
        self.send_response(200)
        self.send_header('Content-Length', str(len(body)))
        self.end_headers()
        self.wfile.write(body)
http.server.ThreadingHTTPServer(('', 8888), Echo).serve_forever()
"""
STOPPED = "kubeflow-resource-stopped"


def notebook(name, version="v1"):
    return json.dumps({
        "apiVersion": "kubeflow.org/" + version, "kind": "Notebook", "metadata": {"name": name, "labels": {"app": name}},
        "spec": {"template": {"spec": {"terminationGracePeriodSeconds": 0, "containers": [
            {"name": name, "image": "jupyter-scipy", "workingDir": "/", "command": ["python3", "-c", PROGRAM]}]}}}})


class Workbench(PlatformTest):
    FLAGS = ["--image-map", "*=host", "--web-listen", "none"]

    def status(self, name):
        return self.platform.get("notebook", name).get("status", {})

    def await_ready(self, name, count):
        return wait_for("%d ready" % count, lambda: self.status(name).get("readyReplicas") == count and self.status(name))

    def test_a_notebook_answers_stops_and_starts(self):
        self.platform.apply_text(notebook("nb", "v1beta1"))
        status = self.await_ready("nb", 1)
        self.assertIn("running", status["containerState"])
        self.assertEqual({one["status"] for one in status["conditions"]}, {"True"})
        header, row = self.platform.kubectl("get", "notebooks").splitlines()
        self.assertEqual(header.split(), ["NAME", "AGE"])
        self.assertEqual(row.split()[0], "nb")

        # The Service leads to the server, which knows its prefix.
        self.assertEqual(self.platform.kubectl("get", "--raw", "/api/v1/namespaces/default/services/nb:80/proxy/x"),
                         "/notebook/default/nb /x")
        route = self.platform.get("virtualservices", "notebook-default-nb")
        self.assertEqual(route["spec"]["http"][0]["match"], [{"uri": {"prefix": "/notebook/default/nb/"}}])
        told = wait_for("the pod's events are the notebook's", lambda: [
            one for one in self.platform.get("events", "--field-selector", "involvedObject.kind=Notebook")["items"]
            if one["message"].startswith("Reissued from pod/nb-0: ")])
        self.assertEqual(told[0]["involvedObject"]["name"], "nb")

        self.platform.kubectl("annotate", "notebook", "nb", STOPPED + "=now")
        self.assertEqual(self.await_ready("nb", 0)["containerState"], {})
        self.platform.kubectl("annotate", "notebook", "nb", STOPPED + "-")
        self.await_ready("nb", 1)
        self.platform.kubectl("delete", "notebook", "nb")
        wait_for("its pod goes with it", lambda: not self.platform.get("pods")["items"])
        self.assertEqual(self.platform.get("virtualservices")["items"], [])

    def test_a_profile_is_a_namespace_of_its_own(self):
        seeded = wait_for("the first profile", lambda: self.platform.get("profiles")["items"])
        self.assertEqual(seeded[0]["metadata"]["name"], "kubeflow-user-example-com")
        self.assertEqual(seeded[0]["spec"]["owner"]["name"], "user@example.com")
        self.platform.apply_text(json.dumps({
            "apiVersion": "kubeflow.org/v1beta1", "kind": "Profile", "metadata": {"name": "team"},
            "spec": {"owner": {"kind": "User", "name": "ann@example.com"}, "resourceQuotaSpec": {"hard": {"pods": "3"}}}}))
        wait_for("the profile is made", lambda: self.platform.get("profile", "team").get("status", {}).get(
            "conditions", [{}])[0].get("type") == "Successful")
        may = lambda user, *what: self.platform.kubectl(
            "auth", "can-i", *what, "-n", "team", "--as", user, check=False).stdout.strip()
        wait_for("its owner may", lambda: may("ann@example.com", "create", "notebooks.kubeflow.org") == "yes")
        self.assertEqual(may("eve@example.com", "get", "notebooks.kubeflow.org"), "no")
        self.assertEqual(may("system:serviceaccount:team:default-editor", "create", "pods"), "yes")
        self.assertEqual(may("system:serviceaccount:team:default-viewer", "create", "pods"), "no")

        # A PodDefault of the namespace reaches the pods it picks.
        wait_for("the profile's PodDefault", lambda: self.platform.kubectl(
            "get", "poddefault", "access-ml-pipeline", "-n", "team", check=False).returncode == 0)
        pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {
            "name": "p", "namespace": "team", "labels": {"access-ml-pipeline": "true"}}, "spec": {
                "terminationGracePeriodSeconds": 0, "serviceAccountName": "default-editor", "containers": [
                    {"name": "c", "image": "x", "command": ["sh", "-c", "cat $KF_PIPELINES_SA_TOKEN_PATH; sleep 300"]}]}}
        self.platform.apply_text(json.dumps(pod))
        self.assertIn("poddefault.admission.kubeflow.org/poddefault-access-ml-pipeline",
                      self.platform.get("pod", "p", "-n", "team")["metadata"]["annotations"])
        wait_for("the pod has the token", lambda: self.platform.kubectl(
            "logs", "p", "-n", "team", check=False).stdout.startswith("eyJ"))
        self.platform.kubectl("delete", "profile", "team")
        self.assertEqual(self.platform.kubectl("get", "namespace", "team", "--ignore-not-found"), "")

    def hekla(self, *arguments):
        """Exit code, output and complaints of a command on this platform."""
        done = subprocess.run([HEKLA, *arguments, "--kubeconfig", self.platform.kubeconfig], capture_output=True,
                              text=True, timeout=120)
        return done.returncode, done.stdout, done.stderr

    def test_the_command_line(self):
        self.assertEqual(self.hekla("profile", "create", "lent", "--owner", "bob@example.com", "--group", "readers"),
                         (0, "profile lent is made, with a namespace of that name\n", ""))
        self.assertEqual(self.hekla("profile", "create", "kube-mine", "--owner", "bob@example.com")[::2],
                         (1, "hekla: profile kube-mine: namespace kube-mine is the platform's own\n"))
        self.assertRegex(self.hekla("profile", "list")[1], r"(?m)^lent +bob@example.com,readers +Successful +\d+s$")

        with tempfile.TemporaryDirectory() as directory:
            os.chmod(directory, 0o755)
            self.assertEqual(self.hekla("volume", "add", "data", directory, "--read-only", "-n", "lent")[0], 0)
            reader = json.loads(notebook("reader"))
            spec = reader["spec"]["template"]["spec"]
            spec["volumes"] = [{"name": "d", "persistentVolumeClaim": {"claimName": "data"}}]
            spec["containers"][0]["volumeMounts"] = [{"name": "d", "mountPath": "/d"}]
            self.platform.kubectl("apply", "-n", "lent", "-f", "-", stdin=json.dumps(reader))
            wait_for("the notebook answers", lambda: "Ready" in self.hekla("notebook", "list", "-n", "lent")[1])
            tried = self.platform.kubectl("exec", "-n", "lent", "reader-0", "--", "touch", "/d/x", check=False)
            self.assertIn("Read-only file system", tried.stderr)
            self.assertEqual(os.listdir(directory), [])

            self.assertEqual(self.hekla("notebook", "stop", "reader", "-n", "lent")[0], 0)
            wait_for("it has stopped", lambda: "Stopped" in self.hekla("notebook", "list", "-n", "lent")[1])
            self.assertIn("is stopped: hekla notebook start reader -n lent",
                          self.hekla("notebook", "open", "reader", "-n", "lent")[2])
            self.assertEqual(self.hekla("notebook", "start", "reader", "-n", "lent", "--no-wait")[0], 0)
            wait_for("it answers again", lambda: "Ready" in self.hekla("notebook", "list", "-n", "lent")[1])
            self.assertEqual(self.hekla("notebook", "delete", "reader", "-n", "lent")[0], 0)
            self.platform.kubectl("delete", "profile", "lent")
