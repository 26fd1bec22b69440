"""The training jobs of examples, applied as they stand there: each trains to the end in the environment of its image."""
import os
import re
import unittest

import training_platform
from training_platform import PATIENCE, put

EXAMPLES = os.path.join(put.ROOT, "examples")
FRAMEWORKS = ["tensorflow", "pytorch", "xgboost", "mpi", "paddle", "jax"]
TENSORFLOW = r"iterations \d+ samples \d+ accuracy (0\.[5-9]|1\.0)\d*"
# The end of the job, the pod whose log tells of it, and what that log says.
JOBS = {
    "tensorflow/tfjob": ("Succeeded", "tensorflow-mnist-worker-0", TENSORFLOW + r"\ntrained"),
    "tensorflow/v1beta1": ("Succeeded", "distributed-mnist-master-0", r"\ntrained"),
    "tensorflow/volcano": ("Completed", "tensorflow-dist-mnist-worker-0", TENSORFLOW + r"\ntrained"),
    "tensorflow/five-pods": ("Completed", "tensorflow-distributed-job-chief-0", TENSORFLOW),
    "tensorflow/five-pods-plugin": ("Completed", "tensorflow-by-plugin-chief-0", TENSORFLOW),
    "tensorflow/one-card": ("Succeeded", "dist-mnist-for-e2e-test-worker-0", r"\ntrained"),
    "pytorch/pytorchjob": ("Succeeded", "pytorch-mnist-master-0", r"rank 0 of 3 samples 4000 spread 0"),
    "pytorch/pytorch-simple": ("Succeeded", "pytorch-simple-master-0", r"rank 0 of 2 samples \d+ spread 0"),
    "pytorch/elastic": ("Succeeded", "elastic-mnist-worker-0", r"rank 0 of \d+ samples \d+ spread 0"),
    "pytorch/trainjob": ("Complete", "train-mnist-node-0-0", r"rank 0 of 2 samples 6000 spread 0"),
    "xgboost/xgboostjob": ("Succeeded", "xgboost-iris-master-0", r"rank 0 of 3 rows 150 same True accuracy (0\.9|1\.0)"),
    "mpi/mpijob": ("Succeeded", "mpi-mnist-launcher", r"rank 1 of 2 spread 0"),
    "paddle/paddlejob": ("Succeeded", "paddle-check-worker-0", r"Distributed training completed"),
    "jax/jaxjob": ("Succeeded", "jax-mnist-worker-0", r"rank 0 of 2 samples 7680"),
}


class Examples(training_platform.TrainingTest):
    FLAGS = ["--node-resources", "nvidia.com/gpu=5"]

    def test_there_is_no_other(self):
        self.assertEqual({"%s/%s" % (folder, name[:-len(".yaml")]) for folder in FRAMEWORKS
                          for name in os.listdir(os.path.join(EXAMPLES, folder)) if name.endswith(".yaml")}, set(JOBS))

    def ended_as(self, path):
        """What the file's job, its last object, has come to."""
        found = self.platform.get("-f", path)
        job = found["items"][-1] if "items" in found else found
        self.namespace = job["metadata"]["namespace"]
        status = job.get("status", {})
        return [one["type"] for one in status.get("conditions", []) if one.get("type") and one["status"] == "True"] + [
            status.get("state", {}).get("phase")]

    def train(self, example):
        end, pod, words = JOBS[example]
        path = os.path.join(EXAMPLES, example + ".yaml")
        self.platform.kubectl("apply", "-f", path)
        self.addCleanup(self.platform.kubectl, "delete", "-f", path)

        def ended():
            states = self.ended_as(path)
            self.assertNotIn("Failed", states)
            return end in states
        put.wait_for("%s has ended" % example, ended, PATIENCE, 0.5)
        found = [one["metadata"]["name"] for one in self.platform.get("pods", "-n", self.namespace)["items"]
                 if one["metadata"]["name"].startswith(pod)]
        self.assertEqual(len(found), 1, found)
        log = self.platform.kubectl("get", "--raw", "/api/v1/namespaces/%s/pods/%s/log" % (self.namespace, found[0]))
        self.assertTrue(re.search(words, log), log)


for example in JOBS:
    setattr(Examples, "test_" + re.sub(r"\W", "_", example), lambda self, example=example: self.train(example))

if __name__ == "__main__":
    unittest.main(verbosity=2)
