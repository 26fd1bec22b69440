"""The TFJobClient of kubeflow-tfjob 0.1.3, which older notebooks use, unmodified: create, watch to the end, logs by the
labels of its time, removal.

Environment: HEKLA (the binary), HEKLA_CACHE; run as root with an interpreter that has that package (make test-training-sdk).
"""
import logging
import os
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../e2e"))
import platform_under_test as put  # noqa: E402

from kubeflow.tfjob import TFJobClient, V1ReplicaSpec, V1TFJob, V1TFJobSpec  # noqa: E402
from kubernetes import client  # noqa: E402


class OlderClient(put.PlatformTest):
    def replica(self, count, script):
        return V1ReplicaSpec(replicas=count, restart_policy="Never", template=client.V1PodTemplateSpec(
            spec=client.V1PodSpec(containers=[client.V1Container(
                name="tensorflow", image="host", command=["sh", "-c", script])])))

    def test_a_job_to_its_end(self):
        jobs = TFJobClient(config_file=self.platform.kubeconfig)
        jobs.create(V1TFJob(
            api_version="kubeflow.org/v1", kind="TFJob", metadata=client.V1ObjectMeta(name="mnist", namespace="default"),
            spec=V1TFJobSpec(clean_pod_policy="None", tf_replica_specs={
                "Chief": self.replica(1, "echo chief of $TF_CONFIG"), "Worker": self.replica(1, "echo worker")})),
            namespace="default")
        jobs.wait_for_job("mnist", namespace="default", watch=True, timeout_seconds=120)
        self.assertTrue(jobs.is_job_succeeded("mnist", namespace="default"))
        self.assertEqual(jobs.get_job_status("mnist", namespace="default"), "Succeeded")
        self.assertEqual(jobs.get_pod_names("mnist", namespace="default"), {"mnist-chief-0", "mnist-worker-0"})
        self.assertEqual(jobs.get_pod_names("mnist", namespace="default", master=True), {"mnist-chief-0"})
        self.assertEqual(jobs.get_pod_names("mnist", namespace="default", replica_type="worker", replica_index=0),
                         {"mnist-worker-0"})
        with self.assertLogs(level=logging.INFO) as logs:
            jobs.get_logs("mnist", namespace="default")
        self.assertIn("chief of {", "\n".join(logs.output))
        jobs.delete("mnist", namespace="default")
        with self.assertRaises(RuntimeError):
            jobs.get("mnist", namespace="default")


if __name__ == "__main__":
    unittest.main(verbosity=2)
