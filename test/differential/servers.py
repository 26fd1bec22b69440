"""The two servers of a differential run: kube-apiserver with etcd, and Hekla. Both on loopback, each with an HTTP client."""
import base64
import http.client
import json
import os
import shutil
import signal
import socket
import ssl
import subprocess
import tempfile
import time

import yaml

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
HEKLA = os.environ.get("HEKLA", os.path.join(ROOT, "build/release/hekla"))
PEERS = os.environ.get("HEKLA_PEERS", os.path.join(
    os.environ.get("XDG_CACHE_HOME", os.path.expanduser("~/.cache")), "hekla-peers"))
PATIENCE = 10
# Small: kube-apiserver tries every address there is before it refuses a service without a name.
SERVICE_RANGE = "10.96.0.0/24"


def free_ports(count):
    sockets = [socket.socket() for _ in range(count)]
    for s in sockets:
        s.bind(("127.0.0.1", 0))
    ports = [s.getsockname()[1] for s in sockets]
    for s in sockets:
        s.close()
    return ports


class Answer:
    def __init__(self, code, headers, body):
        self.code = code
        self.headers = headers
        self.raw = body
        try:
            self.body = json.loads(body)
        except ValueError:
            self.body = lines_of(body) or body.decode(errors="replace")


def lines_of(body):
    """The events of a watch; None when the body is something else."""
    try:
        return [json.loads(line) for line in body.splitlines()]
    except ValueError:
        return None


class Server:
    """A running server: processes to end and a keep-alive connection to talk through."""

    def __init__(self, name):
        self.name = name
        self.directory = tempfile.mkdtemp(prefix="hekla-differential-")
        self.processes = []
        self.begun = 0  # when its first process was started
        self.port = 0
        self.tls = None
        self.connection = None

    def start(self, *command):
        log = open(os.path.join(self.directory, os.path.basename(command[0]) + ".log"), "ab")
        self.begun = self.begun or time.monotonic()
        self.processes.append(subprocess.Popen(command, stdout=log, stderr=log, start_new_session=True,
                                               cwd=self.directory))
        log.close()

    def use_certificates(self, authority, certificate, key):
        self.tls = ssl.create_default_context(cafile=authority)
        self.tls.check_hostname = False
        self.tls.load_cert_chain(certificate, key)

    def wait_ready(self, seconds=60, interval=0.1):
        deadline = time.time() + seconds
        while True:
            try:
                if self.ask("GET", "/readyz").code == 200:
                    return
            except OSError:
                self.connection = None
            if time.time() > deadline or any(p.poll() is not None for p in self.processes):
                raise RuntimeError("%s did not get ready, see %s" % (self.name, self.directory))
            time.sleep(interval)

    def ask(self, method, path, body=None, headers=None):
        headers = dict(headers or {})
        if body is not None and not isinstance(body, (bytes, str)):
            body = json.dumps(body)
        if body is not None:
            headers.setdefault("Content-Type", "application/json")
        headers.setdefault("Accept", "application/json")
        headers.setdefault("User-Agent", "differential/1")
        for attempt in range(2):
            if self.connection is None:
                self.connection = http.client.HTTPSConnection("127.0.0.1", self.port, context=self.tls, timeout=PATIENCE)
            try:
                self.connection.request(method, path, body, headers)
                response = self.connection.getresponse()
                return Answer(response.status, response.headers, response.read())
            except TimeoutError:
                self.connection.close()
                self.connection = None
                return Answer(0, http.client.HTTPMessage(), b"no answer within %d s" % PATIENCE)
            except (http.client.HTTPException, ConnectionError):
                self.connection.close()
                self.connection = None
                if attempt:  # it breaks off while it answers
                    return Answer(0, http.client.HTTPMessage(), b"no answer")

    def stop(self):
        if self.connection:
            self.connection.close()
        for process in reversed(self.processes):
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        if not os.environ.get("HEKLA_KEEP"):
            shutil.rmtree(self.directory, ignore_errors=True)


