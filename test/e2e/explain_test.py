"""hekla explain, the watched configuration, and a record that is replayed, on one platform of fake nodes."""
import json
import os
import subprocess
import tempfile
import unittest

import platform_under_test as put

MAP = ("configmap", "volcano-scheduler-configmap", "-n", "volcano-system")


class Explain(put.PlatformTest):
    RECORD = os.path.join(tempfile.gettempdir(), "hekla-record-%d" % os.getpid())
    FLAGS = ["--no-agent", "--fake-nodes", "2", "--fake-node-resources", "cpu=4,memory=8Gi,pods=110",
             "--record", RECORD]

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.addClassCleanup(lambda: os.path.exists(cls.RECORD) and os.remove(cls.RECORD))

    def hekla(self, *arguments, code=0):
        environment = {k: v for k, v in os.environ.items() if k != "KUBECONFIG"}
        done = subprocess.run([put.HEKLA] + list(arguments), capture_output=True, text=True, timeout=60,
                              env=environment)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done.stdout + done.stderr

    def explain(self, *arguments, code=0):
        return self.hekla("explain", *arguments, "--data-dir", self.platform.data_dir, code=code)

    def test_a_gang_too_big_is_explained_with_numbers(self):
        p = self.platform
        p.apply_text(put.job("giant", 3, 3))
        put.wait_for("it waits", lambda: "gang-too-big" in self.explain("job", "giant", "-o", "json"))
        made = json.loads(self.explain("job", "giant", "-o", "json"))
        self.assertEqual(made["state"], "Pending")
        codes = [x["code"] for x in made["findings"]]
        self.assertIn("gang-too-big", codes, made)
        self.assertIn("9 cpu for 3 pods at once", self.explain("job", "giant"))
        self.assertIn("default/giant-", self.explain("queue", "default"))
        self.assertIn("does not exist", self.explain("job", "nobody", code=1))
        p.kubectl("delete", "vcjob", "giant")

    def test_the_configuration_is_watched(self):
        p = self.platform
        text = p.get(*MAP)["data"]["volcano-scheduler.conf"]
        self.assertIn("enqueue, allocate, backfill", text)
        patch = json.dumps({"data": {"volcano-scheduler.conf": text.replace("allocate", "alocate")}})
        p.kubectl("patch", *MAP, "--type", "merge", "-p", patch)
        put.wait_for("the mistake is said", lambda: "failed to find Action alocate" in p.kubectl(
            "get", "events", "-n", "volcano-system"))
        p.apply_text(put.job("works", 2, 1))
        p.wait_phase("works", "Running")
        p.kubectl("delete", "vcjob", "works")

    def test_the_record_is_replayed(self):
        p = self.platform
        p.apply_text(put.job("recorded", 2, 1))
        p.wait_phase("recorded", "Running")
        p.kubectl("delete", "vcjob", "recorded")
        self.assertIn("every session decided as it was recorded",
                      self.hekla("simulate", "--replay", self.RECORD))


if __name__ == "__main__":
    unittest.main()
