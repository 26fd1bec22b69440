#!/usr/bin/env python3
"""The whole path, from the POST of a job to its bound pods, of the real Volcano (on kube-apiserver, etcd and kwok) and of
Hekla, one after the other under the same load of bench/embedded: platform.py BUILD_DIR [--jobs J] [--pods-per-job P]
[--nodes N].

test/differential/build_peers --volcano makes the programs. Volcano's clients have no limits of their own here, it runs
without its webhooks and beside no other controllers, and all its writes are durable, as Hekla's are. Prints one line of JSON
for each and the ratios."""
import argparse
import json
import os
import subprocess
import sys
import time

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), ".."))
sys.path.insert(0, os.path.join(ROOT, "test/differential"))
CPU, MEMORY, PODS = "32", "256Gi", "110"  # of a node, as in bench/embedded


def volcano(nodes):
    """A cluster with fake nodes and Volcano; its kubeconfig is in its directory."""
    import servers

    server = servers.kubernetes(durable=True)
    server.wait_ready()
    bin_directory = os.path.join(servers.PEERS, "bin")
    kubeconfig = os.path.join(server.directory, "kubeconfig")
    with open(kubeconfig, "w") as file:
        json.dump({"apiVersion": "v1", "kind": "Config", "current-context": "c",
                   "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
                   "clusters": [{"name": "c", "cluster": {
                       "server": "https://127.0.0.1:%d" % server.port,
                       "certificate-authority": os.path.join(server.directory, "ca.crt")}}],
                   "users": [{"name": "u", "user": {
                       "client-certificate": os.path.join(server.directory, "admin.crt"),
                       "client-key": os.path.join(server.directory, "admin.key")}}]}, file)

    def kubectl(*arguments):
        subprocess.run([os.path.join(bin_directory, "kubectl"), "--kubeconfig", kubeconfig, *arguments], check=True,
                       stdout=subprocess.DEVNULL)
    kubectl("apply", "--server-side", "-f", os.path.join(servers.PEERS, "volcano-crds"))
    kubectl("wait", "--for=condition=Established", "crd", "--all", "--timeout=60s")
    kubectl("create", "namespace", "volcano-system")
    kubectl("create", "serviceaccount", "default")  # nobody else makes it, and pods are refused without
    amounts = {"cpu": CPU, "memory": MEMORY, "pods": PODS}
    for i in range(nodes):
        made = server.ask("POST", "/api/v1/nodes", {
            "apiVersion": "v1", "kind": "Node", "status": {"capacity": amounts, "allocatable": amounts},
            "metadata": {"name": "node-%d" % i, "annotations": {"kwok.x-k8s.io/node": "fake"}}})
        if made.code != 201:
            raise RuntimeError("a node was refused: %s" % made.body)
    kwok, controllers, controllers_health, scheduler, scheduler_health = servers.free_ports(5)
    server.start(os.path.join(bin_directory, "kwok"), "--kubeconfig", kubeconfig, "--manage-all-nodes=false",
                 "--manage-nodes-with-annotation-selector", "kwok.x-k8s.io/node=fake", "--node-lease-duration-seconds", "0",
                 "--server-address", "127.0.0.1:%d" % kwok, "--config", os.path.join(servers.PEERS, "kwok-stages.yaml"))
    os.environ["KLOG_SOCKET_DIR"] = os.environ["DEBUG_SOCKET_DIR"] = server.directory
    common = ["--kubeconfig", kubeconfig, "--leader-elect=false", "--kube-api-qps", "10000", "--kube-api-burst", "10000",
              "--logtostderr", "--enable-healthz"]
    server.start(os.path.join(bin_directory, "vc-controller-manager"), *common,
                 "--healthz-address", "127.0.0.1:%d" % controllers_health, "--listen-address", "127.0.0.1:%d" % controllers)
    server.start(os.path.join(bin_directory, "vc-scheduler"), *common, "--cache-dump-dir", server.directory,
                 "--healthz-address", "127.0.0.1:%d" % scheduler_health, "--listen-address", "127.0.0.1:%d" % scheduler,
                 "--scheduler-conf", os.path.join(servers.PEERS, "volcano-scheduler/volcano-scheduler.conf"))
    deadline = time.time() + 60
    while True:
        queue = server.ask("GET", "/apis/scheduling.volcano.sh/v1beta1/queues/default")
        nodes_ready = server.ask("GET", "/api/v1/nodes").raw.count(b'"KubeletReady"') if queue.code == 200 else 0
        if nodes_ready >= nodes and queue.body.get("status", {}).get("state") == "Open":
            return server, kubeconfig
        if time.time() > deadline:
            raise RuntimeError("Volcano did not get ready (%d of %d nodes), see %s" % (nodes_ready, nodes, server.directory))
        time.sleep(0.5)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build")
    parser.add_argument("--jobs", type=int, default=100)
    parser.add_argument("--pods-per-job", type=int, default=100)
    parser.add_argument("--nodes", type=int, default=1000)
    arguments = parser.parse_args()
    load = [os.path.join(arguments.build, "bench/embedded"), "--jobs", str(arguments.jobs),
            "--pods-per-job", str(arguments.pods_per_job), "--fake-nodes", str(arguments.nodes)]

    def measure(name, *more):
        line = subprocess.run([*load, *more], check=True, stdout=subprocess.PIPE, text=True).stdout
        print(json.dumps({"platform": name, **json.loads(line)}), flush=True)
        return json.loads(line)

    server, kubeconfig = volcano(arguments.nodes)
    try:
        theirs = measure("volcano", "--kubeconfig", kubeconfig, "--pids", ",".join(str(p.pid) for p in server.processes))
    finally:
        server.stop()
    for observer in ("tls", "process"):
        ours = measure("hekla, observer: " + observer, "--observer", observer)
        print("observer %s: %.0f times as many pods a second, one pod bound %.0f times as soon, %.0f times less CPU, "
              "%.1f times less memory" % (observer, *(theirs[figure] / ours[figure] for figure in (
                  "first_post_to_last_bound_s", "latency_p50_ms", "cpu_s", "rss_mb"))), flush=True)


if __name__ == "__main__":
    main()