def make_certificates(directory):
    script = """
set -e
openssl ecparam -name prime256v1 -genkey -noout -out ca.key
openssl req -x509 -new -key ca.key -days 30 -subj /CN=ca -out ca.crt
make() { openssl ecparam -name prime256v1 -genkey -noout -out $1.key
  openssl req -new -key $1.key -subj "$2" -out $1.csr; printf '%s\\n' "$3" > $1.ext
  openssl x509 -req -in $1.csr -CA ca.crt -CAkey ca.key -CAcreateserial -days 30 -extfile $1.ext -out $1.crt; }
make server /CN=kube-apiserver 'subjectAltName=IP:127.0.0.1'
make admin /O=system:masters/CN=kubernetes-admin 'extendedKeyUsage=clientAuth'
openssl genrsa -out sa.key 2048
openssl rsa -in sa.key -pubout -out sa.pub
"""
    subprocess.run(["bash", "-c", script], cwd=directory, check=True, capture_output=True)


def kubernetes(durable=False, admission=("--disable-admission-plugins", "TaintNodesByCondition")):
    """Nobody takes the taint of new nodes away here; without it they can be scheduled to."""
    server = Server("kubernetes")
    make_certificates(server.directory)
    etcd, peer, server.port = free_ports(3)
    pki = lambda name: os.path.join(server.directory, name)
    server.start(os.path.join(PEERS, "bin/etcd"), "--data-dir", pki("etcd"), *([] if durable else ["--unsafe-no-fsync"]),
                 "--log-level", "warn",
                 "--listen-client-urls", "http://127.0.0.1:%d" % etcd,
                 "--advertise-client-urls", "http://127.0.0.1:%d" % etcd,
                 "--listen-peer-urls", "http://127.0.0.1:%d" % peer,
                 "--initial-advertise-peer-urls", "http://127.0.0.1:%d" % peer,
                 "--initial-cluster", "default=http://127.0.0.1:%d" % peer)
    server.start(os.path.join(PEERS, "bin/kube-apiserver"), "--etcd-servers", "http://127.0.0.1:%d" % etcd,
                 "--bind-address", "127.0.0.1", "--secure-port", str(server.port), "--advertise-address", "127.0.0.1",
                 "--endpoint-reconciler-type", "none", "--tls-cert-file", pki("server.crt"),
                 "--tls-private-key-file", pki("server.key"), "--client-ca-file", pki("ca.crt"),
                 "--authorization-mode", "RBAC", "--service-account-issuer",
                 "https://kubernetes.default.svc.cluster.local", "--service-account-key-file", pki("sa.pub"),
                 "--service-account-signing-key-file", pki("sa.key"), "--service-cluster-ip-range", SERVICE_RANGE,
                 "--allow-privileged", *admission, "--cert-dir", server.directory)
    server.use_certificates(pki("ca.crt"), pki("admin.crt"), pki("admin.key"))
    return server


def hekla_apiserver(directory=None):
    """The API server alone, as kube-apiserver runs: no scheduler, no controllers of the platform."""
    server = Server("hekla-apiserver")
    if directory:
        shutil.rmtree(server.directory)
        server.directory = directory
    else:
        make_certificates(server.directory)
    (server.port,) = free_ports(1)
    pki = lambda name: os.path.join(server.directory, name)
    server.start(HEKLA, "apiserver", "--data-dir", pki("data"), "--secure-port", str(server.port),
                 "--tls-cert-file", pki("server.crt"), "--tls-private-key-file", pki("server.key"),
                 "--client-ca-file", pki("ca.crt"))
    server.use_certificates(pki("ca.crt"), pki("admin.crt"), pki("admin.key"))
    return server


def hekla():
    server = Server("hekla")
    (server.port,) = free_ports(1)
    data = os.path.join(server.directory, "data")
    server.start(HEKLA, "up", "--no-agent", "--data-dir", data, "--listen", "127.0.0.1:%d" % server.port)
    config = os.path.join(data, "admin.kubeconfig")
    deadline = time.time() + 30
    while not os.path.exists(config) or not os.path.getsize(config):
        if time.time() > deadline:
            raise RuntimeError("hekla wrote no kubeconfig, see " + server.directory)
        time.sleep(0.05)
    with open(config) as file:
        parsed = yaml.safe_load(file)
    cluster, user = parsed["clusters"][0]["cluster"], parsed["users"][0]["user"]
    for name, data64 in [("ca.crt", cluster["certificate-authority-data"]),
                         ("admin.crt", user["client-certificate-data"]), ("admin.key", user["client-key-data"])]:
        with open(os.path.join(server.directory, name), "wb") as out:
            out.write(base64.b64decode(data64))
    server.use_certificates(*[os.path.join(server.directory, n) for n in ("ca.crt", "admin.crt", "admin.key")])
    return server
