"""Volcano's own end-to-end suites against Hekla.

docs/compat/volcano-e2e.md names the tests that do not pass, and why. The run fails when another one fails, or when a
listed one passes.

Environment: as for test/e2e/platform_under_test.py. usage: run.py CACHE_DIR [SUITE...] [--focus REGULAR_EXPRESSION]
"""
import argparse
import contextlib
import dataclasses
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import threading

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "e2e"), os.path.join(HERE, "..", "conformance")]
import images  # noqa: E402
import platform_under_test as put  # noqa: E402
from known_failures import known_failures, plain  # noqa: E402

PAGE = "docs/compat/volcano-e2e.md"
# The file of Volcano's own runs, and the ConfigMap that their suites change.
CONFIGURATION = "volcano-scheduler-ci.conf"
CONFIG_MAP = "integration-scheduler-configmap"

# This machine as the node, declared large enough for what the suites start on theirs.
MACHINE = ["--node-resources", "cpu=16,memory=32Gi"]
# Four nodes of the size of Volcano's, whose pods are only played, and not faster than the suites can look.
PLAYED = ["--no-agent", "--fake-nodes", "4", "--fake-node-resources", "cpu=4,memory=16Gi,pods=110",
          "--fake-pod-delay", "1"]


@dataclasses.dataclass
class Suite:
    flags: list
    at_once: int = 1      # processes that share the tests: where most of the time is waiting
    kwok_nodes: int = 0


SUITES = {
    "admission": Suite(PLAYED),
    "vcctl": Suite(PLAYED),
    "schedulingbase": Suite(MACHINE),
    "schedulingaction": Suite(PLAYED),
    "hypernode": Suite(PLAYED, kwok_nodes=8),
    "stress": Suite(PLAYED),
    "jobp": Suite(MACHINE, at_once=4),
    "jobseq": Suite(MACHINE),
    "cronjob": Suite(MACHINE, at_once=9),
}


def suite_images():
    """Of busybox; what serves in the real ones only waits for its end here, for nobody asks it anything."""
    waits = ["sh", "-c", "trap exit TERM; sleep infinity & wait"]
    shell, server = (images.busybox(), {"Cmd": ["sh"]}), (images.busybox(), {"Cmd": waits})
    return {
        "library/busybox:latest": shell, "library/busybox:1.24": shell, "e2e-test-images/busybox:1.37.0-1": shell,
        "library/nginx:latest": server, "library/nginx:1.29.3-alpine": server, "e2e-test-images/nginx:1.14-4": server,
        "e2e-test-images/agnhost:2.56": (images.busybox(), {"Entrypoint": waits})}


class MirroredConfiguration:
    """What a kubelet does with a ConfigMap that is mounted: each change of it reaches the scheduler's file."""

    def __init__(self, platform, path, text):
        self.path = path
        platform.kubectl("create", "configmap", "-n", "volcano-system", CONFIG_MAP,
                         "--from-literal=%s=%s" % (CONFIGURATION, text))
        self.watch = subprocess.Popen(
            [platform.tool, "get", "configmap", "-n", "volcano-system", CONFIG_MAP, "--watch", "-o", "json"],
            stdout=subprocess.PIPE, text=True, env=dict(os.environ, KUBECONFIG=platform.kubeconfig, HOME=platform.home))
        threading.Thread(target=self.follow, daemon=True).start()

    def follow(self):
        decoder, text = json.JSONDecoder(), ""
        for line in self.watch.stdout:
            text += line
            with contextlib.suppress(ValueError):  # an object is several lines
                found, end = decoder.raw_decode(text)
                text = text[end:].lstrip()
                with open(self.path + ".new", "w") as file:
                    file.write(found["data"][CONFIGURATION])
                os.rename(self.path + ".new", self.path)

    def close(self):
        self.watch.kill()
        self.watch.wait()


def specs(report):
    """(name, what ginkgo reports of it) of each test."""
    with open(report) as file:
        for suite in json.load(file):
            for spec in suite["SpecReports"] or []:
                if spec["LeafNodeType"] == "It":
                    yield " ".join((spec["ContainerHierarchyTexts"] or []) + [spec["LeafNodeText"]]), spec


