"""hekla up as an ordinary user: pods in a user namespace, adopted after a crash, gone after the end."""
import json
import os
import shutil
import subprocess
import tempfile
import unittest

import image_test
import platform_under_test as put
from registry import Registry, layer

UID = 50000 + os.getpid() % 10000  # nobody on this machine; needs no entry in /etc/passwd
# The limit is a user namespace's own: in one that has none below it, the user is as on a machine that forbids them.
FORBIDDING = """read go; exec sh -c 'echo 0 > /proc/sys/user/max_user_namespaces &&
exec setpriv --reuid %d --regid %d --clear-groups "$@"' sh "$@" """ % (UID, UID)
JOB = """
apiVersion: batch.volcano.sh/v1alpha1
kind: Job
metadata: {name: pair}
spec:
  minAvailable: 2
  schedulerName: volcano
  plugins: {svc: []}
  tasks:
  - name: server
    replicas: 1
    template:
      spec:
        terminationGracePeriodSeconds: 0
        containers:
        - name: c
          image: any
          workingDir: /tmp
          command: [sh, -c, "echo greeting > word && exec python3 -m http.server 8080"]
          resources: {limits: {cpu: 100m, memory: 64Mi}}
  - name: client
    replicas: 1
    policies: [{event: TaskCompleted, action: CompleteJob}]
    template:
      spec:
        restartPolicy: OnFailure
        containers:
        - {name: c, image: any, command: [python3, -c, "%s"]}
"""
CLIENT = r"""
import os, time, urllib.request
for attempt in range(100):
    try:
        print('heard', urllib.request.urlopen('http://pair-server-0.pair:8080/word', timeout=3).read().decode().strip())
        break
    except OSError:
        time.sleep(0.1)
for path in ('/etc/shadow', '%(secret)s', '%(kubeconfig)s'):
    print(path, 'seen' if os.path.exists(path) else 'hidden')
for path in ('/etc/new', '/var/lib/new', '/tmp/new', '/new'):
    open(path, 'w').close()
print('written', os.path.exists('/usr/bin/python3'))
"""
PODS = """
apiVersion: v1
kind: Pod
metadata: {name: stays}
spec:
  terminationGracePeriodSeconds: 0
  shareProcessNamespace: true
  securityContext: {fsGroup: 1000}
  containers:
  - name: c
    image: any
    command: [sh, -c, "echo begun; touch /m/x /usr/share/deep/x; sleep 600"]
    volumeMounts: [{name: m, mountPath: /m}, {name: e, mountPath: /usr/share/deep}]
  volumes: [{name: m, emptyDir: {medium: Memory}}, {name: e, emptyDir: {}}]
---
apiVersion: v1
kind: Pod
metadata: {name: somebody}
spec:
  restartPolicy: Never
  containers: [{name: c, image: any, command: [id], securityContext: {runAsUser: 1000}}]
---
apiVersion: v1
kind: Pod
metadata: {name: reads}
spec:
  restartPolicy: Never
  hostNetwork: true
  hostPID: true
  containers:
  - name: c
    image: any
    command: [sh, -c, "for d in / /usr /etc /tmp; do touch $d/x 2>/dev/null && echo wrote $d; done; echo tried"]
    securityContext: {readOnlyRootFilesystem: true}
---
apiVersion: v1
kind: Pod
metadata: {name: mapped}
spec:
  restartPolicy: Never
  containers:
  - name: c
    image: mapped
    command: [sh, -c, "cat /sub/file /opt/app/sub/file /usr/share/doc/sub/file; ls -d /etc/passwd /usr/share/doc/bash;
      echo own > /opt/app/sub/file && cat /opt/app/sub/file; touch /dev/shm/x /sub/x && ls /sys/fs/cgroup"]
---
apiVersion: v1
kind: Pod
metadata: {name: mighty}
spec:
  restartPolicy: Never
  hostIPC: true
  containers:
  - {name: c, image: any, command: [sh, -c, "mount -t tmpfs none /mnt && ls -d /dev/null"], securityContext: {privileged: true}}
---
apiVersion: v1
kind: Pod
metadata: {name: confined}
spec:
  restartPolicy: Never
  securityContext: {seccompProfile: {type: RuntimeDefault}}
  initContainers: [{name: i, image: any, command: [sh, -c, "ipcmk -Q; echo shared > /dev/shm/word"]}]
  containers:
  - name: c
    image: any
    command: [sh, -c, "cat /dev/shm/word; ipcs -q | grep -c 0x; unshare -m true 2>/dev/null || echo refused"]
---
apiVersion: v1
kind: Pod
metadata: {name: pulled}
spec:
  restartPolicy: Never
  containers: [{name: c, image: "%(registry)s/team/show:1"}]
---
apiVersion: v1
kind: Pod
metadata: {name: app}
spec:
  restartPolicy: Never
  containers: [{name: c, image: "%(registry)s/team/user:1"}]
---
apiVersion: v1
kind: Pod
metadata: {name: built}
spec:
  restartPolicy: Never
  containers: [{name: c, image: "made:1", imagePullPolicy: Never, command: [cat, /etc/made]}]
"""


