"""A real JupyterLab and a real TensorBoard behind the gateway, as a browser uses them: kernels, terminals and events
over WebSocket, curves of a run, a kill -9 of the platform in between, and what counts as use.

Environment: as for test/e2e/platform_under_test.py. Environments are built once, below HEKLA_CACHE.
"""
import json
import os
import sys
import time
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "e2e")]
import platform_under_test as put  # noqa: E402
from gateway_test import Browser  # noqa: E402
from jupyter import PROTOCOL, Jupyter  # noqa: E402
from platform_under_test import wait_for  # noqa: E402
from web_socket import Refused  # noqa: E402

BUILD = 1200  # how long the first build of an environment may take
NS = "kubeflow-user-example-com"
IMAGE = "kubeflownotebookswg/jupyter-scipy:v1.10.0"
FORM = {"name": "lab", "namespace": NS, "image": IMAGE, "imagePullPolicy": "IfNotPresent", "serverType": "jupyter",
        "cpu": "0.5", "memory": "1Gi", "gpus": {"num": "none"}, "shm": True, "configurations": ["access-ml-pipeline"],
        "affinityConfig": "", "tolerationGroup": "", "datavols": [], "workspace": {"mount": "/home/jovyan", "newPvc": {
            "metadata": {"name": "lab-workspace"},
            "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}}}}
# Event files as TensorFlow writes them: records of length, checksum, bytes, checksum; each an Event with one scalar.
WRITE_CURVE = '''
import os, struct, time
TABLE = []
for n in range(256):
    for _ in range(8):
        n = n >> 1 ^ 0x82f63b78 if n & 1 else n >> 1
    TABLE.append(n)
def checked(data):
    crc = 0xffffffff
    for byte in data:
        crc = TABLE[(crc ^ byte) & 255] ^ crc >> 8
    crc ^= 0xffffffff
    return data + struct.pack("<I", ((crc >> 15 | crc << 17 & 0xffffffff) + 0xa282ead8) & 0xffffffff)
def field(number, kind, payload):
    return bytes([number << 3 | kind]) + (bytes([len(payload)]) if kind == 2 else b"") + payload
os.makedirs("logs/train", exist_ok=True)
with open("logs/train/events.out.tfevents.1.lab", "wb") as out:
    def record(event):
        out.write(checked(struct.pack("<Q", len(event))) + checked(event))
    now = field(1, 1, struct.pack("<d", time.time()))
    record(now + field(3, 2, b"brain.Event:2"))
    for step in range(5):
        value = field(1, 2, b"epoch_loss") + field(2, 5, struct.pack("<f", 1 / (step + 1)))
        record(now + field(2, 0, bytes([step])) + field(5, 2, field(1, 2, value)))
print(os.path.getsize("logs/train/events.out.tfevents.1.lab") > 100, os.getcwd())
'''


class Notebooks(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.port = put.free_port()
        cls.page, cls.content = "http://localhost:%d" % cls.port, "http://content.localhost:%d" % cls.port
        store = os.path.join(put.CACHE, "framework-images")
        os.makedirs(store, exist_ok=True)
        cls.platform = put.Platform("--web-listen", "127.0.0.1:%d" % cls.port, "--cull-idle-time", "600")
        cls.addClassCleanup(cls.platform.destroy)
        os.symlink(store, os.path.join(cls.platform.data_dir, "images"))
        cls.platform.up()
        cls.browser = Browser(cls.port)
        wait_for("the owner of the first profile is let in", cls.log_in, put.PATIENCE, 0.5)
        cls.api("POST", "/jupyter/api/namespaces/%s/notebooks" % NS, FORM)
        wait_for("the notebook runs", lambda: cls.state()["phase"] == "ready", BUILD, 1)
        cls.lab = Jupyter(cls.browser, cls.content, "/notebook/%s/lab" % NS)
        wait_for("JupyterLab is opened", lambda: cls.browser.open(cls.page + cls.lab.prefix + "/lab")[1].status == 200)

    @classmethod
    def log_in(cls):
        form, _, _ = cls.browser.open(cls.page + "/")
        if "/login" in form:
            cls.browser.open(form, method="POST", body="login=user%40example.com&password=12341234",
                             headers={"Content-Type": "application/x-www-form-urlencoded"})
        answer = cls.api("GET", "/api/workgroup/env-info")
        return NS in [one["namespace"] for one in answer["namespaces"]]

    @classmethod
    def api(cls, method, path, body=None):
        token = cls.browser.cookies.get("localhost:%d" % cls.port, {}).get("XSRF-TOKEN", "")
        response, text = cls.browser.ask(cls.page + path, method=method, body=body and json.dumps(body), headers={
            "Accept": "application/json", "Content-Type": "application/json", "X-XSRF-TOKEN": token})
        assert response.status == 200, (method, path, response.status, text)
        return json.loads(text)

    @classmethod
    def state(cls):
        return cls.api("GET", "/jupyter/api/namespaces/%s/notebooks" % NS)["notebooks"][0]["status"]

    def test_cells_run_and_survive_the_platforms_death(self):
        kernel = self.lab.ask("/api/kernels", "POST", {})["id"]
        with self.lab.open_kernel(kernel) as stream:
            self.assertEqual(stream.headers["sec-websocket-protocol"], PROTOCOL)
            self.assertEqual(self.lab.run(stream, "answer = 6 * 7; print(answer)"), "42\n")
            large = self.lab.run(stream, "print('x' * 700_000)")  # Jupyter itself cuts what is more in a second
            self.assertEqual(len(large), 700_001)
            self.platform.kill()
            with self.assertRaises((EOFError, OSError)):
                while True:
                    stream.receive()
        self.platform.up()
        wait_for("the page's session is known again", lambda: self.state()["phase"] == "ready", put.PATIENCE, 0.5)
        wait_for("the notebook is reached again", lambda: self.lab.ask("/api/status"), put.PATIENCE, 0.5)
        self.assertIn(kernel, [one["id"] for one in self.lab.ask("/api/kernels")])
        with self.lab.open_kernel(kernel) as stream:
            self.assertEqual(self.lab.run(stream, "print(answer + 1)"), "43\n")
        self.lab.ask("/api/kernels/" + kernel, "DELETE")

    def test_terminals_and_events(self):
        name = self.lab.ask("/api/terminals", "POST", {})["name"]
        with self.lab.socket("/terminals/websocket/" + name) as terminal:
            terminal.send(json.dumps(["set_size", 24, 80, 600, 800]))
            shown = self.lab.type(terminal, "echo $((6*7)):$PWD:$(id -u):$(command -v git)", "/git")
            self.assertIn("42:/home/jovyan:1000:/", shown)
        self.lab.ask("/api/terminals/" + name, "DELETE")
        self.lab.socket("/api/events/subscribe").close()

    def test_no_other_page_opens_a_terminal(self):
        name = self.lab.ask("/api/terminals", "POST", {})["name"]
        for origin in ("http://evil.example", self.page, "null"):
            with self.assertRaises(Refused) as refused:
                self.lab.socket("/terminals/websocket/" + name, origin=origin)
            self.assertIn(" 403", str(refused.exception))

    def test_a_terminal_counts_as_use(self):
        used = lambda: self.platform.get("notebook", "lab", "-n", NS)["metadata"]["annotations"].get(
            "notebooks.kubeflow.org/last-activity", "")
        name = self.lab.ask("/api/terminals", "POST", {})["name"]
        with self.lab.socket("/terminals/websocket/" + name) as terminal:
            self.lab.type(terminal, "echo $((6*7))", "42")
            wait_for("the first use is written down", used, 130, 1)
            time.sleep(1)
            before = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
            self.lab.type(terminal, "echo $((7*7))", "49")
            wait_for("so is the next", lambda: used() >= before, 130, 1)

    def test_tensorboard_shows_what_the_notebook_wrote(self):
        kernel = self.lab.ask("/api/kernels", "POST", {})["id"]
        with self.lab.open_kernel(kernel) as stream:
            self.assertEqual(self.lab.run(stream, WRITE_CURVE), "True /home/jovyan\n")
        self.api("POST", "/tensorboards/api/namespaces/%s/tensorboards" % NS,
                 {"name": "curves", "logspath": "pvc://lab-workspace/logs", "configurations": []})
        rows = lambda: self.api("GET", "/tensorboards/api/namespaces/%s/tensorboards" % NS)["tensorboards"]
        wait_for("TensorBoard runs", lambda: rows()[0]["status"]["phase"] == "ready", BUILD, 1)
        at = self.content + "/tensorboard/%s/curves/" % NS
        self.assertEqual(self.browser.open(at)[1].status, 200)
        data = lambda path: json.loads(self.browser.ask(at + "data/" + path)[1])
        wait_for("it has found the run", lambda: data("runs") == ["train"])
        points = wait_for("and its curve", lambda: data("plugin/scalars/scalars?run=train&tag=epoch_loss"))
        self.assertEqual([point[1] for point in points], [0, 1, 2, 3, 4])
        self.assertAlmostEqual(points[4][2], 0.2, 5)

    def test_the_notebook_knows_its_clients(self):
        kernel = self.lab.ask("/api/kernels", "POST", {})["id"]
        with self.lab.open_kernel(kernel) as stream:
            said = self.lab.run(stream, "import kfp, kubernetes, boto3, kubeflow.training\n"
                                        "print('experiments:', kfp.Client().list_experiments(namespace=%r).total_size)" % NS)
        self.assertRegex(said, r"(?m)^experiments: (\d+|None)$")


if __name__ == "__main__":
    unittest.main()
