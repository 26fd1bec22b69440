"""Kubernetes' conformance tests: those that need no container runtime, against one platform with fake nodes, or (--node)
those that run containers, against one with this machine as its node.

A list names them; a page of docs/compat says which do not pass, and why. The run fails when another one fails, when a listed
one passes, or when fewer pass than the suite promises.

Environment: as for test/e2e/platform_under_test.py. usage: run.py CACHE_DIR [--node] [REGULAR_EXPRESSION]
"""
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

# An address that Endpoints may name, in a network of our own; a history that is over within minutes.
ADDRESS = "192.0.2.1"
FLAGS = ["--no-agent", "--fake-nodes", "3", "--listen", ADDRESS + ":6443", "--history-changes", "2000"]
AT_ONCE = 4  # most of a test's time is waiting


@dataclasses.dataclass
class Suite:
    tests: str            # the list, beside this file
    page: str             # what does not pass, and why
    passing_share: float
    flags: list
    reports: str          # where in the cache


API = Suite("tests.txt", "docs/compat/conformance.md", 0.9, FLAGS, "conformance")
NODE = Suite("node_tests.txt", "docs/compat/node-conformance.md", 0.7, [], "node-conformance")


def selected(suite, pattern):
    with open(os.path.join(HERE, suite.tests)) as file:
        names = [line.strip() for line in file if line.strip() and not line.startswith("#")]
    return [name for name in names if re.search(pattern, name)]


def known_failures(suite):
    """name -> reason, from the rows `| name | reason |` of the page."""
    with open(os.path.join(put.ROOT, suite.page)) as file:
        rows = [re.match(r"\| (\[sig-.*?) \| (.+) \|$", line) for line in file]
    return {row.group(1): row.group(2) for row in rows if row}


def run(program, names, kubeconfig, report_dir, label):
    """Starts the tests of these names; its output goes to a file. The path of its report, and the process."""
    report = os.path.join(report_dir, label + ".xml")
    command = [program, "--kubeconfig=" + kubeconfig, "--provider=skeleton", "--kubectl-path=" + put.kubectls()[0],
               "--disable-log-dump", "--ginkgo.no-color", "--ginkgo.timeout=3h", "--ginkgo.poll-progress-after=3m", "--ginkgo.junit-report=" + report]
    command += ["--ginkgo.focus=" + re.sub(r"([\\.+*?()|\[\]{}^$])", r"\\\1", name) for name in names]  # as Go reads them
    with open(os.path.join(report_dir, label + ".log"), "w") as log:
        return report, subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT, cwd=report_dir)


def outcomes(report, names):
    """name -> None or what went wrong, of those that ran."""
    found = {}
    for case in xml.etree.ElementTree.parse(report).iter("testcase"):
        name = next((one for one in names if one in case.get("name")), None)
        if name is None:
            continue
        status = case.get("status")
        trouble = case.find("failure") if case.find("failure") is not None else case.find("error")
        if status == "passed":
            found[name] = None
        elif trouble is not None:
            found[name] = (trouble.get("message") or trouble.text or status).strip()
        elif case.find("skipped") is not None:
            why = case.find("skipped").get("message", "")
            if why.startswith("skipped - "):  # by the test itself; the others were not selected
                found[name] = why
    return found


def report(suite, names, found):
    """Prints the count; true when everything is as the page says."""
    known = known_failures(suite)
    passed = [name for name in names if name in found and found[name] is None]
    good = True
    for name in names:
        if name not in found:
            print("NOT RUN  %s" % name)
            good = False
        elif found[name] is None and name in known:
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


def batches(names):
    """Rounds of name lists: those of a round run at once. Tests that want the cluster for themselves come last, one by one."""
    alone = [name for name in names if "[Serial]" in name or "[Disruptive]" in name]
    # The slow ones first, and each to another process.
    rest = sorted((name for name in names if name not in alone), key=lambda name: "[Slow]" not in name)
    return [{"shared-%d" % i: rest[i::AT_ONCE] for i in range(AT_ONCE)}, {"serial": alone}]


def run_all(program, names, kubeconfig, report_dir):
    """name -> None or what went wrong, as outcomes(); no process stays behind."""
    found = {}
    for one_round in batches(names):
        running = [(batch, run(program, batch, kubeconfig, report_dir, label)) for label, batch in one_round.items() if batch]
        try:
            for batch, (path, process) in running:
                process.wait()
                if os.path.exists(path):  # or it died: its tests count as not run
                    found.update(outcomes(path, batch))
        finally:
            for _, (_, process) in running:
                if process.poll() is None:
                    process.kill()
                    process.wait()
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
    known = known_failures(suite)
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
        found.update(run_all(os.path.join(cache, "conformance.test"), [name for name in names if name not in found],
                             platform.kubeconfig, reports))
    return 0 if report(suite, names, found) else 1


if __name__ == "__main__":
    sys.exit(main())
