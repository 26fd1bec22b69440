"""Controllers, scheduler and admission as processes of their own against an API server that knows nothing of them:
everything over HTTPS, as on somebody's cluster."""
import base64
import glob
import os
import shutil
import signal
import subprocess
import tempfile
import unittest
import urllib.request

import platform_under_test as put

KUBECONFIG = """
apiVersion: v1
kind: Config
current-context: c
contexts: [{name: c, context: {cluster: c, user: u}}]
clusters: [{name: c, cluster: {server: "%s", certificate-authority-data: %s}}]
users: [{name: u, user: {client-certificate-data: %s, client-key-data: %s}}]
"""
NODE = """
apiVersion: v1
kind: Node
metadata: {name: n1, labels: {pool: train}}
status:
  allocatable: {cpu: "8", memory: 16Gi, pods: "20"}
  capacity: {cpu: "8", memory: 16Gi, pods: "20"}
  conditions: [{type: Ready, status: "True"}]
"""
# Roomier than n1, but not of the scheduler's pool.
OTHER_NODE = NODE.replace("n1, labels: {pool: train}", "n2").replace('"8"', '"80"')
# What Volcano's Helm charts of 1.8 to 1.15 pass, with every value that adds a flag set.
HELM = {
    "vc-controller-manager": [
        "--logtostderr", "--enable-healthz=true", "--enable-metrics=true", "--leader-elect=false",
        "--leader-elect-resource-namespace=volcano-system", "--kube-api-qps=50", "--kube-api-burst=100",
        "--worker-threads=3", "--worker-threads-for-gc=5", "--worker-threads-for-podgroup=5",
        "--worker-threads-for-queue=5", "--feature-gates=WorkLoadSupport=true,PodDisruptionBudgetsSupport=true",
        "--controllers=*,-sharding-controller", "--lock-object-namespace=volcano-system", "--stderrthreshold=2",
        "--inherit_owner_annotations=true", "-v=4", "2>&1"],
    "vc-scheduler": [
        "--logtostderr", "--scheduler-conf=/volcano.scheduler/volcano-scheduler.conf", "--scheduler-name=volcano",
        "--scheduler-name=other", "--enable-healthz=true", "--enable-metrics=true", "--enable-pprof=true",
        "--leader-elect=false", "--kube-api-qps=2000", "--kube-api-burst=2000", "--schedule-period=1s",
        "--node-worker-threads=20", "--percentage-nodes-to-find=50", "--minimum-feasible-nodes=100",
        "--minimum-percentage-nodes-to-find=5", "--plugins-dir=/plugins", "--default-queue=default",
        "--feature-gates=PriorityClass=true", "--ignored-provisioners=rancher.io/local-path", "--cache-dumper=true",
        "--scheduler-sharding-mode=none", "--node-selector=pool:train,pool:serve", "-v=3", "2>&1"],
    "vc-webhook-manager": [
        "--enabled-admission=/jobs/mutate,/jobs/validate,/podgroups/validate,/queues/mutate,/queues/validate,"
        "/hypernodes/validate,/cronjobs/validate", "--webhook-namespace=volcano-system",
        "--webhook-service-name=volcano-admission-service", "--enable-healthz=true", "--logtostderr",
        "--graceful-shutdown-time=30s", "--kube-api-qps=50", "--kube-api-burst=100",
        "--admission-conf=/admission.local.config/configmap/volcano-admission.conf", "-v=4", "2>&1"],
}
QUEUE_AND_JOB = """
apiVersion: scheduling.volcano.sh/v1beta1
kind: Queue
metadata: {name: together}
spec: {weight: 2}
---
""" + put.job("one", 2, "1").replace("schedulerName: volcano", "queue: together")


