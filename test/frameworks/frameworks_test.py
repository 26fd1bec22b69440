"""Real training jobs of Volcano: the tutorials' TensorFlow jobs, and PyTorch, XGBoost and MPI by its plugins, in the
environments of images/.

Environment: as for test/e2e/platform_under_test.py.
"""
import gzip
import json
import os
import random
import re
import shutil
import struct
import unittest

import training_platform
import yaml
from training_platform import HERE, PATIENCE, put

TUTORIALS = os.path.join(HERE, "..", "e2e", "tutorials")

JOB = """
apiVersion: batch.volcano.sh/v1alpha1
kind: Job
metadata: {name: %(name)s}
spec:
  minAvailable: %(pods)d
  schedulerName: volcano
  plugins: %(plugins)s
  tasks: %(tasks)s
"""


def task(image, programs, name, replicas, command, completes=False):
    made = {"name": name, "replicas": replicas, "template": {"spec": {
        "restartPolicy": "Never",
        "volumes": [{"name": "programs", "hostPath": {"path": programs}}],
        "containers": [{"name": "c", "image": image, "command": ["sh", "-c", command],
                        "volumeMounts": [{"name": "programs", "mountPath": "/programs", "readOnly": True}]}]}}}
    if completes:
        made["policies"] = [{"event": "TaskCompleted", "action": "CompleteJob"}]
    return made


def write_digits(place):
    """Files of MNIST's form and size: ten noisy patterns."""
    os.makedirs(place)
    source = random.Random(0)
    patterns = [bytes(source.randrange(256) for _ in range(784)) for _ in range(10)]
    for part, count in (("train", 60000), ("t10k", 10000)):
        labels = bytes(source.randrange(10) for _ in range(count))
        # A part of each image is noise, taken from one long piece.
        noise = source.randbytes(1 << 20)
        images = bytearray()
        for label in labels:
            at = source.randrange(len(noise) - 784)
            images += patterns[label][:500] + noise[at:at + 284]
        for name, head, content in (("images-idx3", struct.pack(">IIII", 2051, count, 28, 28), bytes(images)),
                                    ("labels-idx1", struct.pack(">II", 2049, count), labels)):
            with gzip.open(os.path.join(place, "%s-%s-ubyte.gz" % (part, name)), "wb", 1) as file:
                file.write(head + content)


