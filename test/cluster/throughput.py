#!/usr/bin/env python3
"""How fast jobs are placed on a real control plane, and what that costs its API server.

usage: throughput.py [--nodes N] [--jobs N] [--pods N] [--separate] [--program HEKLA] [--bare]

--separate starts `hekla scheduler` and `hekla controllers` in place of `hekla operator`; --bare only creates and binds the
same pods, as the measure of what the server can do. Prints a line of JSON and a table of the requests that were answered.
"""
import argparse
import collections
import http.client
import json
import os
import subprocess
import threading
import time

from cluster_test import JOBS, PODS, vcjob
from control_plane import HEKLA, ControlPlane, Operator, end, in_parallel, wait_for
import servers

TICKS = os.sysconf("SC_CLK_TCK")


def cpu_seconds(process):
    with open("/proc/%d/stat" % process.pid) as file:
        fields = file.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def resident_mb(process):
    with open("/proc/%d/status" % process.pid) as file:
        return next(int(line.split()[1]) for line in file if line.startswith("VmRSS")) // 1024


class Separate:
    """The scheduler and the controllers as two processes."""

    def __init__(self, plane, program):
        self.processes, self.logs = [], []
        for component in ("controllers", "scheduler"):
            metrics, = servers.free_ports(1)
            log = open(plane.path(component + ".log"), "ab")
            self.processes.append(subprocess.Popen(
                [program, component, "--kubeconfig", plane.kubeconfig_of("operator"), "--leader-elect=false",
                 "--enable-metrics", "--listen-address", "127.0.0.1:%d" % metrics], stdout=log, stderr=log,
                start_new_session=True))
            log.close()


def watch_pods(plane, seen, stop):
    """The first moment at which each pod was seen, and seen on a node."""
    response = None
    while not stop.is_set():
        if response is None:
            connection = http.client.HTTPSConnection("127.0.0.1", plane.server.port, context=plane.server.tls)
            connection.request("GET", PODS + "?watch=true&resourceVersion=0")
            response = connection.getresponse()
        line = response.readline()
        if not line:  # whoever reads too slowly is sent away
            response = None
            continue
        pod, now = json.loads(line)["object"], time.monotonic()
        name = pod["metadata"].get("name")
        seen["made"].setdefault(name, now)
        if pod.get("spec", {}).get("nodeName"):
            seen["bound"].setdefault(name, now)


def answered(plane):
    """{(verb, resource, code): count} of every request that the API server has answered."""
    counts = collections.Counter()
    for labels, value in plane.server_metrics("apiserver_request_total").items():
        labels = dict(labels)
        resource = labels["resource"] + ("/" + labels["subresource"] if labels["subresource"] else "")
        counts[labels["verb"], resource, labels["code"]] += int(value)
    return counts


def bare_run(plane, pods, workers=32):
    """Creates and binds, as fast as the server answers."""
    names = iter(["bare-%d" % number for number in range(pods)])
    lock = threading.Lock()

    def work():
        connection = http.client.HTTPSConnection("127.0.0.1", plane.server.port, context=plane.server.tls)

        def post(path, body):
            connection.request("POST", path, json.dumps(body), {"Content-Type": "application/json"})
            response = connection.getresponse()
            response.read()
            assert response.status == 201, response.status
        while True:
            with lock:
                name = next(names, None)
            if name is None:
                return
            spec = vcjob("x", 1)["spec"]["tasks"][0]["template"]["spec"]
            post(PODS, {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": dict(spec, schedulerName="none")})
            post("%s/%s/binding" % (PODS, name), {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": name},
                                                  "target": {"kind": "Node", "name": "fake-%d" % (hash(name) % plane.nodes)}})
    in_parallel(lambda _: work(), range(workers), workers)


def measure(options):
    plane = ControlPlane(nodes=options.nodes, pods="1000")
    plane.nodes = options.nodes
    started = []
    try:
        plane.install("operator")
        if options.separate:
            plane.apply(text=json.dumps({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "volcano-system"}}))
            started = Separate(plane, options.program).processes
        elif not options.bare:
            started = [Operator(plane, "--components", "scheduler,volcano", program=options.program).wait_ready().process]
        if started:
            wait_for("the default queue", lambda: plane.list("/apis/scheduling.volcano.sh/v1beta1/queues"))
            time.sleep(3)
        idle = sum(resident_mb(one) for one in started)
        seen, stop = {"made": {}, "bound": {}}, threading.Event()
        threading.Thread(target=watch_pods, args=(plane, seen, stop), daemon=True).start()
        api, before = plane.server.processes[1], answered(plane)
        api_cpu, own_cpu = cpu_seconds(api), [cpu_seconds(one) for one in started]
        total = options.jobs * options.pods
        if options.bare:
            bare_run(plane, total)
        else:
            for number in range(options.jobs):
                plane.call("POST", JOBS, vcjob("job-%d" % number, options.pods, runs_for=None))
        wait_for("every pod is on a node", lambda: len(seen["bound"]) >= total, 600, 0.05)
        bound = sorted(seen["bound"].values())
        seconds = bound[-1] - min(seen["made"].values())
        result = {"nodes": options.nodes, "pods": total, "seconds": round(seconds, 1), "pods_per_second": round(total / seconds, 1),
                  "binds_per_second": round(total / max(bound[-1] - bound[0], 0.001), 1),
                  "api_server_cpu": round(cpu_seconds(api) - api_cpu, 1),
                  "own_cpu": [round(cpu_seconds(one) - was, 1) for one, was in zip(started, own_cpu)],
                  "idle_mb": idle, "after_mb": sum(resident_mb(one) for one in started)}
        time.sleep(5)  # what is written afterwards counts, too
        result["api_server_cpu_with_the_rest"] = round(cpu_seconds(api) - api_cpu, 1)
        stop.set()
        print(json.dumps(result))
        table = answered(plane) - before
        for (verb, resource, code), count in table.most_common(30):
            print("%8d  %-8s %-28s %s" % (count, verb, resource, code))
    finally:
        for process in started:
            end(process)
        plane.stop()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--nodes", type=int, default=200)
    parser.add_argument("--jobs", type=int, default=20)
    parser.add_argument("--pods", type=int, default=100)
    parser.add_argument("--separate", action="store_true")
    parser.add_argument("--bare", action="store_true")
    parser.add_argument("--program", default=HEKLA)
    measure(parser.parse_args())
