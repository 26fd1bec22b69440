"""Malformed, huge, slow and greedy clients. Whatever they do, the API server lives, says no in an orderly way, and serves
somebody who does nothing wrong meanwhile."""
import resource
import socket
import ssl
import threading
import time
import unittest

import api_server
import platform_under_test as put

MAPS = "/api/v1/namespaces/default/configmaps"
PATIENCE = 20.0  # the longest a bystander may wait, on a busy machine


class Bystander(threading.Thread):
    """Reads and writes all the time; notes the longest wait and every failure."""

    def __init__(self, server):
        super().__init__(daemon=True)
        self.client = server.connect()
        self.done = threading.Event()
        self.failures = []
        self.requests = 0
        self.longest = 0.0

    def run(self):
        try:
            while not self.done.is_set():
                for method, path, body, good in (
                        ("PUT", MAPS + "/bystander", {"metadata": {"name": "bystander"}, "data": {"n": "1"}}, 200),
                        ("GET", MAPS + "/bystander", None, 200)):
                    begun = time.time()
                    status, answer = self.client.call(method, path, body)
                    self.longest = max(self.longest, time.time() - begun)
                    self.requests += 1
                    if status != good:
                        self.failures.append((method, status, answer))
                time.sleep(0.01)
        except Exception as error:  # told to the test
            self.failures.append(error)


