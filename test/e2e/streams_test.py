"""kubectl exec, cp, attach and port-forward, with a new kubectl (WebSocket) and Debian's 1.20 (SPDY)."""
import fcntl
import http.client
import json
import os
import pty
import select
import signal
import socket
import struct
import subprocess
import tempfile
import termios
import time
import unittest
import urllib.request

import platform_under_test as put

POD = """
apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  schedulerName: volcano
  restartPolicy: Never
  terminationGracePeriodSeconds: 1
  containers:
  - name: web
    image: any
    workingDir: /tmp
    command: [python3, -m, http.server, "8000", --bind, 127.0.0.1]
  - {name: second, image: any, stdin: true, command: [sh, -c, 'while read line; do echo "got $line"; done; sleep 100']}
"""

# Says what it was asked; /page is a page, /away leads elsewhere, /echo leaves HTTP behind.
PROXIED_PROGRAM = """
import http.server
class H(http.server.BaseHTTPRequestHandler):
  protocol_version = 'HTTP/1.1'
  def do_GET(self):
    body = self.rfile.read(int(self.headers.get('Content-Length', 0))).decode()
    if self.path == '/echo':
      self.send_response(101); self.send_header('Upgrade', 'echo'); self.send_header('Connection', 'Upgrade')
      self.end_headers(); self.wfile.write(b'<' + self.rfile.read(14) + b'>'); self.close_connection = True
      return
    text = (self.command + ' ' + self.path + (' ' + body if body else '')).encode()
    if self.path == '/page': text = b'<a href=\"/top\">x</a><a href=\"next\">y</a>'
    self.send_response(302 if self.path == '/away' else 200)
    if self.path == '/away': self.send_header('Location', '/home'); text = b''
    self.send_header('Content-Type', 'text/html' if self.path == '/page' else 'text/plain')
    self.send_header('Content-Length', str(len(text))); self.end_headers(); self.wfile.write(text)
  do_POST = do_GET
http.server.ThreadingHTTPServer(('', 8000), H).serve_forever()
"""
PROXIED = """
apiVersion: v1
kind: Pod
metadata: {name: proxied, labels: {app: proxied}}
spec:
  terminationGracePeriodSeconds: 0
  containers: [{name: c, image: any, command: [python3, -c, %s], ports: [{containerPort: 8000}]}]
---
apiVersion: v1
kind: Service
metadata: {name: s, labels: {app: proxied}}
spec: {selector: {app: proxied}, ports: [{name: named, port: 81, targetPort: 8000}]}
"""


HANGING = """
apiVersion: v1
kind: Pod
metadata: {name: hanging}
spec:
  schedulerName: volcano
  terminationGracePeriodSeconds: 1
  containers:
  - name: c
    image: any
    command: [sleep, "1000"]
    livenessProbe: {exec: {command: [sleep, "978"]}, timeoutSeconds: 1, periodSeconds: 1, failureThreshold: 1000}
"""


