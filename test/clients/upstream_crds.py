"""The CRDs of Volcano, Kubeflow's training operator and Trainer, and JobSet, as their projects publish them: each is
installed unmodified, over the platform's own where there is one, and a resource of it is created, changed and read.

The manifests come with the projects' Go modules, fetched once into Go's module cache. Environment: as for
test/e2e/platform_under_test.py; GO names the go command.
"""
import glob
import json
import os
import shutil
import subprocess
import sys
import unittest

import yaml

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "e2e"))
import platform_under_test as put  # noqa: E402

SOURCES = {  # module -> where its manifests are
    "volcano.sh/volcano@v1.14.1": "config/crd/*/bases/*.yaml",
    "github.com/kubeflow/training-operator@v1.9.3": "manifests/base/crds/kubeflow.org_*.yaml",
    "github.com/kubeflow/trainer/v2@v2.0.0": "manifests/base/crds/trainer.kubeflow.org_*.yaml",
    "sigs.k8s.io/jobset@v0.8.2": "config/components/crd/bases/*.yaml",
    "sigs.k8s.io/jobset@v0.10.1": "config/components/crd/bases/*.yaml",
}
POD = {"spec": {"restartPolicy": "Never", "containers": [{"name": "main", "image": "img:1", "command": ["true"]}]}}
JOB = {"minAvailable": 1, "schedulerName": "volcano", "tasks": [{"name": "a", "replicas": 1, "template": POD}]}
JOBSET = {"replicatedJobs": [{"name": "node", "template": {"spec": {"template": POD}}}]}
RUNTIME = {"mlPolicy": {"numNodes": 1, "torch": {"numProcPerNode": "auto"}}, "template": {"spec": JOBSET}}


def replicas(member, container, *roles):
    pod = {"spec": dict(POD["spec"], containers=[dict(POD["spec"]["containers"][0], name=container)])}
    return {member: {role: {"replicas": 1, "restartPolicy": "Never", "template": pod} for role in roles}}


SPECS = {  # what a resource of each kind looks like
    "Job": JOB,
    "CronJob": {"schedule": "0 0 * * *", "concurrencyPolicy": "Allow", "jobTemplate": {"spec": JOB}},
    "JobTemplate": JOB,
    "JobFlow": {"jobRetainPolicy": "delete", "flows": [{"name": "a"}]},
    "PodGroup": {"minMember": 1},
    "Queue": {"weight": 1, "reclaimable": True},
    "HyperNode": {"tier": 1, "members": [{"type": "Node", "selector": {"exactMatch": {"name": "node-1"}}}]},
    "Numatopology": {"policies": {"CPUManagerPolicy": "static"}},
    "NodeShard": {"nodesDesired": ["node-1"]},
    "ColocationConfiguration": {},
    "JAXJob": replicas("jaxReplicaSpecs", "jax", "Worker"),
    "MPIJob": replicas("mpiReplicaSpecs", "mpi", "Launcher", "Worker"),
    "PaddleJob": replicas("paddleReplicaSpecs", "paddle", "Worker"),
    "PyTorchJob": replicas("pytorchReplicaSpecs", "pytorch", "Master", "Worker"),
    "TFJob": replicas("tfReplicaSpecs", "tensorflow", "Worker"),
    "XGBoostJob": replicas("xgbReplicaSpecs", "xgboost", "Master"),
    "ClusterTrainingRuntime": RUNTIME,
    "TrainingRuntime": RUNTIME,
    "TrainJob": {"runtimeRef": {"name": "torch"}, "managedBy": "trainer.kubeflow.org/trainjob-controller"},
    "JobSet": JOBSET,
}


def manifests():
    """(file, CRD) of every source."""
    go = os.environ.get("GO") or shutil.which("go") or "/usr/local/go/bin/go"
    for module, pattern in SOURCES.items():
        done = subprocess.run([go, "mod", "download", "-json", module], capture_output=True, text=True, timeout=600,
                              cwd="/")
        if done.returncode != 0:
            raise RuntimeError("go mod download %s: %s%s" % (module, done.stdout, done.stderr))
        files = sorted(glob.glob(os.path.join(json.loads(done.stdout)["Dir"], pattern)))
        if not files:
            raise RuntimeError("%s has no manifests like %s" % (module, pattern))
        for file in files:
            with open(file) as text:
                for document in yaml.load_all(text, getattr(yaml, "CSafeLoader", yaml.SafeLoader)):
                    if document:
                        yield file, document


