"""Real training through Kubeflow's kinds, from YAML with the image names of upstream's examples: the default map gives
them the environments of images/, which are built on first use and kept in HEKLA_CACHE. The programs print what makes
their mathematics right: the same weights on every rank, every sample and step counted once, a loss that falls.

Environment: as for test/e2e/platform_under_test.py.
"""
import json
import os
import re
import subprocess
import unittest

import training_platform
from training_platform import PATIENCE, put

SUMMARY = r"rank (\d+) of (\d+) .*loss ([\d.]+) to ([\d.]+) weights (\w+)"


def replica(container, image, command, count, **more):
    return dict({"replicas": count, "restartPolicy": "Never", "template": {"spec": {
        "volumes": [{"name": "programs", "hostPath": {"path": Kinds.programs}}],
        "containers": [{"name": container, "image": image, "command": command, "volumeMounts": [
            {"name": "programs", "mountPath": "/programs"}]}]}}}, **more)


class Kinds(training_platform.TrainingTest):
    def run_job(self, kind, name, spec, version="kubeflow.org/v1"):
        p, plural = self.platform, kind.lower() + "s"
        p.apply_text(json.dumps({"apiVersion": version, "kind": kind, "metadata": {"name": name}, "spec": spec}))
        self.addCleanup(p.kubectl, "delete", plural, name)

        def ended():
            conditions = p.get(plural, name).get("status", {}).get("conditions", [])
            return [one["type"] for one in conditions if one["status"] == "True" and one["type"] in ("Failed", "Succeeded")]
        if put.wait_for("the end of %s %s" % (kind, name), ended, PATIENCE, 0.5) != ["Succeeded"]:
            self.fail("%s failed\n%s" % (name, self.all_logs(name)))

    def all_logs(self, job):
        pods = [pod["metadata"]["name"] for pod in self.platform.get(
            "pods", "-l", "training.kubeflow.org/job-name=" + job)["items"]]
        return "\n".join("== %s\n%s" % (pod, self.log(pod)[-2000:]) for pod in pods)

    def check_ranks(self, pods, sampled):
        """Every rank once, the same weights for all, a loss that has fallen."""
        weights, ranks = set(), set()
        for pod in pods:
            found = re.search(SUMMARY, self.log(pod))
            self.assertTrue(found, self.log(pod))
            self.assertRegex(found.group(0), sampled)
            self.assertLess(float(found.group(4)), float(found.group(3)))
            self.assertEqual(int(found.group(2)), len(pods))
            weights.add(found.group(5))
            ranks.add(int(found.group(1)))
        self.assertEqual((len(weights), ranks), (1, set(range(len(pods)))))

    def test_tensorflow_parameter_servers(self):
        image, command = "tensorflow/tensorflow:2.21.0", ["python", "/app/mnist3.py"]
        self.run_job("TFJob", "ps", {"tfReplicaSpecs": {
            "Chief": replica("tensorflow", image, command, 1), "Worker": replica("tensorflow", image, command, 2),
            "PS": replica("tensorflow", image, command, 2)}})
        log = self.log("ps-chief-0")
        epochs = re.findall(r"epoch (\d) iterations (\d+) samples (\d+) accuracy ([\d.]+)", log)
        self.assertEqual([tuple(map(int, one[:3])) for one in epochs],
                         [(0, 100, 6400), (1, 200, 6400), (2, 300, 6400)], log)
        self.assertGreater(float(epochs[-1][3]), float(epochs[0][3]))
        self.assertIn("variables on 2 parameter servers", log)

    def test_tensorflow_mirrored(self):
        self.run_job("TFJob", "mirrored", {"tfReplicaSpecs": {"Worker": replica(
            "tensorflow", "kubeflow/multi-worker-strategy:latest", ["python", "/app/multi_worker.py"], 2)},
            "successPolicy": "AllWorkers"})
        weights = set()
        for index in range(2):
            found = re.search(r"worker %d replicas 2 iterations 150 loss ([\d.,]+) weights ([\d.]+)" % index,
                              self.log("mirrored-worker-%d" % index))
            self.assertTrue(found, self.log("mirrored-worker-%d" % index))
            losses = [float(one) for one in found.group(1).split(",")]
            self.assertLess(losses[-1], losses[0])
            weights.add(found.group(2))
        self.assertEqual(len(weights), 1)

    def torch(self, name, command, image="pytorch/pytorch:2.15.0"):
        self.run_job("PyTorchJob", name, {"pytorchReplicaSpecs": {
            "Master": replica("pytorch", image, command, 1), "Worker": replica("pytorch", image, command, 2)}})
        return ["%s-master-0" % name, "%s-worker-0" % name, "%s-worker-1" % name]

    def test_torch_data_parallel(self):
        pods = self.torch("ddp", ["python3", "/opt/pytorch-mnist/mnist.py", "--epochs=2"],
                          "docker.io/kubeflowkatib/pytorch-mnist:v1beta1-45c5727")
        for rank, pod in enumerate(pods):
            log = self.log(pod)
            self.assertIn("rank %d of 3 samples 4000 spread 0" % rank, log)
            losses = [float(one) for one in re.findall(r"loss=([\d.]+)", log)]
            self.assertLess(losses[-1], losses[0])

    def test_torch_fully_sharded(self):
        pods = self.torch("fsdp", ["python3", "/programs/fully_sharded.py"])
        self.check_ranks(pods, r"steps 60")
        parts = [tuple(map(int, re.search(r"holds (\d+) of (\d+)", self.log(pod)).groups())) for pod in pods]
        self.assertEqual(sum(held for held, _ in parts), parts[0][1])

    def test_torch_accelerate(self):
        self.check_ranks(self.torch("accelerate", ["python3", "/programs/accelerated.py"]),
                         r"samples \[1280, 1280, 1280\]")

    def test_torch_elastic_survives_a_worker(self):
        kept = os.path.join(self.programs, "kept")
        os.mkdir(kept)
        os.chmod(kept, 0o777)
        p, killed = self.platform, []

        def kill_one():
            if killed or "step 10 of" not in self.log("elastic-worker-0") + self.log("elastic-worker-1"):
                return
            killed.append(p.kubectl("delete", "pod", "elastic-worker-1", "--grace-period=0", "--force", "--wait=false"))
        p.apply_text(json.dumps({"apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob", "metadata": {"name": "elastic"}, "spec": {
            "elasticPolicy": {"minReplicas": 1, "maxReplicas": 2, "maxRestarts": 10, "rdzvBackend": "c10d"},
            "nprocPerNode": "1",
            "pytorchReplicaSpecs": {"Worker": replica(
                "pytorch", "kubeflow/pytorch-elastic-example:latest",
                ["torchrun", "/programs/elastic.py", "/programs/kept"], 2, restartPolicy="OnFailure")}}}))
        self.addCleanup(p.kubectl, "delete", "pytorchjobs", "elastic")

        def ended():
            try:
                kill_one()
            except subprocess.CalledProcessError:
                pass  # no log yet
            conditions = p.get("pytorchjobs", "elastic").get("status", {}).get("conditions", [])
            return [one for one in conditions if one["type"] == "Succeeded" and one["status"] == "True"]
        put.wait_for("the elastic job is Succeeded", ended, PATIENCE, 0.5)
        self.assertTrue(killed)
        log = self.log("elastic-worker-0")
        begins = [int(one) for one in re.findall(r"begins at step (\d+)", log)]
        self.assertTrue(any(step >= 10 for step in begins), log)
        self.assertRegex(log, r"done steps 60 spread 0")
        losses = [float(one) for one in re.findall(r"step \d+ of 60 loss ([\d.]+)", log)]
        self.assertLess(losses[-1], losses[0])

    def test_xgboost(self):
        image, command = "kubeflow/xgboost-dist-iris:latest", ["python", "/opt/mlkube/main.py"]
        self.run_job("XGBoostJob", "boost", {"xgbReplicaSpecs": {
            "Master": replica("xgboost", image, command, 1), "Worker": replica("xgboost", image, command, 2)}})
        for rank, pod in enumerate(("master-0", "worker-0", "worker-1")):
            self.assertRegex(self.log("boost-" + pod), r"rank %d of 3 rows 150 same True accuracy (0\.9|1\.0)" % rank)

    def mpi(self, name, version, launcher):
        image = "mpioperator/mpi-pi:openmpi"
        worker = {"replicas": 2, "template": {"spec": {"containers": [{"name": "mpi", "image": image}]}}}
        self.run_job("MPIJob", name, {"mpiReplicaSpecs": {
            "Launcher": replica("mpi", image, ["mpirun", "-np", "2", "python", "/home/mpiuser/pi.py"], 1),
            "Worker": worker}}, version)
        pods = self.platform.get("pods", "-l", "training.kubeflow.org/job-name=" + name)["items"]
        log = "".join(self.log(pod["metadata"]["name"]) for pod in pods if launcher in pod["metadata"]["name"])
        self.assertRegex(log, r"ranks 2 pi 3\.1\d* hosts %s-worker-0\S* %s-worker-1" % (name, name))

    def test_mpi_by_exec(self):
        self.mpi("exec", "kubeflow.org/v1", "exec-launcher")

    def test_mpi_by_ssh(self):
        self.mpi("ssh", "kubeflow.org/v2beta1", "ssh-launcher")

    def test_paddle(self):
        command = ["python", "-m", "paddle.distributed.launch", "--log_dir", "/tmp/log", "/programs/collective.py"]
        self.run_job("PaddleJob", "paddle", {"paddleReplicaSpecs": {"Worker": replica(
            "paddle", "paddlepaddle/paddle:3.3.1", command, 2)}})
        self.check_ranks(["paddle-worker-0", "paddle-worker-1"], r"samples 7680")

    def test_jax(self):
        self.run_job("JAXJob", "jax", {"jaxReplicaSpecs": {"Worker": replica(
            "jax", "kubeflow/jaxjob-simple:latest", ["python", "/app/mnist.py"], 2)}})
        self.check_ranks(["jax-worker-0", "jax-worker-1"], r"samples 7680")


if __name__ == "__main__":
    unittest.main(verbosity=2)