class Run:
    def __init__(self, suite, cache, reports):
        self.name, self.suite, self.reports = suite, SUITES[suite], reports
        self.program = os.path.join(cache, "volcano-e2e", suite + ".test")
        self.cache = cache

    def command(self, label, *flags):
        report = os.path.join(self.reports, label + ".json")
        return report, [self.program, "-ginkgo.v", "-ginkgo.no-color", "-ginkgo.timeout=4h",
                        "-ginkgo.json-report=" + report, *flags]

    def names(self, environment):
        report, command = self.command(self.name + "-list", "-ginkgo.dry-run")
        subprocess.run(command, cwd=self.reports, env=environment, stdout=subprocess.DEVNULL, check=True)
        return [name for name, _ in specs(report)]

    def run_tests(self, names, environment):
        """name -> what ginkgo reports of it."""
        running, found = [], {}
        parts = min(self.suite.at_once, len(names))
        try:
            for i in range(parts):
                label = "%s-%d" % (self.name, i)
                focus = ["-ginkgo.focus=" + re.sub(r"([\\.+*?()|\[\]{}^$])", r"\\\1", name) + "$"  # as Go reads them
                         for name in names[i::parts]]
                report, command = self.command(label, *focus)
                with open(os.path.join(self.reports, label + ".log"), "w") as log:
                    running.append((report, subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT,
                                                             cwd=self.reports, env=environment)))
            for report, process in running:
                process.wait()
                if os.path.exists(report):  # or it died: its tests count as not run
                    found.update((name, spec) for name, spec in specs(report)
                                 if spec["RunTime"] or spec["State"] != "skipped")  # else it was another process's
        finally:
            for _, process in running:
                if process.poll() is None:
                    process.kill()
                    process.wait()
        return found

    def run(self, pattern, known):
        """True when everything is as the page says."""
        with contextlib.ExitStack() as cleanup:
            with open(os.path.join(self.cache, "volcano-e2e", CONFIGURATION)) as file:
                configuration = file.read()
            file = os.path.join(self.reports, self.name + "-scheduler.conf")
            with open(file, "w") as out:
                out.write(configuration)
            flags = self.suite.flags + ["--scheduler-conf", file]
            if self.suite.flags is MACHINE:
                registry = images.Registry(images.make(os.path.join(self.cache, "volcano-e2e", "images"), suite_images))
                cleanup.callback(registry.close)
                for host in ("docker.io", "registry.k8s.io"):
                    flags += ["--registry-mirror", host + "=" + registry.url]
            platform = put.Platform(*flags)
            cleanup.callback(platform.destroy)
            cleanup.callback(lambda: shutil.copy(os.path.join(platform.data_dir, "up.log"),
                                                 os.path.join(self.reports, self.name + "-up.log")))
            platform.up()
            cleanup.callback(MirroredConfiguration(platform, file, configuration).close)
            for i in range(self.suite.kwok_nodes):
                platform.apply_text(KWOK_NODE % {"i": i})
            platform.apply_text(STANDARD_CLASS)
            platform.apply_text(NETWORK)
            nodes = len(platform.get("nodes")["items"])
            put.wait_for("every node has the network", lambda: platform.get(
                "-n", "kube-system", "daemonset", "network")["status"].get("numberReady") == nodes)
            programs = os.path.join(self.reports, "bin")
            os.makedirs(programs, exist_ok=True)
            with contextlib.suppress(FileExistsError):
                os.symlink(put.HEKLA, os.path.join(programs, "vcctl"))
            environment = dict(os.environ, KUBECONFIG=platform.kubeconfig, HOME=platform.home, VC_BIN=programs,
                               ARTIFACTS_PATH=self.reports)
            names = [name for name in self.names(environment) if re.search(pattern, name)]
            not_run = [name for name in names if known.get(self.known_name(name), "").startswith("not run: ")]
            found = self.run_tests([name for name in names if name not in not_run], environment)
        return self.report(names, not_run, found, known)

    def known_name(self, name):
        return plain("%s: %s" % (self.name, name))

    def report(self, names, not_run, found, known):
        good, passed, failed, skipped = True, 0, 0, len(not_run)
        for name in names:
            state = found[name]["State"] if name in found else "not run" if name in not_run else "missing"
            reason = known.get(self.known_name(name))
            if state == "passed":
                passed += 1
                if reason:
                    good = False
                    print("PASSES, but %s lists it: %s" % (PAGE, name))
            elif state in ("skipped", "pending"):
                skipped += 1
                message = found[name].get("Failure", {}).get("Message", "")
                print("skipped  %s\n           by itself: %s" % (name, message))
            elif state == "not run":
                print("not run  %s\n           %s" % (name, reason))
            else:
                failed += 1
                message = found[name].get("Failure", {}).get("Message", state) if name in found else "its process died"
                if reason:
                    print("as known %s\n           %s" % (name, reason))
                else:
                    good = False
                    print("FAILS    %s\n           %s" % (name, message[:1500].replace("\n", "\n           ")))
        print("== %s: %d passed, %d failed, %d skipped" % (self.name, passed, failed, skipped), flush=True)
        return good


# What kind's network takes of every node: tests count on the fraction of a CPU that no pod of theirs fits into.
NETWORK = """
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: network, namespace: kube-system}
spec:
  selector: {matchLabels: {app: network}}
  template:
    metadata: {labels: {app: network}}
    spec:
      tolerations: [{operator: Exists}]
      containers:
      - name: network
        image: nginx:1.29.3-alpine
        resources: {requests: {cpu: 100m, memory: 50Mi}, limits: {cpu: 100m, memory: 50Mi}}
"""
# The class that kind has, and that suites name.
STANDARD_CLASS = """
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: standard}
provisioner: rancher.io/local-path
volumeBindingMode: WaitForFirstConsumer
"""
# The nodes that Volcano has its topologies of: kwok's there, played by Hekla here.
KWOK_NODE = """
apiVersion: v1
kind: Node
metadata:
  name: kwok-node-%(i)d
  labels: {kubernetes.io/hostname: kwok-node-%(i)d, type: kwok, hekla.io/fake-node: "true"}
spec:
  taints: [{key: kwok.x-k8s.io/node, value: fake, effect: NoSchedule}]
status:
  capacity: {cpu: "8", memory: 8Gi, pods: "110"}
  allocatable: {cpu: "8", memory: 8Gi, pods: "110"}
  conditions: [{type: Ready, status: "True"}]
"""


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("cache")
    parser.add_argument("suites", nargs="*", default=list(SUITES), metavar="SUITE")
    parser.add_argument("--focus", default="")
    arguments = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that the platform is removed then, too
    cache = os.path.abspath(arguments.cache)
    reports = os.path.join(cache, "volcano-e2e", "reports")
    os.makedirs(reports, exist_ok=True)
    known = known_failures(PAGE)
    outcomes = [Run(suite, cache, reports).run(arguments.focus, known) for suite in arguments.suites]
    return 0 if all(outcomes) else 1


if __name__ == "__main__":
    sys.exit(main())
