"""Makes random scheduling cases, one JSON object per line: generate.py FIRST_SEED COUNT.

Creation times are all different, so that no order is left to chance."""
import json
import random
import sys

from widen import Widen

CHART = """actions: "%s"
tiers:
- plugins:
  - name: priority
  - name: gang
    enablePreemptable: false
  - name: conformance
- plugins:
  - name: overcommit
  - name: drf
    enablePreemptable: false
  - name: predicates
  - name: %s
  - name: nodeorder
%s"""
BINPACK = "  - name: binpack\n"
SMALL = """actions: "%s"
tiers:
- plugins:
  - name: gang
  - name: priority
- plugins:
  - name: predicates
  - name: %s
  - name: binpack
"""
HIERARCHY = "capacity\n    enableHierarchy: true"
CONFIGS = [
    CHART % ("enqueue, allocate, backfill", "proportion", BINPACK),
    CHART % ("enqueue, allocate, backfill", "proportion", ""),
    CHART % ("allocate, backfill", "capacity", BINPACK),
    SMALL % ("enqueue, allocate", "proportion"),
    SMALL % ("enqueue, allocate", "capacity"),
    SMALL % ("enqueue, allocate", HIERARCHY),
]
EVICTING = [
    CHART % ("enqueue, allocate, backfill, preempt", "proportion", ""),
    CHART % ("enqueue, allocate, backfill, preempt", "capacity", ""),
    CHART % ("enqueue, allocate, reclaim", "proportion", ""),
    CHART % ("enqueue, allocate, reclaim", "capacity", ""),
    SMALL % ("enqueue, allocate, reclaim", HIERARCHY),
]


