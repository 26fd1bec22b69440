#!/usr/bin/env python3
"""The whole path, from the POST of a job to its bound pods, of the real Volcano (on kube-apiserver, etcd, the controller
manager and kwok) and of Hekla, one after the other under the same load of bench/embedded: platform.py BUILD_DIR [--jobs J]
[--pods-per-job P] [--nodes N].

test/differential/build_peers --volcano makes the programs. Volcano runs as its chart installs it, with its webhooks (Hekla's
admission is in the path, too), but without the limits of its clients and of the API server, which would only slow it down;
all its writes are durable, as Hekla's are. Prints one line of JSON for each and the ratios."""
import argparse
import json
import os
import re
import socket
import subprocess
import sys
import time

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), ".."))
sys.path.insert(0, os.path.join(ROOT, "test/differential"))
CPU, MEMORY, PODS = "32", "256Gi", "110"  # of a node, as in bench/embedded


# The chart's default.
ADMISSIONS = ["/jobs/mutate", "/jobs/validate", "/podgroups/validate", "/queues/mutate", "/queues/validate",
              "/hypernodes/validate", "/cronjobs/validate"]


def webhooks(template, port, authority):
    """The chart's webhook configurations, asking a process of this machine instead of a service."""
    import yaml

    text = re.sub(r"\{\{- if \.Values\.custom\.(common_labels|webhooks_namespace_selector_expressions).*?\{\{- end \}\}", "",
                  template, flags=re.S)
    text = text.replace("{{ .Release.Name }}", "volcano").replace("{{ .Release.Namespace }}", "volcano-system")
    text = re.sub(r"^[ \t]*\{\{.*?\}\}[ \t]*$", "---", text, flags=re.M)
    for configuration in filter(None, yaml.safe_load_all(text)):
        asked = []
        for webhook in configuration["webhooks"]:
            path = webhook["clientConfig"]["service"]["path"]
            webhook["clientConfig"] = {"url": "https://127.0.0.1:%d%s" % (port, path), "caBundle": authority}
            if path in ADMISSIONS:
                asked.append(webhook)
        if asked:
            yield {**configuration, "webhooks": asked}


def cluster(nodes):
    """etcd, kube-apiserver, the controller manager and fake nodes; a kubeconfig in its directory."""
    import servers

    server = servers.kubernetes(durable=True)
    server.wait_ready()
    pki = lambda name: os.path.join(server.directory, name)
    kubeconfig = pki("kubeconfig")
    with open(kubeconfig, "w") as file:
        json.dump({"apiVersion": "v1", "kind": "Config", "current-context": "c",
                   "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
                   "clusters": [{"name": "c", "cluster": {"server": "https://127.0.0.1:%d" % server.port,
                                                          "certificate-authority": pki("ca.crt")}}],
                   "users": [{"name": "u", "user": {"client-certificate": pki("admin.crt"),
                                                    "client-key": pki("admin.key")}}]}, file)
    manager, kwok = servers.free_ports(2)
    program = lambda name: os.path.join(servers.PEERS, "bin", name)
    server.start(program("kube-controller-manager"), "--kubeconfig", kubeconfig, "--leader-elect=false",
                 "--bind-address", "127.0.0.1", "--secure-port", str(manager), "--cert-dir", server.directory,
                 "--service-account-private-key-file", pki("sa.key"), "--root-ca-file", pki("ca.crt"),
                 "--controllers", "*,-node-lifecycle-controller,-node-ipam-controller,-node-route-controller",
                 "--kube-api-qps", "2000", "--kube-api-burst", "4000")
    amounts = {"cpu": CPU, "memory": MEMORY, "pods": PODS}
    for i in range(nodes):
        made = server.ask("POST", "/api/v1/nodes", {
            "apiVersion": "v1", "kind": "Node", "status": {"capacity": amounts, "allocatable": amounts},
            "metadata": {"name": "node-%d" % i, "annotations": {"kwok.x-k8s.io/node": "fake"}}})
        if made.code != 201:
            raise RuntimeError("a node was refused: %s" % made.body)
    server.start(program("kwok"), "--kubeconfig", kubeconfig, "--manage-all-nodes=false",
                 "--manage-nodes-with-annotation-selector", "kwok.x-k8s.io/node=fake", "--node-lease-duration-seconds", "0",
                 "--server-address", "127.0.0.1:%d" % kwok, "--config", os.path.join(servers.PEERS, "kwok-stages.yaml"))
    return server, kubeconfig


def wait_for(what, server, is_true):
    deadline = time.time() + 60
    while not is_true():
        if time.time() > deadline or any(process.poll() is not None for process in server.processes):
            raise RuntimeError("%s: not seen, see %s" % (what, server.directory))
        time.sleep(0.5)


