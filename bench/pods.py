#!/usr/bin/env python3
"""Real pods on this machine: how soon a job's process runs, how many pods a second, what an idle agent costs, how soon
a log line is seen, and what a pod that writes 100 MB/s of log costs its neighbours and the disk.

usage (as root): bench/pods.py BUILD_DIR [--starts N] [--pods N] [--flood-starts N] [--idle-pods N]
Prints one line of JSON and fails when a threshold is missed.
"""
import argparse
import base64
import http.client
import json
import os
import re
import ssl
import sys
import tempfile
import time

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), ".."))
sys.path.insert(0, os.path.join(ROOT, "test/e2e"))

JOBS = "/apis/batch.volcano.sh/v1alpha1/namespaces/default/jobs"
PODS = "/api/v1/namespaces/default/pods"
THRESHOLDS = {"start_p50_ms": 60, "start_p99_ms": 200, "log_line_p50_ms": 20, "log_line_p99_ms": 20,
              "flood_start_ratio": 1.5, "flood_disk_mb": 100, "idle_pods_cpu_percent": 1, "agent_rss_mb": 15, "idle_cpu_percent": 0.5}
AT_LEAST = {"pods_per_s": 30}
# Lines of a kilobyte, a hundred thousand a second in pieces of ten milliseconds; as fast as it can be when that is less.
FLOOD = """
import os, signal, time
signal.signal(signal.SIGTERM, lambda *_: os._exit(0))  # a first process has no default that ends it
piece = (b"x" * 999 + b"\\n") * 1000
start, sent = time.time(), 0
while True:
    os.write(1, piece)
    sent += len(piece)
    ahead = sent / 100e6 - (time.time() - start)
    if ahead > 0: time.sleep(ahead)
    with open("/tmp/sent", "w") as file: file.write("%d %f" % (sent, time.time() - start))
"""


class Api:
    """One kept connection with the admin's certificate."""

    def __init__(self, kubeconfig):
        with open(kubeconfig) as file:
            text = file.read()

        def data(name):
            return base64.b64decode(re.search(name + r': "?([A-Za-z0-9+/=]+)', text).group(1))
        with tempfile.TemporaryDirectory() as directory:
            paths = {}
            for name in ("certificate-authority-data", "client-certificate-data", "client-key-data"):
                paths[name] = os.path.join(directory, name)
                with open(paths[name], "wb") as file:
                    file.write(data(name))
            self.context = ssl.create_default_context(cafile=paths["certificate-authority-data"])
            self.context.load_cert_chain(paths["client-certificate-data"], paths["client-key-data"])
        self.host, self.port = re.search(r"https://([^:]+):(\d+)", text).groups()
        self.connection = self.connect()

    def connect(self):
        return http.client.HTTPSConnection(self.host, int(self.port), context=self.context)

    def call(self, method, path, body=None):
        self.connection.request(method, path, json.dumps(body) if body else None,
                                {"Content-Type": "application/json"})
        answer = self.connection.getresponse()
        text = answer.read().decode()
        if answer.status >= 300:
            raise RuntimeError("%s %s: %d %s" % (method, path, answer.status, text))
        return text


def job(name, replicas, command):
    return {"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job", "metadata": {"name": name},
            "spec": {"minAvailable": replicas, "schedulerName": "volcano", "tasks": [{
                "name": "t", "replicas": replicas, "template": {"spec": {"restartPolicy": "Never", "containers": [
                    {"name": "c", "image": "host", "command": command,
                     "resources": {"requests": {"cpu": "1m"}}}]}}}]}}


def wait_done(api, name, replicas, timeout=120):
    end = time.time() + timeout
    while time.time() < end:
        status = json.loads(api.call("GET", JOBS + "/" + name)).get("status", {})
        if status.get("succeeded", 0) == replicas:
            return
        time.sleep(0.02)
    raise RuntimeError("%s: %s" % (name, status))


def percentile(values, part):
    return sorted(values)[min(len(values) - 1, int(len(values) * part))]


def starts(api, count, prefix="start"):
    """Milliseconds from just before the POST to the process's own clock."""
    found = []
    for i in range(count):
        name = "%s-%d" % (prefix, i)
        begin = time.time()
        api.call("POST", JOBS, job(name, 1, ["bash", "-c", "echo $EPOCHREALTIME"]))
        wait_done(api, name, 1)
        found.append((float(api.call("GET", PODS + "/" + name + "-t-0/log")) - begin) * 1000)
        api.call("DELETE", JOBS + "/" + name + "?propagationPolicy=Background")
    return found


def throughput(api, count):
    begin = time.time()
    api.call("POST", JOBS, job("many", count, ["true"]))
    wait_done(api, "many", count)
    return count / (time.time() - begin)


def wait_running(api, name, count=1, timeout=60):
    end = time.time() + timeout
    while json.loads(api.call("GET", JOBS + "/" + name)).get("status", {}).get("running", 0) < count:
        if time.time() > end:
            raise RuntimeError("%s does not run" % name)
        time.sleep(0.01)


def wait_gone(api, pod, timeout=60):
    end = time.time() + timeout
    while pod in [one["metadata"]["name"] for one in json.loads(api.call("GET", PODS))["items"]]:
        if time.time() > end:
            raise RuntimeError("%s does not go" % pod)
        time.sleep(0.1)


