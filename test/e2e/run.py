#!/usr/bin/env python3
"""Runs the end-to-end tests, a process for each file, two at a time: they mostly wait. Every platform they start has its own
directory, ports and namespaces. Prints what each file says when it is through, and fails if one of them does.

usage: run.py [FILE...]    Environment: as for platform_under_test.py."""
import concurrent.futures
import glob
import os
import signal
import subprocess
import sys
import tempfile
import time

import platform_under_test as put

HERE = os.path.dirname(os.path.abspath(__file__))
AT_ONCE = 2
LIMIT = 1800  # seconds for a file; the longest takes a few minutes, and what hangs must not hang everything
# Those that take longest come first, so that none is left over at the end; the rest as they come.
LONG = ["kubectl_tour_test", "streams_test", "pods_test", "image_cli_test", "tutorials_test", "explain_test"]
# These measure how fast somebody is answered, or look whether anything is left on the machine.
ALONE = ["hostile_clients_test", "crash_test", "faults_test"]


def run(module):
    begun = time.monotonic()
    with tempfile.TemporaryFile("w+", errors="replace") as said:
        process = subprocess.Popen([sys.executable, "-X", "faulthandler", "-m", "unittest", "-v", module], cwd=HERE,
                                   stdout=said, stderr=subprocess.STDOUT)
        try:
            process.wait(LIMIT)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGABRT)  # it says where it stands
            process.wait()
        said.seek(0)
        print("== %s: %s after %.0f s\n%s" % (module, "ok" if process.returncode == 0 else "FAILED",
                                             time.monotonic() - begun, said.read()), flush=True)
    return process.returncode == 0


def main():
    names = sys.argv[1:] or [os.path.basename(path) for path in glob.glob(os.path.join(HERE, "*_test.py"))
                             if not path.endswith("under_test.py")]
    modules = sorted((name.removesuffix(".py") for name in names),
                     key=lambda name: (LONG.index(name) if name in LONG else len(LONG), name))
    versions = [put.version_of(tool) for tool in put.kubectls()]
    print("== kubectl: " + ", ".join("%s (%d.%d)" % (tool, *version) for tool, version in zip(put.kubectls(), versions)))
    if max(versions) < put.NEWER:
        print("== WARNING: NO KUBECTL OF AT LEAST %d.%d: what it asks of a server is NOT TESTED" % put.NEWER)
    sys.stdout.flush()
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        together = [name for name in modules if name not in ALONE]
        results = dict(zip(together, pool.map(run, together)))
    results.update((name, run(name)) for name in modules if name in ALONE)
    if max(versions) < put.NEWER:
        print("== WARNING: tested with kubectl %s only" % ", ".join("%d.%d" % version for version in versions))
    failed = [name for name, good in results.items() if not good]
    print("%d files, failed: %s" % (len(results), ", ".join(failed) or "none"))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