class Flags(unittest.TestCase):
    def program(self, name):
        directory = tempfile.mkdtemp(prefix="hekla-e2e-flags-")
        self.addCleanup(shutil.rmtree, directory)
        os.symlink(put.HEKLA, os.path.join(directory, name))
        return os.path.join(directory, name)

    def test_published_arguments_are_taken(self):
        for name, arguments in HELM.items():
            ports = ["--healthz-address", "127.0.0.1:0", "--master", "http://127.0.0.1:9"]
            ports += ["--port", str(put.free_port())] if "webhook" in name else ["--listen-address", "127.0.0.1:0"]
            program = self.program(name)
            conf = os.path.join(os.path.dirname(program), "volcano-scheduler.conf")
            with open(conf, "w") as file:
                file.write('actions: "enqueue, allocate, backfill"\ntiers: [{plugins: [{name: gang}]}]\n')
            arguments = [one.replace("/volcano.scheduler/volcano-scheduler.conf", conf) for one in arguments]
            process = subprocess.Popen([program] + arguments + ports, stdout=subprocess.PIPE,
                                       stderr=subprocess.DEVNULL)
            try:
                self.assertIn(b" runs", put.line_of(process), name)
            finally:
                process.send_signal(signal.SIGTERM)
                process.wait(put.PATIENCE)
                process.stdout.close()

    def refused(self, name, *arguments):
        done = subprocess.run([self.program(name)] + list(arguments), capture_output=True, text=True, timeout=put.PATIENCE)
        self.assertEqual(done.returncode, 2)
        return done.stderr.strip()

    def test_what_cannot_be_meant_is_refused(self):
        self.assertEqual(self.refused("vc-scheduler", "--schedule-perod=1s"),
                         "hekla: unknown flag --schedule-perod, did you mean --schedule-period? "
                         "(see hekla scheduler --help)")
        self.assertIn("--scheduler-sharding-mode", self.refused("vc-scheduler", "--scheduler-sharding-mode=hard"))
        self.assertEqual(self.refused("vc-controller-manager", "--controllers=*,-jb-controller"),
                         'hekla: --controllers: there is no controller "jb-controller", did you mean "job-controller"?')
        self.assertIn("nothing is served at /nowhere", self.refused("vc-webhook-manager", "--enabled-admission=/nowhere"))
        self.assertIn('"pool" is not LABEL:VALUE', self.refused("vc-scheduler", "--master", "http://127.0.0.1:9",
                                                                "--leader-elect=false", "--node-selector=pool"))