class Frameworks(training_platform.TrainingTest):
    FLAGS = ["--node-resources", "nvidia.com/gpu=5"]

    def tearDown(self):
        self.platform.kubectl("delete", "vcjob", "--all")

    def tutorial(self, name):
        """A tutorial's job as its user wrote it; the image map brings what its image would."""
        path = os.path.join(TUTORIALS, name)
        self.platform.apply(path)
        with open(path) as file:
            return yaml.safe_load(file)["metadata"]["name"]

    def wait_pod(self, pod, phase="Succeeded"):
        p = self.platform

        def there():
            found = p.kubectl("get", "pod", pod, "-o", "jsonpath={.status.phase}", "--ignore-not-found")
            return found if found in ("Failed", phase) else None
        if put.wait_for("%s is %s" % (pod, phase), there, PATIENCE, 0.5) != phase:
            self.fail("%s failed:\n%s" % (pod, self.log(pod)))

    def test_1_chief_workers_and_parameter_servers(self):
        """volcano1.yml: no policy completes the job; the chief's end leaves it running, and explain says so."""
        p = self.platform
        p.apply(os.path.join(TUTORIALS, "newqueue.yaml"))
        name = self.tutorial("volcano1.yml")
        p.wait_phase(name, "Running", PATIENCE)
        self.wait_pod(name + "-chief-0")
        log = self.log(name + "-chief-0")
        epochs = re.findall(r"epoch (\d) iterations (\d+) samples (\d+) accuracy ([\d.]+)", log)
        self.assertEqual([tuple(map(int, one[:3])) for one in epochs],
                         [(0, 100, 6400), (1, 200, 6400), (2, 300, 6400)], log)
        self.assertGreater(float(epochs[-1][3]), 0.5)
        self.assertIn("variables on 2 parameter servers", log)
        self.assertTrue(log.endswith("trained\n"), log)
        self.assertEqual(p.phase(name), "Running")
        phases = {pod["metadata"]["name"][len(name) + 1:]: pod["status"]["phase"]
                  for pod in p.get("pods", "-l", "volcano.sh/job-name=" + name)["items"]}
        self.assertEqual(phases, {"chief-0": "Succeeded", "worker-0": "Running", "worker-1": "Running",
                                  "ps-0": "Running", "ps-1": "Running"})
        # What the job's own shell lines make TF_CONFIG of; each listens at the same port in a network of its own, with
        # a card of its own.
        cards = set()
        for pod in ("ps-0", "ps-1", "worker-0", "worker-1"):
            said = p.kubectl("exec", name + "-" + pod, "--", "sh", "-c",
                             "cat /etc/volcano/worker.host; ss -ltn; echo; echo card $NVIDIA_VISIBLE_DEVICES")
            self.assertIn(name + "-worker-1." + name, said)
            self.assertEqual(len(re.findall(r"LISTEN.*:2222 ", said)), 1, said)
            cards.add(re.search(r"card ([0-4])$", said, re.M).group(1))
        self.assertEqual(len(cards), 4, cards)
        explained = put.subprocess.run([put.HEKLA, "explain", "job", name, "--kubeconfig", p.kubeconfig],
                                       capture_output=True, text=True, timeout=30)
        self.assertEqual(explained.returncode, 0, explained.stderr)
        self.assertIn("TaskCompleted", explained.stdout)
        self.assertIn("CompleteJob", explained.stdout)

    def test_1_the_tutorials_own_program(self):
        """mnist3.py as the tutorial prints it, in place of ours, on data of MNIST's form."""
        p, app = self.platform, os.path.join(self.programs, "app")
        write_digits(os.path.join(app, "mnist-data"))
        shutil.copy(os.path.join(TUTORIALS, "mnist3.py"), app)
        p.apply(os.path.join(TUTORIALS, "newqueue.yaml"))
        with open(os.path.join(TUTORIALS, "volcano1.yml")) as file:
            job = yaml.safe_load(file)
        for one in job["spec"]["tasks"]:
            pod = one["template"]["spec"]
            pod["volumes"] = [{"name": "app", "hostPath": {"path": app}}]
            pod["containers"][0]["volumeMounts"] = [{"name": "app", "mountPath": "/app"}]
            pod["containers"][0]["env"] = [{"name": "TF_USE_LEGACY_KERAS", "value": "1"}]
        p.apply_text(json.dumps(job))
        chief = job["metadata"]["name"] + "-chief-0"
        self.wait_pod(chief)
        log = self.log(chief)
        self.assertIn("Epoch 5/5", log)
        self.assertEqual(len(re.findall("937/937", log)), 5, log[-4000:])
        self.assertIn("Script execution completed.", log)
        losses = [float(one) for one in re.findall(r"937/937.* loss: ([\d.]+)", log)]
        self.assertLess(losses[-1], losses[0])

    def test_2_workers_complete_the_job(self):
        """tftest.yaml: both workers reach the end, the policy completes the job and takes the parameter server away."""
        p = self.platform
        name = self.tutorial("tftest.yaml")
        p.wait_phase(name, "Completed", PATIENCE)
        steps = 0
        for worker in ("worker-0", "worker-1"):
            log = self.log(name + "-" + worker)
            made, at, samples, accuracy = re.search(
                r"made (\d+) steps; iterations (\d+) samples (\d+) accuracy ([\d.]+)", log).groups()
            steps += int(made)
            self.assertGreater(int(made), 0, log)
            self.assertGreaterEqual(int(at), 400, log)
            self.assertGreater(float(accuracy), 0.9, log)
            self.assertTrue(log.endswith("trained\n"), log)
        # The worker that ended last has seen everything: every step counted once, a hundred samples each.
        ends = [tuple(map(int, re.search(r"iterations (\d+) samples (\d+)", self.log(name + "-" + worker)).groups()))
                for worker in ("worker-0", "worker-1")]
        self.assertEqual(max(ends), (steps, 100 * steps))

    def plugin_job(self, name, image, plugins, *tasks):
        """Tasks are name, replicas, command and whether their end is the job's."""
        self.platform.apply_text(JOB % {
            "name": name, "pods": sum(one[1] for one in tasks), "plugins": json.dumps(plugins),
            "tasks": json.dumps([task(image, self.programs, *one) for one in tasks])})

        def ended():
            phase = self.platform.phase(name)
            self.assertNotIn(phase, ("Failed", "Aborted", "Terminated"), self.platform.kubectl("get", "pods"))
            return phase == "Completed"
        put.wait_for("job %s is Completed" % name, ended, PATIENCE, 0.5)

    def test_3_tensorflow_plugin(self):
        command = "python /app/mnist3.py"
        self.plugin_job("tf", "hekla.io/tensorflow", {"tensorflow": []}, ("chief", 1, command, True), ("worker", 2, command), ("ps", 1, command))
        self.assertIn("epoch 2 iterations 300 samples 6400", self.log("tf-chief-0"))
        self.assertIn("serving as worker 1", self.log("tf-worker-1"))

    def test_4_pytorch_plugin(self):
        command = "GLOO_SOCKET_IFNAME=eth0 python3 /programs/all_reduce.py"
        self.plugin_job("torch", "hekla.io/pytorch", {"pytorch": []}, ("master", 1, command), ("worker", 2, command))
        for rank, pod in enumerate(["master-0", "worker-0", "worker-1"]):
            log = self.log("torch-" + pod)
            accuracy = re.search(r"rank %d of 3 samples \[12800, 12800, 12800\] spread 0 accuracy ([\d.]+)" % rank, log)
            self.assertTrue(accuracy, log)
            self.assertGreater(float(accuracy.group(1)), 0.8)

    def test_5_xgboost_by_the_pytorch_plugin(self):
        command = "python /opt/mlkube/main.py"
        self.plugin_job("boost", "hekla.io/xgboost", {"pytorch": ["--port=29500"]}, ("master", 1, command), ("worker", 2, command))
        for rank, pod in enumerate(["master-0", "worker-0", "worker-1"]):
            log = self.log("boost-" + pod)
            self.assertRegex(log, r"rank %d of 3 rows 150 same True accuracy (0\.9|1\.0)" % rank)

    def test_6_mpi_plugin(self):
        serve = ("dropbearkey -t ed25519 -f /tmp/hostkey >/dev/null && mkdir -p /var/run && "
                 "exec dropbear -F -E -p 22 -r /tmp/hostkey")
        launch = ("export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_orte_keep_fqdn_hostnames=true "
                  "OMPI_MCA_btl_tcp_if_include=eth0 OMPI_MCA_oob_tcp_if_include=eth0; "
                  "for host in $(echo $MPI_HOST | tr , ' '); do until ssh -o StrictHostKeyChecking=no $host true; "
                  "do sleep 0.3; done; done; "
                  "mpirun --mca plm_rsh_args '-o StrictHostKeyChecking=no' --host $MPI_HOST -np 2 "
                  "python /home/mpiuser/pi.py")
        self.plugin_job("mpi", "hekla.io/mpi", {"mpi": []}, ("master", 1, launch, True), ("worker", 2, serve))
        log = self.log("mpi-master-0")
        self.assertRegex(log, r"ranks 2 pi 3\.1\d* hosts mpi-worker-0\S* mpi-worker-1")


if __name__ == "__main__":
    unittest.main(verbosity=2)