def processes():
    """Of the user: what is left of a platform, or belongs to it."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open("/proc/%s/status" % pid) as file:
                status = dict(line.split(":\t", 1) for line in file.read().splitlines() if ":\t" in line)
        except OSError:
            continue
        if status["Uid"].split()[0] == str(UID) and not status["State"].startswith("Z"):
            found.append("%s %s" % (pid, status["Name"]))
    return found


class RootlessTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.home = tempfile.mkdtemp(prefix="hekla-rootless-")
        cls.addClassCleanup(shutil.rmtree, cls.home, ignore_errors=True)
        shutil.copy(put.HEKLA, os.path.join(cls.home, "binary"))  # which may lie where only root can go
        with open(os.path.join(cls.home, "secret"), "w") as file:
            file.write("mine")
        os.makedirs(os.path.join(cls.home, "laid/sub"))
        with open(os.path.join(cls.home, "laid/sub/file"), "w") as file:
            file.write("laid\n")
        data_dir = os.path.join(cls.home, "share/hekla")
        os.makedirs(data_dir)
        for path in ("", "share", "share/hekla", "secret", "laid", "laid/sub", "laid/sub/file"):
            os.chown(os.path.join(cls.home, path), UID, UID)
        cls.binary = os.path.join(cls.home, "binary")
        cls.environment = {"HOME": cls.home, "XDG_DATA_HOME": os.path.dirname(data_dir), "PATH": os.environ["PATH"]}
        tried = subprocess.run(["unshare", "--user", "--map-root-user", "--mount", "true"], user=UID, group=UID,
                               extra_groups=[], cwd="/", capture_output=True, text=True)
        cls.forbidden = tried.stderr.strip() if tried.returncode else ""
        mapping = "mapped = host" + "".join(", files=%s/laid:%s" % (cls.home, place)
                                            for place in ("/", "/opt/app", "/usr/share/doc"))
        cls.platform = put.Platform("--image-map", "any=host", "--image-map", mapping, data_dir=data_dir, binary=cls.binary, process={
            "user": UID, "group": UID, "extra_groups": [], "env": cls.environment, "cwd": cls.home})
        cls.addClassCleanup(cls.platform.destroy)

    def hekla(self, *arguments):
        return subprocess.run([self.binary] + list(arguments), user=UID, group=UID, extra_groups=[], cwd=self.home,
                              env=self.environment, capture_output=True, text=True, timeout=put.PATIENCE)

    def test_where_namespaces_are_forbidden_sudo_is_named(self):
        def forbidden(*arguments):
            child = subprocess.Popen(["unshare", "--user", "sh", "-c", FORBIDDING, "sh", self.binary] + list(arguments),
                                     env=self.environment, cwd="/", stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                     stderr=subprocess.PIPE, text=True)
            ours = os.readlink("/proc/self/ns/user")
            put.wait_for("it has a namespace", lambda: os.readlink("/proc/%d/ns/user" % child.pid) != ours)
            for name in ("uid_map", "gid_map"):
                with open("/proc/%d/%s" % (child.pid, name), "w") as file:
                    file.write("0 0 %d" % (UID + 1))
            out, err = child.communicate("go\n", timeout=put.PATIENCE)
            return subprocess.CompletedProcess(arguments, child.returncode, out, err)
        done = forbidden("up", "--data-dir", os.path.join(self.home, "share/other"))
        self.assertEqual(done.returncode, 1, done)
        self.assertIn("use sudo hekla up", done.stderr)
        self.assertEqual(len(done.stderr.strip().splitlines()), 1, done.stderr)
        done = forbidden("doctor")
        self.assertEqual(done.returncode, 1, done)
        self.assertIn("sysctl -w user.max_user_namespaces", done.stdout)

    def test_pods(self):
        if self.forbidden:
            print("this machine forbids user namespaces (%s): only that is tested" % self.forbidden)
            done = self.hekla("up", "--data-dir", self.platform.data_dir)
            self.assertIn("use sudo hekla up", done.stderr)
            return
        host = self.publish_images()
        self.platform.up()
        notice = put.wait_for("it says what is missing", lambda: [
            line for line in self.platform.log().splitlines() if line.startswith("rootless: ")])[0]
        self.assertRegex(notice, r"^rootless: every pod runs as you \(uid %d\).*no cpu, memory and process limits" % UID)
        self.assertRegex(notice, "pasta|/dev/net/tun")
        self.platform.apply_text(PODS % {"registry": host})
        self.two_pods_talk()
        self.pods_of_all_kinds()
        self.crash_and_adoption()
        self.assertEqual(self.platform.terminate(), 0)
        self.all_has_ended()
        self.assertEqual(put.leftovers(self.platform.data_dir), [])
        for name in ("holder", "mask"):
            self.assertFalse(os.path.exists(os.path.join(self.platform.data_dir, name)), name)
        self.assertEqual(os.listdir(os.path.join(self.platform.data_dir, "pods")), [])
        self.crash_and_down()

    def all_has_ended(self):
        try:
            put.wait_for("everything has ended", lambda: not processes(), 10)
        except AssertionError as error:
            raise AssertionError("%s: %s\n%s" % (error, processes(), self.platform.log()))

    def publish_images(self):
        """One that runs as root and one with a user of its own, with all that layers can do to each other."""
        registry = Registry()
        self.addCleanup(registry.close)
        bottom = layer(("etc", None, 0o755), ("etc/passwd", b"root:x:0:0::/:\napp:x:123:45::/:\n", 0o644),
                       ("bin", None, 0o555), ("bin/show", image_test.build_program(self.home), 0o755),
                       ("data", None, 0o755), ("data/kept", b"kept", 0o644), ("data/removed", b"old", 0o644),
                       ("opaque", None, 0o755), ("opaque/old", b"old", 0o644))
        top = layer(("data/.wh.removed", b"", 0o644), ("opaque", None, 0o755), ("opaque/.wh..wh..opq", b"", 0o644),
                    ("opaque/new", b"new", 0o644))
        registry.publish("team/show:1", [bottom, top], {"Entrypoint": ["/bin/show"]})
        registry.publish("team/user:1", [bottom, top], {"Entrypoint": ["/bin/show"], "User": "app"})
        done = self.hekla("image", "pull", registry.host + "/team/show:1")
        self.assertEqual(done.returncode, 0, done)
        directory = os.path.join(self.home, "build")
        os.makedirs(directory)
        with open(directory + "/Dockerfile", "w") as file:
            file.write("FROM host\nCOPY Dockerfile /opt/made/here\nRUN cp /opt/made/here /etc/made\n"
                       "RUN --network=none test $(ls /sys/class/net) = lo\nCMD [cat, /etc/made]\n")
        done = self.hekla("image", "build", "-t", "made:1", "build")
        self.assertEqual(done.returncode, 0, done)
        return registry.host

    def two_pods_talk(self):
        self.platform.apply_text(JOB % (CLIENT % {"secret": self.home + "/secret", "kubeconfig": self.platform.kubeconfig})
                                 .strip().replace("\n", "\\n"))
        self.platform.wait_phase("pair", "Completed")
        said = self.hekla("logs", "pair").stdout
        for line in ("heard greeting", "/etc/shadow hidden", self.home + "/secret hidden",
                     self.platform.kubeconfig + " hidden", "written True"):
            self.assertIn(line, said)

    def pods_of_all_kinds(self):
        get = self.platform.get
        put.wait_for("the pods have ended", lambda: all(
            get("pod", name)["status"]["phase"] in ("Succeeded", "Failed") for name in ("somebody", "reads", "mapped", "mighty", "confined", "pulled", "app", "built")))
        self.assertEqual(self.platform.kubectl("logs", "reads"), "tried\n")
        self.assertEqual(self.platform.kubectl("logs", "mighty"), "/dev/null\n", get("pod", "mighty")["status"])
        self.assertEqual(self.platform.kubectl("logs", "confined", "-c", "c"), "shared\n1\nrefused\n")
        self.assertEqual(self.platform.kubectl("logs", "mapped").splitlines(), [
            "laid", "laid", "laid", "/etc/passwd", "/usr/share/doc/bash", "own"], get("pod", "mapped")["status"])
        self.assertEqual(self.platform.kubectl("logs", "pulled").splitlines()[2:], [
            "/data/kept=kept", "/data/removed=missing", "/opaque/old=missing", "/opaque/new=new"])
        self.assertIn("FROM host", self.platform.kubectl("logs", "built"))
        for pod, user in (("somebody", "user 1000 and group 0"), ("app", "user 123 and group 45")):
            message = get("pod", pod)["status"]["containerStatuses"][0]["state"]["terminated"]["message"]
            self.assertIn("container wants to run as " + user, message)
        node = get("nodes")["items"][0]
        self.assertEqual(node["metadata"]["labels"]["hekla.io/rootless"], "true")
        top = json.loads(self.platform.kubectl("get", "--raw", "/apis/metrics.k8s.io/v1beta1/namespaces/default/pods/stays"))
        self.assertRegex(top["containers"][0]["usage"]["memory"], r"^[1-9]\d*")
        self.assertIn("uid=0", self.platform.kubectl("exec", "stays", "--", "sh", "-c", "id; ls /m/x /usr/share/deep/x"))

    def crash_and_adoption(self):
        before = self.platform.get("pod", "stays")["status"]["containerStatuses"][0]
        self.platform.kill()
        self.assertIn("conmon", " ".join(processes()))
        self.platform.up()
        after = self.platform.get("pod", "stays")["status"]["containerStatuses"][0]
        self.assertEqual((after["containerID"], after["restartCount"], after["state"]),
                         (before["containerID"], 0, before["state"]))
        self.assertEqual(self.platform.kubectl("logs", "stays"), "begun\n")
        self.assertEqual(self.platform.kubectl("exec", "stays", "--", "cat", "/etc/hostname"), "stays\n")

    def crash_and_down(self):
        self.platform.up()
        self.platform.kill()
        self.assertIn("sleep", " ".join(processes()))
        self.assertEqual(self.hekla("down").returncode, 0)
        self.all_has_ended()

    def test_a_data_directory_of_somebody_else(self):
        done = self.hekla("up", "--data-dir", "/var/lib/hekla-of-root")
        self.assertEqual(done.returncode, 1, done)
        self.assertIn("create the directory /var/lib/hekla-of-root: Permission denied", done.stderr)
        self.assertNotIn("namespaces", done.stderr)

    def test_doctor(self):
        if self.forbidden:
            self.assertIn("BAD", self.hekla("doctor").stdout)
            return
        said = self.hekla("doctor").stdout
        self.assertIn("user namespaces work", said)
        self.assertIn("no limits for cpu, memory and processes", said)


if __name__ == "__main__":
    unittest.main()
