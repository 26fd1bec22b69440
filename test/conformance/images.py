"""The images that Kubernetes' tests ask for, made of Debian's packages and of Kubernetes' own Go sources.

What is built lies in the cache and is not built again; Registry serves it on loopback under the names of the suite.
"""
import gzip
import hashlib
import http.server
import io
import json
import os
import shutil
import subprocess
import tarfile
import tempfile
import threading

VERSION = "v1.34.1"
# Of Debian's programs, in the images that have more than busybox upstream.
TOOLS = ["/usr/bin/dig", "/usr/bin/curl", "/bin/nc.openbsd:/bin/nc", "/bin/ss", "/bin/ip", "/usr/bin/getent"]
ENVIRONMENT = ["PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"]


class Root:
    """A root file system on its way into a layer."""

    def __init__(self):
        self.entries = {}

    def directory(self, name, mode=0o755):
        if name and name not in self.entries:
            self.directory(os.path.dirname(name))
            self.entries[name] = (tarfile.DIRTYPE, mode, b"")
        return self

    def file(self, name, content, mode=0o644):
        self.directory(os.path.dirname(name))
        self.entries[name] = (tarfile.REGTYPE, mode, content.encode() if isinstance(content, str) else content)
        return self

    def link(self, name, target):
        self.directory(os.path.dirname(name))
        self.entries[name] = (tarfile.SYMTYPE, 0o777, target.encode())
        return self

    def copy(self, path, name=None, mode=0o755):
        with open(path, "rb") as file:
            return self.file((name or path).lstrip("/"), file.read(), mode)

    def program(self, path, name=None):
        """With the libraries it is linked to."""
        self.copy(os.path.realpath(path), name or path)
        listed = subprocess.run(["ldd", path], capture_output=True, text=True)
        for line in listed.stdout.splitlines():
            for word in line.split():
                if word.startswith("/"):
                    self.copy(os.path.realpath(word), word)
        return self

    def layer(self):
        raw = io.BytesIO()
        with tarfile.open(fileobj=raw, mode="w") as out:
            for name, (kind, mode, content) in self.entries.items():
                info = tarfile.TarInfo(name)
                info.type, info.mode = kind, mode
                if kind == tarfile.SYMTYPE:
                    info.linkname = content.decode()
                    content = b""
                info.size = len(content)
                out.addfile(info, io.BytesIO(content))
        return raw.getvalue()


def own_shell_will_do():
    """Whether busybox' shell passes on variables with odd names, as newer ones do and Debian 12's does not."""
    said = subprocess.run(["busybox", "sh", "-c", "env"], env={"1-x": "kept"}, capture_output=True, text=True, check=True)
    return "1-x=kept" in said.stdout


def busybox(other_tools=False):
    root = Root().copy("/usr/bin/busybox" if os.path.exists("/usr/bin/busybox") else "/bin/busybox", "bin/busybox")
    for name in subprocess.run(["busybox", "--list"], capture_output=True, text=True, check=True).stdout.split():
        if name not in ("busybox", "sh"):
            root.link("bin/" + name, "busybox")
    # Debian's busybox as a shell prefers its own programs to others of their names.
    if other_tools or not own_shell_will_do():
        root.program("/bin/bash", "/bin/sh").link("bin/bash", "sh")
    else:
        root.link("bin/sh", "busybox")
    root.file("etc/passwd", "root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:/home:/bin/false\n"
                            "user-defined-in-image:x:1000:1000::/home:/bin/sh\n")
    root.file("etc/group", "root:x:0:\nnobody:x:65534:\nuser-defined-in-image:x:1000:\n"
                           "group-defined-in-image:x:50000:user-defined-in-image\n")
    root.file("etc/nsswitch.conf", "hosts: files dns\n")
    return root.directory("root", 0o700).directory("home").directory("var").directory("tmp", 0o1777)


def with_tools():
    root = busybox(other_tools=True)
    for tool in TOOLS:
        path, _, name = tool.partition(":")
        root.entries.pop((name or path).lstrip("/"), None)
        root.program(path, name or None)
    return root


def web_server(directory):
    return busybox().file(directory.lstrip("/") + "/index.html", "<html><body><h1>It works!</h1></body></html>\n")


def go_programs(cache):
    """name -> path of what Go builds from Kubernetes' module and those it requires."""
    go = subprocess.run([os.path.join(os.path.dirname(__file__), "../../tools/find_go"), cache], capture_output=True,
                        text=True, check=True).stdout.strip()
    # The Go files of the images are packages of Kubernetes' module; conformance-module is a module that requires it.
    module = os.path.join(cache, "conformance-module")
    environment = dict(os.environ, CGO_ENABLED="0", GOFLAGS="-p=1 -mod=mod -buildvcs=false")
    programs = {}
    for name, package in [("agnhost", "k8s.io/kubernetes/test/images/agnhost"),
                          ("nnp", "k8s.io/kubernetes/test/images/nonewprivs"),
                          ("sample-apiserver", "k8s.io/sample-apiserver"), ("etcd", "go.etcd.io/etcd/server/v3")]:
        programs[name] = os.path.join(cache, "node-images", name)
        if not os.path.exists(programs[name]):
            subprocess.run(["nice", "-n", "10", go, "build", "-trimpath", "-ldflags", "-s -w", "-o", programs[name], package],
                           cwd=module, env=environment, check=True)
    listed = subprocess.run([go, "list", "-m", "-f", "{{.Dir}}", "k8s.io/kubernetes"], cwd=module, env=environment,
                            capture_output=True, text=True, check=True)
    return programs, os.path.join(listed.stdout.strip(), "test/images")


