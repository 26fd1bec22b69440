#!/usr/bin/env python3
"""kube-apiserver with etcd, Hekla's API server alone, and the whole of Hekla, one after the other, under the same
load; prints a table with the ratios of the first two, and what delivering an event costs a server that does nothing
else (bench/watch_floor).

usage: bench/apiserver.py BUILD_DIR [--objects N] [--many N] [--skip-peer]
The peers come from test/differential/build_peers. All servers write durably (etcd with fsync).
"""
import argparse
import base64
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), ".."))
sys.path.insert(0, os.path.join(ROOT, "test", "differential"))
import servers  # noqa: E402

def rss_mb(server):
    total = 0
    for process in server.processes:
        with open("/proc/%d/status" % process.pid) as file:
            total += next(int(line.split()[1]) for line in file if line.startswith("VmRSS:"))
    return total / 1024


def kubeconfig(server):
    path = os.path.join(server.directory, "bench.kubeconfig")
    encoded = {}
    for name in ("ca.crt", "admin.crt", "admin.key"):
        with open(os.path.join(server.directory, name), "rb") as file:
            encoded[name] = base64.b64encode(file.read()).decode()
    with open(path, "w") as file:
        json.dump({"apiVersion": "v1", "kind": "Config", "current-context": "b",
                   "clusters": [{"name": "b", "cluster": {"server": "https://127.0.0.1:%d" % server.port,
                                                          "certificate-authority-data": encoded["ca.crt"]}}],
                   "users": [{"name": "b", "user": {"client-certificate-data": encoded["admin.crt"],
                                                    "client-key-data": encoded["admin.key"]}}],
                   "contexts": [{"name": "b", "context": {"cluster": "b", "user": "b"}}]}, file)
    return path


WATCH = ("--mode", "watch", "--watchers", 200, "--count", 200, "--namespace", "kube-public")


class Bench:
    def __init__(self, build, objects):
        self.programs = os.path.join(build, "bench")
        self.objects = objects

    def run(self, server, *arguments):
        return self.run_load(kubeconfig(server), server.processes, *arguments)

    def run_load(self, config, processes, *arguments):
        pids = ",".join(str(process.pid) for process in processes)
        output = subprocess.run([os.path.join(self.programs, "api_load"), "--kubeconfig", config, "--server-pids", pids,
                                 *map(str, arguments)], check=True, stdout=subprocess.PIPE, timeout=1200).stdout
        return json.loads(output)

    def measure(self, start):
        figures = {}
        server = start()
        try:
            server.wait_ready(interval=0.005)
            figures["start to /readyz, ms"] = 1000 * (time.monotonic() - server.begun)
            time.sleep(3)
            figures["RSS idle, MB"] = rss_mb(server)
            self.wait_for_account(server)
            for kind in ("configmap", "pod"):
                result = self.run(server, "--mode", "create", "--kind", kind, "--count", self.objects)
                figures["creates/s, %s" % kind] = result["per_s"]
                figures["server CPU per %s, us" % kind] = result["server_cpu_us"]
                figures["client CPU per %s, us" % kind] = result["client_cpu_us"]
            result = self.run(server, "--mode", "list", "--count", 15)
            figures["list %d pods, p50 ms" % self.objects] = result["p50_ms"]
            result = self.run(server, *WATCH)
            figures["watch: events/s"] = result["events_per_s"]
            figures["watch: p99 ms"] = result["p99_ms"]
            figures["watch: server CPU per event, us"] = result["server_cpu_us"]
            figures["RSS at the end, MB"] = rss_mb(server)
        finally:
            server.stop()
        return figures

    def measure_floor(self):
        """What an event costs where nothing is done but to write it to every watcher."""
        with tempfile.TemporaryDirectory() as directory:
            with subprocess.Popen([os.path.join(self.programs, "watch_floor"), directory],
                                  stdout=subprocess.PIPE) as process:
                try:
                    process.stdout.readline()
                    result = self.run_load(os.path.join(directory, "bench.kubeconfig"), [process], *WATCH)
                finally:
                    process.kill()
        return {"watch: the least CPU per event, us": result["server_cpu_us"]}

    def measure_many(self, pods):
        """RSS with many pods, and the start of a server that finds them."""
        figures = {}
        server = servers.hekla_apiserver()
        kept = server.directory + "-kept"
        try:
            server.wait_ready()
            self.wait_for_account(server)
            self.run(server, "--mode", "create", "--kind", "pod4k", "--count", pods)
            figures["RSS with %d pods of 4 KB, MB" % pods] = rss_mb(server)
            shutil.copytree(server.directory, kept)
        finally:
            server.stop()
        server = servers.hekla_apiserver(kept)
        try:
            server.wait_ready(interval=0.005)
            figures["start with %d pods, ms" % pods] = 1000 * (time.monotonic() - server.begun)
        finally:
            server.stop()
        return figures

    @staticmethod
    def wait_for_account(server):
        """Pods need the default service account, which on the peer nobody makes: no controllers run there."""
        path = "/api/v1/namespaces/default/serviceaccounts"
        if server.ask("GET", path + "/default").code != 200:
            server.ask("POST", path, {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "default"}})
        server.ask("POST", "/api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace",
                                                  "metadata": {"name": "kube-public"}})


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build")
    parser.add_argument("--objects", type=int, default=10000)
    parser.add_argument("--many", type=int, default=50000)
    parser.add_argument("--skip-peer", action="store_true")
    arguments = parser.parse_args()
    servers.HEKLA = os.path.join(os.path.abspath(arguments.build), "hekla")
    bench = Bench(arguments.build, arguments.objects)
    whole = bench.measure(servers.hekla)
    ours = bench.measure(servers.hekla_apiserver)
    theirs = {} if arguments.skip_peer else bench.measure(lambda: servers.kubernetes(durable=True))
    ours.update(bench.measure_floor())
    ours.update(bench.measure_many(arguments.many))
    show = lambda value: "-" if value is None else "%.1f" % value
    print("%-34s %22s %16s %8s %12s" % ("", "kube-apiserver + etcd", "hekla apiserver", "ratio", "hekla up"))
    for name, value in ours.items():
        other = theirs.get(name)
        more_is_better = name.endswith("/s") or "creates/s" in name
        ratio = None if not other or not value else (value / other if more_is_better else other / value)
        print("%-34s %22s %16s %8s %12s" % (name, show(other), show(value), show(ratio), show(whole.get(name))))


if __name__ == "__main__":
    main()