class Streams(put.PlatformTest):
    TOOL = 0

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.platform.tool = put.kubectls()[cls.TOOL]
        cls.platform.apply_text(POD)
        put.wait_for("the pod runs", lambda: cls.platform.get("pod", "web")["status"].get("phase") == "Running")

    def spawn(self, *arguments, **options):
        environment = dict(os.environ, KUBECONFIG=self.platform.kubeconfig, HOME=self.platform.home, TERM="xterm")
        process = subprocess.Popen([self.platform.tool] + list(arguments), env=environment, **options)
        self.addCleanup(lambda: (process.poll() is None and process.kill(), process.wait()))
        return process

    def test_exec_output_and_exit_code(self):
        done = self.platform.kubectl("exec", "web", "-c", "web", "--", "sh", "-c",
                                     "pwd; hostname; echo wrong >&2; exit 3", check=False)
        self.assertEqual(done.stdout, "/tmp\nweb\n")
        self.assertIn("wrong\n", done.stderr)
        self.assertIn("command terminated with exit code 3", done.stderr)
        self.assertEqual(done.returncode, 3)

    def test_logs_without_kubectl(self):
        def logs(*arguments):
            return subprocess.run([put.HEKLA, "logs", "--kubeconfig", self.platform.kubeconfig] + list(arguments),
                                  capture_output=True, text=True, timeout=put.PATIENCE)
        self.platform.apply_text("""
apiVersion: v1
kind: Pod
metadata: {name: talk}
spec:
  schedulerName: volcano
  restartPolicy: Never
  containers:
  - {name: a, image: any, command: [sh, -c, "echo one; echo two; sleep 1; echo three"]}
  - {name: b, image: any, command: [sh, -c, "echo other"]}
""")
        put.wait_for("it talks", lambda: logs("talk", "-c", "a").stdout.startswith("one"))
        self.assertEqual(logs("talk", "-c", "a", "-f").stdout, "one\ntwo\nthree\n")
        self.assertEqual(logs("talk", "-c", "a", "--tail", "1").stdout, "three\n")
        unnamed = logs("talk")
        self.assertEqual(unnamed.returncode, 1)
        self.assertIn("a container name must be specified for pod talk, choose one of: [a b]", unnamed.stderr)
        self.platform.kubectl("delete", "pod", "talk", "--wait=false")

    def test_exec_input_ends(self):
        text = "a line\n" * 50000
        done = self.platform.kubectl("exec", "-i", "web", "-c", "web", "--", "cat", stdin=text)
        self.assertEqual(len(done), len(text))
        self.assertEqual(done, text)

    def test_exec_of_nothing_says_so(self):
        done = self.platform.kubectl("exec", "web", "-c", "web", "--", "no-such-program", check=False)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("executable file `no-such-program` not found in $PATH", done.stderr)
        done = self.platform.kubectl("exec", "web", "-c", "other", "--", "true", check=False)
        self.assertIn("container other is not valid for pod web", done.stderr)
        done = self.platform.kubectl("exec", "nobody", "--", "true", check=False)
        self.assertIn('pods "nobody" not found', done.stderr)

    def test_exec_with_a_terminal(self):
        master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 33, 101, 0, 0))
        process = self.spawn("exec", "-it", "web", "-c", "web", "--", "sh", stdin=slave, stdout=slave, stderr=slave)
        os.close(slave)
        # The size arrives on a stream of its own.
        os.write(master, b"tty; until [ \"$(stty size)\" = '33 101' ]; do sleep 0.1; done; stty size; exit 4\n")
        seen = b""
        deadline = time.time() + put.PATIENCE
        while process.poll() is None and time.time() < deadline:
            if select.select([master], [], [], 0.1)[0]:
                try:
                    seen += os.read(master, 65536)
                except OSError:
                    break
        self.assertEqual(process.wait(put.PATIENCE), 4, seen)
        os.close(master)
        self.assertIn(b"/dev/pts/0", seen)
        self.assertIn(b"\r\n33 101\r\n", seen)

    def test_proxy_to_pods_and_services(self):
        p = self.platform
        p.apply_text(PROXIED % json.dumps(PROXIED_PROGRAM))
        put.wait_for("it serves", lambda: p.kubectl("get", "--raw", "/api/v1/namespaces/default/services/s:named/proxy/",
                                                     check=False).returncode == 0)

        def get(path):
            return p.kubectl("get", "--raw", "/api/v1/namespaces/default" + path, check=False)
        here = "/api/v1/namespaces/default/pods/proxied/proxy"
        self.assertEqual(get("/pods/proxied/proxy/a%20b?x=1&y=%26").stdout, "GET /a%20b?x=1&y=%26")
        self.assertEqual(get("/services/s:81/proxy/tail/").stdout, "GET /tail/")
        self.assertEqual(get("/services/http:s:named/proxy/").stdout, "GET /")
        self.assertEqual(get("/pods/proxied:8000/proxy/page").stdout,
                         '<a href="%s:8000/proxy/top">x</a><a href="next">y</a>' % here[:-len("/proxy")])
        self.assertEqual(p.kubectl("create", "--raw", here + "/put", "-f", "-", stdin="sent"), "POST /put sent")
        for path, said in [("/pods/proxied:9/proxy/", "error trying to reach service"),
                           ("/services/s:82/proxy/", 'no service port 82 found for service "s"'),
                           ("/services/s:other/proxy/", 'no endpoints available for service "s"'),
                           ("/pods/ftp:proxied:1/proxy/", 'invalid pod request "ftp:proxied:1"'),
                           ("/pods/nobody/proxy/", 'pods "nobody" not found')]:
            self.assertIn(said, get(path).stderr)
        # A protocol of its own, both ways, and a redirect that stays below the proxy.
        proxy = self.spawn("proxy", "--port=0", stdout=subprocess.PIPE)
        self.addCleanup(proxy.stdout.close)
        port = int(put.line_of(proxy).decode().rsplit(":", 1)[1])
        with socket.create_connection(("127.0.0.1", port), put.PATIENCE) as client:
            client.sendall(("GET %s/echo HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n" % here).encode())
            seen = b""
            while b"\r\n\r\n" not in seen:
                seen += client.recv(4096)
            self.assertTrue(seen.startswith(b"HTTP/1.1 101 "), seen)
            client.sendall(b"there and back")
            answer = seen.partition(b"\r\n\r\n")[2]
            while len(answer) < len(b"<there and back>"):
                answer += client.recv(4096)
            self.assertEqual(answer, b"<there and back>")
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=put.PATIENCE)
        self.addCleanup(connection.close)
        for path, status, location in [("", 301, here + "/"), ("/away", 302, here + "/home")]:
            connection.request("GET", here + path)
            answer = connection.getresponse()
            self.assertEqual((answer.status, answer.getheader("Location"), answer.read()), (status, location, b""))
        p.kubectl("delete", "pod,service", "--selector=app=proxied", "--wait=false")

    def test_exec_survives_its_client(self):
        process = self.spawn("exec", "web", "-c", "web", "--", "sh", "-c",
                             "echo started; sleep 1; echo out; echo err >&2; echo alive > /tmp/survivor",
                             stdout=subprocess.PIPE)
        self.assertEqual(put.line_of(process), b"started\n")
        process.kill()
        process.stdout.close()
        put.wait_for("the process ended its work", lambda: self.platform.kubectl(
            "exec", "web", "-c", "web", "--", "cat", "/tmp/survivor", check=False).stdout == "alive\n")

    def test_a_terminal_is_hung_up_with_its_client(self):
        master, slave = pty.openpty()
        process = self.spawn("exec", "-it", "web", "-c", "web", "--", "sh", "-c", "echo $$ > /tmp/shell; sleep 977",
                             stdin=slave, stdout=slave, stderr=slave)
        os.close(slave)
        self.addCleanup(os.close, master)

        def alive():
            return self.platform.kubectl("exec", "web", "-c", "web", "--", "sh", "-c",
                                         "kill -0 $(cat /tmp/shell) && echo yes", check=False).stdout == "yes\n"
        put.wait_for("the shell runs", alive)
        process.kill()
        put.wait_for("the shell is gone", lambda: not alive())

    def test_a_probe_that_hangs_leaves_no_process(self):
        self.platform.apply_text(HANGING)
        put.wait_for("the probe has failed", lambda: "Unhealthy" in self.platform.kubectl(
            "get", "events", "--field-selector", "involvedObject.name=hanging"))

        def began():  # of how many probes there is news
            events = self.platform.get("events", "--field-selector", "involvedObject.name=hanging,reason=Unhealthy")
            return sum(event.get("count", 1) for event in events["items"])
        put.wait_for("several have failed", lambda: began() >= 4)
        # Those before are killed when their time is up; if they were not, there would only be more of them.
        put.wait_for("one is there at most", lambda: int(self.platform.kubectl(
            "exec", "hanging", "--", "sh", "-c", "pgrep -fc 'sleep [9]78'", check=False).stdout) <= 1)

    def test_cp_both_ways(self):
        with tempfile.TemporaryDirectory() as directory:
            path = os.path.join(directory, "file")
            content = os.urandom(300000)
            with open(path, "wb") as file:
                file.write(content)
            self.platform.kubectl("cp", path, "web:/tmp/copied", "-c", "web")
            self.platform.kubectl("cp", "web:/tmp/copied", path + ".back", "-c", "web")
            with open(path + ".back", "rb") as file:
                self.assertEqual(file.read(), content)

    def test_attach(self):
        process = self.spawn("attach", "-i", "web", "-c", "second", stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        process.stdin.write(b"one\n")
        process.stdin.flush()
        self.assertEqual(put.line_of(process), b"got one\n")
        process.kill()
        process.stdin.close()
        process.stdout.close()

    def debug(self, *arguments):
        return self.spawn("debug", *arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def test_debug_container_sees_its_targets_processes(self):
        name = "debugger-%d" % self.TOOL
        process = self.debug("-i", "web", "--image=host", "--container=" + name, "--target=web", "--", "sh", "-c",
                             "read line; cat /proc/1/cmdline | tr '\\0' ' '; echo; echo got $line; exit 3")
        out, err = process.communicate(b"hello\n", timeout=put.PATIENCE)
        self.assertIn(b"python3 -m http.server 8000 --bind 127.0.0.1", out, err)
        self.assertIn(b"got hello", out, err)
        ended = put.wait_for("its status", lambda: [
            status["state"]["terminated"] for status in
            self.platform.get("pod", "web")["status"].get("ephemeralContainerStatuses", [])
            if status["name"] == name and "terminated" in status["state"]])
        self.assertEqual(ended[0]["exitCode"], 3)
        self.assertIn("got hello", self.platform.kubectl("logs", "web", "-c", name))
        self.assertEqual(self.platform.get("pod", "web")["status"]["phase"], "Running")

    def test_debug_a_copy_with_shared_processes(self):
        copy = "web-copy-%d" % (self.TOOL + 1)
        process = self.debug("-i", "web", "--image=host", "--copy-to=" + copy, "--share-processes", "--container=look", "--",
                             "sh", "-c", "read line; cat /proc/[0-9]*/cmdline | tr '\\0' ' '")
        out, err = process.communicate(b"\n", timeout=put.PATIENCE)
        self.assertIn(b"http.server", out, err)
        self.platform.kubectl("delete", "pod", copy, "--force")

    def test_debug_the_node(self):
        node = self.platform.get("nodes")["items"][0]["metadata"]["name"]
        process = self.debug("-i", "node/" + node, "--image=host", "--", "sh", "-c", "read line; cat /host/proc/1/comm")
        out, err = process.communicate(b"\n", timeout=put.PATIENCE)
        with open("/proc/1/comm", "rb") as file:
            self.assertIn(file.read(), out, err)

    def test_port_forward(self):
        process = self.spawn("port-forward", "pod/web", ":8000", ":9", stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        ports = []
        while len(ports) < 2:
            line = put.line_of(process).decode()
            self.assertTrue(line, "kubectl has ended")
            if "127.0.0.1" in line:
                ports.append(int(line.split("->")[0].rsplit(":", 1)[1]))
        for _ in range(3):
            with urllib.request.urlopen("http://127.0.0.1:%d/" % ports[0], timeout=put.PATIENCE) as answer:
                self.assertEqual(answer.status, 200)
        with self.assertRaises(Exception):
            urllib.request.urlopen("http://127.0.0.1:%d/" % ports[1], timeout=put.PATIENCE)
        process.send_signal(signal.SIGINT)
        rest = process.stdout.read().decode()
        process.stdout.close()
        self.assertIn("connection refused", rest)


if len(put.kubectls()) > 1:
    class StreamsWithDebiansKubectl(Streams):
        TOOL = -1


if __name__ == "__main__":
    unittest.main()
