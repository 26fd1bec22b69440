"""Compares what Hekla and Volcano decided: compare.py [--again] CASES HEKLA VOLCANO.

Binds and phases must be equal node by node and group by group. Where evictions happen Volcano leaves much to chance (in
which order queues and jobs get their turns, in which order pods are offered to the votes, which of several nodes is
tried first), so it decides such cases several times, and what Hekla does must be one of its outcomes: pods evicted and
pods that wait, by name. --again prints the cases that are worth more tries.

Differences with a name are explained in docs/compat/volcano.md and counted:
  rounding   what a queue deserves by its weight misses a whole amount by the last digit of a sum, upstream
  guarantee  queues are guaranteed all there is of a resource such as GPUs; upstream then limits the others in it no longer
  in-vain    upstream evicts pods that make no room for anybody, or more than it needs
  windfall   in-vain, and pods of another queue, who may not preempt, wait for that room
  turns      after each queue's turn to preempt upstream has the pods of all queues look within their jobs, and passes over
             those that found nobody there when the turn of their own queue comes
  nominated  upstream does not preempt for a pod whose nominated node its filters, which do not look at resources, let it
             onto, nor within a job for the pods after it
  one-node   upstream adds up evictions over several nodes until a queue is below its share
  sla        a group that sla lets in counts at once; upstream does not ask the plugins below about it, and these
             count it from the next session on, so that more groups are let in meanwhile
  future     with reclaim a pod waits for room that will be free anyway; upstream evicts for it or leaves it out
  other-pods as many evictions and as many waiting pods, but other ones"""
import json
import sys

EXPLAINED = {"rounding", "guarantee", "in-vain", "windfall", "turns", "nominated", "one-node", "sla", "future", "other-pods"}


def read(path):
    out = {}
    with open(path, encoding="utf-8") as lines:
        for one in map(json.loads, lines):
            out.setdefault(one["seed"], []).append(one)
    return out


def phases(case, outcome):
    """Of groups none of whose pods is leaving: of the others upstream does not count the pods that are."""
    group = {pod["metadata"]["name"]: pod["metadata"]["labels"]["gang"] for pod in case["pods"]}
    leaving = {group[pod["metadata"]["name"]] for pod in case["pods"] if "deletionTimestamp" in pod["metadata"]}
    leaving |= {group[name] for name in outcome["evictions"]}
    return {name: phase for name, phase in outcome["phases"].items() if name not in leaving}


def evictions(case, ours, outcomes):
    """The class of a difference in evictions and waiting pods; None if Hekla's is one of Volcano's outcomes."""
    if any((ours["evictions"], ours["pipelined"]) == (one["evictions"], one["pipelined"]) for one in outcomes):
        return None
    if "preempt" not in case["config"] and "reclaim" not in case["config"]:
        rounded = "name: proportion" in case["config"] and any(
            one["binds"] == ours["binds"] and one["pipelined"].items() < ours["pipelined"].items() for one in outcomes)
        return "rounding" if rounded else "pipelined"
    counts = {(len(one["evictions"]), len(one["pipelined"])) for one in outcomes}
    mine = (len(ours["evictions"]), len(ours["pipelined"]))
    if mine in counts:
        return "other-pods"
    if any(mine[0] < evicted and mine[1] >= waiting for evicted, waiting in counts):
        return "in-vain"
    if "preempt" in case["config"] and any(windfall(case, ours, one) for one in outcomes):
        return "windfall"
    if "preempt" in case["config"] and any(passed_over(case, ours, one) for one in outcomes):
        return "turns"
    if "preempt" in case["config"] and any(not_eligible(case, ours, one) for one in outcomes):
        return "nominated"
    if "reclaim" in case["config"]:
        return "future" if any(mine[0] <= evicted or mine[1] > waiting for evicted, waiting in counts) else "evictions"
    several = len(case["nodes"]) > 1
    return "one-node" if several and all(mine[0] < evicted for evicted, _ in counts) else "evictions"


def queues(case):
    """Of each pod."""
    queue = {group["metadata"]["name"]: group["spec"]["queue"] for group in case["podGroups"]}
    return {pod["metadata"]["name"]: queue.get(pod["metadata"]["labels"]["gang"]) for pod in case["pods"]}


def windfall(case, ours, theirs):
    queue_of = queues(case)
    if not (ours["evictions"].items() < theirs["evictions"].items() and ours["pipelined"].items() <= theirs["pipelined"].items()):
        return False
    victims = {name: node for name, node in theirs["evictions"].items() if name not in ours["evictions"]}
    return all(node in victims.values() and queue_of[name] not in {queue_of[victim] for victim in victims}
               for name, node in theirs["pipelined"].items() if name not in ours["pipelined"])


