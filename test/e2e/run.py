#!/usr/bin/env python3
"""Runs the end-to-end tests, a process for each test class, four at a time: they mostly wait. Every platform they start has
its own directory, ports and namespaces. Classes that took longest in the recorded run begin first, so that none is left
over at the end. Prints what each class says when it is through, and fails if one of them does.

usage: run.py [--record] [NAME...]    NAME: a file (pods_test.py), a module or module.Class; default: all
--record writes how long each class took into durations.txt. Environment: as for platform_under_test.py."""
import concurrent.futures
import os
import signal
import subprocess
import sys
import tempfile
import time
import unittest

import platform_under_test as put

HERE = os.path.dirname(os.path.abspath(__file__))
DURATIONS = os.path.join(HERE, "durations.txt")
AT_ONCE = 4
LIMIT = 1800  # seconds for a class; the longest takes a few minutes, and what hangs must not hang everything
UNKNOWN = 1000.0  # a class that no run has recorded yet begins first
ALONE = ["hostile_clients_test"]  # measures how fast others are answered


def classes_of(suite):
    """module.Class of every test in a suite, each once."""
    found = {}
    for part in suite:
        if isinstance(part, unittest.TestSuite):
            found.update(dict.fromkeys(classes_of(part)))
        else:
            found["%s.%s" % (type(part).__module__, type(part).__name__)] = None
    return list(found)


def find_classes(names):
    loader = unittest.TestLoader()
    if names:
        suite = loader.loadTestsFromNames([name.removesuffix(".py") for name in names])
    else:
        suite = loader.discover(HERE, "*_test.py")
    found = classes_of(suite)
    # A file that cannot be read would otherwise be a class of unittest's that nobody runs.
    broken = loader.errors + [name for name in found if name.startswith("unittest.")]
    if broken or not found:
        sys.exit("\n".join(map(str, broken)) or "no tests")
    return found


def read_durations():
    if not os.path.exists(DURATIONS):
        return {}
    with open(DURATIONS, encoding="utf-8") as file:
        rows = [line.split() for line in file if line.strip() and not line.startswith("#")]
    return {name: float(seconds) for seconds, name in rows}


def write_durations(durations):
    with open(DURATIONS, "w", encoding="utf-8") as file:
        file.write("# Seconds of each test class in a recorded run (run.py --record); run.py begins with the longest.\n")
        for name, seconds in sorted(durations.items(), key=lambda item: (-item[1], item[0])):
            file.write("%4.0f %s\n" % (seconds, name))


def run(name):
    """Whether the class passes, and its seconds."""
    begun = time.monotonic()
    with tempfile.TemporaryFile("w+", errors="replace") as said:
        process = subprocess.Popen([sys.executable, "-X", "faulthandler", "-m", "unittest", "-v", name], cwd=HERE,
                                   stdout=said, stderr=subprocess.STDOUT)
        try:
            process.wait(LIMIT)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGABRT)  # it says where it stands
            process.wait()
        seconds = time.monotonic() - begun
        said.seek(0)
        print("== %s: %s after %.0f s\n%s" % (name, "ok" if process.returncode == 0 else "FAILED", seconds, said.read()),
              flush=True)
    return process.returncode == 0, seconds


def announce_kubectls():
    versions = [put.version_of(tool) for tool in put.kubectls()]
    print("== kubectl: " + ", ".join("%s (%d.%d)" % (tool, *version) for tool, version in zip(put.kubectls(), versions)))
    if max(versions) < put.NEWER:
        print("== WARNING: NO KUBECTL OF AT LEAST %d.%d: what it asks of a server is NOT TESTED" % put.NEWER)
    sys.stdout.flush()
    return versions


def main(arguments):
    record = "--record" in arguments
    recorded = read_durations()
    names = sorted(find_classes([argument for argument in arguments if argument != "--record"]),
                   key=lambda name: (-recorded.get(name, UNKNOWN), name))
    versions = announce_kubectls()
    alone = [name for name in names if name.split(".")[0] in ALONE]
    together = [name for name in names if name not in alone]
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        results = dict(zip(together, pool.map(run, together)))
    results.update((name, run(name)) for name in alone)
    if record:
        write_durations({**recorded, **{name: seconds for name, (_, seconds) in results.items()}})
    if max(versions) < put.NEWER:
        print("== WARNING: tested with kubectl %s only" % ", ".join("%d.%d" % version for version in versions))
    failed = [name for name, (good, _) in results.items() if not good]
    print("%d classes, failed: %s" % (len(results), ", ".join(failed) or "none"))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
