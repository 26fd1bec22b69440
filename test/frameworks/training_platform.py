"""A platform for training jobs: its images are kept in HEKLA_CACHE, so that environments are built once, and the
programs of this directory lie in a directory of their own, which pods mount at /programs."""
import os
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "e2e"))
import platform_under_test as put  # noqa: E402

PATIENCE = 1200  # a first build among it


class TrainingTest(put.PlatformTest):
    FLAGS = []

    @classmethod
    def setUpClass(cls):
        cls.programs = tempfile.mkdtemp(prefix="hekla-programs-")
        cls.addClassCleanup(shutil.rmtree, cls.programs, True)
        for name in os.listdir(HERE):
            if name.endswith(".py"):
                shutil.copy(os.path.join(HERE, name), cls.programs)
        subprocess.run(["chmod", "-R", "a+rwX", cls.programs], check=True)
        store = os.path.join(put.CACHE, "framework-images")
        os.makedirs(store, exist_ok=True)
        cls.platform = put.Platform(*cls.FLAGS)
        cls.addClassCleanup(cls.platform.destroy)
        os.symlink(store, os.path.join(cls.platform.data_dir, "images"))
        cls.platform.up()

    def log(self, pod):
        # Also of pods that the job's end has taken away, which kubectl logs would look for.
        return self.platform.kubectl("get", "--raw", "/api/v1/namespaces/default/pods/%s/log" % pod)
