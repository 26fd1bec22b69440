"""Which platform a verb works with: a flag, then KUBECONFIG, then the local platform, then ~/.kube/config; for all verbs."""
import os
import shutil
import subprocess
import tempfile
import unittest

import platform_under_test as put

MAP = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: %s}\n"
JOB = put.job("waits", 1, 100)


class WhichPlatform(unittest.TestCase):
    """Two platforms that differ in a node, a queue and a job; KUBECONFIG names the first."""

    @classmethod
    def setUpClass(cls):
        cls.one, cls.two = (put.Platform("--no-agent", "--fake-nodes", str(count)) for count in (1, 2))
        for platform in (cls.one, cls.two):
            cls.addClassCleanup(platform.destroy)
            platform.up()
        cls.two.apply_text("apiVersion: scheduling.volcano.sh/v1beta1\nkind: Queue\nmetadata: {name: second}\n")
        cls.two.apply_text(JOB)
        cls.home = tempfile.mkdtemp(prefix="hekla-e2e-home-")
        cls.addClassCleanup(shutil.rmtree, cls.home)

    def hekla(self, *arguments, stdin=None, code=0, **environment):
        environment = dict({"KUBECONFIG": self.one.kubeconfig, "HOME": self.home}, **environment)
        given = {name: value for name, value in dict(os.environ, **environment).items() if value is not None}
        done = subprocess.run([put.HEKLA, *arguments], capture_output=True, text=True, input=stdin, env=given,
                              timeout=put.PATIENCE)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done.stdout if code == 0 else done.stderr

    def test_data_dir_beats_the_environment_for_every_verb(self):
        second = ["--data-dir", self.two.data_dir]
        self.assertEqual(len(self.hekla("get", "nodes", "-o", "name").splitlines()), 1)
        self.assertEqual(len(self.hekla("get", "nodes", "-o", "name", *second).splitlines()), 2)
        self.assertIn("waits", self.hekla("describe", "vcjob", "waits", *second))
        self.assertIn("waits", self.hekla("job", "list", *second))
        self.assertIn("second", self.hekla("queue", "list", *second))
        self.assertIn("second", self.hekla("explain", "queue", "second", *second))
        self.hekla("wait", "queue/second", "--for", "jsonpath={.metadata.name}=second", *second)
        self.assertIn('job "waits" has no pod', self.hekla("logs", "vcjob/waits", *second, code=1))

        self.hekla("apply", "-f", "-", *second, stdin=MAP % "mine")
        self.assertIn("mine", self.two.kubectl("get", "cm", "-o", "name"))
        self.assertNotIn("mine", self.one.kubectl("get", "cm", "-o", "name"))
        self.one.apply_text(MAP % "mine")
        self.hekla("delete", "cm", "mine", *second)
        self.assertNotIn("mine", self.two.kubectl("get", "cm", "-o", "name"))
        self.assertIn("mine", self.one.kubectl("get", "cm", "-o", "name"))

        path = os.path.join(self.home, "map.yaml")
        with open(path, "w") as file:
            file.write(MAP % "run")
        self.hekla("run", "-f", path, *second)
        self.assertIn("run", self.two.kubectl("get", "cm", "-o", "name"))
        self.assertNotIn("/run", self.one.kubectl("get", "cm", "-o", "name"))

    def test_backup_and_restore_take_the_one_that_is_named(self):
        second = ["--data-dir", self.two.data_dir]
        path = os.path.join(self.home, "backup")
        self.two.apply_text(MAP % "kept")
        self.one.apply_text(MAP % "untouched")
        self.hekla("backup", path, *second)
        self.two.kubectl("delete", "cm", "kept")
        self.hekla("restore", path, *second)
        self.assertIn("kept", self.two.kubectl("get", "cm", "-o", "name"))
        self.assertIn("untouched", self.one.kubectl("get", "cm", "-o", "name"))
        self.assertEqual(len(self.one.get("nodes")["items"]), 1)

    def test_no_other_platform_is_taken_for_one_that_does_not_run(self):
        empty = os.path.join(self.home, "empty")
        for verb in (["get", "nodes"], ["backup", empty + ".file"], ["job", "list"], ["explain", "queue", "default"]):
            self.assertIn("no platform runs in %s" % empty, self.hekla(*verb, "--data-dir", empty, code=3))
        self.assertFalse(os.path.exists(empty + ".file"))

    def test_two_flags_must_mean_one_platform(self):
        both = ["--kubeconfig", self.one.kubeconfig, "--data-dir", self.two.data_dir]
        path = os.path.join(self.home, "other.yaml")
        with open(path, "w") as file:
            file.write(MAP % "other")
        for verb in (["get", "nodes"], ["apply", "-f", path], ["queue", "list"], ["run", "-f", path]):
            self.assertIn("name two different platforms", self.hekla(*verb, *both, code=2))
        copy = os.path.join(self.home, "copy")
        shutil.copy(self.two.kubeconfig, copy)
        self.assertEqual(len(self.hekla("get", "nodes", "-o", "name", "-k", copy, "--data-dir", self.two.data_dir)
                             .splitlines()), 2)

    def test_run_and_image_and_down_heed_the_environment(self):
        path = os.path.join(self.home, "env.yaml")
        with open(path, "w") as file:
            file.write(MAP % "env")
        self.assertEqual(self.hekla("run", "-f", path), "configmap/env created\n")  # and none is started
        self.assertIn("env", self.one.kubectl("get", "cm", "-o", "name"))
        elsewhere = os.path.join(self.home, "elsewhere")
        with open(elsewhere, "w") as file:
            file.write("clusters: [{name: c, cluster: {server: 'https://127.0.0.1:1'}}]\n"
                       "contexts: [{name: c, context: {cluster: c}}]\ncurrent-context: c\n")
        for verb in (["image", "list"], ["down"]):
            self.assertIn("KUBECONFIG (%s) names a cluster that is not one of this machine's data directories" % elsewhere,
                          self.hekla(*verb, KUBECONFIG=elsewhere, code=2))
        self.assertEqual(self.hekla("image", "list", "-o", "name"), "")
        self.assertTrue(os.path.isdir(os.path.join(self.one.data_dir, "images")))
        third = put.Platform("--no-agent").up()
        self.addCleanup(third.destroy)
        self.assertIn("hekla on %s is stopped" % third.data_dir, self.hekla("down", KUBECONFIG=third.kubeconfig))
        third.process.wait(put.PATIENCE)

    def test_run_starts_the_platform_that_the_environment_names(self):
        third = put.Platform("--no-agent").up()
        self.addCleanup(third.destroy)
        third.down()
        path = os.path.join(self.home, "third.yaml")
        with open(path, "w") as file:
            file.write(MAP % "third")
        said = self.hekla("run", "-f", path, "--no-agent", KUBECONFIG=third.kubeconfig)
        self.assertIn("KUBECONFIG=%s\n" % third.kubeconfig, said)
        self.assertIn("configmap/third created\n", said)
        self.assertEqual(put.leftovers(third.data_dir), [])


if __name__ == "__main__":
    unittest.main()
