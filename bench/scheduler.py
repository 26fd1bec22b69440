#!/usr/bin/env python3
"""Sessions of Hekla's and of the real Volcano's scheduler over the same objects:
scheduler.py [--scale N] BUILD_DIR VOLCANO [WORKLOAD...]; --scale divides nodes and pods by N, to try it out.

VOLCANO is the program that test/oracle/build_volcano makes. Each cluster is written to a file once and read by both. Where
Volcano needs more than five minutes both take half of it, until it finishes; for the two largest clusters they begin with an
eighth, which is what is left then. Hekla's figure for the whole of it is printed as well. Volcano looks at a sample of the nodes
(its default), Hekla at all of them. Prints one line of JSON per session and a table at the end, and fails if the two
did not place and evict the same number of pods: figures for different work say nothing."""
import argparse
import json
import os
import subprocess
import sys
import tempfile

LIMIT_S = 300
CHANCES = 5
# workload, nodes, pods, the part of it that both begin with
CASES = [("equal", 1000, 10000, 1), ("equal", 5000, 10000, 1), ("distinct", 1000, 10000, 1), ("spread", 1000, 10000, 1),
         ("preempt", 1000, 1000, 1), ("reclaim", 1000, 1000, 1), ("mixed", 10000, 100000, 8), ("steady", 10000, 100000, 8)]


def session(command, limit=None):
    """What the program prints, or None if it takes too long."""
    environment = dict(os.environ, GOMAXPROCS="2")
    try:
        done = subprocess.run(command, stdout=subprocess.PIPE, check=True, timeout=limit, env=environment)
    except subprocess.TimeoutExpired:
        return None
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith(b"{")]


def same_work(ours, theirs):
    return all(ours[what] == theirs[what] for what in ("binds", "evictions"))


def compare(bench, volcano, folder, workload, nodes, pods):
    """At the largest size that Volcano finishes."""
    while True:
        path = os.path.join(folder, "%s-%d-%d.jsonl" % (workload, nodes, pods))
        subprocess.run([bench, "--workload", workload, "--nodes", str(nodes), "--pods", str(pods), "--write", path],
                       check=True)
        theirs = session([volcano, "-session", path], LIMIT_S)
        if theirs:
            ours = session([bench, "--read", path])
            # Volcano looks for victims in an order left to chance, and so evicts more one time than another.
            for _ in range(CHANCES if ours[0]["evictions"] else 0):
                if same_work(ours[0], theirs[0]):
                    break
                theirs = session([volcano, "-session", path], LIMIT_S) or theirs
            os.remove(path)
            return nodes, pods, ours[0], theirs[0]
        os.remove(path)
        nodes, pods = nodes // 2, pods // 2


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--scale", type=int, default=1)
    parser.add_argument("build")
    parser.add_argument("volcano")
    parser.add_argument("wanted", nargs="*")
    given = parser.parse_args()
    volcano, wanted = given.volcano, given.wanted
    bench = os.path.join(given.build, "bench", "scheduler_session")
    rows, unequal = [], []
    with tempfile.TemporaryDirectory() as folder:
        for workload, nodes, pods, part in CASES:
            if wanted and workload not in wanted:
                continue
            nodes, pods = nodes // given.scale, pods // given.scale
            whole = session([bench, "--workload", workload, "--nodes", str(nodes), "--pods", str(pods), "--growth"])
            n, p, ours, theirs = compare(bench, volcano, folder, workload, nodes // part, pods // part)
            for line in whole + [ours, theirs]:
                print(json.dumps(dict(line, workload=workload)), flush=True)
            if not same_work(ours, theirs):
                unequal.append("%s, %d × %d: Hekla binds %d and evicts %d, Volcano %d and %d" % (
                    workload, n, p, ours["binds"], ours["evictions"], theirs["binds"], theirs["evictions"]))
            rows.append((workload, nodes, pods, whole[0], whole[1], n, p, ours, theirs,
                         "not tried" if part > 1 else "over %d s" % LIMIT_S))
    print("\n| workload, nodes × pods | Volcano 1.14.1 | Hekla | ratio | memory | growth with pods, nodes |")
    print("|---|---|---|---|---|---|")
    for workload, nodes, pods, whole, growth, n, p, ours, theirs, too_large in rows:
        grows = "%.2f, %.2f" % (growth["growth_with_pods"], growth["growth_with_nodes"])
        print("| %s, %d × %d | %.1f s | %.1f ms | %.0f | %.0f MB, %.0f MB | %s |" % (
            workload, n, p, theirs["session_ms"] / 1e3, ours["session_ms"],
            theirs["session_ms"] / ours["session_ms"], theirs["max_rss_mb"], ours["max_rss_mb"], grows))
        if (n, p) != (nodes, pods):
            print("| %s, %d × %d | %s | %.1f ms | | %.0f MB | |" % (
                workload, nodes, pods, too_large, whole["session_ms"], whole["max_rss_mb"]))
    for line in unequal:
        print(line, file=sys.stderr)
    return 1 if unequal else 0


if __name__ == "__main__":
    sys.exit(main())
