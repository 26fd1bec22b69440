"""What `make package` makes, from the binary under test: the tarball runs where there is nothing but a C library, the Debian package can be installed,
the image starts, and the charts can be read.
"""
import glob
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import unittest

import yaml

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "e2e"))
import platform_under_test as put  # noqa: E402

PACKAGE = os.path.join(put.ROOT, "tools/package")
TOOLS = ("g++", "objdump", "strip", "patchelf", "dpkg-shlibdeps", "dpkg-deb", "crun", "conmon")
# In an empty tree: what belongs to the system, not to a program.
GLIBC = ["/lib64/ld-linux-x86-64.so.2"] + ["/lib/x86_64-linux-gnu/lib%s.so.%s" % (name, number) for name, number in (
    ("c", 6), ("m", 6), ("dl", 2), ("rt", 1), ("pthread", 0), ("resolv", 2))]


def run(*words, check=True, **options):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, timeout=put.PATIENCE, **options)
    if check and done.returncode != 0:
        raise AssertionError("%s: exit %d\n%s%s" % (" ".join(map(str, words)), done.returncode, done.stdout, done.stderr))
    return done


def read(path):
    with open(path) as file:
        return file.read()


class Package(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        missing = [tool for tool in TOOLS if not shutil.which(tool)]
        if missing:
            raise AssertionError("packing needs " + ", ".join(missing))
        cls.directory = tempfile.mkdtemp(prefix="hekla-e2e-package-")
        cls.addClassCleanup(shutil.rmtree, cls.directory, ignore_errors=True)
        run(PACKAGE, put.HEKLA, cls.directory)
        (cls.tarball,) = glob.glob(cls.directory + "/hekla-*-linux-*.tar.gz")
        (cls.deb,) = glob.glob(cls.directory + "/hekla_*.deb")
        (cls.image,) = glob.glob(cls.directory + "/hekla-*-image.tar")
        cls.version = json.loads(run(put.HEKLA, "version", "-o", "json").stdout)["version"]

    def tree(self):
        """An empty root, with the tarball unpacked in /opt."""
        root = tempfile.mkdtemp(prefix="root-", dir=self.directory)
        with tarfile.open(self.tarball) as tar:
            tar.extractall(os.path.join(root, "opt"), filter="tar")
        return root, "/opt/hekla-%s/bin/hekla" % self.version

    def add_glibc(self, root):
        for path in GLIBC:
            if os.path.exists(path):
                os.makedirs(root + os.path.dirname(path), exist_ok=True)
                shutil.copy(os.path.realpath(path), root + path)

    def test_the_tarball_runs_where_nothing_else_is(self):
        root, program = self.tree()
        said = run("chroot", root, program, "version", check=False)
        self.assertEqual(said.returncode, 126)
        self.assertRegex(said.stderr, r"^hekla: this system has no GNU C library \(glibc\); this hekla needs glibc 2\.\d+: Debian 12, ")
        self.add_glibc(root)
        self.assertIn("hekla " + self.version, run("chroot", root, program, "version").stdout)
        # Under another name it is another program, through the same door.
        os.symlink("hekla", root + os.path.dirname(program) + "/vc-scheduler")
        helped = run("chroot", root, os.path.dirname(program) + "/vc-scheduler", "--help").stdout
        self.assertIn("--scheduler-conf", helped)

    def test_an_old_system_is_told_so(self):
        root, program = self.tree()
        os.makedirs(root + "/lib64")
        with open(root + "/lib64/libc.so.6", "w") as file:
            file.write("GNU C Library (GNU libc) stable release version 2.28.\n")
        said = run("chroot", root, program, "up", check=False).stderr
        self.assertRegex(said, r"^hekla: this system's C library is glibc 2\.28; this hekla needs glibc 2\.\d+: ")
        self.assertIn("its image runs in a container", said)

    def test_crun_and_conmon_come_along(self):
        root, program = self.tree()
        self.add_glibc(root)
        home = os.path.dirname(os.path.dirname(program))
        os.mkdir(root + "/proc")
        for name in ("crun", "conmon"):
            command = "mount -t proc proc %s/proc && exec chroot %s %s/lib/%s --version" % (root, root, home, name)
            said = run("unshare", "--mount", "sh", "-c", command, env=dict(os.environ, LD_LIBRARY_PATH=home + "/lib")).stdout
            self.assertIn(name + " version", said)
        self.assertRegex(read(root + home + "/REQUIRES"), r"glibc 2\.\d+ or newer")
        for name in ("LICENSE", "README.md", "share/bash-completion/completions/hekla"):
            self.assertTrue(os.path.getsize(root + home + "/" + name), name)

    def test_the_debian_package_is_whole(self):
        about = run("dpkg-deb", "--field", self.deb).stdout
        for word in ("libc6 (>=", "crun", "conmon", "nftables", "libssl3"):
            self.assertIn(word, about)
        root = tempfile.mkdtemp(prefix="deb-", dir=self.directory)
        os.makedirs(root + "/var/lib/dpkg/updates")
        os.makedirs(root + "/var/lib/dpkg/info")
        for name in ("status", "available"):
            open(root + "/var/lib/dpkg/" + name, "w").close()
        # Its dependencies are on this machine, not in the empty root; its scripts want a shell.
        run("dpkg", "--root=" + root, "--force-depends", "--force-script-chrootless", "--install", self.deb)
        self.assertIn("install ok installed", run("dpkg", "--root=" + root, "-s", "hekla").stdout)
        self.assertIn("hekla " + self.version, run(root + "/usr/bin/hekla", "version").stdout)
        unit = read(root + "/lib/systemd/system/hekla.service")
        for line in ("Delegate=yes", "KillMode=process", "ExecStart=/usr/bin/hekla up "):
            self.assertIn("\n" + line, unit)
        os.makedirs(root + "/var/lib/hekla")
        run("dpkg", "--root=" + root, "--force-script-chrootless", "--purge", "hekla")
        self.assertFalse(os.path.exists(root + "/usr/bin/hekla"))

    def test_the_image_starts(self):
        """Its root file system, entered as a container runtime would, runs the program and answers to other names."""
        root = tempfile.mkdtemp(prefix="image-", dir=self.directory)
        with tarfile.open(self.image) as archive:
            (manifest,) = json.load(archive.extractfile("manifest.json"))
            config = json.load(archive.extractfile(manifest["Config"]))
            for layer in manifest["Layers"]:
                with tarfile.open(fileobj=archive.extractfile(layer)) as tar:
                    tar.extractall(root, filter="tar")
        self.assertEqual(config["config"]["Entrypoint"], ["/bin/hekla"])
        self.assertEqual(config["config"]["User"], "65532:65532")
        self.assertIn("hekla " + self.version, run("chroot", root, "/bin/hekla", "version").stdout)
        for name, flag in (("vc-scheduler", "--scheduler-conf"), ("vc-controller-manager", "--worker-threads"),
                           ("vc-webhook-manager", "--enabled-admission")):
            self.assertIn(flag, run("chroot", root, "/" + name, "--help").stdout, name)
        self.assertTrue(os.path.exists(root + "/etc/ssl/certs/ca-certificates.crt"))

    def test_the_charts_are_in_the_index(self):
        with open(self.directory + "/charts/index.yaml") as file:
            entries = yaml.safe_load(file)["entries"]
        self.assertEqual(set(entries), {"hekla", "volcano"})
        for name, (entry,) in entries.items():
            with open(os.path.join(self.directory, "charts", entry["urls"][0]), "rb") as file:
                self.assertEqual(hashlib.sha256(file.read()).hexdigest(), entry["digest"])
            with tarfile.open(os.path.join(self.directory, "charts", entry["urls"][0])) as tar:
                names = tar.getnames()
                values = yaml.safe_load(tar.extractfile(name + "/values.yaml"))
            self.assertIn(name + "/crd-files/batch.volcano.sh_jobs.yaml", names)
            self.assertEqual(values["custom"]["operator_enable"], name == "hekla")


if __name__ == "__main__":
    unittest.main()
