"""A small image registry on loopback for tests: pulls and pushes, tokens, ranges, and faults on demand.

Repositories below private/ want the user `user` with the password `secret`; all others only a token, which anybody gets.
"""
import gzip
import hashlib
import http.server
import io
import json
import os
import ssl
import tarfile
import threading
from base64 import b64decode
from urllib.parse import parse_qs, urlparse

MACHINE = {"x86_64": "amd64", "aarch64": "arm64"}.get(os.uname().machine, os.uname().machine)
MANIFEST = "application/vnd.oci.image.manifest.v1+json"
INDEX = "application/vnd.oci.image.index.v1+json"
LAYER = "application/vnd.oci.image.layer.v1.tar+gzip"


def layer(*entries):
    """A gzipped tar file of (name, content or None for a directory, mode)."""
    return gzip.compress(plain_layer(*entries))


def plain_layer(*entries):
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w") as out:
        for name, content, mode in entries:
            info = tarfile.TarInfo(name)
            info.mode = mode
            if content is None:
                info.type = tarfile.DIRTYPE
            else:
                info.size = len(content)
            out.addfile(info, io.BytesIO(content or b""))
    return raw.getvalue()


def digest_of(content):
    return "sha256:" + hashlib.sha256(content).hexdigest()


class Registry:
    """The distribution protocol. `tls` is (certificate file, key file)."""

    def __init__(self, tls=None, basic=False):
        self.blobs, self.tags, self.requests = {}, {}, []
        self.basic = basic        # ask for user and password without a token
        self.tear = 0             # how many more large blobs break off half-way
        self.gone = False         # blobs cannot be had
        self.busy = []            # (status, headers) for the next requests
        self.ranges = True
        self.uploads = 0
        registry = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_):
                pass

            def do_GET(self):
                registry.answer(self)

            do_HEAD = do_POST = do_PUT = do_GET

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        if tls:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(*tls)
            self.server.socket = context.wrap_socket(self.server.socket, server_side=True)
        self.scheme = "https" if tls else "http"
        self.host = "127.0.0.1:%d" % self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()

    def put(self, content):
        content = content if isinstance(content, bytes) else json.dumps(content).encode()
        self.blobs[digest_of(content)] = content
        return {"digest": digest_of(content), "size": len(content)}

    def publish(self, name, layers, config=None, index=False):
        """An image of gzipped tar files; the digest that its tag means."""
        described = self.put({"os": "linux", "architecture": MACHINE, "config": config or {},
                              "rootfs": {"type": "layers", "diff_ids": [digest_of(gzip.decompress(one)) for one in layers]}})
        image = self.put({"schemaVersion": 2, "mediaType": MANIFEST,
                          "config": dict(described, mediaType="application/vnd.oci.image.config.v1+json"),
                          "layers": [dict(self.put(one), mediaType=LAYER) for one in layers]})
        if index:
            image = self.put({"schemaVersion": 2, "mediaType": INDEX, "manifests": [
                dict(image, mediaType=MANIFEST, digest="sha256:" + "0" * 64,
                     platform={"os": "linux", "architecture": "none"}),
                dict(image, mediaType=MANIFEST, platform={"os": "linux", "architecture": MACHINE})]})
        self.tags[name] = image["digest"]
        return image["digest"]

    @staticmethod
    def send(handler, status, content=b"", **headers):
        handler.send_response(status)
        for name, value in headers.items():
            handler.send_header(name.replace("_", "-"), value)
        handler.send_header("Content-Length", str(len(content)))
        handler.end_headers()
        if handler.command != "HEAD":
            handler.wfile.write(content)

    def send_blob(self, handler, content):
        begin = 0
        asked = handler.headers.get("Range", "")
        if asked.startswith("bytes=") and self.ranges:
            begin = int(asked[6:].split("-")[0])
        rest = content[begin:]
        if self.tear and len(rest) > 1000:
            self.tear -= 1
            handler.send_response(206 if begin else 200)
            handler.send_header("Content-Length", str(len(rest)))
            handler.end_headers()
            handler.wfile.write(rest[:len(rest) // 2])
            handler.wfile.flush()
            handler.close_connection = True
            handler.connection.close()
            return
        headers = {"Content_Range": "bytes %d-%d/%d" % (begin, len(content) - 1, len(content))} if begin else {}
        self.send(handler, 206 if begin else 200, rest, Content_Type="application/octet-stream", **headers)

    def known(self, login):
        return login.startswith("Basic ") and b64decode(login[6:]) == b"user:secret"

    def refuse(self, handler, scope):
        if self.basic:
            return self.send(handler, 401, WWW_Authenticate='Basic realm="test"')
        challenge = 'Bearer realm="%s://%s/token",service="test"' % (self.scheme, self.host)
        if scope:
            challenge += ',scope="%s"' % scope
        return self.send(handler, 401, WWW_Authenticate=challenge)

    def answer(self, handler):
        url = urlparse(handler.path)
        login = handler.headers.get("Authorization", "")
        body = handler.rfile.read(int(handler.headers.get("Content-Length") or 0))
        self.requests.append("%s %s" % (handler.command, url.path))
        if self.busy and url.path != "/token":
            status, headers = self.busy.pop(0)
            return self.send(handler, status, b"busy", **headers)
        if url.path == "/token":
            scopes = parse_qs(url.query).get("scope", ["login"])
            wants_user = scopes == ["login"] or any("private/" in scope or "push" in scope for scope in scopes)
            if (login or wants_user) and not self.known(login):
                return self.send(handler, 401)
            return self.send(handler, 200, json.dumps({"token": " ".join(scopes)}).encode())
        if url.path.startswith("/elsewhere/"):
            if self.gone and not self.tear:
                return self.send(handler, 404)
            return self.send_blob(handler, self.blobs[url.path[len("/elsewhere/"):]])
        if url.path == "/v2/":
            good = self.known(login) if self.basic else login == "Bearer login"
            return self.send(handler, 200) if good else self.refuse(handler, "")
        _, _, rest = url.path.partition("/v2/")
        repository, kind, name = rest.rsplit("/", 2)
        if kind == "uploads":
            repository, kind = repository[:-len("/blobs")], "uploads"
        write = handler.command in ("POST", "PUT")
        scope = "repository:%s:%s" % (repository, "pull,push" if write else "pull")
        good = self.known(login) if self.basic else login.startswith("Bearer ") and any(
            one.startswith("repository:%s:" % repository) and (not write or one.endswith("push"))
            for one in login[7:].split(" "))
        if not good:
            return self.refuse(handler, scope)
        if write:
            return self.accept(handler, url, repository, kind, name, body)
        # Blobs lie elsewhere, as with most registries: where no token is asked for.
        if kind == "blobs" and name in self.blobs:
            if handler.command == "HEAD":
                return self.send(handler, 200)
            return self.send(handler, 307, Location="%s://%s/elsewhere/%s" % (self.scheme, self.host, name))
        digest = self.tags.get(repository + ":" + name, name)
        if digest not in self.blobs:
            return self.send(handler, 404)
        self.send(handler, 200, self.blobs[digest], Content_Type=json.loads(self.blobs[digest])["mediaType"])

    def accept(self, handler, url, repository, kind, name, body):
        query = parse_qs(url.query)
        if handler.command == "POST":
            if query.get("mount", [""])[0] in self.blobs:
                return self.send(handler, 201)
            self.uploads += 1
            return self.send(handler, 202, Location="/v2/%s/blobs/uploads/%d?state=x" % (repository, self.uploads))
        if kind == "manifests":
            self.tags[repository + ":" + name] = self.put(body)["digest"]
            return self.send(handler, 201, Docker_Content_Digest=digest_of(body))
        if digest_of(body) != query["digest"][0]:
            return self.send(handler, 400, b'{"errors":[{"code":"DIGEST_INVALID","message":"not what it says"}]}')
        self.put(body)
        self.send(handler, 201)
