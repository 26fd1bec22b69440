"""An elastic job gives workers up for a job of its queue that waits, and gets them back when that has ended: scheduler and
controller together, on fake nodes."""
import unittest

import platform_under_test as put

ELASTIC = """
apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {name: elastic}
spec:
  elasticPolicy: {minReplicas: 2, maxReplicas: 4}
  pytorchReplicaSpecs:
    Worker:
      replicas: 4
      template:
        spec: {terminationGracePeriodSeconds: 1, containers: [{name: pytorch, image: any, resources: {requests: {cpu: 1}}}]}
"""


class Elastic(put.PlatformTest):
    FLAGS = ["--no-agent", "--fake-nodes", "1", "--fake-node-resources", "cpu=4,memory=8Gi,pods=20"]

    def running(self, job):
        listed = self.platform.get("pods", "-l", job)["items"]
        return sorted(pod["metadata"]["name"] for pod in listed
                      if pod["status"].get("phase") == "Running" and "deletionTimestamp" not in pod["metadata"])

    def test_an_elastic_job_makes_room_and_grows_again(self):
        p, workers = self.platform, ["elastic-worker-%d" % i for i in range(4)]
        elastic, other = "training.kubeflow.org/job-name=elastic", "volcano.sh/job-name=short"
        p.apply_text(ELASTIC)
        put.wait_for("all four run", lambda: self.running(elastic) == workers)
        p.apply_text(put.job("short", 2, "1", "sleep 5"))
        put.wait_for("the other job runs", lambda: len(self.running(other)) == 2)
        self.assertEqual(self.running(elastic), workers[:2])
        granted = p.get("podgroup", "elastic")["metadata"]["annotations"]["hekla.io/granted-members"]
        self.assertEqual(granted, "2")
        conditions = p.get("pytorchjob", "elastic")["status"]["conditions"]
        self.assertEqual([one["type"] for one in conditions if one["status"] == "True"], ["Created", "Running"])
        p.wait_phase("short", "Completed")
        put.wait_for("all four run again", lambda: self.running(elastic) == workers)
        self.assertNotIn("hekla.io/granted-members", p.get("podgroup", "elastic")["metadata"]["annotations"])


if __name__ == "__main__":
    unittest.main()
