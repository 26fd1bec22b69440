"""hekla image build: the tutorials' Dockerfiles, and everything the others use, with commands run in containers."""
import glob
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
import unittest

import platform_under_test as put
from registry import Registry

# As the tutorials have them, comments and all.
TUTORIAL_DISTRIBUTED = """FROM tensorflow/tensorflow:latest-gpu #with the drivers for CUDA
WORKDIR /app
ADD . /app
RUN export TF_CPP_MIN_LOG_LEVEL=0
ENTRYPOINT ["python", "mnist3.py"]
"""
TUTORIAL_SINGLE = """FROM tensorflow/tensorflow:1.10.0
# take tensorflow's image
COPY main.py /app/main.py
# copy the program

ENTRYPOINT ["python", "/app/main.py"]
# the command
"""
ALL = r"""# escape=\
ARG BASE=host
FROM ${BASE} AS first
ARG GREETING=hello
ENV A=1 B="two words" C=${GREETING:-none}-$A
SHELL ["/bin/bash", "-c"]
WORKDIR /srv/x
RUN echo "$GREETING $A $B $C" > said && \
    # a comment in between
    pwd >> said && id -un >> said
RUN ["/bin/sh", "-c", "echo list form > listed"]
RUN <<EOF
set -e
echo from a heredoc > here
EOF
COPY --chown=1234:56 --chmod=640 one.txt sub/two.txt ./files/
COPY [ "with space.txt", "/srv/spaced.txt" ]
COPY sub /srv/tree
COPY *.txt /srv/globbed/
COPY <<END /srv/inline
A is $A
END
ADD packed.tar.gz /srv/unpacked
RUN rm -rf /srv/tree/deep && mkdir -p /srv/tree/deep && touch /srv/tree/deep/fresh && rm /srv/globbed/one.txt

FROM first AS second
COPY --from=first /srv/x/said /copied
USER 1234:56
LABEL some.label="a value" other=b
EXPOSE 8080 53/udp
VOLUME /data
STOPSIGNAL SIGINT
HEALTHCHECK CMD true
CMD ["-x"]
ENTRYPOINT cat
"""

MOUNTS = r"""FROM --platform=$BUILDPLATFORM host
WORKDIR /srv
RUN --mount=type=cache,id=c,target=/cache echo cached > /cache/file
RUN --mount=type=cache,id=c,target=/cache --mount=type=bind,source=data,target=/in --mount=type=tmpfs,target=/t \
    --mount=type=secret,id=key --mount=type=secret,id=other --network=none \
    echo $(cat /cache/file /in/one.txt /run/secrets/key) $(cat /run/secrets/other 2>/dev/null || echo nothing) \
    $(stat -f -c %T /t) $(tail -n +3 /proc/net/dev | cut -d: -f1) > said
"""


