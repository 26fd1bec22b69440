"""The training jobs of the tutorials, as they were written: each reaches the state that its tutorial prints. Their
images are mapped to this machine with a program of ours in plain Python; placeholders were filled in (image, namespace,
bucket) and nothing else was changed."""
import json
import os
import re
import shutil
import subprocess
import tempfile
import unittest

import platform_under_test as put

HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "tutorials", "training")
# What the second tutorial prints of worker 0.
TF_CONFIG = {"cluster": {"master": ["distributed-mnist-master-0:2222"], "ps": ["distributed-mnist-ps-0:2222"],
                         "worker": ["distributed-mnist-worker-0:2222", "distributed-mnist-worker-1:2222"]},
             "task": {"type": "worker", "index": 0}, "environment": "cloud"}


def doc(name):
    return os.path.join(HERE, name)


def lay_out(directory):
    """What the images hold: `python`, and the program in each one's place."""
    places = {"app": "main.py", "opt": "model.py", "pytorch": "mnist.py", "module/trainer": "task.py"}
    for place, name in places.items():
        os.makedirs(os.path.join(directory, place))
        shutil.copy(os.path.join(HERE, "image", "train.py"), os.path.join(directory, place, name))
    os.makedirs(os.path.join(directory, "venv", "bin"))
    os.symlink("/usr/bin/python3", os.path.join(directory, "venv", "bin", "python"))
    entry = 'entrypoint=["python", "/app/main.py"]'
    with open(os.path.join(directory, "images.conf"), "w") as file:
        file.write("volcanosh/* = host, files=app:/app, venv=venv, %s\n" % entry
                   + "kubeflow/* = host, files=app:/app, venv=venv, %s\n" % entry
                   + "docker.io/kubeflowkatib/* = host, files=pytorch:/opt/pytorch-mnist, venv=venv\n"
                   + "gcr.io/* = host, files=module:/srv/module, workdir=/srv/module, venv=venv\n"
                   + "mnist:* = host, files=opt:/opt, venv=venv\n"
                   + "* = host\n")
    subprocess.run(["chmod", "-R", "a+rX", directory], check=True)
    return os.path.join(directory, "images.conf")


class Seeds(put.PlatformTest):
    CARDS, MORE = 4, []

    @classmethod
    def setUpClass(cls):
        cls.directory = tempfile.mkdtemp(prefix="hekla-seeds-")
        cls.addClassCleanup(shutil.rmtree, cls.directory, True)
        cls.FLAGS = ["--image-map", lay_out(cls.directory), "--node-resources",
                     "cpu=8,nvidia.com/gpu=%d" % cls.CARDS] + cls.MORE
        super().setUpClass()

    def state(self, kind, name, namespace="default"):
        conditions = self.platform.get(kind, name, "-n", namespace).get("status", {}).get("conditions", [])
        return [one["type"] for one in conditions if one["status"] == "True"][-1:]

    def wait_for_state(self, kind, name, state, namespace="default"):
        try:
            put.wait_for("%s %s is %s" % (kind, name, state),
                         lambda: self.state(kind, name, namespace) == [state], interval=0.2)
        except AssertionError as error:
            raise AssertionError("%s\n%s\n%s" % (
                error, self.platform.kubectl("get", "pods,podgroups", "-n", namespace),
                self.platform.kubectl("get", "events", "-n", namespace))) from None

    def pods(self, job, namespace="default"):
        listed = self.platform.get("pods", "-n", namespace, "-l", "training.kubeflow.org/job-name=" + job)
        return {pod["metadata"]["name"]: pod["status"].get("phase") for pod in listed["items"]}

    def remove(self, kind, name, namespace="default"):
        self.platform.kubectl("delete", kind, name, "-n", namespace)
        put.wait_for("its pods are gone", lambda: not self.pods(name, namespace))


