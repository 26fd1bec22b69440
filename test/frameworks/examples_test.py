"""The jobs of examples/training, applied as they stand there: each trains to the end in the environment of its image."""
import os
import re
import unittest

import training_platform
from training_platform import PATIENCE, put

TRAINING = os.path.join(put.ROOT, "examples/training")
# The end of the job, the pod whose log tells of it, and what that log says.
JOBS = {
    "tensorflow": ("Succeeded", "tensorflow-mnist-worker-0", r"iterations \d+ samples \d+ accuracy (0\.[5-9]|1\.0)\d*\ntrained"),
    "pytorch": ("Succeeded", "pytorch-mnist-master-0", r"rank 0 of 3 samples 4000 spread 0"),
    "elastic": ("Succeeded", "elastic-mnist-worker-0", r"rank 0 of \d+ samples \d+ spread 0"),
    "xgboost": ("Succeeded", "xgboost-iris-master-0", r"rank 0 of 3 rows 150 same True accuracy (0\.9|1\.0)"),
    "mpi": ("Succeeded", "mpi-mnist-launcher", r"rank 1 of 2 spread 0"),
    "paddle": ("Succeeded", "paddle-check-worker-0", r"Distributed training completed"),
    "jax": ("Succeeded", "jax-mnist-worker-0", r"rank 0 of 2 samples 7680"),
    "trainjob": ("Complete", "train-mnist-node-0-0", r"rank 0 of 2 samples 6000 spread 0"),
}


class Examples(training_platform.TrainingTest):
    def test_there_is_no_other(self):
        self.assertEqual({name[:-len(".yaml")] for name in os.listdir(TRAINING) if name.endswith(".yaml")}, set(JOBS))

    def train(self, example):
        condition, pod, words = JOBS[example]
        path = os.path.join(TRAINING, example + ".yaml")
        self.platform.kubectl("apply", "-f", path)
        self.addCleanup(self.platform.kubectl, "delete", "-f", path)

        def ended():
            job = self.platform.get("-f", path)
            true = [one["type"] for one in job.get("status", {}).get("conditions", []) if one["status"] == "True"]
            self.assertNotIn("Failed", true)
            return condition in true
        put.wait_for("%s has ended" % example, ended, PATIENCE, 0.5)
        found = [one["metadata"]["name"] for one in self.platform.get("pods")["items"]
                 if one["metadata"]["name"].startswith(pod)]
        self.assertEqual(len(found), 1, found)
        self.assertTrue(re.search(words, self.log(found[0])), self.log(found[0]))


for example in JOBS:
    setattr(Examples, "test_" + example, lambda self, example=example: self.train(example))

if __name__ == "__main__":
    unittest.main(verbosity=2)
