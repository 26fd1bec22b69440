"""What is in examples: the demonstrations, the commands of their READMEs typed in order, and what they shall show; every
job on nodes that are played; a pipeline."""
import collections
import json
import os
import re
import shutil
import subprocess
import tempfile
import unittest
import urllib.request

import platform_under_test as put
import yaml

EXAMPLES = os.path.join(put.ROOT, "examples")


def commands(example):
    """The flags of `hekla up`, and the kubectl lines after it."""
    with open(os.path.join(EXAMPLES, example, "README.md")) as file:
        up, *lines = re.search(r"^```\n(.*?)^```", file.read(), re.MULTILINE | re.DOTALL).group(1).splitlines()
    return up.split()[2:], [line.split()[1:] for line in lines]


class Demonstration(unittest.TestCase):
    def start(self, example):
        flags, self.lines = commands(example)
        self.platform = put.Platform(*flags)
        self.addCleanup(self.platform.destroy)
        self.platform.up()

    def type_to(self, end):
        """Types the lines up to the first that ends so."""
        while True:
            line = self.lines.pop(0)
            said = self.platform.kubectl(*[os.path.join(put.ROOT, word) if word.startswith("examples/") else word
                                           for word in line])
            if " ".join(line).endswith(end):
                return said

    def phases(self, selector):
        return collections.Counter(pod["status"]["phase"] for pod in self.platform.get("pods", "-l", selector)["items"])

    def test_two_teams_get_their_shares(self):
        self.start("sharing")
        self.type_to("serving.yaml")
        put.wait_for("serving has the whole cluster", lambda: self.phases("team=serving") == {"Running": 32})
        self.type_to("research.yaml")
        put.wait_for("research has three quarters", lambda: self.phases("team=research") == {"Running": 24, "Pending": 8})
        put.wait_for("serving has one", lambda: self.phases("team=serving") == {"Running": 8, "Pending": 24})
        self.assertIn("deserves 8 cpu by its weight 1", subprocess.run(
            [put.HEKLA, "explain", "vcjob", "serving", "--kubeconfig", self.platform.kubeconfig],
            check=True, capture_output=True, text=True, timeout=put.PATIENCE).stdout)

    def test_gangs_do_not_wait_for_each_other(self):
        self.start("deadlock")
        self.type_to("plain.yaml")
        for job in "ab":
            put.wait_for("plain pods hold each other up", lambda: self.phases("job=" + job) == {"Running": 2, "Pending": 1})
        self.type_to("gangs.yaml")
        job = "training.kubeflow.org/job-name="
        put.wait_for("the first gang runs whole", lambda: self.phases(job + "a")["Running"] == 3)
        self.assertEqual(self.phases(job + "b"), {})
        for name in "ab":
            self.platform.kubectl("wait", "--for=condition=Succeeded", "pytorchjob/" + name, "--timeout=120s")


class Files(put.PlatformTest):
    """Every other file of examples, where a card is declared and pods are only played: what it asks for is placed."""
    FLAGS = ["--no-agent", "--fake-nodes", "2", "--fake-node-resources", "cpu=32,memory=128Gi,pods=110,nvidia.com/gpu=8"]
    SHOWN = ("deadlock", "sharing", "elastic", "simulate", "tutorial", "quickstart", "pipelines", "notebooks")

    def test_every_job_gets_its_pods(self):
        p = self.platform
        tried = 0
        for folder in sorted(os.listdir(EXAMPLES)):
            for name in sorted(os.listdir(os.path.join(EXAMPLES, folder)) if os.path.isdir(os.path.join(EXAMPLES, folder)) else []):
                path = os.path.join(EXAMPLES, folder, name)
                if folder in self.SHOWN or not name.endswith(".yaml"):
                    continue
                with self.subTest(folder + "/" + name):
                    said = p.kubectl("apply", "--validate=strict", "-f", path, check=False)
                    self.assertEqual((said.returncode, said.stderr), (0, ""))
                    self.assertTrue(self.runs(p.get("-f", path)), path)
                    p.kubectl("delete", "-f", path)
                    tried += 1
        self.assertGreater(tried, 12)

    def runs(self, found):
        """Waits until the last object of a file has its pods running."""
        last = found["items"][-1] if "items" in found else found
        name, namespace = last["metadata"]["name"], last["metadata"]["namespace"]

        def placed():
            groups = [one for one in self.platform.get("podgroups", "-n", namespace)["items"]
                      if one["metadata"]["name"].startswith(name)]
            return groups and groups[0]["status"]["phase"] == "Running" and groups[0]["status"]["running"] >= (
                groups[0]["spec"]["minMember"])
        return put.wait_for("the gang of %s runs" % name, placed)


class Notebooks(put.PlatformTest):
    """examples/notebooks, with a small server in place of JupyterLab and TensorBoard."""
    SERVER = "#!/bin/sh\nexec python3 -m http.server %d\n"

    @classmethod
    def setUpClass(cls):
        programs = tempfile.mkdtemp(prefix="hekla-e2e-notebooks-")
        cls.addClassCleanup(shutil.rmtree, programs)
        os.chmod(programs, 0o755)
        for name, port in (("jupyter", 8888), ("tensorboard", 6006)):
            path = os.path.join(programs, name)
            with open(path, "w", opener=lambda path, flags: os.open(path, flags, 0o755)) as file:
                file.write(cls.SERVER % port)
        cls.FLAGS = ["--image-map", "*=host, files=%s:/usr/local/bin, cmd=/usr/local/bin/jupyter" % programs]
        super().setUpClass()

    def test_a_notebook_and_the_tensorboard_of_its_volume(self):
        p, folder = self.platform, os.path.join(EXAMPLES, "notebooks")
        said = p.kubectl("apply", "--validate=strict", "-f", folder, check=False)
        self.assertEqual((said.returncode, said.stderr), (0, ""))
        for kind, name in (("notebook", "lab"), ("tensorboard", "curves")):
            put.wait_for(name + " is ready", lambda: p.get(kind, name, "-n", "kubeflow-user-example-com")["status"]["readyReplicas"])


class Pipeline(unittest.TestCase):
    """examples/pipelines/two-steps.yaml, uploaded and run."""

    def test_two_steps(self):
        with open(os.path.join(EXAMPLES, "pipelines/two-steps.yaml")) as file:
            spec = yaml.safe_load(file)
        url = "http://127.0.0.1:%d" % put.free_port()
        platform = put.Platform("--image-map", "*=host", "--pipelines-listen", url.removeprefix("http://"))
        self.addCleanup(platform.destroy)
        platform.up()

        def call(path, body=None):
            data = None if body is None else json.dumps(body).encode()
            asked = urllib.request.Request(url + "/apis/v2beta1" + path, data, {"Content-Type": "application/json"})
            with urllib.request.urlopen(asked, timeout=put.PATIENCE) as answer:
                return json.load(answer)
        run = call("/runs", {"display_name": "tried", "pipeline_spec": spec})["run_id"]
        put.wait_for("the run has ended", lambda: call("/runs/" + run)["state"] in ("SUCCEEDED", "FAILED"))
        logs = platform.kubectl("logs", "-n", "kubeflow", "-l", "pipeline/runid=" + run, "-c", "main")
        self.assertEqual((call("/runs/" + run)["state"], logs), ("SUCCEEDED", "3 lines\n"))


if __name__ == "__main__":
    unittest.main()