def descriptions(cache):
    """name of the repository:tag -> (root, configuration)."""
    programs, sources = go_programs(cache)
    agnhost = with_tools().copy(programs["agnhost"], "agnhost").link("agnhost-2", "agnhost").directory("uploads")
    for name in ["localhost.crt", "localhost.key"]:
        agnhost.copy(os.path.join(sources, "agnhost/porter", name), name, 0o644)
    agnhost_config = {"Entrypoint": ["/agnhost"], "Cmd": ["pause"]}
    httpd = {"Cmd": ["busybox", "httpd", "-f", "-v", "-p", "80", "-h", "/usr/local/apache2/htdocs"]}
    nginx = {"Cmd": ["busybox", "httpd", "-f", "-v", "-p", "80", "-h", "/usr/share/nginx/html"]}
    images = {
        "e2e-test-images/agnhost:2.56": (agnhost, agnhost_config),
        "e2e-test-images/busybox:1.36.1-1": (busybox(), {"Cmd": ["sh"]}),
        "e2e-test-images/busybox:1.37.0-1": (busybox(), {"Cmd": ["sh"]}),
        "e2e-test-images/jessie-dnsutils:1.7": (with_tools(), {"Cmd": ["sh"]}),
        "e2e-test-images/httpd:2.4.38-4": (web_server("/usr/local/apache2/htdocs"), httpd),
        "e2e-test-images/httpd:2.4.39-4": (web_server("/usr/local/apache2/htdocs"), httpd),
        "e2e-test-images/nginx:1.14-4": (web_server("/usr/share/nginx/html"), nginx),
        "e2e-test-images/nginx:1.15-4": (web_server("/usr/share/nginx/html"), nginx),
        "e2e-test-images/nonewprivs:1.3": (busybox().copy(programs["nnp"], "usr/local/bin/nnp", 0o4755), {"Cmd": ["nnp"]}),
        "e2e-test-images/nonroot:1.4": (busybox(), {"User": "1234", "Cmd": ["sh"]}),
        "e2e-test-images/sample-apiserver:1.29.2": (Root().copy(programs["sample-apiserver"], "sample-apiserver"),
                                                    {"Entrypoint": ["/sample-apiserver"]}),
        "etcd:3.6.4-0": (Root().copy(programs["etcd"], "usr/local/bin/etcd"), {"Cmd": ["/usr/local/bin/etcd"]}),
        "pause:3.10.1": (Root().copy(programs["agnhost"], "agnhost"), {"Entrypoint": ["/agnhost", "pause"]}),
    }
    for name in ["kitten", "nautilus"]:
        root = Root().copy(programs["agnhost"], "agnhost")
        for file in [name + ".jpg", "data.json"]:
            root.copy(os.path.join(sources, name, "html", file), file, 0o644)
        images["e2e-test-images/%s:1.7" % name] = (root, {"Entrypoint": ["/agnhost"], "Cmd": ["test-webserver"]})
    return images


def build(cache):
    """The images of Kubernetes' tests, as make()."""
    return make(os.path.join(cache, "node-images"), lambda: descriptions(cache))


def make(directory, descriptions):
    """Makes what is missing of descriptions(), name -> (root, configuration); the directory: blobs by digest, and tags.json."""
    os.makedirs(os.path.join(directory, "blobs"), exist_ok=True)
    tags_path = os.path.join(directory, "tags.json")
    sources = {__file__, descriptions.__code__.co_filename}
    if os.path.exists(tags_path) and os.path.getmtime(tags_path) > max(map(os.path.getmtime, sources)):
        return directory
    print("== building the tests' images", flush=True)

    def put(content, **more):
        content = content if isinstance(content, bytes) else json.dumps(content).encode()
        digest = "sha256:" + hashlib.sha256(content).hexdigest()
        with open(os.path.join(directory, "blobs", digest), "wb") as file:
            file.write(content)
        return dict(more, digest=digest, size=len(content))

    machine = {"x86_64": "amd64", "aarch64": "arm64"}.get(os.uname().machine, os.uname().machine)
    tags = {}
    for name, (root, config) in descriptions().items():
        layer = root.layer()
        described = put({"os": "linux", "architecture": machine, "config": dict(config, Env=ENVIRONMENT), "rootfs": {
            "type": "layers", "diff_ids": ["sha256:" + hashlib.sha256(layer).hexdigest()]}},
            mediaType="application/vnd.oci.image.config.v1+json")
        tags[name] = put({
            "schemaVersion": 2, "mediaType": "application/vnd.oci.image.manifest.v1+json", "config": described,
            "layers": [put(gzip.compress(layer, 1, mtime=0), mediaType="application/vnd.oci.image.layer.v1.tar+gzip")]})["digest"]
    with tempfile.NamedTemporaryFile("w", dir=directory, delete=False) as file:
        json.dump(tags, file)
    shutil.move(file.name, tags_path)
    return directory


class Registry:
    """The pull half of the distribution protocol, for anybody on this machine."""

    def __init__(self, directory):
        with open(os.path.join(directory, "tags.json")) as file:
            tags = json.load(file)

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_):
                pass

            def do_GET(self):
                repository, kind, name = (["", "", ""] + self.path.partition("/v2/")[2].rsplit("/", 2))[-3:]
                path = os.path.join(directory, "blobs", os.path.basename(tags.get(repository + ":" + name, name)))
                found = kind in ("manifests", "blobs") and os.path.isfile(path)
                content = b""
                if found:
                    with open(path, "rb") as file:
                        content = file.read()
                self.send_response(200 if found else 404)
                self.send_header("Content-Type", json.loads(content)["mediaType"] if found and kind == "manifests"
                                 else "application/octet-stream")
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            do_HEAD = do_GET

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = "http://127.0.0.1:%d" % self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()
