"""The gateway: a browser's way from the login to a program in a pod, by a VirtualService."""
import base64
import http.client
import json
import os
import socket
import subprocess
import urllib.parse

from platform_under_test import PlatformTest, free_port, wait_for

PROGRAM = """
import base64, hashlib, http.server, json
class Echo(http.server.BaseHTTPRequestHandler):
    protocol_version = 'HTTP/1.1'
    def do_GET(self):
        if self.headers.get('Upgrade') == 'websocket':
            key = self.headers['Sec-WebSocket-Key'] + '258EAFA5-E914-47DA-95CA-C5AB0DC85B11'
            self.send_response(101)
            self.send_header('Upgrade', 'websocket')
            self.send_header('Connection', 'Upgrade')
            self.send_header('Sec-WebSocket-Accept', base64.b64encode(hashlib.sha1(key.encode()).digest()).decode())
            self.end_headers()
            head = self.rfile.read(2)
            mask = self.rfile.read(4)
            text = bytes(b ^ mask[i % 4] for i, b in enumerate(self.rfile.read(head[1] & 127)))
            self.wfile.write(bytes([0x81, len(text)]) + text)
            self.close_connection = True
            return
        length = int(self.headers.get('Content-Length') or 0)
        body = json.dumps({'path': self.path, 'headers': dict(self.headers), 'got': len(self.rfile.read(length))})
        self.send_response(200)
        self.send_header('Content-Length', str(len(body)))
        self.send_header('Set-Cookie', 'oauth2_proxy_kubeflow=stolen')
        self.send_header('Set-Cookie', 'own=1')
        self.end_headers()
        self.wfile.write(body.encode())
    do_POST = do_GET
http.server.ThreadingHTTPServer(('', 8888), Echo).serve_forever()
"""


def route(name, prefix, service):
    return {"apiVersion": "networking.istio.io/v1alpha3", "kind": "VirtualService", "metadata": {"name": name},
            "spec": {"hosts": ["*"], "gateways": ["kubeflow/kubeflow-gateway"], "http": [{
                "match": [{"uri": {"prefix": prefix}}], "rewrite": {"uri": "/"},
                "route": [{"destination": {"host": service, "port": {"number": 80}}}]}]}}


class Browser:
    """Keeps the cookies of each host and goes where it is sent; every host is this machine's loopback."""
    def __init__(self, port):
        self.port, self.cookies = port, {}

    def ask(self, url, method="GET", body=None, headers=None):
        parts = urllib.parse.urlsplit(url)
        jar = self.cookies.setdefault(parts.netloc, {})
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        target = parts.path + ("?" + parts.query if parts.query else "")
        sent = {"Host": parts.netloc, "Accept": "text/html", "Cookie": "; ".join("%s=%s" % one for one in jar.items())}
        connection.request(method, target, body, {**sent, **(headers or {})})
        response = connection.getresponse()
        text = response.read().decode()
        for line in response.headers.get_all("Set-Cookie") or []:
            name, value = line.split(";")[0].split("=", 1)
            jar[name] = value
        connection.close()
        return response, text

    def open(self, url, **request):
        response, text = self.ask(url, **request)
        for _ in range(20):
            if response.status not in (302, 303):
                return url, response, text
            url = urllib.parse.urljoin(url, response.headers["Location"])
            response, text = self.ask(url)
        raise AssertionError("sent round in circles: " + url)


