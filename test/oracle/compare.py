"""Compares what Hekla and Volcano decided: compare.py CASES HEKLA VOLCANO.

Binds must be equal node by node. Where evictions happen Volcano leaves much to chance (in which order pods are offered
to the votes, which of several nodes is tried first), so it decides such cases several times: what Hekla does must be
one of its outcomes, or at least have as many evictions and as many pods that wait. Hekla may evict fewer: it evicts
nobody in vain, not even for a pod that its queue could never hold (capacity), and with reclaim more pods may wait, for
room that will be free anyway; a gang may get its minimum by that (docs/compat/volcano.md)."""
import json
import sys


def read(path):
    out = {}
    with open(path, encoding="utf-8") as lines:
        for one in map(json.loads, lines):
            out.setdefault(one["seed"], []).append(one)
    return out


def differences(case, ours, outcomes):
    if all(ours["binds"] != one["binds"] for one in outcomes):
        # What a queue deserves by its weight may miss a whole amount by the last digit of a sum. Hekla rounds, Volcano
        # leaves the last pod out.
        rounded = "name: proportion" in case["config"] and any(
            one["binds"].items() <= ours["binds"].items() for one in outcomes)
        yield "rounding" if rounded else "binds"
    if any(ours["evictions"] == one["evictions"] and ours["pipelined"] == one["pipelined"] for one in outcomes):
        return
    evicting = "preempt" in case["config"] or "reclaim" in case["config"]
    if not evicting:
        yield "pipelined"
        return
    waits, evictions = ([len(one[what]) for one in outcomes] for what in ("pipelined", "evictions"))
    reclaim, capacity = "reclaim" in case["config"], "name: capacity" in case["config"]
    more = reclaim and len(ours["pipelined"]) > max(waits)
    fewer = reclaim and capacity and len(ours["evictions"]) < max(evictions)
    # Volcano itself does not do the same twice: what follows from the order of its queues is chance.
    varies = any(one["evictions"] != outcomes[0]["evictions"] for one in outcomes)
    if len(ours["pipelined"]) not in waits and not more and not fewer and not varies:
        yield "pipelined"
    if len(ours["evictions"]) > max(evictions) and not more:
        yield "evictions"


def main():
    cases, ours, theirs = (read(path) for path in sys.argv[1:4])
    kinds, shown, bad = {}, 0, 0
    for seed, (case, *_) in sorted(cases.items()):
        found = list(differences(case, ours[seed][0], theirs[seed]))
        bad += bool(set(found) - {"rounding"})
        for what in found:
            kinds[what] = kinds.get(what, 0) + 1
            if shown < 10 and what != "rounding":
                shown += 1
                print("seed %d: %s differ\n  hekla   %s\n  volcano %s" % (
                    seed, what, json.dumps(ours[seed][0][what], sort_keys=True),
                    json.dumps(theirs[seed][0][what], sort_keys=True)))
    binds = sum(len(one[0]["binds"]) for one in theirs.values())
    evictions = sum(len(one[0]["evictions"]) for one in theirs.values())
    exact = sum(any(ours[seed][0][w] == one[w] for one in theirs[seed]) for seed in cases for w in ("evictions",))
    print("%d cases, %d binds and %d evictions by Volcano; evictions equal in %d cases; %d cases differ %s" % (
        len(cases), binds, evictions, exact, bad, kinds or ""))
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