def passed_over(case, ours, theirs):
    """Whether all that Hekla does more is for queues of which nobody waits upstream, and others are there."""
    queue_of = queues(case)
    if not (theirs["evictions"].items() <= ours["evictions"].items()
            and theirs["pipelined"].items() < ours["pipelined"].items()):
        return False
    more = {queue_of[name] for name in ours["pipelined"] if name not in theirs["pipelined"]}
    victims = {queue_of[name] for name in ours["evictions"] if name not in theirs["evictions"]}
    waiting = {queue_of[pod["metadata"]["name"]] for pod in case["pods"] if "nodeName" not in pod["spec"]}
    return victims <= more and not more & {queue_of[name] for name in theirs["pipelined"]} and bool(waiting - more)


def not_eligible(case, ours, theirs):
    """Whether all that Hekla does more is to let pods wait, with evictions or without, of gangs that have a nominated one."""
    if not (theirs["evictions"].items() <= ours["evictions"].items()
            and theirs["pipelined"].items() < ours["pipelined"].items()):
        return False
    group = {pod["metadata"]["name"]: pod["metadata"]["labels"]["gang"] for pod in case["pods"]}
    nominated = {group[pod["metadata"]["name"]] for pod in case["pods"] if "nominatedNodeName" in pod["status"]}
    return {group[name] for name in ours["pipelined"] if name not in theirs["pipelined"]} <= nominated


def let_in_by_sla(case, ours, theirs):
    """Whether all that differs is that upstream lets more pending groups in, and binds their pods."""
    more = {name for name, phase in theirs["phases"].items() if phase != ours["phases"].get(name)}
    group = {pod["metadata"]["name"]: pod["metadata"]["labels"]["gang"] for pod in case["pods"]}
    return ("name: sla" in case["config"] and more
            and all((ours["phases"].get(name), theirs["phases"][name]) == ("Pending", "Inqueue") for name in more)
            and ours["binds"].items() <= theirs["binds"].items()
            and all(group[pod] in more for pod in theirs["binds"] if pod not in ours["binds"]))


def guaranteed_whole(case):
    """Whether the queues' guarantees of a scalar resource add up to what the nodes have of it."""
    given, there = {}, {}
    for queue in case["queues"]:
        for name, amount in queue["spec"].get("guarantee", {}).get("resource", {}).items():
            given.setdefault(name, []).append(amount)
    for node in case["nodes"]:
        for name, amount in node["status"]["allocatable"].items():
            there.setdefault(name, []).append(amount)
    scalars = set(given) - {"cpu", "memory"}
    return any(sum(map(int, given[name])) >= sum(map(int, there.get(name, []))) for name in scalars)


def differences(case, ours, outcomes):
    if any(let_in_by_sla(case, ours | {"phases": phases(case, ours)}, one | {"phases": phases(case, one)}) for one in outcomes):
        yield "sla"
        return
    if all(ours["binds"] != one["binds"] for one in outcomes):
        rounded = "name: proportion" in case["config"] and any(
            one["binds"].items() <= ours["binds"].items() for one in outcomes)
        unlimited = guaranteed_whole(case) and any(
            ours["binds"].items() <= one["binds"].items() for one in outcomes)
        yield "rounding" if rounded else "guarantee" if unlimited else "binds"
    alike = [one for one in outcomes if (one["binds"], one["evictions"]) == (ours["binds"], ours["evictions"])]
    if alike and all(phases(case, ours) != phases(case, one) for one in alike):
        yield "phases"
    found = evictions(case, ours, outcomes)
    if found:
        yield found


def show(seed, what, ours, outcomes):
    members = {"binds": ["binds"], "phases": ["phases"]}.get(what, ["evictions", "pipelined"])
    print("seed %d: %s differ" % (seed, what))
    for name, one in [("hekla", ours)] + [("volcano", other) for other in outcomes[:3]]:
        print("  %-8s %s" % (name, " ".join(json.dumps(one[member], sort_keys=True) for member in members)))


def main():
    again = sys.argv[1] == "--again"
    cases, ours, theirs = (read(path) for path in sys.argv[1 + again:4 + again])
    kinds, shown, bad = {}, 0, 0
    for seed, (case, *_) in sorted(cases.items()):
        found = list(differences(case, ours[seed][0], theirs[seed]))
        if again and found and ("preempt" in case["config"] or "reclaim" in case["config"]):
            print(json.dumps(case))
        bad += bool(set(found) - EXPLAINED)
        for what in found:
            kinds[what] = kinds.get(what, 0) + 1
            if not again and what not in EXPLAINED and shown < 10:
                shown += 1
                show(seed, what, ours[seed][0], theirs[seed])
    if again:
        return 0
    binds = sum(len(one[0]["binds"]) for one in theirs.values())
    evicted = sum(len(one[0]["evictions"]) for one in theirs.values())
    exact = sum(evictions(cases[seed][0], ours[seed][0], theirs[seed]) is None for seed in cases)
    print("%d cases, %d binds and %d evictions by Volcano; evicted and waiting pods equal in %d cases; %d cases differ; "
          "all differences: %s" % (len(cases), binds, evicted, exact, bad, kinds or "none"))
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