def stamp(n):
    return "2026-01-01T%02d:%02d:%02dZ" % (n // 3600, n // 60 % 60, n % 60)


class Case:
    def __init__(self, seed):
        self.r = random.Random(seed)
        self.clock = 0
        self.evicting = seed % 4 == 3
        config = self.r.choice(EVICTING if self.evicting else CONFIGS)
        self.out = {"seed": seed, "config": config, "nodes": [], "queues": [],
                    "priorityClasses": [], "podGroups": [], "pods": []}
        self.capacity = "capacity" in config
        self.hierarchy = "Hierarchy" in config
        # Neighbours are wanted in every third case: what they do is easiest seen where not everything has to do with it.
        self.neighbours = not self.evicting and self.r.random() < .33
        for name, value in (("low", 1), ("mid", 10), ("high", 100)):
            self.out["priorityClasses"].append({"metadata": {"name": name}, "value": value})
        self.free = {}
        self.nodes()
        self.queues()
        # Who is to be evicted must be there first.
        for i in range(self.r.randint(4, 9) if self.evicting else self.r.randint(1, 7)):
            self.group(i, i < 4 if self.evicting else self.r.random() < .25)
        Widen(self.out, seed)

    def meta(self, name, **more):
        self.clock += 1
        return {"name": name, "uid": "uid-" + name, "creationTimestamp": stamp(self.clock), **more}

    def nodes(self):
        for i in range(self.r.choice((1, 1, 2)) if self.evicting else self.r.randint(1, 8)):
            cpu, memory = self.r.choice((2, 4) if self.evicting else (2, 4, 8)), self.r.choice((4, 8, 16))
            pods = self.r.choice((110, 110, 110, 4))
            amounts = {"cpu": str(cpu), "memory": "%dGi" % memory, "pods": str(pods)}
            if self.r.random() < .2:
                amounts["nvidia.com/gpu"] = "2"
            labels = {"kubernetes.io/hostname": "n%d" % i, "zone": self.r.choice("ab")}
            node = {"metadata": self.meta("n%d" % i, labels=labels), "spec": {},
                    "status": {"allocatable": amounts, "capacity": amounts}}
            if self.r.random() < .15:
                effect = self.r.choice(("NoSchedule", "PreferNoSchedule"))
                node["spec"]["taints"] = [{"key": "keep", "value": "off", "effect": effect}]
            if self.r.random() < .05:
                node["spec"]["unschedulable"] = True
            self.out["nodes"].append(node)
            self.free["n%d" % i] = [cpu * 1000, memory, pods, 2 if "nvidia.com/gpu" in amounts else 0]

    # Queues below a queue below the root; what a parent has covers its leaves. All jobs are in leaves of one
    # parent: upstream compares the branches of a tree by shares that it does not keep current in a session.
    def tree(self):
        def add(name, **spec):
            self.out["queues"].append({"metadata": self.meta(name), "spec": dict(spec, weight=1),
                                       "status": {"state": "Open"}})

        def amounts(cpu):
            return {"cpu": str(cpu), "memory": "%dGi" % (2 * cpu)}

        self.names = ["team-%d" % i for i in range(self.r.randint(1, 3))]
        deserved = {name: self.r.randint(1, 4) for name in self.names}
        total = sum(deserved.values()) + self.r.randint(0, 2)
        limit = {"capability": amounts(total + 3)} if self.r.random() < .4 else {}
        add("root", reclaimable=False)
        add("default", parent="root")
        add("team", parent="root", deserved=amounts(total), **limit)
        for name in self.names:
            own = {"capability": amounts(deserved[name] + 1)} if self.r.random() < .3 else {}
            add(name, parent="team", deserved=amounts(deserved[name]), **own)

    def queues(self):
        if self.hierarchy:
            return self.tree()
        self.names = ["default"] + ["q%d" % i for i in range(self.r.randint(0, 3))]
        for name in self.names:
            spec = {"weight": self.r.randint(1, 4)}
            # 1.14 reclaims for pods that the capability of their queue keeps out for good.
            if self.r.random() < .3 and not (self.evicting and self.capacity):
                spec["capability"] = {"cpu": str(self.r.randint(1, 12)), "memory": "%dGi" % self.r.randint(2, 30)}
            if self.r.random() < .2:
                spec["guarantee"] = {"resource": {"cpu": str(self.r.randint(1, 2)), "memory": "1Gi"}}
            if self.capacity and self.r.random() < .6:
                spec["deserved"] = {"cpu": str(self.r.randint(1, 8)), "memory": "%dGi" % self.r.randint(1, 16)}
            if self.r.random() < .2:
                spec["reclaimable"] = self.r.random() < .5
            if self.r.random() < .1:
                spec["priority"] = self.r.randint(1, 3)
            self.out["queues"].append({"metadata": self.meta(name), "spec": spec, "status": {"state": "Open"}})

    def group(self, i, running):
        name = "g%d" % i
        count = self.r.randint(1, 6)
        request = [self.r.choice((0, 500, 1000, 2000)), self.r.choice((0, 1, 1, 2)), 1, int(self.r.random() < .1)]
        if self.evicting and not any(request[:2]):
            request[0] = 500
        least = self.r.randint(0, 1) if self.evicting and running else self.r.randint(1, count)
        spec = {"minMember": least, "queue": self.r.choice(self.names)}
        if self.r.random() < .6:
            spec["priorityClassName"] = self.r.choice(("low", "mid") if self.evicting and running else ("low", "mid", "high"))
        phase = "Running" if running else self.r.choice(("Inqueue", "Pending", "Inqueue"))
        if phase == "Pending" or self.r.random() < .5:
            spec["minResources"] = {"cpu": "%dm" % (request[0] * spec["minMember"]),
                                    "memory": "%dGi" % (request[1] * spec["minMember"])}
        group = {"metadata": self.meta(name, namespace="default"), "spec": spec, "status": {"phase": phase}}
        self.out["podGroups"].append(group)
        # One rule for all pods of the group that run, one for all that wait.
        rules = {}
        if self.neighbours and self.r.random() < .5:
            rules = {state: self.neighbourhood(name, state) for state in (True, False)}
        for j in range(count):
            fitting = [n for n, free in self.free.items() if running and all(a <= b for a, b in zip(request, free))]
            node = self.r.choice(fitting) if fitting else None
            pod = self.pod("%s-%d" % (name, j), name, request, node is not None, rules)
            if node:
                self.free[node] = [b - a for a, b in zip(request, self.free[node])]
                pod["spec"]["nodeName"] = node
                pod["status"]["phase"] = "Running"
                if self.r.random() < .1:
                    pod["metadata"]["deletionTimestamp"] = stamp(self.clock)
                    pod["metadata"]["finalizers"] = ["a/b"]
            self.out["pods"].append(pod)

    def pod(self, name, group, request, running, rules):
        amounts = {}
        if request[0]:
            amounts["cpu"] = "%dm" % request[0]
        if request[1]:
            amounts["memory"] = "%dGi" % request[1]
        if request[3]:
            amounts["nvidia.com/gpu"] = "1"
        spec = {"schedulerName": "volcano", "priority": self.r.choice((0, 0, 0, 5)),
                "containers": [{"name": "main", "image": "busybox", "resources": {"requests": amounts}}]}
        if self.r.random() < .1:
            spec["nodeSelector"] = {"zone": "a"}
        if self.r.random() < .1:
            spec["tolerations"] = [{"key": "keep", "operator": "Exists"}]
        if self.r.random() < .1:
            term = {"matchExpressions": [{"key": "zone", "operator": "In", "values": ["b"]}]}
            spec["affinity"] = {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [
                {"weight": 10, "preference": term}]}}
        labels = {"app": self.r.choice("xy" if running else "pq"), "gang": group}
        affinity, spread = rules.get(running, (None, None))
        if affinity:
            spec.setdefault("affinity", {}).update(affinity)
        if spread:
            spec["topologySpreadConstraints"] = spread
        annotations = {"scheduling.k8s.io/group-name": group}
        return {"metadata": self.meta(name, namespace="default", annotations=annotations, labels=labels),
                "spec": spec, "status": {"phase": "Pending"}}


    # Volcano does not see the rules of pods it has placed in the same session, only those of pods that run (see
    # docs/compat/volcano.md). So rules look from those that wait to those that run, the other way round, or at
    # the pod's own gang, where both directions say the same.
    def neighbourhood(self, group, running):
        kind = self.r.choice(("anti", "anti", "affinity", "spread", "prefers"))
        selector = {"app": self.r.choice("pq" if running else "xy")}
        if kind in ("anti", "spread") and self.r.random() < .5:
            selector = {"gang": group}
        term = {"labelSelector": {"matchLabels": selector},
                "topologyKey": self.r.choice(("kubernetes.io/hostname", "zone"))}
        if kind == "spread":
            when = self.r.choice(("DoNotSchedule", "ScheduleAnyway"))
            if when == "ScheduleAnyway":
                term["topologyKey"] = "zone"  # upstream's score sees no pods on single nodes (docs/compat/volcano.md)
            return None, [dict(term, maxSkew=self.r.randint(1, 2), whenUnsatisfiable=when)]
        rule = {"requiredDuringSchedulingIgnoredDuringExecution": [term]}
        if kind == "prefers":
            rule = {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 50, "podAffinityTerm": term}]}
        return {"podAntiAffinity" if kind == "anti" else "podAffinity": rule}, None


def main():
    first, count = int(sys.argv[1]), int(sys.argv[2])
    for seed in range(first, first + count):
        print(json.dumps(Case(seed).out))


if __name__ == "__main__":
    main()
