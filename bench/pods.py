#!/usr/bin/env python3
"""Real pods on this machine: how soon a job's process runs, how many pods a second, what an idle agent costs.

usage (as root): bench/pods.py BUILD_DIR [--starts N] [--pods N]
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
THRESHOLDS = {"start_p50_ms": 60, "start_p99_ms": 200, "log_line_p50_ms": 20, "agent_rss_mb": 15, "idle_cpu_percent": 0.5}
AT_LEAST = {"pods_per_s": 30}


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


def starts(api, count):
    """Milliseconds from just before the POST to the process's own clock."""
    found = []
    for i in range(count):
        name = "start-%d" % i
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


def log_latency(api):
    api.call("POST", JOBS, job("talk", 1, ["bash", "-c", "for i in {1..60}; do echo $EPOCHREALTIME; sleep 0.05; done"]))
    end = time.time() + 30
    while json.loads(api.call("GET", JOBS + "/talk")).get("status", {}).get("running", 0) == 0:
        if time.time() > end:
            raise RuntimeError("talk does not run")
        time.sleep(0.01)
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
        figures["log_line_p50_ms"] = percentile(log_latency(api), 0.5)
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
