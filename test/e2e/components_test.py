"""Controllers, scheduler and admission as processes of their own against an API server that knows nothing of them:
everything over HTTPS, as on somebody's cluster."""
import base64
import glob
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import unittest
import urllib.request

import platform_under_test as put

KUBECONFIG = """
apiVersion: v1
kind: Config
current-context: c
contexts: [{name: c, context: {cluster: c, user: u}}]
clusters: [{name: c, cluster: {server: "%s", certificate-authority-data: %s}}]
users: [{name: u, user: {client-certificate-data: %s, client-key-data: %s}}]
"""
NODE = """
apiVersion: v1
kind: Node
metadata: {name: n1}
status:
  allocatable: {cpu: "8", memory: 16Gi, pods: "20"}
  capacity: {cpu: "8", memory: 16Gi, pods: "20"}
  conditions: [{type: Ready, status: "True"}]
"""
QUEUE_AND_JOB = """
apiVersion: scheduling.volcano.sh/v1beta1
kind: Queue
metadata: {name: together}
spec: {weight: 2}
---
""" + put.job("one", 2, "1").replace("schedulerName: volcano", "queue: together")


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


class Components(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        cls.processes = []
        cls.addClassCleanup(cls.end_all)
        cls.directory = tempfile.mkdtemp(prefix="hekla-e2e-components-")
        cls.addClassCleanup(shutil.rmtree, cls.directory, ignore_errors=True)
        server, line = cls.start("apiserver", "--data-dir", cls.directory + "/data", "--secure-port", "0",
                                 "--disable-admission-plugins", "ServiceAccount", log=False)
        def pem(name):
            with open(os.path.join(cls.directory, "data/pki", name), "rb") as file:
                return base64.b64encode(file.read()).decode()
        cls.platform = put.Platform(data_dir=cls.directory)
        cls.addClassCleanup(shutil.rmtree, cls.platform.home, ignore_errors=True)
        with open(cls.platform.kubeconfig, "w") as file:
            file.write(KUBECONFIG % (line.split()[-1], pem("ca.crt"), pem("admin.crt"), pem("admin.key")))
        cls.platform.kubectl("create", "namespace", "volcano-system")
        crds = sorted(glob.glob(os.path.join(put.ROOT, "api/crds/*.yaml")))
        cls.platform.kubectl("create", *[part for crd in crds for part in ("-f", crd)])
        cls.platform.kubectl("create", "-f", "-", stdin=NODE)
        cls.port, cls.health = free_port(), free_port()
        election = ["--leader-elect-lease-duration", "3s", "--leader-elect-renew-deadline", "2s",
                    "--leader-elect-retry-period", "500ms"]
        # Under the names of the programs they stand in for.
        cls.controllers = [cls.start(*election, name="vc-controller-manager")[0] for _ in range(2)]
        cls.start("--leader-elect=false", "--enable-healthz", "--healthz-address", "127.0.0.1:%d" % cls.health,
                  name="vc-scheduler")
        cls.start("webhook", "--listen-address", "127.0.0.1", "--port", str(cls.port), "--webhook-ip", "127.0.0.1",
                  "--webhook-url", "https://127.0.0.1:%d" % cls.port)
        put.wait_for("the webhooks are registered", lambda: cls.platform.kubectl(
            "get", "validatingwebhookconfigurations", "-o", "name").count("volcano-admission-service") == 7)
        put.wait_for("the default queue", lambda: cls.platform.kubectl(
            "get", "queue", "default", "--ignore-not-found", "-o", "name"))

    @classmethod
    def start(cls, *arguments, name=None, log=True):
        program = put.HEKLA
        if name:
            program = os.path.join(cls.directory, name)
            if not os.path.exists(program):
                os.symlink(put.HEKLA, program)
        flags = ["--kubeconfig", os.path.join(cls.directory, "admin.kubeconfig")] if log else []
        with open(os.path.join(cls.directory, "up.log"), "ab") as file:
            process = subprocess.Popen([program] + list(arguments) + flags, stdout=subprocess.PIPE, stderr=file)
        cls.processes.append(process)
        line = process.stdout.readline().decode().strip()
        if not line:
            raise AssertionError("%s did not start" % (arguments,))
        return process, line

    @classmethod
    def end_all(cls):
        for process in reversed(cls.processes):
            if process.poll() is None:
                process.send_signal(signal.SIGTERM)
                try:
                    process.wait(10)
                except subprocess.TimeoutExpired:
                    process.kill()
                    process.wait()
            process.stdout.close()

    def pods_placed(self, job):
        pods = self.platform.get("pods", "-l", "volcano.sh/job-name=" + job)["items"]
        return [pod["spec"].get("nodeName") for pod in pods]

    def test_1_a_queue_and_a_job_in_one_file(self):
        p = self.platform
        p.apply_text(QUEUE_AND_JOB)
        job = p.get("vcjob", "one")
        self.assertEqual((job["spec"]["schedulerName"], job["spec"]["maxRetry"], job["spec"]["tasks"][0]["minAvailable"]),
                         ("volcano", 3, 2))
        self.assertEqual(p.get("queue", "together")["spec"], {"dequeueStrategy": "traverse", "parent": "root",
                                                            "reclaimable": True, "weight": 2})
        put.wait_for("both pods are placed", lambda: self.pods_placed("one") == ["n1", "n1"])

    def test_2_denials_have_the_webhooks_name(self):
        refused = self.platform.kubectl("apply", "-f", "-", check=False,
                                        stdin=put.job("two", 1, "1").replace("minAvailable: 1", "minAvailable: 3"))
        self.assertEqual(refused.returncode, 1)
        self.assertIn('admission webhook "validatejob.volcano.sh" denied the request: job \'minAvailable\' should not '
                      'be greater than total replicas in tasks;', refused.stderr)
        refused = self.platform.kubectl("delete", "queue", "default", check=False)
        self.assertIn('admission webhook "validatequeue.volcano.sh" denied the request: `default` queue can not be '
                      'deleted', refused.stderr)

    def test_3_another_takes_over(self):
        lease = self.platform.get("lease", "vc-controller-manager", "-n", "volcano-system")
        self.assertEqual(lease["spec"]["leaseTransitions"], 0)
        # Which of the two leads is not known from outside: the first that started nearly always does.
        self.controllers[0].kill()
        self.controllers[0].wait()
        self.platform.apply_text(put.job("three", 1, "1"))
        put.wait_for("the other one works", lambda: self.pods_placed("three") == ["n1"], timeout=30)

    def test_4_health(self):
        with urllib.request.urlopen("http://127.0.0.1:%d/healthz" % self.health, timeout=5) as answer:
            self.assertEqual(answer.read(), b"ok")
        self.assertEqual(subprocess.run([put.HEKLA, "webhook", "--enabled-admission", "/jobs/bake", "--master", "https://x"],
                                        capture_output=True, text=True).stderr,
                         "hekla: --enabled-admission: nothing is served at /jobs/bake\n")


if __name__ == "__main__":
    unittest.main()
