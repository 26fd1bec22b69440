"""Images from a registry: a tiny one on loopback, with a bearer token, an index and two layers."""
import json
import os
import shutil
import subprocess
import tempfile
import unittest
from base64 import b64encode

import platform_under_test as put
from registry import Registry, layer

PROGRAM = r"""
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
static void show(const char* path) {
  char line[64] = "";
  FILE* file = fopen(path, "r");
  if (file && !fgets(line, sizeof line, file)) line[0] = 0;
  printf("%s=%s\n", path, file ? line : "missing");
}
int main(int count, char** words) {
  char place[256];
  for (int i = 1; i < count; ++i) printf("%s ", words[i]);
  printf("\nuser=%d:%d FROM=%s TOO=%s cwd=%s\n", getuid(), getgid(), getenv("FROM"), getenv("TOO"),
         getcwd(place, sizeof place));
  show("/data/kept");
  show("/data/removed");
  show("/opaque/old");
  show("/opaque/new");
  return 0;
}
"""

POD = """
apiVersion: v1
kind: Pod
metadata: {name: %(name)s}
spec:
  schedulerName: volcano
  restartPolicy: Never
  imagePullSecrets: %(secrets)s
  containers:
  - name: c
    image: "%(image)s"
    imagePullPolicy: %(policy)s
    env: [{name: TOO, value: pod}]
    args: %(args)s
---
"""


def build_program(directory):
    source, program = os.path.join(directory, "p.c"), os.path.join(directory, "p")
    with open(source, "w") as file:
        file.write(PROGRAM)
    subprocess.run(["gcc", "-O1", "-static", "-o", program, source], check=True)
    with open(program, "rb") as file:
        return file.read()


class Images(put.PlatformTest):
    FLAGS = []

    @classmethod
    def setUpClass(cls):
        cls.registry = Registry()
        cls.addClassCleanup(cls.registry.close)
        directory = tempfile.mkdtemp(prefix="hekla-e2e-image-")
        cls.addClassCleanup(shutil.rmtree, directory, True)
        cls.publish(build_program(directory))
        super().setUpClass()

    @classmethod
    def publish(cls, program):
        registry = cls.registry
        bottom = layer(("etc", None, 0o755), ("etc/passwd", b"root:x:0:0::/:\napp:x:123:45::/:\n", 0o644),
                       ("bin", None, 0o755), ("bin/show", program, 0o755), ("data", None, 0o755),
                       ("data/kept", b"kept", 0o644), ("data/removed", b"old", 0o644),
                       ("opaque", None, 0o755), ("opaque/old", b"old", 0o644))
        top = layer(("data/.wh.removed", b"", 0o644), ("opaque", None, 0o755), ("opaque/.wh..wh..opq", b"", 0o644),
                    ("opaque/new", b"new", 0o644))
        config = {"User": "app", "Env": ["FROM=image", "TOO=image"], "Entrypoint": ["/bin/show", "entry"],
                  "Cmd": ["cmd"], "WorkingDir": "/data"}
        cls.digest = registry.publish("team/show:1", [bottom, top], config, index=True)
        registry.publish("private/show:1", [bottom, top], config)
        spoilt = layer(("spoilt", b"", 0o644))
        registry.publish("team/damaged:1", [bottom, spoilt], config)
        registry.blobs[registry.put(spoilt)["digest"]] = bytes(len(spoilt))
        registry.publish("team/hostile:1", [bottom, layer(("../../../../outside", b"x", 0o644))], config)

    def make(self, name, image, args="[]", policy="IfNotPresent", secrets="[]"):
        return POD % {"name": name, "image": image.replace("R/", self.registry.host + "/"), "args": args,
                      "policy": policy, "secrets": secrets}

    def status(self, pod):
        return self.platform.get("pod", pod)["status"]

    def waiting(self, pod):
        state = self.status(pod).get("containerStatuses", [{}])[0].get("state", {})
        return state.get("waiting", {})

    def test_images(self):
        p = self.platform
        login = b64encode(json.dumps({"auths": {self.registry.host: {
            "auth": b64encode(b"user:secret").decode()}}}).encode()).decode()
        p.apply_text("""
apiVersion: v1
kind: Secret
metadata: {name: login}
type: kubernetes.io/dockerconfigjson
data: {.dockerconfigjson: %s}
---
""" % login + self.make("plain", "R/team/show:1") + self.make("closed", "R/private/show:1") +
                     self.make("login", "R/private/show:1", secrets="[{name: login}]", args="[mine]", policy="Always") +
                     self.make("never", "R/team/other:1", policy="Never") + self.make("gone", "R/team/gone:1") +
                     self.make("badname", "UPPER case") + self.make("damaged", "R/team/damaged:1") +
                     self.make("hostile", "R/team/hostile:1"))
        for pod in ["plain", "login"]:
            put.wait_for(pod + " has run", lambda: self.status(pod).get("phase") == "Succeeded")
        self.assertEqual(p.kubectl("logs", "plain").splitlines(), [
            "entry cmd ", "user=123:45 FROM=image TOO=pod cwd=/data", "/data/kept=kept", "/data/removed=missing",
            "/opaque/old=missing", "/opaque/new=new"])
        self.assertEqual(p.kubectl("logs", "login").splitlines()[0], "entry mine ")
        self.assertEqual(self.status("plain")["containerStatuses"][0]["imageID"],
                         "%s/team/show@%s" % (self.registry.host, self.digest))
        layers = [path for path in self.registry.requests if "team/show/blobs" in path]
        self.assertEqual(len(layers), len(set(layers)), "every blob once")
        expected = {"closed": ("ErrImagePull", "failed to fetch anonymous token"),
                    "never": ("ErrImageNeverPull", "is not present with pull policy of Never"),
                    "gone": ("ErrImagePull", "/team/gone:1: not found"),
                    "badname": ("InvalidImageName", "couldn't parse image name"),
                    "damaged": ("ErrImagePull", "unexpected digest"),
                    "hostile": ("ErrImagePull", "leaves the image's root")}
        for pod, (reason, words) in expected.items():
            said = put.wait_for(pod + " waits", lambda: self.waiting(pod).get("message") and self.waiting(pod))
            self.assertIn(said["reason"], [reason, "ImagePullBackOff"], pod)
            self.assertIn(words, said["message"], pod)
        asked = len(self.registry.requests)
        p.apply_text(self.make("again", "R/team/show:1", args='["$(TOO)"]'))
        put.wait_for("again has run", lambda: self.status("again").get("phase") == "Succeeded")
        self.assertEqual(p.kubectl("logs", "again").splitlines()[0], "entry pod ")
        new = [path for path in self.registry.requests[asked:] if "/team/show/" in path]
        self.assertEqual(new, [], "an image that is here is not asked for")
        events = p.kubectl("get", "events")
        self.assertIn('Pulling image "%s/team/show:1"' % self.registry.host, events)
        self.assertIn('Successfully pulled image "%s/team/show:1" in ' % self.registry.host, events)
        self.assertIn('already present on machine', events)


if __name__ == "__main__":
    unittest.main()