class Gateway(PlatformTest):
    PORT = free_port()
    FLAGS = ["--image-map", "*=host", "--web-listen", "127.0.0.1:%d" % PORT]
    PAGE, CONTENT = "http://localhost:%d" % PORT, "http://content.localhost:%d" % PORT

    def apply_all(self, *objects):
        for one in objects:
            self.platform.apply_text(json.dumps(one))

    def web_socket(self, browser, path, origin, text):
        """The status line, and what the program sends back."""
        cookies = browser.cookies["content.localhost:%d" % self.PORT]
        with socket.create_connection(("127.0.0.1", self.PORT), 30) as stream:
            stream.sendall(("GET %s HTTP/1.1\r\nHost: content.localhost:%d\r\nConnection: Upgrade\r\n"
                            "Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: %s\r\n"
                            "Origin: %s\r\nCookie: %s\r\n\r\n" % (
                                path, self.PORT, base64.b64encode(os.urandom(16)).decode(), origin,
                                "; ".join("%s=%s" % one for one in cookies.items()))).encode())
            reader = stream.makefile("rb")
            status = reader.readline().decode().strip()
            while reader.readline().strip():
                pass
            if " 101 " not in status + " ":
                return status, ""
            mask = os.urandom(4)
            stream.sendall(bytes([0x81, 0x80 | len(text)]) + mask + bytes(b ^ mask[i % 4] for i, b in enumerate(text)))
            return status, reader.read(2 + len(text))[2:]

    def log_in(self, browser, path, page=None):
        """As a person does who opens a link: the form, and then what they wanted."""
        form, response, _ = browser.open((page or self.PAGE) + path)
        self.assertIn("/dex/auth/local/login", form)
        self.assertEqual(response.status, 200)
        return wait_for("the accounts are read", lambda: self.sent_form(browser, form))

    def sent_form(self, browser, form):
        answer = browser.open(form, method="POST", body="login=user%40example.com&password=12341234",
                              headers={"Content-Type": "application/x-www-form-urlencoded"})
        return None if answer[1].status == 503 and "/dex/auth/local/login" in answer[0] else answer

    def test_a_program_in_a_pod_is_reached_by_its_route(self):
        pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "echo", "labels": {"app": "echo"}}, "spec": {
            "terminationGracePeriodSeconds": 0, "containers": [{
                "name": "main", "image": "host", "command": ["python3", "-c", PROGRAM],
                "readinessProbe": {"tcpSocket": {"port": 8888}, "periodSeconds": 1}}]}}
        service = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "echo"}, "spec": {
            "selector": {"app": "echo"}, "ports": [{"name": "http", "port": 80, "targetPort": 8888}]}}
        self.apply_all(service, route("echo", "/echo/", "echo"), route("thief", "/notebook/other/nb/", "echo"))
        self.platform.kubectl("create", "rolebinding", "reader", "--clusterrole=view", "--user=user@example.com")

        browser = Browser(self.PORT)
        wait_for("the route is known", lambda: browser.ask(self.PAGE + "/echo/")[0].status == 302)
        url, response, text = wait_for("the first account is there", lambda: self.first(browser))
        self.assertEqual((url, response.status), (self.CONTENT + "/echo/x?y=%2F", 503), text)
        self.assertEqual(response.headers["Refresh"], "3")
        self.apply_all(pod)
        wait_for("the program answers", lambda: browser.ask(self.CONTENT + "/echo/")[0].status == 200)

        response, text = browser.ask(self.CONTENT + "/echo/x?y=%2F", headers={"kubeflow-userid": "eve"})
        seen = json.loads(text)
        self.assertEqual(seen["path"], "/x?y=%2F")
        self.assertEqual(seen["headers"]["kubeflow-userid"], "user@example.com")
        self.assertNotIn("hekla_content", seen["headers"].get("Cookie", ""))
        self.assertEqual(response.headers.get_all("Set-Cookie"), ["own=1"])
        large = b"x" * (8 << 20)
        _, text = browser.ask(self.CONTENT + "/echo/up", method="POST", body=large)
        self.assertEqual(json.loads(text)["got"], len(large))
        self.assertEqual(self.web_socket(browser, "/echo/ws", self.CONTENT, b"hello"),
                         ("HTTP/1.1 101 Switching Protocols", b"hello"))
        self.assertIn(" 403 ", self.web_socket(browser, "/echo/ws", "http://evil.example", b"hello")[0])

        # Not on the page's origin, not for who may not read the service, and no path of another namespace.
        response, text = browser.ask(self.PAGE + "/echo/x", method="POST", body="")
        self.assertEqual(response.status, 403)
        self.assertIn("users' programs do not answer on the dashboard's origin", text)
        self.assertEqual(browser.ask(self.CONTENT + "/notebook/other/nb/")[0].status, 404)
        events = wait_for("an event says so", lambda: self.platform.get("events", "--field-selector",
                                                                        "reason=RouteIgnored")["items"])
        self.assertIn("claims /notebook/other/nb/, which is not its namespace's", events[0]["message"])
        self.apply_all(route("late", "/echo/", "echo"))
        events = wait_for("another says who was first", lambda: self.platform.get(
            "events", "--field-selector", "reason=RouteIgnored,involvedObject.name=late")["items"])
        self.assertIn("an older VirtualService has prefix /echo/ of host *", events[0]["message"])
        self.platform.kubectl("delete", "rolebinding", "reader")
        wait_for("the right is gone", lambda: browser.ask(self.CONTENT + "/echo/x")[0].status == 403)

    def test_a_notebook_is_its_owners(self):
        policy = {"apiVersion": "security.istio.io/v1beta1", "kind": "AuthorizationPolicy",
                  "metadata": {"name": "ns-owner-access-istio"}, "spec": {"rules": [{
                      "from": [{"source": {"principals": [
                          "cluster.local/ns/istio-system/sa/istio-ingressgateway-service-account"]}}],
                      "when": [{"key": "request.headers[kubeflow-userid]", "values": ["user@example.com"]}]}]}}
        self.apply_all({"apiVersion": "kubeflow.org/v1", "kind": "Notebook", "metadata": {"name": "nb"}, "spec": {
            "template": {"spec": {"terminationGracePeriodSeconds": 0, "containers": [{
                "name": "nb", "image": "host", "command": ["python3", "-c", PROGRAM]}]}}}}, policy)
        address = self.CONTENT + "/notebook/default/nb/api/status"
        browser = Browser(self.PORT)
        wait_for("the first account is there", lambda: self.log_in(browser, "/notebook/default/nb/")[1].status != 401)
        response, text = wait_for("the route is known", lambda: self.not_found_yet(browser, address))
        self.assertEqual(response.status, 403)
        self.assertIn("User 'user@example.com' is not authorized to get kubeflow.org/v1/notebooks", text)
        self.platform.kubectl("create", "role", "opener", "--verb=get", "--resource=notebooks.kubeflow.org")
        self.platform.kubectl("create", "rolebinding", "opener", "--role=opener", "--user=user@example.com",
                              "--serviceaccount=default:default")
        wait_for("the notebook answers", lambda: browser.ask(address)[0].status == 200)
        self.assertEqual(json.loads(browser.ask(address)[1])["path"], "/notebook/default/nb/api/status")

        # Each request of a connection is its sender's, whoever came before.
        connection = http.client.HTTPConnection("127.0.0.1", self.PORT, timeout=30)
        self.addCleanup(connection.close)
        host = self.CONTENT.split("//")[1]
        owner = "; ".join("%s=%s" % one for one in browser.cookies[host].items())
        for cookie, status in ((owner, 200), ("", 401), (owner, 200), ("hekla_content=forged", 401)):
            connection.request("GET", "/notebook/default/nb/api/status", None, {
                "Host": host, "Accept": "application/json", "Cookie": cookie})
            response = connection.getresponse()
            response.read()
            self.assertEqual(response.status, status, cookie)

        # Its role lets the service account in, the policy does not.
        token = self.platform.kubectl("create", "token", "default").strip()
        response, text = Browser(self.PORT).ask(address, headers={"Authorization": "Bearer " + token})
        self.assertEqual(response.status, 403)
        self.assertIn("may not use service default/nb: no AuthorizationPolicy allows it", text)
        self.platform.kubectl("delete", "authorizationpolicies", "ns-owner-access-istio")
        seen = json.loads(wait_for("the policy is gone", lambda: self.answer(address, token)))
        self.assertNotIn("Authorization", seen["headers"])
        self.assertEqual(seen["headers"]["kubeflow-userid"], "system:serviceaccount:default:default")

    def test_by_the_forward_that_tutorials_type(self):
        wait_for("the gateway shows itself", lambda: self.platform.get(
            "pods", "-n", "istio-system", "-l", "istio=ingressgateway")["items"][0]["status"]["phase"] == "Running")
        port = free_port()
        environment = dict(os.environ, KUBECONFIG=self.platform.kubeconfig)
        forward = subprocess.Popen([self.platform.tool, "port-forward", "svc/istio-ingressgateway", "-n", "istio-system",
                                    "%d:80" % port, "--address", "127.0.0.1"], env=environment, stdout=subprocess.PIPE)
        self.addCleanup(forward.stdout.close)
        self.addCleanup(forward.wait)
        self.addCleanup(forward.kill)
        self.assertIn("Forwarding from 127.0.0.1:%d -> 8080" % port, forward.stdout.readline().decode())
        ns, path = "kubeflow-user-example-com", "/notebook/kubeflow-user-example-com/nb/"
        wait_for("the first profile", lambda: self.platform.get("rolebinding", "namespaceAdmin", "-n", ns))
        self.platform.kubectl("apply", "-n", ns, "-f", "-", stdin=json.dumps({
            "apiVersion": "kubeflow.org/v1", "kind": "Notebook", "metadata": {"name": "nb"}, "spec": {"template": {"spec": {
                "terminationGracePeriodSeconds": 0, "containers": [{
                    "name": "nb", "image": "host", "workingDir": "/", "command": ["python3", "-c", PROGRAM]}]}}}}))

        # By the address that was forwarded: the content has its own origin, and nobody logs in twice.
        browser = Browser(port)
        self.log_in(browser, path, "http://127.0.0.1:%d" % port)
        url, response, text = wait_for("the notebook is opened", lambda: self.opened(
            browser, "http://127.0.0.1:%d%s" % (port, path)))
        self.assertEqual(url, "http://content.localhost:%d%s" % (port, path))

        # By another name there is none: alone in the namespace, on the page's own; in company, not at all.
        page = "http://hekla.example:%d" % port
        browser = Browser(port)
        url, response, text = self.log_in(browser, path, page)
        self.assertEqual((url, response.status), (page + path, 200), text)
        self.assertNotIn("oauth2_proxy_kubeflow", json.loads(text)["headers"].get("Cookie", ""))
        self.platform.kubectl("create", "rolebinding", "guest", "-n", ns, "--clusterrole=kubeflow-edit",
                              "--user=ann@example.com")
        wait_for("she is seen", lambda: browser.ask(page + path)[0].status == 403)
        self.assertIn("Others may work in " + ns, browser.ask(page + path)[1])
        self.platform.kubectl("delete", "rolebinding", "guest", "-n", ns)
        wait_for("and gone", lambda: browser.ask(page + path)[0].status == 200)

    def opened(self, browser, address):
        url, response, text = browser.open(address)
        return (url, response, text) if response.status == 200 else None

    def answer(self, address, token):
        response, text = Browser(self.PORT).ask(address, headers={"Authorization": "Bearer " + token})
        return text if response.status == 200 else None

    def not_found_yet(self, browser, address):
        found = browser.ask(address)
        return found if found[0].status != 404 else None

    def first(self, browser):
        url, response, text = self.log_in(browser, "/echo/x?y=%2F")
        return (url, response, text) if response.status != 401 else None
