"""Pod groups of Deployments, StatefulSets and Jobs that name our scheduler, and what queues say of their tree."""
import unittest

import platform_under_test as put

QUEUES = """
apiVersion: scheduling.volcano.sh/v1beta1
kind: Queue
metadata: {name: above}
spec: {weight: 1}
---
apiVersion: scheduling.volcano.sh/v1beta1
kind: Queue
metadata: {name: below}
spec: {weight: 1, parent: above}
---
"""
POD = "{schedulerName: volcano, %s containers: [{name: c, image: i, command: [sleep, '600'], resources: {requests: {cpu: '1'}}}]}"
WORKLOADS = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: d, annotations: {scheduling.volcano.sh/group-min-member: "2"}}
spec:
  replicas: 3
  selector: {matchLabels: {app: d}}
  template: {metadata: {labels: {app: d}, annotations: {scheduling.volcano.sh/queue-name: below}}, spec: %s}
---
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: s}
spec:
  replicas: 2
  serviceName: s
  selector: {matchLabels: {app: s}}
  template: {metadata: {labels: {app: s}}, spec: %s}
---
apiVersion: batch/v1
kind: Job
metadata: {name: b, annotations: {scheduling.volcano.sh/group-min-member: "2"}}
spec:
  parallelism: 2
  completions: 2
  template: {spec: %s}
""" % (POD % "", POD % "", POD % "restartPolicy: Never,")


class NativeWorkloads(put.PlatformTest):
    FLAGS = ["--no-agent", "--fake-nodes", "2", "--fake-node-resources", "cpu=16,memory=16Gi,pods=30"]

    def groups(self):
        """(kind of the owner, minMember, queue, running) of each group."""
        return sorted((group["metadata"]["ownerReferences"][0]["kind"], group["spec"]["minMember"],
                       group["spec"]["queue"], group.get("status", {}).get("running", 0))
                      for group in self.platform.get("podgroup")["items"])

    def test_groups_follow_their_owners(self):
        p = self.platform
        p.apply_text(QUEUES + WORKLOADS)
        wanted = [("Job", 2, "default", 2), ("ReplicaSet", 2, "below", 3), ("StatefulSet", 1, "default", 2)]
        put.wait_for("three groups run", lambda: self.groups() == wanted)
        put.wait_for("queues count what runs below them", lambda: [
            p.get("queue", name)["status"]["allocated"] for name in ("below", "above", "default", "root")] == [
                {"cpu": cpu, "memory": "0", "pods": cpu} for cpu in ("3", "3", "4", "7")])
        p.kubectl("scale", "deployment/d", "statefulset/s", "--replicas=0")
        put.wait_for("groups go with their pods", lambda: self.groups() == wanted[:1])
        put.wait_for("and the queues' counts", lambda: p.get("queue", "above")["status"]["allocated"]["pods"] == "0")


if __name__ == "__main__":
    unittest.main()
