"""The demonstrations of examples/ on fake nodes: the commands of their READMEs, typed in order, and what they shall show."""
import collections
import os
import re
import subprocess
import unittest

import platform_under_test as put

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


if __name__ == "__main__":
    unittest.main()
