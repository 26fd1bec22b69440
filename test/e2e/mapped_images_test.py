"""A tutorial's TensorFlow job as its user wrote it, for real: its image is mapped to this machine, and the mapping brings
program, working directory and python, here a parameter-server program in plain Python that exchanges gradients."""
import os
import subprocess
import tempfile
import shutil
import unittest

import yaml

import platform_under_test as put

TUTORIALS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "tutorials")


def lay_out(directory):
    """The program as the image's /app, and an environment in which it is `python` that runs it."""
    app, venv = os.path.join(directory, "app"), os.path.join(directory, "venv")
    os.makedirs(app)
    os.makedirs(os.path.join(venv, "bin"))
    with open(os.path.join(put.QUICKSTART, "parameter-server.yaml")) as file:
        program = next(yaml.safe_load_all(file))["data"]["train.py"]
    with open(os.path.join(app, "mnist3.py"), "w") as file:
        file.write(program)
    os.symlink("/usr/bin/python3", os.path.join(venv, "bin", "python"))
    with open(os.path.join(directory, "images.conf"), "w") as file:
        file.write("# what the tutorial's image holds\n"
                   "registry.example/* = host, files=app:/app, workdir=/app, venv=venv, env=STEPS=160\n")
    subprocess.run(["chmod", "-R", "a+rX", directory], check=True)
    return os.path.join(directory, "images.conf")


class MappedImages(put.PlatformTest):
    @classmethod
    def setUpClass(cls):
        cls.directory = tempfile.mkdtemp(prefix="hekla-mapped-")
        cls.addClassCleanup(shutil.rmtree, cls.directory, True)
        cls.FLAGS = ["--image-map", lay_out(cls.directory), "--node-resources", "nvidia.com/gpu=5"]
        super().setUpClass()

    def test_the_tutorials_job_trains(self):
        p = self.platform
        p.apply(os.path.join(TUTORIALS, "newqueue.yaml"), os.path.join(TUTORIALS, "volcano1.yml"))
        name = "tensorflow-distributed-job"
        chief = name + "-chief-0"
        put.wait_for("the chief has ended", lambda: p.kubectl(
            "get", "pod", chief, "-o", "jsonpath={.status.phase}", "--ignore-not-found") in ("Succeeded", "Failed"))
        log = p.kubectl("logs", chief)
        self.assertIn("connected to 2 parameter servers and 2 workers", log)
        self.assertIn("updates [320, 320]", log)
        self.assertTrue(log.endswith("chief-0: training completed\n"), log)
        self.assertEqual(p.phase(name), "Running", "no policy completes it")
        # What a pod writes into the mapped directory is its own.
        self.assertEqual(os.listdir(os.path.join(self.directory, "app")), ["mnist3.py"])
        # They end by themselves when they are asked to, but not under the tutorial's shell.
        self.addCleanup(p.kubectl, "delete", "pods", "--all", "--grace-period=1")
        self.addCleanup(p.kubectl, "delete", "vcjob", name, "--wait=false")
        self.assertEqual(p.kubectl("exec", name + "-ps-0", "--", "sh", "-c",
                                   "pwd; ls; command -v python; test -e /app/tfconfig.txt || echo none"),
                         "/app\nmnist3.py\n%s/venv/bin/python\nnone\n" % self.directory)

    def test_a_bad_mapping_is_one_sentence(self):
        done = subprocess.run([put.HEKLA, "up", "--data-dir", os.path.join(self.directory, "other"),
                               "--image-map", "a/* = host, file=/x:/y"], capture_output=True, text=True, timeout=60)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn('part "file=/x:/y": "file" is not one of files=DIR:/PATH, venv=DIR', done.stderr)

    def test_a_start_that_fails_leaves_nothing_on_the_machine(self):
        data_dir = os.path.join(self.directory, "other")
        for flag, value, why in (("--image-map", "a/* = hots", "image map"), ("--eviction-hard", "memory<1Mi", "eviction-hard")):
            done = subprocess.run([put.HEKLA, "up", "--data-dir", data_dir, flag, value],
                                  capture_output=True, text=True, timeout=60)
            self.assertNotEqual(done.returncode, 0)
            self.assertIn(why, done.stderr)
            self.assertEqual(put.machine_leftovers(data_dir), [])


if __name__ == "__main__":
    unittest.main()