def answers(port):
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def volcano(server, kubeconfig, nodes):
    """Installs and starts Volcano there."""
    import base64
    import servers

    program = lambda name: os.path.join(servers.PEERS, "bin", name)

    def kubectl(*arguments, **more):
        subprocess.run([program("kubectl"), "--kubeconfig", kubeconfig, *arguments], check=True, stdout=subprocess.DEVNULL,
                       **more)
    kubectl("apply", "--server-side", "-f", os.path.join(servers.PEERS, "volcano-crds"))
    kubectl("wait", "--for=condition=Established", "crd", "--all", "--timeout=60s")
    kubectl("create", "namespace", "volcano-system")
    os.environ["KLOG_SOCKET_DIR"] = os.environ["DEBUG_SOCKET_DIR"] = server.directory
    controllers, controllers_health, scheduler, scheduler_health, admission, admission_health = servers.free_ports(6)
    common = ["--kubeconfig", kubeconfig, "--logtostderr", "--enable-healthz"]
    hasty = [*common, "--leader-elect=false", "--kube-api-qps", "10000", "--kube-api-burst", "10000"]
    pki = lambda name: os.path.join(server.directory, name)
    with open(pki("admission.conf"), "w"):
        pass
    with open(pki("ca.crt"), "rb") as file:
        authority = base64.b64encode(file.read()).decode()
    with open(os.path.join(servers.PEERS, "volcano-chart/webhooks.yaml")) as file:
        items = list(webhooks(file.read(), admission, authority))
    kubectl("apply", "-f", "-", input=json.dumps({"apiVersion": "v1", "kind": "List", "items": items}), text=True)
    server.start(program("vc-webhook-manager"), *common, "--listen-address", "127.0.0.1", "--port", str(admission),
                 "--tls-cert-file", pki("server.crt"), "--tls-private-key-file", pki("server.key"),
                 "--ca-cert-file", pki("ca.crt"), "--enabled-admission", ",".join(ADMISSIONS),
                 "--webhook-url", "https://127.0.0.1:%d" % admission, "--admission-conf", pki("admission.conf"),
                 "--healthz-address", "127.0.0.1:%d" % admission_health)
    wait_for("the webhooks", server, lambda: answers(admission))
    server.start(program("vc-controller-manager"), *hasty,
                 "--healthz-address", "127.0.0.1:%d" % controllers_health, "--listen-address", "127.0.0.1:%d" % controllers)
    server.start(program("vc-scheduler"), *hasty, "--cache-dump-dir", server.directory,
                 "--healthz-address", "127.0.0.1:%d" % scheduler_health, "--listen-address", "127.0.0.1:%d" % scheduler,
                 "--scheduler-conf", os.path.join(servers.PEERS, "volcano-scheduler/volcano-scheduler.conf"))

    def queue_open():
        queue = server.ask("GET", "/apis/scheduling.volcano.sh/v1beta1/queues/default")
        return queue.code == 200 and queue.body.get("status", {}).get("state") == "Open"
    wait_for("the queue open", server, queue_open)
    wait_for("all nodes ready", server,
             lambda: server.ask("GET", "/api/v1/nodes").raw.count(b'"KubeletReady"') >= nodes)
    warm_up(server)


def warm_up(server):
    """A job of its own before the clock runs: one that comes while its controllers start may wait for ever there."""
    jobs, pods = "/apis/batch.volcano.sh/v1alpha1/namespaces/default/jobs", "/api/v1/namespaces/default/pods"
    container = {"name": "c", "image": "busybox", "resources": {"requests": {"cpu": "1", "memory": "1Gi"}}}
    task = {"name": "worker", "replicas": 1, "template": {"spec": {"containers": [container], "restartPolicy": "Never"}}}
    for attempt in range(5):
        name = "warm-up-%d" % attempt
        made = server.ask("POST", jobs, {"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job", "metadata": {"name": name},
                                         "spec": {"minAvailable": 1, "schedulerName": "volcano", "tasks": [task]}})
        if made.code != 201:
            raise RuntimeError("a job was refused: %s" % made.body)
        deadline = time.time() + 15
        while time.time() < deadline and b'"nodeName"' not in server.ask("GET", pods).raw:
            time.sleep(0.2)
        warm = b'"nodeName"' in server.ask("GET", pods).raw
        server.ask("DELETE", jobs + "/" + name)
        wait_for("the job gone", server, lambda: not server.ask("GET", pods).body["items"])
        if warm:
            return
    raise RuntimeError("Volcano starts no job, see %s" % server.directory)


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

    server, kubeconfig = cluster(arguments.nodes)
    try:
        volcano(server, kubeconfig, arguments.nodes)
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
