"""A Hekla platform for end-to-end tests: started in a directory of its own, driven by kubectl, gone afterwards.

Environment: HEKLA (the binary), HEKLA_CACHE (where tools/fetch_kubectl put its kubectls).
"""
import functools
import hashlib
import json
import os
import random
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time
import unittest

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
HEKLA = os.environ.get("HEKLA", os.path.join(ROOT, "build/release/hekla"))
CACHE = os.environ.get("HEKLA_CACHE", os.path.join(ROOT, ".cache"))
QUICKSTART = os.path.join(ROOT, "examples/quickstart")
NEWER = (1, 32)  # of the two kubectls that are tested with, one is at least this
PATIENCE = 120.0  # the longest that something which must happen may take, on a machine that is busy with other things
# A time.Duration of some length as Go prints it: 1h2m3.5s, 798.002268ms.
GO_DURATION = r"^(((\d+h)?\d+m)?\d+(\.\d{1,9})?s|\d+(\.\d{1,6})?ms)$"

# Who starts the tests in the background, or by nohup, has these ignored, and what is started inherits that.
for ending in (signal.SIGINT, signal.SIGQUIT, signal.SIGHUP):
    if signal.getsignal(ending) == signal.SIG_IGN:
        signal.signal(ending, signal.SIG_DFL)


@functools.lru_cache(None)
def version_of(tool):
    """(1, 34) of a kubectl; (0, 0) where there is none."""
    if not tool or not os.path.exists(tool):
        return 0, 0
    said = json.loads(subprocess.run([tool, "version", "--client", "-o", "json"], check=True, capture_output=True).stdout)
    return tuple(int(re.match(r"\d+", said["clientVersion"][part]).group()) for part in ("major", "minor"))


def kubectls():
    """Every kubectl to test with: the one on PATH, or the cache's if that is too old or missing, and Debian's."""
    newer = [shutil.which("kubectl"), os.path.join(CACHE, "kubectl-newer/kubectl")]
    newer = [tool for tool in newer if version_of(tool) >= NEWER] or [tool for tool in newer if version_of(tool) > (0, 0)]
    debian = os.path.join(CACHE, "kubectl-debian/usr/bin/kubectl")
    found = newer[:1] + ([debian] if os.path.exists(debian) else [])
    if not found:
        raise RuntimeError("no kubectl: run tools/fetch_kubectl %s" % CACHE)
    return found


def wait_for(what, condition, timeout=PATIENCE, interval=0.05):
    """Polls until condition() is true; returns its value. What it asks for need not be there yet."""
    deadline = time.monotonic() + timeout
    while True:
        missing = None
        try:
            value = condition()
            if value:
                return value
        except (AssertionError, LookupError, ValueError) as error:
            missing = error
        if time.monotonic() > deadline:
            raise AssertionError("%s: not within %.0f s" % (what, timeout)) from missing
        time.sleep(interval)


def line_of(process, timeout=PATIENCE):
    """The next line that a process says. One that stays silent is ended, so that its test fails and does not hang."""
    timer = threading.Timer(timeout, process.kill)
    timer.start()
    try:
        return process.stdout.readline()
    finally:
        timer.cancel()


def free_port():
    """Of those that the system gives to no client and that are no node ports: nobody takes it before it is used."""
    while True:
        port = random.randrange(20000, 30000)
        with socket.socket() as probe:
            try:
                probe.bind(("", port))
                return port
            except OSError:
                pass


def job(name, replicas, cpu, command="sleep 300"):
    """A gang of equal pods: all of them or none."""
    return """
apiVersion: batch.volcano.sh/v1alpha1
kind: Job
metadata: {name: %s}
spec:
  minAvailable: %d
  schedulerName: volcano
  tasks:
  - name: w
    replicas: %d
    template:
      spec:
        restartPolicy: Never
        terminationGracePeriodSeconds: 1
        containers:
        - {name: c, image: any, command: [sh, -c, "%s"], resources: {requests: {cpu: "%s"}}}
""" % (name, replicas, replicas, command, cpu)