class Build(unittest.TestCase):
    def setUp(self):
        self.dir = tempfile.mkdtemp(prefix="hekla-e2e-build-")
        self.addCleanup(shutil.rmtree, self.dir, True)
        self.data = os.path.join(self.dir, "data")
        self.context = os.path.join(self.dir, "context")
        os.makedirs(self.context)

    def write(self, name, content):
        path = os.path.join(self.context, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            file.write(content if isinstance(content, bytes) else content.encode())

    def hekla(self, verb, *arguments, code=0):
        done = subprocess.run([put.HEKLA, "image", verb, "--data-dir", self.data, *arguments], capture_output=True,
                              timeout=2 * put.PATIENCE, text=True)
        self.assertEqual(done.returncode, code, done.stderr)
        self.said = done.stderr
        return done.stdout if code == 0 else done.stderr

    def build(self, dockerfile, *arguments, code=0, name="built:1"):
        self.write("Dockerfile", dockerfile)
        return self.hekla("build", "-t", name, *arguments, self.context, code=code)

    def record(self, name="docker.io/library/built:1"):
        for path in glob.glob(self.data + "/images/refs/*.json"):
            with open(path) as file:
                record = json.load(file)
            if record["name"] == name:
                return record
        return self.fail("no record of " + name)

    def config(self, record):
        blobs = self.data + "/images/blobs/"
        with open(blobs + record["manifest"][7:]) as file:
            manifest = json.load(file)
        with open(blobs + manifest["config"]["digest"][7:]) as file:
            return json.load(file)

    def find(self, record, path):
        """A file as the image's topmost layer that has it shows it."""
        for layer in reversed(record["layers"]):
            place = os.path.join(self.data, "images/layers", layer, path)
            if os.path.lexists(place):
                return place
        return None

    def text(self, record, path):
        place = self.find(record, path)
        self.assertIsNotNone(place, path)
        with open(place) as file:
            return file.read()

    def assert_clean(self):
        self.assertEqual(glob.glob(self.data + "/images/build/pods/*"), [])
        with open("/proc/self/mountinfo") as file:
            self.assertNotIn(self.dir, file.read())

    def test_the_tutorials(self):
        self.write("mnist3.py", "print('trained')\n")
        self.write("main.py", "print('main')\n")
        self.build(TUTORIAL_DISTRIBUTED, "--image-map", "tensorflow/*=host")
        self.assertIn("comments stand on lines of their own", self.said)
        record = self.record()
        self.assertTrue(record["host"])
        self.assertEqual((record["config"]["entrypoint"], record["config"]["working_dir"]),
                         (["python", "mnist3.py"], "/app"))
        self.assertEqual(self.text(record, "app/mnist3.py"), "print('trained')\n")
        self.build(TUTORIAL_SINGLE, "--image-map", "tensorflow/*=host", name="single:1")
        record = self.record("docker.io/library/single:1")
        self.assertEqual(self.text(record, "app/main.py"), "print('main')\n")
        self.assertIsNone(self.find(record, "app/mnist3.py"))
        self.assertIn("cannot be pushed", self.hekla("push", "single:1", "127.0.0.1:1/x:1", code=1))
        self.assert_clean()

    def test_every_instruction(self):
        packed = io.BytesIO()
        with tarfile.open(fileobj=packed, mode="w:gz") as out:
            info = tarfile.TarInfo("inner/file")
            info.size = 3
            out.addfile(info, io.BytesIO(b"abc"))
        self.write("packed.tar.gz", packed.getvalue())
        self.write("one.txt", "one")
        self.write("with space.txt", "spaced")
        self.write("sub/two.txt", "two")
        self.write("sub/deep/old", "old")
        self.write("sub/ignored.log", "x")
        self.write("sub/kept.log", "x")
        self.write(".dockerignore", "**/*.log\n!sub/kept.log\n")
        self.build(ALL, "--build-arg", "GREETING=welcome", "--build-arg", "UNKNOWN=1")
        self.assertIn("UNKNOWN was not consumed", self.said)
        self.assertIn("HEALTHCHECK has no effect", self.said)
        record = self.record()
        self.assertEqual(self.text(record, "srv/x/said"), "welcome 1 two words welcome-\n/srv/x\nroot\n")
        self.assertEqual(self.text(record, "copied"), self.text(record, "srv/x/said"))
        self.assertEqual(self.text(record, "srv/x/listed"), "list form\n")
        self.assertEqual(self.text(record, "srv/x/here"), "from a heredoc\n")
        for name in ["one.txt", "two.txt"]:
            info = os.stat(self.find(record, "srv/x/files/" + name))
            self.assertEqual((info.st_uid, info.st_gid, info.st_mode & 0o777), (1234, 56, 0o640))
        self.assertEqual(self.text(record, "srv/spaced.txt"), "spaced")
        self.assertEqual(self.text(record, "srv/tree/two.txt"), "two")
        self.assertIsNone(self.find(record, "srv/tree/ignored.log"))
        self.assertIsNotNone(self.find(record, "srv/tree/kept.log"))
        self.assertIsNone(self.find(record, "srv/tree/deep/old"), "removed by a command")
        self.assertIsNotNone(self.find(record, "srv/tree/deep/fresh"))
        self.assertIsNone(self.find(record, "srv/globbed/one.txt"))
        self.assertEqual(self.text(record, "srv/globbed/with space.txt"), "spaced")
        self.assertEqual(self.text(record, "srv/inline"), "A is 1\n")
        self.assertEqual(self.text(record, "srv/unpacked/inner/file"), "abc")
        config = self.config(record)["config"]
        self.assertEqual(config["Env"], ["A=1", "B=two words", "C=welcome-"], "a line does not see its own variables")
        self.assertEqual((config["User"], config["Entrypoint"], config["Cmd"]),
                         ("1234:56", ["/bin/bash", "-c", "cat"], ["-x"]))
        self.assertEqual(config["Labels"], {"some.label": "a value", "other": "b"})
        self.assertEqual(sorted(config["ExposedPorts"]), ["53/udp", "8080/tcp"])
        self.assertEqual((list(config["Volumes"]), config["StopSignal"]), (["/data"], "SIGINT"))
        self.assertEqual(self.hekla("list", "-o", "name").split(), ["docker.io/library/built:1"])
        self.build(ALL, "--target", "first", name="early:1")
        self.assertIsNone(self.find(self.record("docker.io/library/early:1"), "copied"))
        self.assert_clean()

    def test_mounts_checksums_and_platforms(self):
        key = os.path.join(self.dir, "key")
        with open(key, "w") as file:
            file.write("hidden")
        self.write("data/one.txt", "one")
        self.build(MOUNTS, "--secret", "id=key,src=" + key)
        record = self.record()
        self.assertEqual(self.text(record, "srv/said"), "cached onehidden nothing tmpfs lo\n")
        self.assertIsNone(self.find(record, "cache/file"))
        self.assertNotIn("hidden", self.text(record, "run/secrets/key") if self.find(record, "run/secrets/key") else "")
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), http.server.SimpleHTTPRequestHandler)
        server.RequestHandlerClass.log_message = lambda *_: None
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        url = "http://127.0.0.1:%d/image_build_test.py" % server.server_port
        with open(__file__, "rb") as file:
            digest = hashlib.sha256(file.read()).hexdigest()
        self.build("FROM scratch\nADD --checksum=sha256:%s %s /x\n" % (digest, url))
        for text, why in (("ADD --checksum=sha256:%s %s /x" % ("0" * 64, url), "digest mismatch sha256:" + digest),
                          ("ADD --checksum=sha256:%s data /x" % digest, "can't be specified for local sources"),
                          ("COPY --parents data /x", "Dockerfile:2: COPY --parents is not supported"),
                          ("RUN --mount=type=ssh true", "--mount=type=ssh is not supported"),
                          ("RUN --mount=type=secret,id=other,required true", "secret other: not found"),
                          ("FROM --platform=linux/vax scratch", "--platform=linux/vax is not supported")):
            self.assertIn(why, self.build("FROM host\n%s\n" % text, code=1))
        self.assert_clean()

    def test_upon_an_image_of_a_registry_and_pushed(self):
        registry = Registry()
        self.addCleanup(registry.close)
        self.write("Dockerfile", "FROM scratch\nCOPY base.txt /base.txt\nENV FROM=base\n")
        self.write("base.txt", "base")
        self.write("top.txt", "top")
        self.hekla("build", "-t", registry.host + "/team/base:1", self.context)
        self.hekla("login", registry.host, "-u", "user", "-p", "secret")
        self.hekla("push", registry.host + "/team/base:1")
        self.hekla("prune")
        self.assertEqual(self.hekla("list", "-o", "name"), "")
        self.build("FROM %s/team/base:1\nCOPY top.txt /\n" % registry.host, name=registry.host + "/team/top:1")
        record = self.record(registry.host + "/team/top:1")
        self.assertEqual((len(record["layers"]), record["config"]["env"]), (2, ["FROM=base"]))
        self.assertEqual(len(self.config(record)["rootfs"]["diff_ids"]), 2)
        self.hekla("push", registry.host + "/team/top:1")
        self.assertEqual(registry.tags["team/top:1"], record["digest"])

    def test_mistakes(self):
        self.write("one.txt", "one")
        self.write("secret.txt", "x")
        self.write(".dockerignore", "secret*\n")
        cases = {
            "FROM host\nFETCH x\n": "Dockerfile:2: unknown instruction: FETCH",
            "RUN true\n": "Dockerfile:1: no build stage in current context",
            "": "has no FROM",
            "FROM host one two\n": "FROM requires either one or three arguments",
            "FROM host\n\nRUN exit 7\n": "did not complete successfully: exit code: 7",
            "FROM host\nCOPY missing /\n": 'Dockerfile:2: COPY missing /: file not found in build context',
            "FROM host\nCOPY secret.txt /\n": "excluded by .dockerignore",
            "FROM host\nCOPY ../../etc/shadow /\n": "forbidden path outside the build context",
            "FROM host\nCOPY one.txt\n": "COPY requires at least two arguments",
            "FROM host\nENV A\n": "A must have two arguments",
            'FROM host\nENV A="x\n': "looking for matching double-quote",
            "FROM host\nCOPY --chmod=rwx one.txt /\n": "invalid chmod parameter",
            "FROM host\nCOPY --from=nine:1/:x one.txt /\n": "invalid reference format",
            "FROM host\nRUN <<EOF\ntrue\n": "unterminated heredoc EOF"}
        for dockerfile, words in cases.items():
            with self.subTest(dockerfile):
                self.assertIn(words, self.build(dockerfile, code=1))
        self.write("D3", "FROM host\nRUN exit 7\n")
        self.assertIn("D3:2: RUN exit 7: ", self.hekla("build", "-t", "x:1", "-f", os.path.join(self.context, "D3"),
                                                            self.context, code=1))
        self.assertIn("could not be found", self.build("FROM host\n", "--target", "x", code=1))
        self.assertIn("expected NAME=VALUE", self.build("FROM host\n", "--build-arg", "x", code=2))
        self.assertEqual(self.hekla("list", "-o", "name"), "")
        self.assert_clean()

    def test_links_of_the_context_do_not_lead_out(self):
        os.symlink("/etc/shadow", os.path.join(self.context, "link"))
        os.symlink("/etc", os.path.join(self.context, "etc"))
        said = self.build("FROM host\nCOPY link /stolen\n", code=1)
        self.assertIn("not found", said)
        self.assertIn("not found", self.build("FROM host\nCOPY etc/shadow /stolen\n", code=1))
        # And the host's own secrets are not in a root that is the host's.
        self.build("FROM host\nRUN test ! -s /etc/shadow && ! ls %s/images\n" % self.data)
        self.build("FROM host\nRUN for f in $(find /sys/fs/cgroup -name cgroup.procs); do ! echo $$ > $f || exit 1; done\n")


if __name__ == "__main__":
    unittest.main()
