#!/usr/bin/env python3
"""Training jobs from the POST to their bound pods: training.py HEKLA [--jobs J] [--runs R] [--nodes N]
[--kubeconfig FILE --pids P,P].

Without --kubeconfig a platform of fake nodes is started in a directory of its own; with it, a cluster that runs is
measured the same way: kube-apiserver with Volcano and the Training Operator (--kube-api-qps 10000 --kube-api-burst
10000 --controller-threads 8) beside which ours is to be seen. --pids names the processes whose CPU time and memory count.
A PyTorchJob of one master and two workers is made R times alone, then J of them at once by 8 clients. Bound is what a
watch of the pods has seen. Prints one line of JSON."""
import argparse
import http.client
import json
import os
import shutil
import ssl
import statistics
import subprocess
import tempfile
import threading
import time
import urllib.parse

JOBS = "/apis/kubeflow.org/v1/namespaces/default/pytorchjobs"
PODS = "/api/v1/namespaces/default/pods"
MEMBERS, CLIENTS = 3, 8


class Cluster:
    """Connections to the server of a kubeconfig that names a certificate, as files or in itself."""

    def __init__(self, kubeconfig):
        import base64
        import yaml

        with open(kubeconfig) as file:
            config = yaml.safe_load(file)
        cluster, user = config["clusters"][0]["cluster"], config["users"][0]["user"]
        directory = tempfile.mkdtemp(prefix="hekla-bench-")

        def path(holder, name):
            if name in holder:
                return holder[name]
            file = os.path.join(directory, name)
            with open(file, "wb") as out:
                out.write(base64.b64decode(holder[name + "-data"]))
            return file
        self.tls = ssl.create_default_context(cafile=path(cluster, "certificate-authority"))
        self.tls.load_cert_chain(path(user, "client-certificate"), path(user, "client-key"))
        self.address = urllib.parse.urlparse(cluster["server"])
        shutil.rmtree(directory)

    def connection(self):
        return http.client.HTTPSConnection(self.address.hostname, self.address.port, context=self.tls)

    @staticmethod
    def ask(connection, method, path, body=None):
        connection.request(method, path, json.dumps(body) if body else None, {"Content-Type": "application/json"})
        answer = connection.getresponse()
        text = answer.read()
        if answer.status >= 300:
            raise RuntimeError("%s %s: %d %s" % (method, path, answer.status, text[:500]))
        return json.loads(text)


class Bound:
    """When the last pod of each job was seen bound."""

    def __init__(self, cluster):
        self.pods, self.done, self.turn = {}, {}, threading.Condition()
        listed = cluster.ask(cluster.connection(), "GET", PODS + "?limit=1")
        connection = cluster.connection()
        connection.request("GET", PODS + "?watch=1&resourceVersion=" + listed["metadata"]["resourceVersion"])
        self.stream = connection.getresponse()
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        for line in self.stream:
            at = time.perf_counter()
            pod = json.loads(line)["object"]
            if pod.get("kind") != "Pod" or not pod["spec"].get("nodeName"):
                continue
            job = pod["metadata"]["labels"].get("training.kubeflow.org/job-name")
            with self.turn:
                names = self.pods.setdefault(job, set())
                names.add(pod["metadata"]["name"])
                if len(names) == MEMBERS and job not in self.done:
                    self.done[job] = at
                    self.turn.notify_all()

    def wait(self, jobs, timeout=600):
        with self.turn:
            if not self.turn.wait_for(lambda: all(job in self.done for job in jobs), timeout):
                done = sum(job in self.done for job in jobs)
                raise RuntimeError("%d of %d jobs have their pods bound" % (done, len(jobs)))
            return [self.done[job] for job in jobs]


def job(name):
    template = {"spec": {"containers": [{"name": "pytorch", "image": "any", "resources": {
        "requests": {"cpu": "100m", "memory": "64Mi"}}}]}}
    roles = {"Master": {"replicas": 1, "template": template}, "Worker": {"replicas": 2, "template": template}}
    return {"apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob", "metadata": {"name": name},
            "spec": {"pytorchReplicaSpecs": roles}}


def used(pids):
    """CPU seconds and resident MB of processes."""
    seconds = memory = 0.0
    for pid in pids:
        with open("/proc/%d/stat" % pid) as file:
            fields = file.read().rsplit(")", 1)[1].split()
        seconds += (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
        memory += int(fields[21]) * os.sysconf("SC_PAGE_SIZE") / 1e6
    return seconds, memory


def alone(cluster, bound, runs):
    connection, times = cluster.connection(), []
    for run in range(runs):
        name = "alone-%d" % run
        begin = time.perf_counter()
        cluster.ask(connection, "POST", JOBS, job(name))
        times.append(1000 * (bound.wait([name], 60)[0] - begin))
        cluster.ask(connection, "DELETE", JOBS + "/" + name)
        time.sleep(0.2)
    return times


def at_once(cluster, bound, count):
    names = ["many-%d" % i for i in range(count)]

    def post(mine):
        connection = cluster.connection()
        for name in mine:
            cluster.ask(connection, "POST", JOBS, job(name))
    begin = time.perf_counter()
    posters = [threading.Thread(target=post, args=(names[i::CLIENTS],)) for i in range(CLIENTS)]
    for poster in posters:
        poster.start()
    for poster in posters:
        poster.join()
    posted = time.perf_counter() - begin
    return posted, max(bound.wait(names)) - begin


def measure(kubeconfig, pids, arguments):
    cluster = Cluster(kubeconfig)
    time.sleep(3)
    _, idle = used(pids)
    bound = Bound(cluster)
    alone(cluster, bound, 3)
    times = alone(Cluster(kubeconfig), Bound(cluster), arguments.runs)
    before, _ = used(pids)
    bound = Bound(cluster)
    posted, last = at_once(cluster, bound, arguments.jobs)
    after, memory = used(pids)
    print(json.dumps({"jobs": arguments.jobs, "nodes": arguments.nodes, "runs": arguments.runs,
                      "alone_p50_ms": round(statistics.median(times), 2), "alone_max_ms": round(max(times), 2),
                      "all_posted_s": round(posted, 3), "all_bound_s": round(last, 3),
                      "cpu_s": round(after - before, 2), "idle_mb": round(idle, 1), "rss_mb": round(memory, 1)}))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("hekla")
    parser.add_argument("--jobs", type=int, default=1000)
    parser.add_argument("--runs", type=int, default=50)
    parser.add_argument("--nodes", type=int, default=1000)
    parser.add_argument("--kubeconfig")
    parser.add_argument("--pids", default="")
    arguments = parser.parse_args()
    if arguments.kubeconfig:
        return measure(arguments.kubeconfig, [int(pid) for pid in arguments.pids.split(",") if pid], arguments)
    directory = tempfile.mkdtemp(prefix="hekla-bench-")
    process = subprocess.Popen([arguments.hekla, "up", "--data-dir", directory, "--no-agent", "--fake-nodes",
                                str(arguments.nodes), "--fake-node-resources", "cpu=32,memory=256Gi,pods=110"],
                               stdout=subprocess.PIPE)
    try:
        if not process.stdout.readline():
            raise RuntimeError("hekla up did not get ready")
        measure(os.path.join(directory, "admin.kubeconfig"), [process.pid], arguments)
    finally:
        process.terminate()
        process.wait()
        shutil.rmtree(directory, ignore_errors=True)


if __name__ == "__main__":
    main()
