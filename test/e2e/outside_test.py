"""Pods and the world outside: a platform in a network namespace of its own, with a neighbour that is "the outside".

Names go to the neighbour's name server, connections to its web server; what belongs to pods never leaves.
"""
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

import platform_under_test as put

OUTSIDE = r"""
import socket, struct, sys, threading
from http.server import BaseHTTPRequestHandler, HTTPServer

class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        body = b'outside'
        self.send_response(200)
        self.send_header('Content-Length', str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    def log_message(self, *_):
        pass

def names():
    server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    server.bind(('10.99.0.2', 53))
    while True:
        query, client = server.recvfrom(4096)
        end = query.index(b'\0', 12) + 5
        good = b'\x07example\x03com\0' in query and query[end - 4:end - 2] == b'\0\x01'
        head = query[:2] + struct.pack('>HHHHH', 0x8180 if good else 0x8183, 1, int(good), 0, 0)
        answer = b'\xc0\x0c\0\x01\0\x01\0\0\0\x05\0\x04' + socket.inet_aton('10.99.0.2') if good else b''
        server.sendto(head + query[12:end] + answer, client)

threading.Thread(target=names, daemon=True).start()
threading.Thread(target=HTTPServer(('169.254.169.254', 80), Handler).serve_forever, daemon=True).start()
HTTPServer(('10.99.0.2', 8080), Handler).serve_forever()
"""
POD = """
apiVersion: v1
kind: Pod
metadata: {name: reaches}
spec:
  restartPolicy: Never
  containers:
  - name: c
    image: host
    command: [python3, -c, "%s"]
"""
PROGRAM = r"""
import socket, time, urllib.request
for _ in range(50):
    try:
        print(urllib.request.urlopen('http://www.example.com:8080/', timeout=3).read().decode())
        break
    except OSError as error:
        last = error
        time.sleep(0.2)
else:
    print('failed', last)
for name in ('nowhere.example.org', 'none.default.svc.cluster.local'):
    try:
        print(socket.gethostbyname(name))
    except OSError as error:
        print(error)
for address in ('10.244.200.200', '10.96.200.200', '169.254.77.1', '169.254.169.254'):
    client = socket.socket()
    client.settimeout(4)
    try:
        client.connect((address, 80))
        print('connected to', address)
    except OSError as error:
        print(address, type(error).__name__)
"""


def run(*command):
    subprocess.run(command, check=True, timeout=put.PATIENCE)


