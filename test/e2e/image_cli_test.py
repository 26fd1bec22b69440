"""hekla image on a data directory of its own: registries good and bad, archives, and the store."""
import gzip
import hashlib
import io
import json
import os
import shutil
import subprocess
import tarfile
import tempfile
import unittest

import platform_under_test as put
from registry import Registry, digest_of, layer, plain_layer

BOTTOM = layer(("etc", None, 0o755), ("etc/name", b"bottom\n", 0o644), ("big", os.urandom(300_000), 0o644))
TOP = layer(("etc/.wh.name", b"", 0o644), ("etc/other", b"top\n", 0o644))


class ImageCli(unittest.TestCase):
    def setUp(self):
        self.dir = tempfile.mkdtemp(prefix="hekla-e2e-images-")
        self.addCleanup(shutil.rmtree, self.dir, True)
        self.data = os.path.join(self.dir, "data")
        self.registry = self.serve()

    def serve(self, **options):
        registry = Registry(**options)
        self.addCleanup(registry.close)
        return registry

    def hekla(self, verb, *arguments, code=0, stdin=None):
        done = subprocess.run([put.HEKLA, "image", verb, "--data-dir", self.data, *arguments], capture_output=True,
                              timeout=put.PATIENCE, input=stdin)
        self.assertEqual(done.returncode, code, done.stderr.decode())
        return (done.stdout if code == 0 else done.stderr).decode("utf-8", "replace")

    def names(self):
        return self.hekla("list", "-o", "name").split()

    def image(self, name):
        return "%s/%s" % (self.registry.host, name)

    def layers(self):
        return sorted(os.listdir(os.path.join(self.data, "images/layers")))

    def test_pull_list_and_remove(self):
        digest = self.registry.publish("team/a:1", [BOTTOM, TOP], index=True)
        self.registry.publish("team/b:1", [BOTTOM])
        self.assertEqual(self.hekla("pull", self.image("team/a:1")).strip(), self.image("team/a@") + digest)
        self.hekla("pull", self.image("team/b:1"))
        self.assertEqual(self.names(), [self.image("team/a:1"), self.image("team/b:1")])
        listed = json.loads(self.hekla("list", "-o", "json"))
        self.assertEqual(listed[0]["digest"], digest)
        self.assertEqual(listed[0]["size"], len(BOTTOM) + len(TOP))
        self.assertRegex(self.hekla("list"), r"(?m)^NAME +TAG +DIGEST +SIZE +AGE$")
        self.assertEqual(len(self.layers()), 2, "the bottom layer is there once")
        asked = len(self.registry.requests)
        self.hekla("pull", self.image("team/a:1"))
        self.assertEqual([r for r in self.registry.requests[asked:] if "blobs" in r], [], "nothing is fetched twice")
        self.assertIn("removed " + self.image("team/a:1"), self.hekla("rm", self.image("team/a:1")))
        self.assertEqual(len(self.layers()), 1, "what the other image needs stays")
        self.assertIn("no image named", self.hekla("rm", self.image("team/a:1"), code=1))
        self.assertIn("freed", self.hekla("prune", "--older-than", "1h"))
        self.assertEqual(self.names(), [self.image("team/b:1")])
        self.hekla("prune")
        self.assertEqual((self.names(), self.layers(), os.listdir(os.path.join(self.data, "images/blobs"))), ([], [], []))

    def test_a_tag_that_moves_keeps_the_old_image_by_its_digest(self):
        old = self.registry.publish("team/a:1", [BOTTOM])
        self.hekla("pull", self.image("team/a:1"))
        self.registry.publish("team/a:1", [TOP])
        self.hekla("pull", self.image("team/a:1"))
        self.assertEqual(self.names(), [self.image("team/a:1"), self.image("team/a@" + old)])

    def test_torn_transfers_are_resumed(self):
        self.registry.publish("team/a:1", [BOTTOM])
        self.registry.tear = 3
        self.hekla("pull", self.image("team/a:1"))
        blob = [r for r in self.registry.requests if "elsewhere" in r and digest_of(BOTTOM) in r]
        self.assertGreaterEqual(len(blob), 3, "asked again for the rest")
        self.registry.publish("team/b:1", [layer(("other", os.urandom(5000), 0o644))])
        self.registry.ranges = False
        self.registry.tear = 1
        self.hekla("pull", self.image("team/b:1"))
        self.assertEqual(len(self.names()), 2)

    def test_a_later_process_goes_on_where_one_broke_off(self):
        self.registry.publish("team/a:1", [BOTTOM])
        self.registry.tear, self.registry.gone = 1, True
        self.hekla("pull", self.image("team/a:1"), code=1)
        self.registry.tear, self.registry.gone = 1, True
        said = self.hekla("pull", self.image("team/a:1"), code=1)
        self.assertIn("failed to pull and unpack image", said)
        self.registry.gone = False
        self.registry.requests.clear()
        served = []
        send = self.registry.send
        self.registry.send = lambda handler, status, content=b"", **headers: (
            served.append((status, len(content))), send(handler, status, content, **headers))
        self.hekla("pull", self.image("team/a:1"))
        self.assertIn(206, [status for status, _ in served])
        self.assertNotIn((200, len(BOTTOM)), served, "the whole blob is not sent again")

    def test_digests_are_checked(self):
        self.registry.publish("team/bad:1", [BOTTOM])
        self.registry.blobs[digest_of(BOTTOM)] = BOTTOM[:-1] + b"x"
        self.assertIn("unexpected digest", self.hekla("pull", self.image("team/bad:1"), code=1))
        self.registry.blobs[digest_of(BOTTOM)] = BOTTOM + b"x"
        self.assertIn("unexpected size", self.hekla("pull", self.image("team/bad:1"), code=1))
        self.registry.blobs[digest_of(BOTTOM)] = BOTTOM[:-1]
        self.assertIn("unexpected size", self.hekla("pull", self.image("team/bad:1"), code=1))
        name = self.image("team/bad@sha256:" + "1" * 64)
        self.registry.blobs["sha256:" + "1" * 64] = b'{"mediaType":"x"}'
        self.assertIn("has the digest", self.hekla("pull", name, code=1))
        self.assertEqual(self.names(), [])

    def test_a_busy_registry_is_asked_again(self):
        self.registry.publish("team/a:1", [TOP])
        self.registry.busy = [(429, {"Retry_After": "0"}), (503, {"Retry_After": "0"}), (500, {"Retry_After": "0"})]
        self.hekla("pull", self.image("team/a:1"))
        self.registry.busy = [(503, {"Retry_After": "0"})] * 9
        self.assertIn("unexpected status from GET request to", self.hekla("pull", self.image("team/b:1"), code=1))
        self.assertIn("team/none:1: not found", self.hekla("pull", self.image("team/none:1"), code=1))

    def test_logins(self):
        self.registry.publish("private/a:1", [TOP])
        self.assertIn("failed to fetch anonymous token", self.hekla("pull", self.image("private/a:1"), code=1))
        self.assertIn("failed to authorize", self.hekla("login", self.registry.host, "-u", "user", "-p", "no", code=1))
        self.assertIn("Login Succeeded", self.hekla("login", self.registry.host, "-u", "user", stdin=b"secret\n"))
        self.assertEqual(os.stat(os.path.join(self.data, "config.json")).st_mode & 0o777, 0o600)
        self.hekla("pull", self.image("private/a:1"))
        self.hekla("logout", self.registry.host)
        self.assertIn("not logged in", self.hekla("logout", self.registry.host, code=1))
        self.assertIn("is no registry", self.hekla("login", "a/b", "-u", "x", "-p", "y", code=2))
        self.registry = self.serve(basic=True)
        self.registry.publish("team/a:1", [TOP])
        self.assertIn("no basic auth credentials", self.hekla("pull", self.image("team/a:1"), code=1))
        self.assertIn("incorrect username or password",
                      self.hekla("login", self.registry.host, "-u", "user", "-p", "no", code=1))
        self.hekla("login", self.registry.host, "-u", "user", "-p", "secret")
        self.hekla("pull", self.image("team/a:1"))

    def test_push(self):
        digest = self.registry.publish("team/a:1", [BOTTOM, TOP])
        self.hekla("pull", self.image("team/a:1"))
        self.assertIn("failed to push", self.hekla("push", self.image("team/a:1"), self.image("team/c:2"), code=1))
        self.hekla("login", self.registry.host, "-u", "user", "-p", "secret")
        self.hekla("push", self.image("team/a:1"), self.image("team/c:2"))
        self.assertEqual(self.registry.tags["team/c:2"], digest, "bit for bit the same image")
        other = self.serve()
        self.hekla("login", other.host, "-u", "user", "-p", "secret")
        other.busy = [(503, {"Retry_After": "0"})]
        self.hekla("push", self.image("team/a:1"), other.host + "/x/y:z")
        self.assertEqual(other.tags["x/y:z"], digest)
        self.assertEqual(other.blobs[digest_of(BOTTOM)], BOTTOM)
        before = len(other.requests)
        self.hekla("push", self.image("team/a:1"), other.host + "/x/y:again")
        self.assertEqual([r for r in other.requests[before:] if "uploads" in r], [], "the manifest alone")
        self.assertIn("no image named", self.hekla("push", "nothing:1", code=1))

    def test_tls_and_mirrors(self):
        key, cert = os.path.join(self.dir, "key.pem"), os.path.join(self.dir, "cert.pem")
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
                        "-keyout", key, "-out", cert, "-days", "2", "-subj", "/CN=test", "-addext",
                        "subjectAltName=IP:127.0.0.1"], check=True, capture_output=True)
        secure = self.serve(tls=(cert, key))
        secure.publish("team/a:1", [TOP])
        name = secure.host + "/team/a:1"
        other = os.path.join(self.dir, "other.pem")
        shutil.copy("/etc/ssl/certs/ca-certificates.crt" if os.path.exists("/etc/ssl/certs/ca-certificates.crt")
                    else cert, other)
        self.hekla("pull", "--registry-ca", "%s=%s" % (secure.host, cert), name)
        self.assertEqual(self.names(), [name])
        if os.path.exists("/etc/ssl/certs/ca-certificates.crt"):
            self.hekla("rm", name)
            said = self.hekla("pull", "--registry-ca", "%s=%s" % (secure.host, other), name, code=1)
            self.assertIn("certificate", said)
        self.registry.publish("library/a:1", [TOP])
        self.registry.publish("team/gone:1", [TOP])
        mirror = "docker.io=http://" + self.registry.host
        self.hekla("pull", "--registry-mirror", mirror, "a:1")
        self.assertIn("docker.io/library/a:1", self.names())
        down = "%s=http://127.0.0.1:1" % self.registry.host
        self.hekla("pull", "--registry-mirror", down, self.image("team/gone:1"))
        self.assertIn("expected HOST=URL", self.hekla("pull", "--registry-mirror", "x", "a:1", code=2))

    def archive(self, files):
        out = io.BytesIO()
        with tarfile.open(fileobj=out, mode="w") as tar:
            for name, content in files.items():
                info = tarfile.TarInfo(name)
                info.size = len(content)
                tar.addfile(info, io.BytesIO(content))
        return out.getvalue()

    def write(self, name, content):
        path = os.path.join(self.dir, name)
        with open(path, "wb") as file:
            file.write(content)
        return path

    def test_archives(self):
        plain = gzip.decompress(BOTTOM)
        config = json.dumps({"os": "linux", "architecture": "amd64", "config": {"Cmd": ["/x"]}, "rootfs": {
            "type": "layers", "diff_ids": ["sha256:" + hashlib.sha256(plain).hexdigest()]}}).encode()
        docker = self.archive({"c.json": config, "abc/layer.tar": plain, "manifest.json": json.dumps([
            {"Config": "c.json", "RepoTags": ["my/app:1", "my/app:2"], "Layers": ["abc/layer.tar"]}]).encode()})
        self.assertEqual(self.hekla("import", "-", stdin=docker).split(),
                         ["docker.io/my/app:1", "docker.io/my/app:2"])
        self.assertEqual(len(self.layers()), 1)
        saved = os.path.join(self.dir, "saved.tar")
        self.hekla("save", "my/app:1", "my/app:2", "-o", saved)
        with tarfile.open(saved) as tar:
            self.assertTrue({"oci-layout", "index.json", "manifest.json"} <= set(tar.getnames()))
        before = json.loads(self.hekla("list", "-o", "json"))
        self.hekla("prune")
        self.assertEqual(self.names(), [])
        self.hekla("import", saved)
        after = json.loads(self.hekla("list", "-o", "json"))
        self.assertEqual([one["id"] for one in before], [one["id"] for one in after])
        self.assertIn("has several images", self.hekla("import", saved, "other:1", code=2))
        layout = os.path.join(self.dir, "layout")
        shutil.unpack_archive(saved, layout, "tar")
        with open(layout + "/index.json") as file:
            index = json.load(file)
        index["manifests"] = [dict(index["manifests"][0], annotations={
            "org.opencontainers.image.ref.name": "latest"})]
        with open(layout + "/index.json", "w") as file:
            json.dump(index, file)
        self.assertIn("does not name its image", self.hekla("import", layout, code=2))
        self.hekla("import", layout, "from/layout")
        self.assertIn("docker.io/from/layout:latest", self.names())
        root = self.write("root.tar.gz", BOTTOM)
        self.assertIn("give the image a name", self.hekla("import", root, code=2))
        self.hekla("import", root, "root:1")
        self.assertIn("docker.io/library/root:1", self.names())
        self.assertIn("does not exist", self.hekla("import", "/nowhere/x", code=1))
        self.assertIn("read ", self.hekla("import", self.write("junk", b"no archive at all " * 99), "x", code=1))

    def test_hostile_archives(self):
        layer_blob = layer(("../../outside", b"x", 0o644))
        config = json.dumps({"os": "linux", "config": {}, "rootfs": {"type": "layers", "diff_ids": [
            "sha256:" + hashlib.sha256(gzip.decompress(layer_blob)).hexdigest()]}}).encode()
        docker = self.archive({"c.json": config, "l": layer_blob, "../../escape": b"x", "manifest.json": json.dumps([
            {"Config": "c.json", "RepoTags": ["x:1"], "Layers": ["l"]}]).encode()})
        self.assertIn("leaves the image's root", self.hekla("import", "-", stdin=docker, code=1))
        self.assertEqual(self.names(), [])
        self.assertFalse(os.path.exists(os.path.join(self.dir, "escape")))
        lying = self.archive({"manifest.json": json.dumps([
            {"Config": "../../../../etc/hostname", "RepoTags": ["x:1"], "Layers": []}]).encode()})
        self.assertIn("the archive has no", self.hekla("import", "-", stdin=lying, code=1))

    def test_images_of_pods_stay(self):
        root = self.write("root.tar", plain_layer(("etc", None, 0o755)))
        self.hekla("import", root, "used:1")
        image = json.loads(self.hekla("list", "-o", "json"))[0]
        pod = os.path.join(self.data, "pods", "u")
        os.makedirs(pod)
        with open(pod + "/state.json", "w") as file:
            json.dump({"uid": "u", "containers": [{"name": "c", "current": {"image_id": image["id"]}}]}, file)
        self.assertIn("is used by a pod", self.hekla("rm", "used:1", code=1))
        self.hekla("prune")
        self.assertEqual(self.names(), ["docker.io/library/used:1"])
        shutil.rmtree(pod)
        self.hekla("prune")
        self.assertEqual(self.names(), [])


if __name__ == "__main__":
    unittest.main()