class HostileClients(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 16384), hard))
        cls.addClassCleanup(resource.setrlimit, resource.RLIMIT_NOFILE, (soft, hard))
        cls.server = api_server.ApiServer(tokens={"jane-token": "jane", "noisy-token": "noisy"})
        cls.addClassCleanup(cls.server.destroy)
        cls.server.start()
        admin = cls.server.connect()
        admin.call("POST", MAPS, {"metadata": {"name": "bystander"}})
        admin.call("POST", "/api/v1/namespaces/default/secrets", {"metadata": {"name": "s"}, "stringData": {"k": "hidden"}})
        admin.call("POST", "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", {
            "metadata": {"name": "noisy"}, "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole",
                                                       "name": "system:aggregate-to-view"},
            "subjects": [{"kind": "User", "apiGroup": "rbac.authorization.k8s.io", "name": "noisy"}]})
        admin.close()

    def setUp(self):
        self.bystander = Bystander(self.server)
        self.bystander.start()
        self.opened = []

    def tearDown(self):
        put.wait_for("somebody was served", lambda: self.bystander.requests > 2 or self.bystander.failures)
        self.bystander.done.set()
        self.bystander.join(put.PATIENCE)
        self.bystander.client.close()
        for one in self.opened:
            one.close()
        self.assertIsNone(self.server.process.poll(), "the server lives:\n" + self.server.log())
        self.assertEqual(self.bystander.failures, [])
        self.assertGreater(self.bystander.requests, 2)
        self.assertLess(self.bystander.longest, PATIENCE)

    def tcp(self):
        sock = socket.create_connection(("127.0.0.1", self.server.port), timeout=put.PATIENCE)
        self.opened.append(sock)
        return sock

    def tls(self):
        sock = self.server.tls.wrap_socket(self.tcp())
        self.opened.append(sock)
        return sock

    def answer(self, data):
        """The first line of what the server says, or "" when it hangs up."""
        sock = self.tls()
        try:
            sock.sendall(data)
            received = sock.recv(65536)
        except (OSError, ssl.SSLError):
            return ""
        return received.split(b"\r\n")[0].decode(errors="replace")

    def head(self, *lines, method="GET", path="/api/v1/pods"):
        return "\r\n".join(["%s %s HTTP/1.1" % (method, path), "Host: h",
                            "Authorization: Bearer " + api_server.TOKEN] + list(lines) + ["", ""]).encode()

    def test_malformed_requests(self):
        for data, expected in (
                (b"\x00\x01\x02\x03\r\n\r\n", ("", "HTTP/1.1 400")),
                (b"GET\r\n\r\n", ("HTTP/1.1 400",)),
                (b"GET / HTTP/9.9\r\n\r\n", ("HTTP/1.1 400", "HTTP/1.1 505")),
                (self.head("Content-Length: 5", "Content-Length: 6", method="POST"), ("HTTP/1.1 400",)),
                (self.head("Content-Length: -1", method="POST"), ("HTTP/1.1 400",)),
                (self.head("Content-Length: 99999999999999999999", method="POST"), ("HTTP/1.1 400", "HTTP/1.1 413")),
                (self.head("Content-Length: 3", "Transfer-Encoding: chunked", method="POST"), ("HTTP/1.1 400",)),
                (self.head("Transfer-Encoding: chunked", method="POST") + b"zz\r\n", ("HTTP/1.1 400",)),
                (self.head("Bad Header: x"), ("HTTP/1.1 400",)),
                (self.head("X: " + "a" * 100000), ("HTTP/1.1 431",)),
                (b"GET /" + b"a" * 100000 + b" HTTP/1.1\r\n\r\n", ("HTTP/1.1 431", "HTTP/1.1 414")),
                (self.head(path="/api/v1/%zz%00"), ("HTTP/1.1 400", "HTTP/1.1 404"))):
            line = self.answer(data)
            self.assertTrue(any(line.startswith(one) if one else line == "" for one in expected), (data[:60], line))

    def test_bodies_nobody_should_send(self):
        client = self.server.connect()
        self.opened.append(client)
        for kind, body, codes in (
                ("application/json", "[" * 100000, (400,)),
                ("application/json", '{"metadata":' * 5000 + "1" + "}" * 5000, (400,)),
                ("application/json", '{"metadata":{"name":"x"},"data":' + '{"a":' * 2000 + "1" + "}" * 2001, (400, 422)),
                ("application/json", "{", (400,)),
                ("application/json", '{"metadata":{"name":"\\ud800"}}', (400, 422)),
                ("application/json", '{"metadata":{"name":1e999}}', (400,)),
                ("application/yaml", "a: &a [x,x,x,x,x,x,x,x,x]\n" + "".join(
                    "%s: &%s [%s]\n" % (b, b, ",".join(["*" + a] * 9)) for a, b in zip("abcdefghi", "bcdefghij")), (400,)),
                ("application/yaml", "[" * 20000, (400,)),
                ("application/vnd.kubernetes.protobuf", "k8s\0" + "\xff" * 1000, (400,)),
                ("text/nonsense", "x", (415,))):
            status, answer = client.call("POST", MAPS, body.encode("latin-1"), {"Content-Type": kind})
            self.assertIn(status, codes, (kind, body[:40], answer))
        client = self.server.connect()
        self.opened.append(client)
        status, answer = client.call("POST", MAPS, "x" * (3 * 1024 * 1024 + 1))
        self.assertEqual((status, answer["reason"], answer["message"]),
                         (413, "RequestEntityTooLarge", "Request entity too large: limit is 3145728"))

    def test_half_handshakes_and_silence(self):
        hello = bytes.fromhex("16030100c8010000c40303") + b"\x11" * 32
        for i in range(300):
            sock = self.tcp()
            if i % 3 == 0:
                sock.sendall(hello)
            elif i % 3 == 1:
                sock.sendall(b"GET / HTTP/1.1\r\nHost: h\r\n\r\n")  # in the clear
        time.sleep(0.5)

    def test_slow_requests(self):
        slow = [self.tls() for _ in range(100)]
        request = self.head("X-Slow: yes")[:-2]
        for at in range(0, 30):
            for sock in slow:
                try:
                    sock.sendall(request[at:at + 1])
                except OSError:
                    pass
            time.sleep(0.02)

    def test_thousands_of_connections(self):
        for _ in range(4000):
            self.tcp()
        client = self.server.connect()
        self.opened.append(client)
        self.assertEqual(client.call("GET", MAPS)[0], 200)

    def test_watches_that_nobody_reads(self):
        watches = [self.tls() for _ in range(100)]
        for sock in watches:
            sock.sendall(self.head(path=MAPS + "?watch=1"))
        client = self.server.connect()
        self.opened.append(client)
        client.call("POST", MAPS, {"metadata": {"name": "large"}})
        before = self.memory_mb()
        for i in range(60):
            status, _ = client.call("PUT", MAPS + "/large", {"metadata": {"name": "large"}, "data": {"x": str(i) * 50000}})
            self.assertEqual(status, 200)
        self.assertLess(self.memory_mb() - before, 400)

    def memory_mb(self):
        with open("/proc/%d/statm" % self.server.process.pid) as file:
            return int(file.read().split()[1]) * resource.getpagesize() / 2**20

    def test_nothing_is_told_to_who_may_not_know(self):
        secret = "/api/v1/namespaces/default/secrets/s"
        paths = [secret, "/api/v1/secrets", "/api/v1/watch/secrets", secret + "/", "/" + secret, "/api/v1/namespaces/"
                 "kube-system/../default/secrets/s", "/api/v1/namespaces/default/configmaps/%2e%2e/secrets/s",
                 "/api/v1/namespaces/default/%73ecrets/s", "/api//v1/namespaces/default/secrets/s", secret + "?watch=1"
                 "&timeoutSeconds=1", "/api/v1/secrets?fieldSelector=metadata.name%3Ds", "/hekla/backup", "/metrics",
                 "/api/v1/namespaces/default/pods/x/exec?command=id", "/apis/apps/v1/deployments"]
        tricks = [{}, {"X-HTTP-Method-Override": "GET"}, {"X-Remote-User": "admin", "X-Remote-Group": "system:masters"},
                  {"Impersonate-User": "admin", "Impersonate-Group": "system:masters"}]
        client = self.server.connect("jane-token")
        self.opened.append(client)
        for path in paths:
            for trick in tricks:
                for method in ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"):
                    status, answer = client.call(method, path, "{}" if method in ("POST", "PUT", "PATCH") else None, trick)
                    self.assertIn(status, (301, 400, 403, 404, 405, 415), (method, path, trick, answer))
                    self.assertNotIn("aGlkZGVu", str(answer))
                    self.assertNotIn("hidden", str(answer))
        for token in ("", "x", "a.b.c", "eyJhbGciOiJub25lIn0.e30.", "jane-toke", "jane-token1"):
            client = self.server.connect(token)
            self.opened.append(client)
            self.assertEqual(client.call("GET", secret)[0], 401)

    def test_a_noisy_client_does_not_starve_others(self):
        admin = self.server.connect()
        self.opened.append(admin)
        for i in range(100):
            admin.call("POST", MAPS, {"metadata": {"name": "n%d" % i}, "data": {"x": "y" * 2000}})
        end = time.time() + 3
        statuses = []

        def flood():
            client = self.server.connect("noisy-token")
            self.opened.append(client)
            while time.time() < end:
                client.http.request("GET", "/api/v1/configmaps", headers={"Authorization": "Bearer noisy-token"})
                response = client.http.getresponse()
                response.read()
                statuses.append(response.status)
                if response.status == 429 and response.getheader("Retry-After") != "1":
                    statuses.append("429 without Retry-After")

        threads = [threading.Thread(target=flood) for _ in range(16)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertLessEqual(set(statuses), {200, 429})
        self.assertIn(200, statuses)


if __name__ == "__main__":
    unittest.main()
