"""README's "Use it", typed as it stands there: in this order, by a shell, on a machine that has never seen Hekla."""
import os
import re
import shutil
import subprocess
import tempfile
import unittest

import platform_under_test as put


def lines_to_type():
    with open(os.path.join(put.ROOT, "README.md")) as file:
        section = re.search(r"^## Use it\n+```\n(.*?)^```", file.read(), re.MULTILINE | re.DOTALL)
    return section.group(1).splitlines()


class UseIt(unittest.TestCase):
    def setUp(self):
        self.place = tempfile.mkdtemp(prefix="hekla-e2e-readme-")
        self.addCleanup(shutil.rmtree, self.place, ignore_errors=True)
        self.data_dir = os.path.join(self.place, "data")
        # A copy of the repository after `make build`, and the programs that the lines name.
        os.makedirs(os.path.join(self.place, "build/release"))
        os.makedirs(os.path.join(self.place, "bin"))
        os.symlink(os.path.join(put.ROOT, "examples"), os.path.join(self.place, "examples"))
        os.symlink(put.HEKLA, os.path.join(self.place, "build/release/hekla"))
        os.symlink(put.kubectls()[0], os.path.join(self.place, "bin/kubectl"))
        with open(os.path.join(self.place, "bin/sudo"), "w", opener=lambda path, flags: os.open(path, flags, 0o755)) as file:
            file.write('#!/bin/sh\nexec "$@"\n')
        self.environment = dict(os.environ, HOME=self.place, PATH=self.place + "/bin:" + os.environ["PATH"])
        self.environment.pop("KUBECONFIG", None)

    def shell(self, lines, timeout=2 * put.PATIENCE):
        return subprocess.run(["bash", "-ec", "\n".join(lines)], cwd=self.place, env=self.environment,
                              capture_output=True, text=True, timeout=timeout)

    def test_the_lines_work_as_they_are_typed(self):
        # Of the real machine only the default data directory is not used.
        lines = [line.replace("/var/lib/hekla/", self.data_dir + "/") for line in lines_to_type()]
        starts = [line for line in lines if "hekla up" in line]
        self.assertEqual(len(starts), 1, lines)
        first = starts[0].replace("hekla up", "hekla up --data-dir " + self.data_dir)
        up = subprocess.Popen(["bash", "-c", "exec " + first], cwd=self.place, env=self.environment, stdout=subprocess.PIPE)
        self.addCleanup(up.stdout.close)
        self.addCleanup(up.wait, put.PATIENCE)
        self.addCleanup(up.terminate)
        self.assertIn(b"hekla is ready", put.line_of(up))

        typed = []
        for line in lines:
            if line == starts[0]:
                continue
            if "kubectl logs -f" in line:  # what the line before shows is looked at until there is something to follow
                pod = line.split()[3]
                put.wait_for(pod + " runs", lambda: re.search(
                    pod + r" .*(Running|Completed)", self.shell([typed[0], typed[-1]]).stdout))
            said = self.shell(typed[:1] + [line])
            self.assertEqual(said.returncode, 0, "%s\n%s%s" % (line, said.stdout, said.stderr))
            if "apply" in line:
                self.assertEqual(sorted(said.stdout.splitlines()), [
                    "configmap/parameter-server created", "job.batch.volcano.sh/job-1 created",
                    "job.batch.volcano.sh/parameter-server created", "queue.scheduling.volcano.sh/test created"])
            typed.append(line)
        self.assertIn("training completed", said.stdout)
        put.wait_for("both jobs are completed", lambda: self.shell(
            typed[:1] + ["kubectl get vcjob -o 'jsonpath={.items[*].status.state.phase}'"]).stdout == "Completed Completed")
        up.terminate()
        self.assertEqual(up.wait(put.PATIENCE), 0)
        self.assertEqual(put.leftovers(self.data_dir), [])


class Named(unittest.TestCase):
    """What the README only names is there as well."""

    def setUp(self):
        with open(os.path.join(put.ROOT, "README.md")) as file:
            self.text = file.read()

    def test_the_commands(self):
        named = sorted(set(re.findall(r"`hekla ([a-z-]+)", self.text)))
        self.assertGreater(len(named), 30)
        for command in named:
            said = subprocess.run([put.HEKLA, "help", command], capture_output=True, text=True, timeout=put.PATIENCE)
            self.assertEqual(said.returncode, 0, "hekla help %s: %s" % (command, said.stderr))
        rows = re.findall(r"^\| (`hekla .*?) \|", self.text, re.MULTILINE)
        once = [command for row in rows for command in re.findall(r"`hekla ([\w-]+)", row)]
        self.assertEqual(sorted(once), sorted(set(once)))  # each in one row

    def test_the_targets_of_make(self):
        with open(os.path.join(put.ROOT, "Makefile")) as file:
            rules = set(re.findall(r"^([a-z-]+):(?!=)", file.read(), re.MULTILINE))
        self.assertLessEqual(set(re.findall(r"(?:^|`)make ([a-z-]+)", self.text, re.MULTILINE)), rules)

    def test_a_job_from_a_file_alone(self):
        """`hekla run -f` as the README has it: it starts the platform, and stops it."""
        self.assertIn("`hekla run -f job.yaml`", self.text)
        place = tempfile.mkdtemp(prefix="hekla-e2e-readme-")
        self.addCleanup(shutil.rmtree, place, ignore_errors=True)
        with open(os.path.join(place, "job.yaml"), "w") as file:
            file.write(put.job("alone", 1, "1", "echo from the job"))
        environment = {name: value for name, value in os.environ.items() if name != "KUBECONFIG"}
        said = subprocess.run([put.HEKLA, "run", "-f", "job.yaml", "--data-dir", place + "/data", "--image-map", "*=host",
                               "--eviction-hard", "memory.available<1Mi"], cwd=place, env=environment, capture_output=True,
                              text=True, timeout=2 * put.PATIENCE)
        self.assertEqual(said.returncode, 0, said.stdout + said.stderr)
        self.assertIn("from the job", said.stdout)
        self.assertEqual(put.leftovers(place + "/data"), [])


if __name__ == "__main__":
    unittest.main()