class Trained(Seeds):
    def test_one_master_with_a_card(self):
        self.platform.apply(doc("tfjob-module6.yaml"))
        self.addCleanup(self.remove, "tfjob", "module6-ex1-gpu")
        self.wait_for_state("tfjob", "module6-ex1-gpu", "Succeeded")
        # One replica, and a TF_CONFIG all the same: so it was in that version.
        log = self.platform.kubectl("logs", "module6-ex1-gpu-master-0")
        self.assertIn('TF_CONFIG {"cluster":{"master":["module6-ex1-gpu-master-0:2222"]}', log)

    def test_parameter_servers_of_an_older_version(self):
        p = self.platform
        p.apply(doc("distributed-mnist.yaml"))
        self.addCleanup(self.remove, "tfjob", "distributed-mnist")
        worker = put.wait_for("worker 0", lambda: p.get("pod", "distributed-mnist-worker-0"))
        env = {one["name"]: one.get("value") for one in worker["spec"]["containers"][0]["env"]}
        self.assertEqual(env["TF_CONFIG"], json.dumps(TF_CONFIG, separators=(",", ":")))
        self.wait_for_state("tfjob", "distributed-mnist", "Succeeded")
        self.assertIn("training completed, y = 2.00 x + 1.00", p.kubectl("logs", "distributed-mnist-master-0"))
        # cleanPodPolicy was Running: the server, which would serve for ever, is gone.
        put.wait_for("the server is gone", lambda: "distributed-mnist-ps-0" not in self.pods("distributed-mnist"))

    def test_a_master_and_a_worker_in_namespace_kubeflow(self):
        self.platform.apply(doc("pytorch-simple.yaml"))
        self.addCleanup(self.remove, "pytorchjob", "pytorch-simple", "kubeflow")
        self.wait_for_state("pytorchjob", "pytorch-simple", "Succeeded", "kubeflow")
        self.assertIn("rank 0 of 2: training completed",
                      self.platform.kubectl("logs", "-n", "kubeflow", "pytorch-simple-master-0"))

    def test_a_generated_name(self):
        said = self.platform.kubectl("create", "-f", doc("tfjob-generated.yaml"))
        name, namespace = re.fullmatch(r"tfjob.kubeflow.org/(tfjob\S{5}) created\n", said).group(1), "kubeflow-user-example-com"
        self.addCleanup(self.remove, "tfjob", name, namespace)
        self.wait_for_state("tfjob", name, "Succeeded", namespace)
        self.assertIn("worker-0: training completed",
                      self.platform.kubectl("logs", "-n", namespace, name + "-worker-0"))

    def test_a_notebooks_job_writes_its_model_to_the_bucket(self):
        p = self.platform
        p.apply(doc("mnist-train.yaml"))
        self.addCleanup(self.remove, "tfjob", "mnist-train")
        self.wait_for_state("tfjob", "mnist-train", "Succeeded")
        log = p.kubectl("logs", "mnist-train-chief-0")
        self.assertIn("exported: 200", log)
        self.assertRegex(log, r"stored: \[[12]\.\d+, [01]\.\d+\]")  # in the platform's own store, as the job's variables say

    def test_the_operator_is_a_pod_with_a_log(self):
        listed = self.platform.kubectl("get", "pods", "-n", "kubeflow")
        name = re.search(r"(?m)^(training-operator-\S+) +1/1 +Running", listed).group(1)
        self.assertIn("started", self.platform.kubectl("logs", "-n", "kubeflow", name))


class OneCardForAGang(Seeds):
    CARDS = 1

    def test_one_card_for_four_workers(self):
        p = self.platform
        p.apply(doc("tf-job-mnist.yaml"))
        self.addCleanup(self.remove, "tfjob", "dist-mnist-for-e2e-test")
        put.wait_for("the group waits", lambda: p.get("podgroup", "dist-mnist-for-e2e-test")["status"]["phase"] == "Pending")
        self.assert_rows(p.kubectl("get", "podGroup"), [["NAME", "STATUS", "MINMEMBER", "RUNNINGS", "AGE"],
                                                        ["dist-mnist-for-e2e-test", "Pending", "6", "*"]])
        self.assertNotIn("mnist-for-e2e", p.kubectl("get", "pod", "-A"))


class OneCardWithoutGangs(Seeds):
    CARDS, MORE = 1, ["--gang-scheduler-name", "none"]

    def test_one_card_for_four_workers(self):
        p, job = self.platform, "dist-mnist-for-e2e-test"
        p.apply(doc("tf-job-mnist.yaml"))
        self.addCleanup(self.remove, "tfjob", job)
        expected = {job + "-ps-0": "Running", job + "-ps-1": "Running"}
        expected.update({job + "-worker-%d" % i: "Pending" for i in range(4)})

        def is_as_printed():
            pods = self.pods(job)
            running = [name for name in pods if "worker" in name and pods[name] == "Running"]
            return len(running) == 1 and {**pods, running[0]: "Pending"} == expected
        put.wait_for("three run and three wait", is_as_printed)
        waiting = next(name for name, phase in self.pods(job).items() if phase == "Pending")
        described = put.wait_for("the event", lambda: re.search(
            r"Warning +FailedScheduling .*default-scheduler +(.*)", p.kubectl("describe", "pod", waiting)))
        self.assertTrue(described.group(1).startswith("0/1 nodes are available: 1 Insufficient nvidia.com/gpu."), described.group())


if __name__ == "__main__":
    unittest.main()
