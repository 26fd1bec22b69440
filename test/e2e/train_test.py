"""hekla train: from a script to the job's outcome, on a platform that it starts itself."""
import os
import shutil
import signal
import subprocess
import tempfile
import time
import unittest

import platform_under_test as put

SCRIPT = """
import os, sys, time
import helper
for step in range(int(sys.argv[1])):
    print("step %d loss %.3f" % (step, 1 / (step + 1)), flush=True)
    time.sleep(0.1)
rank = os.environ["PROCESS_ID"]
print(helper.WORD, rank, "of", os.environ["NUM_PROCESSES"], os.getcwd(), flush=True)
open("/output/model-" + rank, "w").write("weights")
try:
    open("/workspace/mine", "w")
except OSError as error:
    print("workspace:", error.strerror, flush=True)
"""


class Train(unittest.TestCase):
    def setUp(self):
        self.place = tempfile.mkdtemp(prefix="hekla-e2e-train-")
        self.addCleanup(shutil.rmtree, self.place, True)
        self.data_dir = os.path.join(self.place, "data")
        self.addCleanup(subprocess.run, [put.HEKLA, "down", "--data-dir", self.data_dir], capture_output=True)
        os.mkdir(os.path.join(self.place, "code"))
        self.write("code/My Script.py", SCRIPT)
        self.write("code/helper.py", "WORD = 'process'\n")
        self.environment = {key: value for key, value in os.environ.items() if key != "KUBECONFIG"}

    def write(self, name, text):
        with open(os.path.join(self.place, name), "w") as file:
            file.write(text)

    def command(self, *arguments, script="code/My Script.py", image="host"):
        return [put.HEKLA, "train", os.path.join(self.place, script), "--framework", "jax", "--image", image, "--data-dir",
                self.data_dir, "--eviction-hard", "memory.available<1Mi", *arguments]

    def train(self, *arguments, **more):
        return subprocess.run(self.command(*arguments, **more), capture_output=True, text=True, env=self.environment,
                              timeout=put.PATIENCE)

    def test_a_script_trains(self):
        done = self.train("--workers", "2", "--output", os.path.join(self.place, "out"), "3")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        said = done.stdout.splitlines()
        for rank in (0, 1):
            for line in ("step 2 loss 0.333", "process %d of 2 /workspace" % rank, "workspace: Read-only file system"):
                self.assertIn("worker-%d | %s" % (rank, line), said)
        self.assertRegex(done.stdout, r"(?m)^jaxjob my-script-\w{5} in namespace default: 2 x jax in image host$")
        self.assertRegex(said[-1], r"^jaxjob my-script-\w{5} ended as Succeeded after [0-9.]+ s$")
        self.assertEqual(sorted(os.listdir(os.path.join(self.place, "out"))), ["model-0", "model-1"])
        self.assertEqual(put.leftovers(self.data_dir), [])

    def test_a_missing_module_is_named_with_what_brings_it(self):
        self.write("code/bad.py", "import torch\n")
        done = self.train(script="code/bad.py")
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        self.assertEqual(done.stderr, "hekla: module torch is not in image host: it is in the environment hekla.io/pytorch "
                                      "(--image hekla.io/pytorch), or in one of your own (--python VENV)\n")

    def test_an_environment_of_ones_own(self):
        venv = os.path.join(self.place, "venv")
        subprocess.run(["/usr/bin/python3", "-m", "venv", "--without-pip", venv], check=True)
        self.write("code/where.py", "import sys; print(sys.prefix)\n")
        done = self.train("--python", venv, script="code/where.py")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("worker-0 | %s\n" % venv, done.stdout)

    def test_mistakes_are_said_before_anything_starts(self):
        done = self.train(script="code/none.py")
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertIn("code/none.py: No such file or directory", done.stderr)
        done = self.train("--python", self.place)
        self.assertIn("is no Python environment: it has no pyvenv.cfg", done.stderr)
        self.assertEqual(done.returncode, 1)

    def test_ctrl_c_ends_what_was_started(self):
        run = subprocess.Popen(self.command("--output", os.path.join(self.place, "out"), "3000"), stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True, env=self.environment)
        for line in run.stdout:
            if "| step 3" in line:
                break
        run.send_signal(signal.SIGINT)
        time.sleep(1)
        run.send_signal(signal.SIGINT)
        _, complaint = run.communicate(timeout=put.PATIENCE)
        self.assertEqual(run.returncode, 130, complaint)
        self.assertIn("SIGINT: ending the jobs and the platform that was started for them", complaint)
        put.wait_for("nothing is left", lambda: not put.leftovers(self.data_dir))


if __name__ == "__main__":
    unittest.main()
