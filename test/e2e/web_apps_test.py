"""The web apps' APIs as scripts of Kubeflow use them: a service account's token and an invented CSRF pair, or a login
with its own; refusals in the originals' words."""
import http.client
import json
import time
import urllib.parse

from platform_under_test import PlatformTest, free_port, wait_for

RIGHTS = """
apiVersion: v1
kind: Namespace
metadata: {name: team}
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: default-editor, namespace: team}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: editors, namespace: team}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: cluster-admin}
subjects: [{kind: ServiceAccount, name: default-editor, namespace: team}]
"""
FORM = {"name": "nb", "namespace": "team", "image": "example/jupyter:v1", "imagePullPolicy": "IfNotPresent",
        "serverType": "jupyter", "cpu": "0.5", "memory": "1Gi", "gpus": {"num": "none"}, "shm": True,
        "configurations": [], "affinityConfig": "", "tolerationGroup": "", "datavols": []}
WORKSPACE = {"mount": "/home/jovyan", "newPvc": {
    "metadata": {"name": "work"},
    "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}}}


class WebTest(PlatformTest):
    """A platform whose web is asked as scripts ask it."""
    @classmethod
    def setUpClass(cls):
        cls.PORT = free_port()
        cls.FLAGS = [*cls.FLAGS, "--web-listen", "127.0.0.1:%d" % cls.PORT]
        super().setUpClass()
        cls.platform.apply_text(RIGHTS)
        cls.token = cls.platform.kubectl("create", "token", "default-editor", "-n", "team").strip()

    def ask(self, method, path, body=None, **headers):
        """Status, answer and the cookies that were set."""
        connection = http.client.HTTPConnection("127.0.0.1", self.PORT, timeout=60)
        sent = {"Host": "localhost:%d" % self.PORT, "Accept": "application/json"}
        sent.update({name.replace("_", "-"): value for name, value in headers.items()})
        if isinstance(body, str):
            sent.setdefault("Content-Type", "application/x-www-form-urlencoded")
        elif body is not None:
            sent["Content-Type"], body = "application/json", json.dumps(body)
        connection.request(method, path, body, sent)
        response = connection.getresponse()
        text = response.read().decode()
        cookies = dict(line.split(";")[0].split("=", 1) for line in response.headers.get_all("Set-Cookie") or [])
        connection.close()
        if "json" not in response.headers.get("Content-Type", ""):
            return response.status, text, cookies, response.headers.get("Location")
        return response.status, json.loads(text), cookies, response.headers.get("Location")

    def with_token(self, method, path, body=None):
        return self.ask(method, path, body, Authorization="Bearer " + self.token, Cookie="XSRF-TOKEN=x",
                        X_XSRF_TOKEN="x")[:2]


class WebApps(WebTest):
    FLAGS = ["--no-agent", "--fake-nodes", "1"]

    def log_in(self):
        """The cookies of a person who has filled in the form."""
        jar, method, path, body = {}, "GET", "/", None
        for _ in range(60):
            status, _, cookies, location = self.ask(method, path, body, Accept="text/html",
                                                    Cookie="; ".join("%s=%s" % one for one in jar.items()))
            jar.update(cookies)
            if status == 200 and "/login" not in path:
                return jar
            if status == 200:
                method, body = "POST", urllib.parse.urlencode({"login": "user@example.com", "password": "12341234"})
                continue
            if status == 503 and method == "POST":  # accounts are read a moment after the start
                time.sleep(0.2)
                continue
            self.assertIsNotNone(location, "%s %s ended with %d" % (method, path, status))
            method, body = "GET", None
            parts = urllib.parse.urlsplit(location)
            path = parts.path + ("?" + parts.query if parts.query else "")
        self.fail("the login leads nowhere: " + path)

    def test_a_token_goes_through_the_form_and_the_volumes(self):
        status, answer = self.with_token("GET", "/jupyter/api/config")
        self.assertEqual((status, answer["success"], answer["user"]),
                         (200, True, "system:serviceaccount:team:default-editor"))
        self.assertEqual(answer["config"]["cpu"]["limitFactor"], "1.2")
        status, answer = self.with_token("POST", "/jupyter/api/namespaces/team/notebooks", FORM)
        self.assertEqual((status, answer.get("message")), (200, "Notebook created successfully."), answer)
        again = self.with_token("POST", "/jupyter/api/namespaces/team/notebooks", FORM)
        self.assertEqual(again[0], 409, again)

        def ready():
            rows = self.with_token("GET", "/jupyter/api/namespaces/team/notebooks")[1]["notebooks"]
            return rows[0]["status"]["phase"] == "ready" and rows[0]
        row = wait_for("the notebook is ready", ready)
        self.assertEqual((row["name"], row["cpu"], row["shortImage"], row["serverType"]),
                         ("nb", "0.5", "jupyter:v1", "jupyter"))
        self.assertEqual(self.with_token("POST", "/jupyter/api/namespaces/team/notebooks",
                                         {**FORM, "name": "disk", "workspace": WORKSPACE})[0], 200)
        claims = self.with_token("GET", "/volumes/api/namespaces/team/pvcs")[1]["pvcs"]
        self.assertEqual([(one["name"], one["notebooks"]) for one in claims], [("work", ["disk"])])
        wait_for("its pod", lambda: self.with_token("GET", "/jupyter/api/namespaces/team/notebooks/disk/pod")[0] == 200)
        status, answer = self.with_token("DELETE", "/volumes/api/namespaces/team/pvcs/work")
        self.assertEqual(status, 409, answer)
        self.assertIn("disk-0", answer["log"])
        status, _ = self.with_token("PATCH", "/jupyter/api/namespaces/team/notebooks/nb", {"stopped": True})
        self.assertEqual(status, 200)
        status, _ = self.with_token("PATCH", "/jupyter/api/namespaces/team/notebooks/nb", {"stopped": True})
        self.assertEqual(status, 409)
        status, answer = self.with_token("DELETE", "/jupyter/api/namespaces/team/notebooks/nb")
        self.assertEqual((status, answer["message"]), (200, "Notebook nb successfully deleted."))
        status, answer = self.with_token("GET", "/jupyter/api/namespaces/default/notebooks")
        self.assertEqual(status, 403)
        self.assertEqual(answer["log"], "User 'system:serviceaccount:team:default-editor' is not authorized to list "
                                        "kubeflow.org/v1/notebooks in namespace 'default'")

    def test_a_session_needs_its_own_csrf_token(self):
        self.assertEqual(self.ask("GET", "/volumes/api/namespaces")[0], 401)
        jar = self.log_in()
        cookie = "; ".join("%s=%s" % one for one in jar.items() if one[0] != "XSRF-TOKEN")
        token = self.ask("GET", "/volumes/", Cookie=cookie, Accept="text/html")[2]["XSRF-TOKEN"]
        body = {"name": "v", "mode": "ReadWriteOnce", "class": "{empty}", "size": "1Gi", "type": "new"}

        def create(cookies, **headers):
            status, answer = self.ask("POST", "/volumes/api/namespaces/team/pvcs", body, Cookie=cookies, **headers)[:2]
            return status, answer["log"]
        self.assertEqual(create(cookie), (403, "Could not find CSRF cookie XSRF-TOKEN in the request."))
        self.assertEqual(create(cookie + "; XSRF-TOKEN=" + token),
                         (403, "Could not detect CSRF protection header X-XSRF-TOKEN."))
        self.assertEqual(create(cookie + "; XSRF-TOKEN=x", X_XSRF_TOKEN="x")[0], 403)
        # And then it is a question of rights.
        status, log = create(cookie + "; XSRF-TOKEN=" + token, X_XSRF_TOKEN=token)
        self.assertEqual((status, log), (403, "User 'user@example.com' is not authorized to create "
                                              "v1/persistentvolumeclaims in namespace 'team'"))
        status, answer, _, _ = self.ask("GET", "/api/workgroup/exists", Cookie=cookie)
        self.assertEqual((status, answer["hasAuth"], answer["user"]), (200, True, "user"))


VOLUME = """
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: work, namespace: team}
spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
---
apiVersion: v1
kind: Pod
metadata: {name: writer, namespace: team}
spec:
  restartPolicy: Never
  terminationGracePeriodSeconds: 0
  containers:
  - name: main
    image: any
    command:
    - sh
    - -c
    - |
      mkdir /data/logs; echo hello > /data/logs/a.txt; ln -s /etc/passwd /data/trap
      while ! grep -q back /data/b.txt; do sleep 0.2; done
    volumeMounts: [{name: work, mountPath: /data}]
  volumes: [{name: work, persistentVolumeClaim: {claimName: work}}]
"""


class VolumeFiles(WebTest):
    def test_files_come_and_go(self):
        self.platform.apply_text(VOLUME)
        files = "/hekla/v1/files/team/work"

        def names(path=""):
            status, answer = self.with_token("GET", files + path)
            return status == 200 and sorted(one["name"] for one in answer["entries"])
        wait_for("the pod has written", lambda: names() == ["logs", "trap"])
        wait_for("the file is whole", lambda: self.with_token("GET", files + "/logs/a.txt") == (200, "hello\n"))
        self.assertEqual(self.with_token("GET", files + "/trap")[0], 403)
        self.assertEqual(self.with_token("GET", files + "/none")[0], 404)
        self.assertEqual(self.with_token("PUT", files + "/b.txt", "and back")[0], 200)
        wait_for("the pod has read it", lambda: self.platform.get(
            "pod", "writer", "-n", "team")["status"]["phase"] == "Succeeded")
        self.assertEqual(self.with_token("DELETE", files + "/logs")[0], 409)
        self.assertEqual(self.with_token("DELETE", files + "/logs/a.txt")[0], 200)
        self.assertEqual(names("/logs"), [])
        self.assertEqual(self.ask("GET", files)[0], 401)
        self.assertEqual(self.with_token("GET", "/hekla/v1/files/default/work")[0], 403)
