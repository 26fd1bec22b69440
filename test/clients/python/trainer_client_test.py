"""The `kubeflow` SDK's TrainerClient, unmodified, against one platform: runtimes, a job from a function, its logs and end.

The function runs in the runtime xgboost-distributed, whose image is mapped to this machine: no framework is needed.
Environment: HEKLA (the binary), HEKLA_CACHE; run as root with an interpreter that has the `kubeflow` package
(make test-trainer-sdk).
"""
import os
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../e2e"))
import platform_under_test as put  # noqa: E402

from kubernetes import client, config  # noqa: E402
from kubeflow.common.types import KubernetesBackendConfig  # noqa: E402
from kubeflow.trainer import CustomTrainer, TrainerClient  # noqa: E402

RUNTIMES = {"torch-distributed", "jax-distributed", "xgboost-distributed", "deepspeed-distributed", "mlx-distributed",
            "mpi-distributed", "torchtune-llama3.2-1b", "torchtune-llama3.2-3b", "torchtune-qwen2.5-1.5b"}


def train(word):
    import os
    print("rank", os.environ["DMLC_TASK_ID"], "of", os.environ["DMLC_NUM_WORKER"], word, flush=True)


def fail():
    raise SystemExit(3)


class Trainer(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.platform = put.Platform("--image-map", "ghcr.io/kubeflow/trainer/xgboost-runtime*=host, venv=" + sys.prefix)
        cls.addClassCleanup(cls.platform.destroy)
        cls.platform.up()
        configuration = client.Configuration()
        config.load_kube_config(cls.platform.kubeconfig, client_configuration=configuration)
        cls.api = client.CustomObjectsApi(client.ApiClient(configuration))
        cls.client = TrainerClient(KubernetesBackendConfig(namespace="default", client_configuration=configuration))

    def test_1_runtimes(self):
        found = {runtime.name for runtime in self.client.list_runtimes()}
        self.assertEqual(RUNTIMES, found)
        self.assertEqual(self.client.get_runtime("torch-distributed").trainer.framework, "torch")

    def test_2_function(self):
        name = self.client.train(
            runtime=self.client.get_runtime("xgboost-distributed"),
            trainer=CustomTrainer(func=train, func_args={"word": "hello"}, num_nodes=2))
        job = self.client.wait_for_job_status(name, timeout=120, polling_interval=1)
        self.assertEqual(job.status, "Complete")
        self.assertEqual({step.name for step in job.steps}, {"node-0", "node-1"})
        for rank in range(2):
            text = "\n".join(self.client.get_job_logs(name, step="node-%d" % rank))
            self.assertIn("rank %d of 2 hello" % rank, text)
        self.assertTrue(any(event.reason == "AllJobsCompleted" for event in self.client.get_job_events(name)))
        self.client.delete_job(name)
        self.assertNotIn(name, [one.name for one in self.client.list_jobs()])

    def test_3_failure(self):
        group = ("trainer.kubeflow.org", "v1alpha1")
        runtime = self.api.get_cluster_custom_object(*group, "clustertrainingruntimes", "xgboost-distributed")
        template = runtime["spec"]["template"]["spec"]["replicatedJobs"][0]["template"]["spec"]
        template["backoffLimit"] = 0
        template["template"]["spec"]["restartPolicy"] = "Never"
        self.api.create_namespaced_custom_object(*group, "default", "trainingruntimes", {
            "apiVersion": "/".join(group), "kind": "TrainingRuntime", "spec": runtime["spec"],
            "metadata": {"name": "once", "labels": runtime["metadata"]["labels"]}})
        name = self.client.train(runtime=self.client.get_runtime("once"),
                                 trainer=CustomTrainer(func=fail, num_nodes=1))
        job = self.client.wait_for_job_status(name, status={"Failed"}, timeout=120, polling_interval=1)
        self.assertEqual(job.status, "Failed")


if __name__ == "__main__":
    unittest.main()