def bytes_below(directory):
    """Of disk, every file once however many names it has."""
    found = {}
    for place, _, names in os.walk(directory):
        for name in names:
            try:
                info = os.lstat(os.path.join(place, name))
                found[info.st_ino] = info.st_blocks * 512
            except OSError:
                pass  # gone meanwhile
    return sum(found.values())


def flood(api, data_dir, count):
    """One pod that writes 100 MB/s of log beside others that start: their starts, what it got rid of, and the disk."""
    calm = starts(api, count, "calm")
    before = bytes_below(os.path.join(data_dir, "pods"))
    api.call("POST", JOBS, job("flood", 1, ["python3", "-c", FLOOD]))
    wait_running(api, "flood")
    most = 0
    busy = []
    for i in range(count):
        busy += starts(api, 1, "busy-%d" % i)
        most = max(most, bytes_below(os.path.join(data_dir, "pods")) - before)
    uid = json.loads(api.call("GET", PODS + "/flood-t-0"))["metadata"]["uid"]
    rate = 0.0
    for place, _, names in os.walk(os.path.join(data_dir, "pods", uid)):
        if "sent" in names and place.endswith("/tmp"):
            said = []
            while len(said) < 2:  # it is being written anew just now
                with open(os.path.join(place, "sent")) as file:
                    said = file.read().split()
            sent, seconds = said
            rate = float(sent) / float(seconds) / 1e6
    api.call("DELETE", JOBS + "/flood?propagationPolicy=Background")
    wait_gone(api, "flood-t-0")  # what is measured next is not its work
    return {"flood_start_p50_ms": percentile(busy, 0.5), "calm_start_p50_ms": percentile(calm, 0.5),
            "flood_start_ratio": percentile(busy, 0.5) / percentile(calm, 0.5), "flood_mb_per_s": rate,
            "flood_disk_mb": most / 1e6}


def log_latency(api, lines=400):
    script = "for i in {1..%d}; do echo $EPOCHREALTIME; sleep 0.02; done" % lines
    api.call("POST", JOBS, job("talk", 1, ["bash", "-c", script]))
    wait_running(api, "talk")
    connection = api.connect()
    connection.request("GET", PODS + "/talk-t-0/log?follow=true&tailLines=0")
    answer = connection.getresponse()
    return [(time.time() - float(line)) * 1000 for line in iter(answer.readline, b"")]


def resources(pid):
    with open("/proc/%d/stat" % pid) as file:
        fields = file.read().rpartition(")")[2].split()
    with open("/proc/%d/status" % pid) as file:
        rss = int(re.search(r"VmRSS:\s+(\d+)", file.read()).group(1)) / 1024
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK"), rss


def idle(platform, seconds=10):
    before, _ = resources(platform.process.pid)
    time.sleep(seconds)
    after, rss = resources(platform.process.pid)
    return (after - before) / seconds * 100, rss


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build")
    parser.add_argument("--starts", type=int, default=100)
    parser.add_argument("--pods", type=int, default=200)
    parser.add_argument("--flood-starts", type=int, default=20)
    parser.add_argument("--idle-pods", type=int, default=20)
    arguments = parser.parse_args()
    os.environ["HEKLA"] = os.path.join(os.path.abspath(arguments.build), "hekla")
    import platform_under_test as put

    put.kubectls = lambda: [None]  # not needed here
    figures = {"cores": os.cpu_count(), "load": os.getloadavg()[0]}
    without = put.Platform("--no-agent")
    try:
        without.up()
        _, server_rss = idle(without, 2)
    finally:
        without.destroy()
    platform = put.Platform("--image-map", "*=host", "--node-resources", "pods=%d" % (arguments.pods + 50))
    try:
        platform.up()
        figures["idle_cpu_percent"], rss = idle(platform)
        figures["agent_rss_mb"] = rss - server_rss
        api = Api(platform.kubeconfig)
        values = starts(api, arguments.starts)
        figures["start_p50_ms"], figures["start_p99_ms"] = percentile(values, 0.5), percentile(values, 0.99)
        figures["pods_per_s"] = throughput(api, arguments.pods)
        lines = log_latency(api)
        figures["log_line_p50_ms"], figures["log_line_p99_ms"] = percentile(lines, 0.5), percentile(lines, 0.99)
        figures.update(flood(api, platform.data_dir, arguments.flood_starts))
        api.call("POST", JOBS, job("idle", arguments.idle_pods, ["sleep", "3600"]))
        wait_running(api, "idle", arguments.idle_pods)
        time.sleep(5)  # their events and statuses go out
        figures["idle_pods_cpu_percent"], rss = idle(platform)
        figures["idle_pods_rss_mb"] = rss - server_rss
    finally:
        platform.destroy()
    figures = {name: round(value, 2) for name, value in figures.items()}
    print(json.dumps(figures))
    missed = ["%s is %s, not at most %s" % (n, figures[n], most) for n, most in THRESHOLDS.items() if figures[n] > most]
    missed += ["%s is %s, not at least %s" % (n, figures[n], least) for n, least in AT_LEAST.items() if figures[n] < least]
    if missed:
        sys.exit("; ".join(missed))


if __name__ == "__main__":
    main()
