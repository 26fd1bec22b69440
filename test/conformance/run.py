"""Kubernetes' conformance tests: those that need no container runtime, against one platform with fake nodes, or (--node)
those that run containers, against one with this machine as its node.

A list names them; a page of docs/compat says which do not pass, and why. The run fails when another one fails, when a listed
one passes (unless it depends on the machine), or when fewer pass than the suite promises.

Environment: as for test/e2e/platform_under_test.py. usage: run.py CACHE_DIR [--node] [REGULAR_EXPRESSION]
"""
import concurrent.futures
import contextlib
import dataclasses
import os
import re
import shutil
import signal
import subprocess
import sys
import xml.etree.ElementTree

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "e2e"))
import images  # noqa: E402
import platform_under_test as put  # noqa: E402
from known_failures import known_failures  # noqa: E402

# An address that Endpoints may name, in a network of our own; a history that is over within minutes.
ADDRESS = "192.0.2.1"
FLAGS = ["--no-agent", "--fake-nodes", "3", "--listen", ADDRESS + ":6443", "--history-changes", "2000"]
LIMIT_S = 900  # of one test; the longest of them takes some six minutes
SLOW_LIMIT_S = 2700


@dataclasses.dataclass
class Suite:
    tests: str            # the list, beside this file
    page: str             # what does not pass, and why
    passing_share: float
    flags: list
    reports: str          # where in the cache
    at_once: int          # most of a test's time is waiting


API = Suite("tests.txt", "docs/compat/conformance.md", 0.9, FLAGS, "conformance", 4)
NODE = Suite("node_tests.txt", "docs/compat/node-conformance.md", 0.7, [], "node-conformance", 6)


def selected(suite, pattern):
    with open(os.path.join(HERE, suite.tests)) as file:
        names = [line.strip() for line in file if line.strip() and not line.startswith("#")]
    return [name for name in names if re.search(pattern, name)]


class Running:
    """The tests under way: a process for each, so that one which hangs ends alone."""

    def __init__(self, program, kubeconfig, report_dir):
        self.program, self.kubeconfig, self.report_dir = program, kubeconfig, report_dir
        self.processes, self.ended = set(), False

    def run(self, name):
        """None or what went wrong. The test's output and report are files named after it."""
        label = os.path.join(self.report_dir, re.sub(r"[^A-Za-z0-9]+", "-", name)[:200].strip("-"))
        limit = SLOW_LIMIT_S if "[Slow]" in name else LIMIT_S
        command = [self.program, "--kubeconfig=" + self.kubeconfig, "--provider=skeleton", "--kubectl-path=" + put.kubectls()[0],
                   "--disable-log-dump", "--ginkgo.no-color", "--ginkgo.timeout=%ds" % limit,
                   "--ginkgo.poll-progress-after=%ds" % (limit / 3), "--ginkgo.junit-report=" + label + ".xml",
                   "--ginkgo.focus=" + re.sub(r"([\\.+*?()|\[\]{}^$])", r"\\\1", name)]  # as Go reads them
        if self.ended:
            return "not started"
        with open(label + ".log", "w") as log:
            process = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT, cwd=self.report_dir)
        self.processes.add(process)
        try:
            process.wait(limit + 120)  # the suite ends a test at its limit and cleans up; this is for when it does not
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        self.processes.discard(process)
        trouble = outcome(label + ".xml", name) if os.path.exists(label + ".xml") else "died: see %s.log" % label
        print("%s %s" % ("ok  " if trouble is None else "FAIL", name), flush=True)
        return trouble

    def end(self):
        self.ended = True
        for process in list(self.processes):
            process.kill()


def outcome(report, name):
    """None or what went wrong."""
    for case in xml.etree.ElementTree.parse(report).iter("testcase"):
        if name not in case.get("name"):
            continue
        trouble = next((case.find(kind) for kind in ("failure", "error", "skipped") if case.find(kind) is not None), None)
        if case.get("status") == "passed":
            return None
        return ((trouble.get("message") or trouble.text) if trouble is not None else None) or case.get("status")
    return "the suite has no such test"


def report(suite, names, found):
    """Prints the count; true when everything is as the page says."""
    known = known_failures(suite.page)
    passed = [name for name in names if found[name] is None]
    good = True
    for name in names:
        if found[name] is None and name in known and not known[name].startswith("depends on the machine: "):
            print("PASSES, but %s lists it: %s" % (suite.page, name))
            good = False
        elif found[name] is not None and name not in known:
            print("FAILS    %s\n           %s" % (name, found[name][:1500].replace("\n", "\n           ")))
            good = False
        elif found[name] is not None:
            print("as known %s\n           %s" % (name, known[name]))
    share = len(passed) / len(names)
    print("== %d of %d pass (%.1f %%)" % (len(passed), len(names), 100 * share))
    return good and share >= suite.passing_share


def run_all(running, names, at_once):
    """name -> None or what went wrong. Tests that want the cluster for themselves come last, one by one."""
    # HostPath's begin by removing a file of this machine, which here is the node: one's file, in the middle of another.
    alone = [name for name in names if re.search(r"\[Serial\]|\[Disruptive\]|\] HostPath ", name)]
    # The slow ones first: they take as long as many others.
    shared = sorted((name for name in names if name not in alone), key=lambda name: "[Slow]" not in name)
    found = {}
    for workers, batch in (at_once, shared), (1, alone):
        with concurrent.futures.ThreadPoolExecutor(workers) as pool:
            try:
                found.update(zip(batch, pool.map(running.run, batch)))
            except BaseException:
                running.end()
                raise
    return found


def enter_own_network():
    """Starts this program again in a network namespace with one address; root's business."""
    steps = "ip link set lo up && ip address add %s/32 dev lo"
    os.environ["HEKLA_OWN_NETWORK"] = "1"
    os.execvp("unshare", ["unshare", "--net", "sh", "-c", steps % ADDRESS + ' && exec "$@"', "sh", sys.executable] + sys.argv)


def main():
    suite = NODE if "--node" in sys.argv else API
    if suite is API and "HEKLA_OWN_NETWORK" not in os.environ:
        enter_own_network()
    cache, pattern = ([word for word in sys.argv[1:] if word != "--node"] + [""])[:2]
    cache = os.path.abspath(cache)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that the platform is removed then, too
    names = selected(suite, pattern)
    if not names:
        sys.exit("no test matches %r" % pattern)
    known = known_failures(suite.page)
    found = {name: known[name] for name in names if known.get(name, "").startswith("not run: ")}
    reports = os.path.join(cache, suite.reports)
    shutil.rmtree(reports, ignore_errors=True)
    os.makedirs(reports)
    with contextlib.ExitStack() as cleanup:
        flags = list(suite.flags)
        if suite is NODE:
            registry = images.Registry(images.build(cache))
            cleanup.callback(registry.close)
            flags += ["--registry-mirror", "registry.k8s.io=" + registry.url]
        platform = put.Platform(*flags)
        cleanup.callback(platform.destroy)
        cleanup.callback(lambda: shutil.copy(os.path.join(platform.data_dir, "up.log"), reports))
        platform.up()
        running = Running(os.path.join(cache, "conformance.test"), platform.kubeconfig, reports)
        found.update(run_all(running, [name for name in names if name not in found], suite.at_once))
    return 0 if report(suite, names, found) else 1


if __name__ == "__main__":
    sys.exit(main())