class UpstreamCrds(put.PlatformTest):
    FLAGS = ["--no-agent"]

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.files = list(manifests())
        # A TrainJob is let in only when its runtime is there.
        cls.platform.apply_text(json.dumps({"apiVersion": "trainer.kubeflow.org/v1alpha1", "kind": "ClusterTrainingRuntime",
                                            "metadata": {"name": "torch"}, "spec": {"template": {"spec": JOBSET}}}))

    def resource(self, crd, **changes):
        version = next(v["name"] for v in crd["spec"]["versions"] if v["storage"])
        kind = crd["spec"]["names"]["kind"]
        made = {"apiVersion": "%s/%s" % (crd["spec"]["group"], version), "kind": kind,
                "metadata": {"name": "sample-" + crd["spec"]["names"]["singular"]}}
        if kind == "Command":
            made.update(action="AbortJob", target={"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job",
                                                   "name": "gone", "uid": "0"})
        else:
            made["spec"] = dict(SPECS[kind], **changes)
        return made

    def send(self, verb, *arguments, body):
        return self.platform.kubectl(verb, *arguments, "-f", "-", stdin=json.dumps(body), check=False)

    def columns(self, crd):
        names = crd["spec"]["names"]
        table = self.platform.kubectl("get", "--raw", "/apis/%s/%s/%s" % (
            crd["spec"]["group"], crd["spec"]["versions"][0]["name"], names["plural"]))
        self.assertIn("items", table)
        done = self.platform.kubectl("get", "%s.%s" % (names["plural"], crd["spec"]["group"]), "-A", "-o", "wide")
        return done.splitlines()[0].split("   ")

    def test_every_crd_installs_and_serves(self):
        self.assertGreater(len(self.files), 20)
        for file, crd in self.files:
            name = crd["metadata"]["name"]
            with self.subTest(crd=name, file=file):
                ours = self.platform.kubectl("get", "crd", name, check=False).returncode == 0
                if not ours:
                    self.platform.kubectl("create", "-f", file)
                    self.platform.kubectl("delete", "crd", name)
                done = self.platform.kubectl("apply", "--server-side", "-f", file)
                self.assertIn("serverside-applied", done)
                self.platform.kubectl("wait", "--for=condition=Established", "--timeout=10s", "crd/" + name)
                again = self.platform.kubectl("apply", "--server-side", "-f", file)
                self.assertIn("serverside-applied", again)
                body = self.resource(crd)
                made = self.send("create", "--validate=strict", body=body)
                self.assertEqual(made.returncode, 0, made.stderr)
                if body["kind"] != "Command":  # is consumed at once
                    self.assertTrue(self.columns(crd)[0].startswith("NAME"))
                    self.platform.kubectl("delete", "%s.%s" % (crd["spec"]["names"]["plural"], crd["spec"]["group"]),
                                          body["metadata"]["name"], "--wait=false")

    def test_rules_in_cel_hold(self):
        kinds = {crd["spec"]["names"]["kind"]: (file, crd) for file, crd in self.files}
        for kind in ("TrainJob", "ClusterTrainingRuntime", "HyperNode", "JobSet"):
            self.platform.kubectl("apply", "--server-side", "-f", kinds[kind][0])
        job = self.resource(kinds["TrainJob"][1])
        job["metadata"]["name"] = "ruled"
        self.assertEqual(self.send("create", body=job).returncode, 0)
        job["spec"]["runtimeRef"] = {"name": "other"}
        changed = self.send("apply", "--server-side", "--force-conflicts", body=job)
        self.assertIn("runtimeRef is immutable", changed.stderr)
        job["spec"].update(runtimeRef={"name": "torch"}, managedBy="somebody.io/else")
        job["metadata"]["name"] = "managed"
        self.assertIn("ManagedBy must be trainer.kubeflow.org/trainjob-controller",
                      self.send("create", body=job).stderr)
        both = {"exactMatch": {"name": "n"}, "regexMatch": {"pattern": "n.*"}}
        node = self.resource(kinds["HyperNode"][1], members=[{"type": "Node", "selector": both}])
        node["metadata"]["name"] = "twice"
        self.assertIn("Only one of ExactMatch, RegexMatch, or LabelMatch can be specified",
                      self.send("create", body=node).stderr)
        runtime = self.resource(kinds["ClusterTrainingRuntime"][1])
        runtime["metadata"]["name"] = "two-policies"
        runtime["spec"]["mlPolicy"] = {"torch": {"numProcPerNode": "auto"}, "mpi": {"numProcPerNode": 1}}
        self.assertIn("Only one of the policy can be configured", self.send("create", body=runtime).stderr)
        runtime["spec"]["mlPolicy"] = {"torch": {"numProcPerNode": "some"}}
        refused = self.send("create", body=runtime)
        self.assertIn("NumProcPerNode must be equal to auto, cpu, gpu, or int value", refused.stderr)

    def test_typos_in_a_pod_template_are_found_with_either_edition(self):
        job = self.resource(next(c for _, c in self.files if c["metadata"]["name"] == "jobs.batch.volcano.sh"))
        job["metadata"]["name"] = "typo"
        text = json.dumps(job).replace('"command"', '"comand"')
        refused = self.platform.kubectl("create", "-f", "-", stdin=text, check=False)
        self.assertNotEqual(refused.returncode, 0)
        self.assertIn('unknown field "spec.tasks[0].template.spec.containers[0].comand"', refused.stderr)
        for tool in put.kubectls():
            shown = self.platform.kubectl("explain", "vcjob.spec.tasks.template.spec", tool=tool)
            self.assertIn("containers", shown)
            self.assertIn("restartPolicy", shown)


if __name__ == "__main__":
    unittest.main()