class Components(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        cls.processes = []
        cls.addClassCleanup(cls.end_all)
        cls.directory = tempfile.mkdtemp(prefix="hekla-e2e-components-")
        cls.addClassCleanup(shutil.rmtree, cls.directory, ignore_errors=True)
        server, line = cls.start("apiserver", "--data-dir", cls.directory + "/data", "--secure-port", "0",
                                 "--disable-admission-plugins", "ServiceAccount", log=False)
        def pem(name):
            with open(os.path.join(cls.directory, "data/pki", name), "rb") as file:
                return base64.b64encode(file.read()).decode()
        cls.platform = put.Platform(data_dir=cls.directory)
        cls.addClassCleanup(shutil.rmtree, cls.platform.home, ignore_errors=True)
        with open(cls.platform.kubeconfig, "w") as file:
            file.write(KUBECONFIG % (line.split()[-1], pem("ca.crt"), pem("admin.crt"), pem("admin.key")))
        cls.platform.kubectl("create", "namespace", "volcano-system")
        crds = sorted(glob.glob(os.path.join(put.ROOT, "api/crds/*.yaml")))
        cls.platform.kubectl("create", *[part for crd in crds for part in ("-f", crd)])
        cls.platform.kubectl("create", "-f", "-", stdin=NODE + "---" + OTHER_NODE)
        cls.port, cls.health = put.free_port(), put.free_port()
        election = ["--leader-elect-lease-duration", "20s", "--leader-elect-renew-deadline", "15s",
                    "--leader-elect-retry-period", "500ms"]
        # Under the names of the programs they stand in for. The first one leads.
        cls.leader = cls.start(*election, name="vc-controller-manager")[0]
        put.wait_for("a leader", lambda: cls.platform.get("lease", "vc-controller-manager", "-n", "volcano-system")[
            "spec"]["holderIdentity"])
        cls.start(*election, name="vc-controller-manager")
        cls.start("--leader-elect=false", "--node-selector", "pool:train,pool:serve", "--enable-healthz", "--healthz-address", "127.0.0.1:%d" % cls.health,
                  name="vc-scheduler")
        cls.start("webhook", "--listen-address", "127.0.0.1", "--port", str(cls.port), "--webhook-ip", "127.0.0.1",
                  "--webhook-url", "https://127.0.0.1:%d" % cls.port)
        put.wait_for("the webhooks are registered", lambda: cls.platform.kubectl(
            "get", "validatingwebhookconfigurations", "-o", "name").count("volcano-admission-service") == 17)
        put.wait_for("the default queue", lambda: cls.platform.kubectl(
            "get", "queue", "default", "--ignore-not-found", "-o", "name"))

    @classmethod
    def start(cls, *arguments, name=None, log=True):
        program = put.HEKLA
        if name:
            program = os.path.join(cls.directory, name)
            if not os.path.exists(program):
                os.symlink(put.HEKLA, program)
        flags = ["--kubeconfig", os.path.join(cls.directory, "admin.kubeconfig")] if log else []
        with open(os.path.join(cls.directory, "up.log"), "ab") as file:
            process = subprocess.Popen([program] + list(arguments) + flags, stdout=subprocess.PIPE, stderr=file)
        cls.processes.append(process)
        line = put.line_of(process).decode().strip()
        if not line:
            raise AssertionError("%s did not start" % (arguments,))
        return process, line

    @classmethod
    def end_all(cls):
        for process in reversed(cls.processes):
            if process.poll() is None:
                process.send_signal(signal.SIGTERM)
                try:
                    process.wait(put.PATIENCE)
                except subprocess.TimeoutExpired:
                    process.kill()
                    process.wait()
            process.stdout.close()

    def pods_placed(self, job):
        pods = self.platform.get("pods", "-l", "volcano.sh/job-name=" + job)["items"]
        return [pod["spec"].get("nodeName") for pod in pods]

    def test_1_a_queue_and_a_job_in_one_file(self):
        p = self.platform
        p.apply_text(QUEUE_AND_JOB)
        job = p.get("vcjob", "one")
        self.assertEqual((job["spec"]["schedulerName"], job["spec"]["maxRetry"], job["spec"]["tasks"][0]["minAvailable"]),
                         ("volcano", 3, 2))
        self.assertEqual(p.get("queue", "together")["spec"], {"dequeueStrategy": "traverse", "parent": "root",
                                                            "reclaimable": True, "weight": 2})
        put.wait_for("both pods are placed", lambda: self.pods_placed("one") == ["n1", "n1"])

    def test_2_denials_have_the_webhooks_name(self):
        refused = self.platform.kubectl("apply", "-f", "-", check=False,
                                        stdin=put.job("two", 1, "1").replace("minAvailable: 1", "minAvailable: 3"))
        self.assertEqual(refused.returncode, 1)
        self.assertIn('admission webhook "validatejob.volcano.sh" denied the request: job \'minAvailable\' should not '
                      'be greater than total replicas in tasks;', refused.stderr)
        refused = self.platform.kubectl("delete", "queue", "default", check=False)
        self.assertIn('admission webhook "validatequeue.volcano.sh" denied the request: `default` queue can not be '
                      'deleted', refused.stderr)

    def test_3_another_takes_over(self):
        lease = self.platform.get("lease", "vc-controller-manager", "-n", "volcano-system")
        self.assertEqual(lease["spec"]["leaseTransitions"], 0)
        self.leader.kill()
        self.leader.wait()
        self.platform.apply_text(put.job("three", 1, "1"))
        put.wait_for("the other one works", lambda: self.pods_placed("three") == ["n1"])

    def test_5_nodes_of_the_pool(self):
        self.platform.kubectl("label", "node", "n2", "pool=serve")
        self.platform.apply_text(put.job("four", 1, "20"))
        put.wait_for("the node that has joined", lambda: self.pods_placed("four") == ["n2"])

    def test_4_health(self):
        with urllib.request.urlopen("http://127.0.0.1:%d/healthz" % self.health, timeout=put.PATIENCE) as answer:
            self.assertEqual(answer.read(), b"ok")
        self.assertEqual(subprocess.run([put.HEKLA, "webhook", "--enabled-admission", "/jobs/bake", "--master", "https://x"],
                                        capture_output=True, text=True).stderr,
                         "hekla: --enabled-admission: nothing is served at /jobs/bake\n")


if __name__ == "__main__":
    unittest.main()
