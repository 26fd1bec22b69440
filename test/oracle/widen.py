"""What the plain random cases do not have: each feature is a function that changes a finished case (see generate.py).

A case gets a few features, named in its "features", so that a difference can be traced to one of them. Draws are from a
generator of their own: the plain part of a case depends on its seed alone."""
import random

STAMP = "2026-01-01T10:%02d:%02dZ"


UNITS = {"m": .001, "Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "M": 10**6, "G": 10**9}


def amount(text):
    for unit, factor in UNITS.items():
        if text.endswith(unit):
            return float(text[:-len(unit)]) * factor
    return float(text)


def most(pod, name):
    """At least what the pod asks for."""
    spec = pod["spec"]
    lists = [one["resources"].get("requests", {}) for one in spec["containers"] + spec.get("initContainers", [])]
    return sum(amount(one.get(name, "0")) for one in lists + [spec.get("overhead", {})])


class Widen:
    def __init__(self, case, seed):
        self.r = random.Random("wide %d" % seed)
        self.case = case
        self.evicting = any(action in case["config"].split("\n")[0] for action in ("preempt", "reclaim"))
        self.clock = 0
        many = self.r.choice((0, 1, 1, 1, 2, 2, 2, 3, 4, 6))
        case["features"] = self.r.sample(sorted(FEATURES), many)
        # Objects first, then what looks at them, in an order that does not depend on the draw.
        for name, feature in FEATURES.items():
            if name in case["features"]:
                feature(self)
        self.make_alike()
        self.avoid_overloaded()

    # Pods of a role have one template. (Upstream does not try a node again for a pod whose role has failed there.)
    def make_alike(self):
        templates = {}
        for pod in self.waiting():
            role = pod["metadata"]["annotations"].get("volcano.sh/task-spec")
            if role:
                template = templates.setdefault((pod["metadata"]["labels"]["gang"], role), pod["spec"])
                own = ("priority", "schedulingGates", "preemptionPolicy")
                pod["spec"] = {name: value for name, value in template.items() if name not in own} | {
                    name: pod["spec"][name] for name in own if name in pod["spec"]}

    # Upstream chooses a node for a pod that asks for nothing even if others there ask for more than the node has, and
    # then refuses to bind it.
    def avoid_overloaded(self):
        def overloaded(node):
            pods = [pod for pod in self.running() if pod["spec"]["nodeName"] == node["metadata"]["name"]]
            return any(sum(most(pod, name) for pod in pods) > amount(node["status"]["allocatable"][name])
                       for name in ("cpu", "memory"))

        if any(overloaded(node) for node in self.case["nodes"]):
            for pod in self.waiting():
                if not any(most(pod, name) for name in ("cpu", "memory")):
                    pod["spec"]["containers"][0]["resources"].setdefault("requests", {})["cpu"] = "1m"

    def chance(self, probability):
        return self.r.random() < probability

    def stamp(self):
        self.clock += 1
        return STAMP % (self.clock // 60, self.clock % 60)

    def some(self, things, probability=.4):
        return [one for one in things if self.chance(probability)]

    def members(self, group):
        return [pod for pod in self.case["pods"] if pod["metadata"]["labels"]["gang"] == group["metadata"]["name"]]

    def waiting(self):
        return [pod for pod in self.case["pods"] if "nodeName" not in pod["spec"]]

    def running(self):
        return [pod for pod in self.case["pods"] if "nodeName" in pod["spec"]]

    # Gangs are mostly of one kind, sometimes each pod is of its own.
    def gangs(self, probability=.5):
        for group in self.case["podGroups"]:
            if self.chance(probability):
                pods = self.members(group)
                yield group, (self.some(pods, .6) if self.chance(.25) else pods)

    # ---- pods -----------------------------------------------------------------------------------------------------------------
    def best_effort(self):
        for group, pods in self.gangs():
            for pod in pods:
                pod["spec"]["containers"][0]["resources"] = {}
            if len(pods) == len(self.members(group)):
                group["spec"].pop("minResources", None)

    def containers(self):
        for _, pods in self.gangs():
            amounts = self.amounts()
            for pod in pods:
                pod["spec"]["containers"].append({"name": "side", "image": "busybox", "resources": {"requests": amounts}})

    def init_containers(self):
        for _, pods in self.gangs():
            more = []
            for i in range(self.r.randint(1, 3)):
                one = {"name": "init%d" % i, "image": "busybox", "resources": {"requests": self.amounts()}}
                if self.chance(.4):
                    one["restartPolicy"] = "Always"
                more.append(one)
            for pod in pods:
                pod["spec"]["initContainers"] = more

    def overhead(self):
        for _, pods in self.gangs():
            amounts = {"cpu": self.r.choice(("100m", "500m")), "memory": self.r.choice(("128Mi", "1Gi"))}
            for pod in pods:
                # Upstream adds overhead to the containers alone, before it compares them with the init containers.
                if "initContainers" not in pod["spec"]:
                    pod["spec"]["overhead"] = amounts

    def amounts(self):
        out = {}
        if self.chance(.7):
            out["cpu"] = self.r.choice(("100m", "333m", "500m", "1", "1500m", "2"))
        if self.chance(.7):
            out["memory"] = self.r.choice(("100Mi", "512Mi", "1Gi", "1G", "3Gi"))
        return out

    def one_resource(self):
        for group, pods in self.gangs():
            name = self.r.choice(("cpu", "memory"))
            for pod in pods:
                pod["spec"]["containers"][0]["resources"].get("requests", {}).pop(name, None)
            group["spec"].get("minResources", {}).pop(name, None)

    def fractions(self):
        for node in self.some(self.case["nodes"], .7):
            amounts = dict(node["status"]["allocatable"])
            amounts["cpu"] = "%dm" % (1000 * int(amounts["cpu"]) - self.r.choice((0, 80, 137)))
            amounts["memory"] = "%dKi" % (1048576 * int(amounts["memory"][:-2]) - self.r.choice((0, 100, 123457)))
            node["status"]["allocatable"] = amounts
        for _, pods in self.gangs():
            cpu, memory = self.r.choice(("333m", "0.7", "1100m", "1m")), self.r.choice(("333Mi", "700M", "1100Mi", "123456789"))
            for pod in pods:
                requests = pod["spec"]["containers"][0]["resources"].get("requests", {})
                if "cpu" in requests:
                    requests["cpu"] = cpu
                if "memory" in requests:
                    requests["memory"] = memory

    def limits(self):
        for _, pods in self.gangs():
            only = self.chance(.5)
            for pod in pods:
                resources = pod["spec"]["containers"][0]["resources"]
                resources["limits"] = dict(resources.get("requests", {}))
                if only:
                    resources.pop("requests", None)

    def gates(self):
        for pod in self.some(self.waiting()):
            pod["spec"]["schedulingGates"] = [{"name": "example.com/gate"}]

    # Not with evictions: 1.14 lets pods wait for room on a node whose ports are taken.
    def host_ports(self):
        if self.evicting:
            return
        for _, pods in self.gangs():
            ports = [{"containerPort": 80, "hostPort": self.r.choice((80, 81))}]
            if self.chance(.3):
                ports[0]["protocol"] = self.r.choice(("TCP", "UDP"))
            if self.chance(.3):
                ports[0]["hostIP"] = self.r.choice(("0.0.0.0", "10.0.0.1", "10.0.0.2"))
            for pod in pods:
                pod["spec"]["containers"][-1]["ports"] = ports

    def node_affinity(self):
        for node in self.case["nodes"]:
            labels = node["metadata"]["labels"]
            if self.chance(.7):
                labels["size"] = str(self.r.randint(1, 9))
            if self.chance(.5):
                labels["disk"] = self.r.choice(("ssd", "hdd", ""))
        for _, pods in self.gangs():
            terms = [self.node_term() for _ in range(self.r.choice((1, 1, 2)))]
            preferred = [{"weight": self.r.randint(1, 100), "preference": self.node_term()}
                         for _ in range(self.r.choice((0, 0, 1, 2)))]
            for pod in pods:
                affinity = pod["spec"].setdefault("affinity", {}).setdefault("nodeAffinity", {})
                affinity["requiredDuringSchedulingIgnoredDuringExecution"] = {"nodeSelectorTerms": terms}
                if preferred:
                    affinity["preferredDuringSchedulingIgnoredDuringExecution"] = preferred

    def node_term(self):
        def expression():
            key = self.r.choice(("size", "disk", "zone"))
            operator = self.r.choice(("In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"))
            if operator in ("Exists", "DoesNotExist"):
                return {"key": key, "operator": operator}
            if operator in ("Gt", "Lt"):
                return {"key": "size", "operator": operator, "values": [str(self.r.randint(1, 9))]}
            return {"key": key, "operator": operator, "values": self.r.sample(("a", "b", "ssd", "hdd", "3", "4", "5"), 3)}

        if self.chance(.15):
            name = self.r.choice(self.case["nodes"])["metadata"]["name"]
            return {"matchFields": [{"key": "metadata.name", "operator": self.r.choice(("In", "NotIn")), "values": [name]}]}
        return {"matchExpressions": [expression() for _ in range(self.r.choice((1, 1, 2)))]}

    def taints(self):
        for node in self.some(self.case["nodes"], .5):
            taints = node["spec"].setdefault("taints", [])
            for key in self.r.sample(("keep", "special", "dedicated"), self.r.randint(1, 3)):
                effect = self.r.choice(("NoSchedule", "PreferNoSchedule", "NoExecute"))
                if not any((one["key"], one["effect"]) == (key, effect) for one in taints):
                    taints.append({"key": key, "value": self.r.choice(("", "off", "on")), "effect": effect})
        for _, pods in self.gangs(.7):
            tolerations = []
            for _ in range(self.r.randint(1, 3)):
                one = {"key": self.r.choice(("keep", "special", "dedicated"))}
                if self.chance(.5):
                    one["operator"] = "Exists"
                    if self.chance(.2):
                        del one["key"]
                else:
                    one["value"] = self.r.choice(("off", "on", ""))
                    if self.chance(.5):
                        one["operator"] = "Equal"
                if self.chance(.5):
                    one["effect"] = self.r.choice(("NoSchedule", "PreferNoSchedule", "NoExecute"))
                if one.get("effect") == "NoExecute" and self.chance(.5):
                    one["tolerationSeconds"] = self.r.choice((0, 300))
                tolerations.append(one)
            for pod in pods:
                pod["spec"]["tolerations"] = tolerations

    def priorities(self):
        for pod in self.some(self.case["pods"], .6):
            pod["spec"]["priority"] = self.r.choice((-5, 0, 1, 7, 1000))

    def preemption_policy(self):
        for pod in self.some(self.waiting()):
            pod["spec"]["preemptionPolicy"] = self.r.choice(("Never", "PreemptLowerPriority"))

    def preemptable(self):
        for pod in self.some(self.case["pods"]):
            pod["metadata"]["annotations"]["volcano.sh/preemptable"] = self.r.choice(("true", "false"))
        for group in self.some(self.case["podGroups"]):
            group["metadata"]["annotations"] = {"volcano.sh/preemptable": self.r.choice(("true", "false"))}

    def nominated(self):
        for pod in self.some(self.waiting(), .3):
            pod["status"]["nominatedNodeName"] = self.r.choice(self.case["nodes"])["metadata"]["name"]

    # ---- pods in other states -------------------------------------------------------------------------------------------------
    def finished(self):
        for pod in self.some(self.running(), .4):
            pod["status"]["phase"] = self.r.choice(("Succeeded", "Failed"))
        for pod in self.some(self.waiting(), .1):
            pod["spec"]["nodeName"] = self.r.choice(self.case["nodes"])["metadata"]["name"]
            pod["status"]["phase"] = self.r.choice(("Succeeded", "Failed"))

    def bound(self):
        for pod in self.some(self.running()):
            pod["status"]["phase"] = "Pending"

    def strangers(self):
        for i in range(self.r.randint(1, 4)):
            node = self.r.choice(self.case["nodes"])["metadata"]["name"]
            name = "stranger-%d" % i
            self.case["pods"].append({
                "metadata": {"name": name, "uid": "uid-" + name, "namespace": "default", "creationTimestamp": self.stamp(),
                             "labels": {"gang": "none", "app": "x"}, "annotations": {}},
                "spec": {"schedulerName": "default-scheduler", "nodeName": node, "priority": 0,
                         "containers": [{"name": "main", "image": "busybox", "resources": {"requests": self.amounts()}}]},
                "status": {"phase": self.r.choice(("Running", "Running", "Pending"))}})

    # ---- groups ---------------------------------------------------------------------------------------------------------------
    def roles(self):
        for group, _ in self.gangs():
            pods = self.members(group)
            names = ["driver", "worker", "spare"][:self.r.randint(1, 3)]
            count = {}
            for pod in pods:
                role = self.r.choice(names)
                count[role] = count.get(role, 0) + 1
                if self.chance(.95):
                    pod["metadata"]["annotations"]["volcano.sh/task-spec"] = role
            least = {role: max(0, self.r.randint(0, many + self.chance(.1))) for role, many in count.items() if self.chance(.8)}
            group["spec"]["minTaskMember"] = least
            if self.chance(.7):
                group["spec"]["minMember"] = sum(least.values())
            elif self.chance(.5):
                group["spec"]["minMember"] = self.r.randint(1, len(pods))

    def role_requests(self):
        for group, _ in self.gangs():
            for pod in self.members(group):
                role = self.r.choice(("driver", "worker"))
                pod["metadata"]["annotations"]["volcano.sh/task-spec"] = role
                if role == "driver" and "nodeName" not in pod["spec"]:
                    pod["spec"]["containers"][0]["resources"]["requests"] = {"cpu": "1500m", "memory": "1Gi"}

    def task_priorities(self):
        for group, _ in self.gangs():
            for pod in self.members(group):
                pod["metadata"]["annotations"]["volcano.sh/task-priority"] = str(self.r.randint(0, 3))

    def namespaces(self):
        for group, _ in self.gangs():
            for thing in [group] + self.members(group):
                thing["metadata"]["namespace"] = "other"

    def empty_groups(self):
        for i in range(self.r.randint(1, 3)):
            name = "empty-%d" % i
            spec = {"minMember": self.r.randint(0, 3), "queue": self.r.choice(self.queue_names())}
            if self.chance(.7):
                spec["minResources"] = {"cpu": str(self.r.randint(1, 6)), "memory": "%dGi" % self.r.randint(1, 8)}
            if self.chance(.4):
                spec["priorityClassName"] = self.r.choice(("low", "mid", "high"))
            self.case["podGroups"].append({
                "metadata": {"name": name, "uid": "uid-" + name, "namespace": "default", "creationTimestamp": self.stamp()},
                "spec": spec, "status": {"phase": self.r.choice(("Pending", "Pending", "Inqueue", "Running", "Unknown"))}})

    def queue_names(self):
        parents = {queue["spec"].get("parent") for queue in self.case["queues"]}
        return [queue["metadata"]["name"] for queue in self.case["queues"] if queue["metadata"]["name"] not in parents]

    def group_phases(self):
        for group in self.some(self.case["podGroups"]):
            phases = ["", "Unknown", "Completed", "Running", "Pending"]
            # What is both let in and placed upstream counts twice.
            if not any("nodeName" in pod["spec"] for pod in self.members(group)):
                phases.append("Inqueue")
            group["status"]["phase"] = self.r.choice(phases)

    def group_queues(self):
        for group in self.some(self.case["podGroups"], .3):
            group["spec"]["queue"] = self.r.choice(("", "missing"))

    def min_resources(self):
        for group in self.some(self.case["podGroups"], .6):
            if self.chance(.3):
                group["spec"].pop("minResources", None)
                continue
            amounts = {"cpu": "%dm" % self.r.choice((0, 300, 2000, 7000)), "memory": "%dGi" % self.r.randint(0, 12)}
            if self.chance(.3):
                amounts[self.r.choice(("nvidia.com/gpu", "example.com/unknown", "pods", "requests.cpu"))] = "2"
            group["spec"]["minResources"] = amounts

    def no_class(self):
        for group in self.some(self.case["podGroups"]):
            group["spec"]["priorityClassName"] = "missing"
        if self.chance(.5):
            self.case["priorityClasses"].append({"metadata": {"name": "usual"}, "value": 5, "globalDefault": True})

    # ---- nodes ----------------------------------------------------------------------------------------------------------------
    def not_ready(self):
        for node in self.some(self.case["nodes"], .3):
            status = self.r.choice(("False", "Unknown", "True"))
            node["status"]["conditions"] = [{"type": "Ready", "status": status}]
            if status != "True" and self.chance(.5):
                key = "node.kubernetes.io/" + ("not-ready" if status == "False" else "unreachable")
                taints = node["spec"].setdefault("taints", [])
                taints += [{"key": key, "effect": effect} for effect in ("NoSchedule", "NoExecute")]

    def scalars(self):
        for node in self.some(self.case["nodes"], .6):
            amounts = dict(node["status"]["allocatable"])
            amounts["example.com/foo"] = str(self.r.choice((0, 2, 4)))
            if self.chance(.3):
                amounts["ephemeral-storage"] = "10Gi"
            if self.chance(.3):
                amounts["hugepages-2Mi"] = "64Mi"
            node["status"]["allocatable"] = amounts
        for _, pods in self.gangs(.4):
            name, amount = self.r.choice((("example.com/foo", "1"), ("example.com/foo", "2"), ("nvidia.com/gpu", "1"),
                                          ("ephemeral-storage", "3Gi"), ("hugepages-2Mi", "16Mi"), ("example.com/none", "1")))
            for pod in pods:
                pod["spec"]["containers"][0]["resources"].setdefault("requests", {})[name] = amount
        if self.hierarchy():
            return
        for queue in self.some(self.case["queues"], .5):
            kind = self.r.choice(("capability", "guarantee", "deserved"))
            if kind == "capability" and self.evicting and "capacity" in self.case["config"]:
                continue
            amounts = queue["spec"].setdefault(kind, {})
            if kind == "guarantee":
                amounts = amounts.setdefault("resource", {})
            amounts[self.r.choice(("example.com/foo", "nvidia.com/gpu"))] = str(self.r.randint(0, 3))

    def hierarchy(self):
        return "Hierarchy" in self.case["config"]

    # ---- queues ---------------------------------------------------------------------------------------------------------------
    def closed(self):
        for queue in self.some(self.case["queues"], .3):
            queue["status"]["state"] = self.r.choice(("Closed", "Closing", "Unknown"))

    def weights(self):
        if not self.hierarchy():
            for queue in self.some(self.case["queues"], .6):
                queue["spec"]["weight"] = self.r.choice((1, 7, 100, 65535))

    # ---- the configuration ----------------------------------------------------------------------------------------------------
    def plugin(self, name, text):
        line = "  - name: %s\n" % name
        self.case["config"] = self.case["config"].replace(line, line + text)

    def arguments(self, name, arguments):
        if arguments:
            self.plugin(name, "    arguments:\n" + "".join("      %s: %s\n" % one for one in arguments.items()))

    def fewer_plugins(self):
        for name in self.some(("gang", "priority", "drf", "overcommit", "conformance", "nodeorder", "binpack"), .25):
            for more in ("    enablePreemptable: false\n", ""):
                self.case["config"] = self.case["config"].replace("  - name: %s\n" % name + more, "")

    def drf_first(self):
        config = self.case["config"].replace("  - name: drf\n    enablePreemptable: false\n", "")
        self.case["config"] = config.replace("tiers:\n- plugins:\n", "tiers:\n- plugins:\n  - name: drf\n")

    def votes(self):
        self.case["config"] = self.case["config"].replace("    enablePreemptable: false\n", "")

    def nodeorder(self):
        names = ("leastrequested", "mostrequested", "nodeaffinity", "podaffinity", "balancedresource", "tainttoleration",
                 "imagelocality", "podtopologyspread")
        self.arguments("nodeorder", {name + ".weight": self.r.randint(0, 5) for name in self.some(names, .5)})

    def binpack(self):
        out = {name: self.r.choice((0, 1, 5, 10)) for name in self.some(("binpack.weight", "binpack.cpu", "binpack.memory"), .6)}
        if self.chance(.5):
            out["binpack.resources"] = "nvidia.com/gpu, example.com/foo"
            out["binpack.resources.nvidia.com/gpu"] = self.r.randint(0, 8)
            if self.chance(.5):
                out["binpack.resources.example.com/foo"] = 3
        self.arguments("binpack", out)

    def overcommit(self):
        self.arguments("overcommit", {"overcommit-factor": self.r.choice((".5", "1.0", "1.5", "10"))})

    def predicates(self):
        names = ("NodeAffinity", "NodePorts", "TaintToleration", "PodAffinity", "PodTopologySpread")
        self.arguments("predicates", {"predicate.%sEnable" % name: "false" for name in self.some(names, .4)})

    def switches(self):
        names = {"gang": ("enableJobOrder", "enableJobReady", "enableJobPipelined", "enableJobStarving", "enableReclaimable"),
                 "priority": ("enableJobOrder", "enableTaskOrder", "enableJobStarving", "enablePreemptable"),
                 "drf": ("enableJobOrder",), "overcommit": ("enableJobEnqueued",),
                 "proportion": ("enableQueueOrder", "enabledOverused", "enabledAllocatable", "enableJobEnqueued",
                                "enableReclaimable", "enablePreemptive"),
                 "capacity": ("enableQueueOrder", "enabledAllocatable", "enableJobEnqueued", "enablePreemptive"),
                 "nodeorder": ("enableNodeOrder",), "binpack": ("enableNodeOrder",), "conformance": ("enablePreemptable",)}
        present = [name for name in names if "  - name: %s\n" % name in self.case["config"]]
        for name in self.some(present, .3):
            self.plugin(name, "    %s: false\n" % self.r.choice(names[name]))

    def sla(self):
        more = ""
        if self.chance(.5):
            more = "    arguments:\n      sla-waiting-time: %s\n" % self.r.choice(("1h", "90000h"))
        where = self.r.choice(("tiers:\n- plugins:\n", "- plugins:\n  - name: overcommit\n"))
        self.case["config"] = self.case["config"].replace(where, where + "  - name: sla\n" + more, 1)
        for group in self.some(self.case["podGroups"]):
            notes = group["metadata"].setdefault("annotations", {})
            notes["sla-waiting-time"] = self.r.choice(("1h", "1h0m1s", "80000h", "90000h", "later"))


FEATURES = {name: feature for name, feature in vars(Widen).items() if name in (
    "best_effort", "containers", "init_containers", "overhead", "one_resource", "fractions", "limits", "gates", "host_ports",
    "node_affinity", "taints", "priorities", "preemption_policy", "preemptable", "nominated", "finished", "bound",
    "strangers", "roles", "role_requests", "task_priorities", "namespaces", "empty_groups", "group_phases", "group_queues",
    "min_resources", "no_class", "not_ready", "scalars", "closed", "weights", "nodeorder", "binpack", "overcommit",
    "predicates", "switches", "fewer_plugins", "drf_first", "votes", "sla")}