class Platform:
    def __init__(self, *flags, data_dir=None, binary=HEKLA, process=None):
        self.flags = list(flags)
        self.binary, self.process_options = binary, process or {}  # of subprocess, such as user
        self.tool = kubectls()[0]
        self.data_dir = data_dir or tempfile.mkdtemp(prefix="hekla-e2e-")
        self.kubeconfig = os.path.join(self.data_dir, "admin.kubeconfig")
        self.home = tempfile.mkdtemp(prefix="hekla-e2e-home-")
        self.process = None
        self.ready_line = ""

    def up(self):
        flags = ["--log-level", "info"] + self.flags
        if "--eviction-hard" not in flags:  # whatever else fills this machine's disk and memory
            flags += ["--eviction-hard", "memory.available<1Mi"]
        with open(os.path.join(self.data_dir, "up.log"), "ab") as log:
            self.process = subprocess.Popen([self.binary, "up", "--data-dir", self.data_dir] + flags,
                                            stdout=subprocess.PIPE, stderr=log, start_new_session=True,
                                            **self.process_options)
        self.ready_line = line_of(self.process).decode().strip()
        if not self.ready_line:
            raise AssertionError("hekla up did not get ready:\n" + self.log())
        return self

    def log(self):
        with open(os.path.join(self.data_dir, "up.log"), errors="replace") as file:
            return file.read()[-8000:]

    def kill(self):
        """As a crash would: no chance to say goodbye."""
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()
        self.process.stdout.close()
        self.process = None

    def terminate(self):
        self.process.send_signal(signal.SIGTERM)
        code = self.process.wait(PATIENCE)
        self.process.stdout.close()
        self.process = None
        return code

    def down(self):
        done = subprocess.run([self.binary, "down", "--data-dir", self.data_dir], capture_output=True, text=True,
                              timeout=PATIENCE, **self.process_options)
        if self.process:
            self.process.wait(PATIENCE)
            self.process.stdout.close()
            self.process = None
        return done

    def destroy(self):
        try:
            self.down()
        finally:
            if self.process:
                self.kill()
            shutil.rmtree(self.data_dir, ignore_errors=True)
            shutil.rmtree(self.home, ignore_errors=True)

    def kubectl(self, *arguments, tool=None, check=True, stdin=None, timeout=2 * PATIENCE):
        environment = dict(os.environ, KUBECONFIG=self.kubeconfig, HOME=self.home)
        done = subprocess.run([tool or self.tool] + list(arguments), capture_output=True, text=True,
                              input=stdin, env=environment, timeout=timeout)
        if check and done.returncode != 0:
            raise AssertionError("kubectl %s: exit %d\n%s%s\n--- hekla log\n%s" % (
                " ".join(arguments), done.returncode, done.stdout, done.stderr, self.log()))
        return done.stdout if check else done

    def apply(self, *files, tool=None):
        arguments = ["apply"]
        for file in files:
            arguments += ["-f", file]
        return self.kubectl(*arguments, tool=tool)

    def apply_text(self, text, tool=None):
        return self.kubectl("apply", "-f", "-", stdin=text, tool=tool)

    def get(self, *arguments):
        return json.loads(self.kubectl("get", *arguments, "-o", "json"))

    def phase(self, job, namespace="default"):
        return self.get("vcjob", job, "-n", namespace).get("status", {}).get("state", {}).get("phase")

    def wait_phase(self, job, phase, timeout=PATIENCE):
        try:
            wait_for("job %s is %s" % (job, phase), lambda: self.phase(job) == phase, timeout, 0.1)
        except AssertionError as error:
            raise AssertionError("%s; it is %s\n%s\n%s\n--- hekla log\n%s" % (
                error, self.phase(job), self.kubectl("get", "pods,podgroups,vcjob", "-o", "wide"),
                self.kubectl("get", "events"), self.log()))


class PlatformTest(unittest.TestCase):
    """A platform per test class; subclasses set FLAGS."""
    FLAGS = ["--image-map", "*=host"]
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        cls.platform = Platform(*cls.FLAGS)
        cls.addClassCleanup(cls.platform.destroy)
        cls.platform.up()

    def assert_rows(self, text, expected):
        """Compares a printed table cell by cell; "*" in an expected cell matches anything."""
        rows = [re.split(r"\s{2,}", line.strip()) for line in text.strip().splitlines()]
        self.assertEqual(len(rows), len(expected), text)
        for row, wanted in zip(rows, expected):
            self.assertEqual(len(row), len(wanted), text)
            for cell, want in zip(row, wanted):
                if want != "*":
                    self.assertEqual(cell, want, text)


def leftovers(data_dir):
    """What of a platform is still on the machine: processes, mounts, control groups."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open("/proc/%s/cmdline" % pid, "rb") as file:
                command = file.read().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue
        if data_dir in command and int(pid) != os.getpid():
            found.append("process %s: %s" % (pid, command))
    with open("/proc/self/mounts") as file:
        found += ["mount " + line.strip() for line in file if data_dir in line]
    return found


def machine_leftovers(data_dir):
    """What a platform keeps outside its data directory, after which it is named: pinned namespaces, control groups."""
    name = hashlib.sha256(data_dir.encode()).hexdigest()[:8]
    found = ["/run/hekla/" + name] if os.path.exists("/run/hekla/" + name) else []
    for root, directories, _ in os.walk("/sys/fs/cgroup"):
        found += [os.path.join(root, one) for one in directories if one == "hekla-" + name]
    return found