class Outside(unittest.TestCase):
    def setUp(self):
        self.names = ["hekla-e2e-%s-%d" % (kind, os.getpid()) for kind in ("node", "world")]
        node, world = self.names
        for name in self.names:
            run("ip", "netns", "add", name)
            self.addCleanup(subprocess.run, ["ip", "netns", "delete", name])
            run("ip", "-n", name, "link", "set", "lo", "up")
        run("ip", "-n", node, "link", "add", "eth0", "type", "veth", "peer", "name", "eth0", "netns", world)
        for name, address in ((node, "10.99.0.1/24"), (world, "10.99.0.2/24")):
            run("ip", "-n", name, "address", "add", address, "dev", "eth0")
            run("ip", "-n", name, "link", "set", "eth0", "up")
        run("ip", "-n", node, "route", "add", "default", "via", "10.99.0.2")
        # Where a cloud machine would find its credentials.
        run("ip", "-n", world, "address", "add", "169.254.169.254/32", "dev", "eth0")
        self.world = subprocess.Popen(["nsenter", "--net=/run/netns/" + world, sys.executable, "-c", OUTSIDE])
        self.addCleanup(self.end, self.world)
        self.dir = tempfile.mkdtemp(prefix="hekla-e2e-outside-")
        self.addCleanup(shutil.rmtree, self.dir, True)
        with open(os.path.join(self.dir, "resolv.conf"), "w") as file:
            file.write("nameserver 10.99.0.2\n")

    @staticmethod
    def end(process):
        process.send_signal(signal.SIGKILL)
        process.wait()

    def in_node(self, *command, **options):
        return subprocess.run(["nsenter", "--net=/run/netns/" + self.names[0], *command], timeout=put.PATIENCE,
                              capture_output=True, text=True, **options)

    def kubectl(self, *arguments, stdin=None):
        done = self.in_node(put.kubectls()[0], "--kubeconfig", self.data + "/admin.kubeconfig", *arguments, input=stdin)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def up(self, *flags):
        self.data = os.path.join(self.dir, "data")
        with open(os.path.join(self.dir, "log"), "wb") as log:
            hekla = subprocess.Popen(["nsenter", "--net=/run/netns/" + self.names[0], put.HEKLA, "up", "--data-dir", self.data,
                                      "--resolv-conf", os.path.join(self.dir, "resolv.conf"), *flags],
                                     stdout=subprocess.PIPE, stderr=log)
        self.addCleanup(self.stop, hekla)
        self.assertTrue(put.line_of(hekla))

    def test_pods_reach_the_outside(self):
        self.up()
        program = PROGRAM.strip().replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
        self.kubectl("apply", "-f", "-", stdin=POD % program)
        put.wait_for("the pod's end", lambda: self.kubectl(
            "get", "pod", "reaches", "-o", "jsonpath={.status.phase}") in ("Succeeded", "Failed"))
        said = self.kubectl("logs", "reaches").splitlines()
        self.assertEqual(said[:3], ["outside", "[Errno -2] Name or service not known", "[Errno -2] Name or service not known"])
        self.assertNotIn("connected", " ".join(said))
        self.assertEqual(len(said), 7)
        metadata = self.in_node(sys.executable, "-c", "import urllib.request as u; u.urlopen('http://169.254.169.254/', timeout=9)")
        self.assertEqual(metadata.returncode, 0, metadata.stderr)  # the node itself reaches it

    def test_link_local_addresses_are_a_choice(self):
        self.up("--allow-link-local")
        program = "import urllib.request as u; print(u.urlopen('http://169.254.169.254/', timeout=9).read().decode())"
        put.wait_for("the way outside", self.pasta)
        self.kubectl("apply", "-f", "-", stdin=POD % program)
        put.wait_for("the pod's end", lambda: self.kubectl(
            "get", "pod", "reaches", "-o", "jsonpath={.status.phase}") in ("Succeeded", "Failed"))
        self.assertEqual(self.kubectl("logs", "reaches"), "outside\n")

    def test_the_way_outside_is_opened_again(self):
        self.up()
        self.kubectl("apply", "-f", "-", stdin=POD % "import time; time.sleep(300)")
        put.wait_for("the pod", lambda: self.kubectl(
            "get", "pod", "reaches", "-o", "jsonpath={.status.phase}") == "Running")

        def reaches():
            return self.in_node(put.kubectls()[0], "--kubeconfig", self.data + "/admin.kubeconfig", "exec", "reaches", "--",
                                "python3", "-c", "import urllib.request as u; u.urlopen('http://10.99.0.2:8080/', timeout=3)"
                                ).returncode == 0

        put.wait_for("the way outside", reaches)
        first = self.pasta()
        self.assertIsNotNone(first, "no pasta runs in the node's network")
        os.kill(first, signal.SIGKILL)
        put.wait_for("another pasta", lambda: self.pasta(besides=first))
        put.wait_for("the way outside again", reaches)

    def pasta(self, besides=None):
        """The process that carries what leaves this platform's pods; it calls itself passt where the processor is new."""
        node = os.stat("/run/netns/" + self.names[0])
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open("/proc/%s/comm" % pid) as file:
                    name = file.read().strip()
                own = os.stat("/proc/%s/ns/net" % pid)
            except OSError:
                continue
            if name.startswith(("pasta", "passt")) and own.st_ino == node.st_ino and int(pid) != besides:
                return int(pid)
        return None

    def stop(self, hekla):
        hekla.send_signal(signal.SIGTERM)
        hekla.wait(put.PATIENCE)
        hekla.stdout.close()
        put.wait_for("no process and no mount is left", lambda: not put.leftovers(self.dir))
        put.wait_for("no pasta is left", lambda: not self.pasta())


if __name__ == "__main__":
    unittest.main()
