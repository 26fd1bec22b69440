"""Kubernetes' conformance tests that need no container runtime, against one platform with fake nodes.

tests.txt names them; docs/compat/conformance.md says which do not pass, and why. The run fails when another one fails, when a
listed one passes, or when fewer than nine in ten pass.

Environment: as for test/e2e/platform_under_test.py. usage: run.py CACHE_DIR [REGULAR_EXPRESSION]
"""
import os
import re
import subprocess
import sys
import xml.etree.ElementTree

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "e2e"))
import platform_under_test as put  # noqa: E402

PASSING_SHARE = 0.9
FLAGS = ["--no-agent", "--fake-nodes", "3"]


def selected(pattern):
    with open(os.path.join(HERE, "tests.txt")) as file:
        names = [line.strip() for line in file if line.strip() and not line.startswith("#")]
    return [name for name in names if re.search(pattern, name)]


def known_failures():
    """name -> reason, from the rows `| name | reason |` of the page."""
    with open(os.path.join(put.ROOT, "docs/compat/conformance.md")) as file:
        rows = [re.match(r"\| (\[sig-.*?) \| (.+) \|$", line) for line in file]
    return {row.group(1): row.group(2) for row in rows if row}


def run(program, names, kubeconfig, report_dir, label):
    """Starts the tests of these names; its output goes to a file. The path of its report, and the process."""
    report = os.path.join(report_dir, label + ".xml")
    command = [program, "--kubeconfig=" + kubeconfig, "--provider=skeleton", "--kubectl-path=" + put.kubectls()[0],
               "--disable-log-dump", "--ginkgo.no-color", "--ginkgo.timeout=3h", "--ginkgo.junit-report=" + report]
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
        elif "skipped" not in found.get(name, "") and case.find("skipped") is not None:
            why = case.find("skipped").get("message", "")
            if why.startswith("skipped - "):  # by the test itself; the others were not selected
                found[name] = why
    return found


def report(names, found):
    """Prints the count; true when everything is as the page says."""
    known = known_failures()
    passed = [name for name in names if name in found and found[name] is None]
    good = True
    for name in names:
        if name not in found:
            print("NOT RUN  %s" % name)
            good = False
        elif found[name] is None and name in known:
            print("PASSES, but docs/compat/conformance.md lists it: %s" % name)
            good = False
        elif found[name] is not None and name not in known:
            print("FAILS    %s\n           %s" % (name, found[name][:1500].replace("\n", "\n           ")))
            good = False
        elif found[name] is not None:
            print("as known %s\n           %s" % (name, known[name]))
    share = len(passed) / len(names)
    print("== %d of %d pass (%.1f %%)" % (len(passed), len(names), 100 * share))
    return good and share >= PASSING_SHARE


def main():
    cache, pattern = os.path.abspath(sys.argv[1]), sys.argv[2] if len(sys.argv) > 2 else ""
    program = os.path.join(cache, "conformance.test")
    names = selected(pattern)
    reports = os.path.join(cache, "conformance")
    os.makedirs(reports, exist_ok=True)
    # Tests that want the cluster for themselves come after the others.
    alone = [name for name in names if "[Serial]" in name or "[Disruptive]" in name]
    rest = [name for name in names if name not in alone]
    platform = put.Platform(*FLAGS)
    found = {}
    try:
        platform.up()
        for round_of_runs in ({"first": rest[::2], "second": rest[1::2]}, {"serial": alone}):
            running = [(batch, run(program, batch, platform.kubeconfig, reports, label))
                       for label, batch in round_of_runs.items() if batch]
            for batch, (path, process) in running:
                process.wait()
                found.update(outcomes(path, batch))
    finally:
        platform.destroy()
    return 0 if report(names, found) else 1


if __name__ == "__main__":
    sys.exit(main())
