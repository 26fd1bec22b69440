"""A node that keeps itself fit: images built and shared while it runs, limits of pods, eviction, UDP node ports."""
import os
import shutil
import socket
import subprocess
import tempfile
import unittest

import platform_under_test as put

PODS = """
apiVersion: v1
kind: Pod
metadata: {name: trained}
spec:
  restartPolicy: Never
  containers: [{name: c, image: "lab/train:1", args: ["--steps", "3"]}]
---
apiVersion: v1
kind: Pod
metadata: {name: forks}
spec:
  restartPolicy: Never
  containers:
  - name: c
    image: host
    command: [python3, -c, "%(bomb)s"]
---
apiVersion: v1
kind: Pod
metadata: {name: fills}
spec:
  restartPolicy: Never
  volumes: [{name: scratch, emptyDir: {sizeLimit: 1Mi}}]
  containers:
  - name: c
    image: host
    command: [sh, -c, "dd if=/dev/zero of=/scratch/x bs=1M count=3 2>/dev/null; sleep 300"]
    volumeMounts: [{name: scratch, mountPath: /scratch}]
---
apiVersion: v1
kind: Pod
metadata: {name: hides}
spec:
  restartPolicy: Never
  containers:
  - name: c
    image: host
    command: [sh, -c, "dd if=/dev/zero of=/etc/hosts bs=1M count=3 2>/dev/null; sleep 300"]
    resources: {limits: {ephemeral-storage: 1Mi}}
---
apiVersion: v1
kind: Pod
metadata: {name: echo, labels: {app: echo}}
spec:
  terminationGracePeriodSeconds: 1
  containers:
  - name: c
    image: host
    command: [python3, -u, -c, "%(echo)s"]
---
apiVersion: v1
kind: Service
metadata: {name: echo}
spec:
  type: NodePort
  selector: {app: echo}
  ports: [{protocol: UDP, port: 53, targetPort: 5353}]
"""
BOMB = r"""
import os, time
made = 0
try:
    while made < 500:
        if os.fork() == 0:
            time.sleep(2)
            os._exit(0)
        made += 1
except OSError as error:
    print('stopped after', made, error.strerror)
"""
ECHO = r"""
import socket
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.bind(('0.0.0.0', 5353))
while True:
    data, client = s.recvfrom(2000)
    s.sendto(b'echo ' + data, client)
"""


def ask_udp(port, text):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
        client.settimeout(2)
        client.sendto(text, ("127.0.0.1", port))
        try:
            return client.recv(2000)
        except OSError:
            return b""


class Upkeep(put.PlatformTest):
    FLAGS = ["--pod-max-pids", "60"]

    def quoted(self, program):
        return program.strip().replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")

    def build(self):
        directory = tempfile.mkdtemp(prefix="hekla-e2e-upkeep-")
        self.addCleanup(shutil.rmtree, directory, True)
        with open(os.path.join(directory, "train.py"), "w") as file:
            file.write("import os, sys\nprint('trained', sys.argv[1:], os.getcwd(), os.environ['KIND'])\n")
        with open(os.path.join(directory, "Dockerfile"), "w") as file:
            file.write("FROM lab/base:1\nWORKDIR /app\nADD . /app\nENV KIND=built\n"
                       'ENTRYPOINT ["python3", "train.py"]\n')
        subprocess.run([put.HEKLA, "image", "build", "-q", "--data-dir", self.platform.data_dir, "-t", "lab/train:1",
                        "--image-map", "lab/*=host", directory], check=True, timeout=put.PATIENCE)

    def status(self, pod):
        return self.platform.get("pod", pod)["status"]

    def condition(self, kind):
        node = self.platform.get("nodes")["items"][0]
        return next(one["status"] for one in node["status"]["conditions"] if one["type"] == kind)

    def test_upkeep(self):
        p = self.platform
        self.build()
        p.apply_text(PODS % {"bomb": self.quoted(BOMB), "echo": self.quoted(ECHO)})
        put.wait_for("the image built beside the platform has run",
                     lambda: self.status("trained").get("phase") == "Succeeded")
        self.assertEqual(p.kubectl("logs", "trained"), "trained ['--steps', '3'] /app built\n")
        image = self.status("trained")["containerStatuses"][0]["imageID"]
        self.assertRegex(image, "^docker.io/lab/train@sha256:")
        busy = subprocess.run([put.HEKLA, "image", "rm", "--data-dir", p.data_dir, "lab/none:1"], capture_output=True)
        self.assertEqual(busy.returncode, 1)
        put.wait_for("the fork bomb is contained", lambda: self.status("forks").get("phase") == "Succeeded")
        self.assertRegex(p.kubectl("logs", "forks"), r"^stopped after [1-5]?\d Resource temporarily unavailable")
        port = p.get("service", "echo")["spec"]["ports"][0]["nodePort"]
        put.wait_for("an answer over UDP", lambda: ask_udp(port, b"one") == b"echo one")
        put.wait_for("another", lambda: ask_udp(port, b"two") == b"echo two")  # a datagram may be lost
        put.wait_for("the pod that filled its volume is evicted", lambda: self.status("fills").get("phase") == "Failed")
        full = self.status("fills")
        self.assertEqual((full["reason"], full["message"]),
                         ("Evicted", 'Usage of EmptyDir volume "scratch" exceeds the limit "1Mi". '))
        put.wait_for("the pod that filled its hosts file is evicted",
                     lambda: self.status("hides").get("phase") == "Failed")
        self.assertEqual(self.status("hides")["message"],
                         "Pod ephemeral local storage usage exceeds the total limit of containers 1Mi. ")
        put.wait_for("the node lists its images", lambda: any(
            "docker.io/lab/train:1" in one["names"] for one in p.get("nodes")["items"][0]["status"].get("images", [])))
        self.assertEqual(self.condition("MemoryPressure"), "False")
        # The next process wants more memory than there is.
        p.kill()
        p.flags = ["--eviction-hard", "memory.available<100Ti"]
        p.up()
        put.wait_for("the pod is evicted", lambda: self.status("echo").get("phase") == "Failed")
        evicted = self.status("echo")
        self.assertEqual(evicted["reason"], "Evicted")
        self.assertRegex(evicted["message"], r"^The node was low on resource: memory\. Threshold quantity: 100Ti, "
                         r"available: \w+\. Container c was using \w+, request is 0, has larger consumption of memory\. $")
        self.assertEqual(self.condition("MemoryPressure"), "True")
        put.wait_for("the taint", lambda: any(
            taint["key"] == "node.kubernetes.io/memory-pressure"
            for taint in p.get("nodes")["items"][0]["spec"].get("taints", [])))
        self.assertIn("EvictionThresholdMet", p.kubectl("get", "events", "-A"))


if __name__ == "__main__":
    unittest.main()
