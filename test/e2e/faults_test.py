"""Faults a node must survive: kill -9 of hekla at random moments, and pods that misbehave.

HEKLA_FAULTS=long is what `make test-faults` runs: a hundred kills with fifty pods at a time. HEKLA_SEED replays a run.
"""
import collections
import json
import os
import random
import shutil
import tempfile
import time
import unittest

import platform_under_test as put

LONG = os.environ.get("HEKLA_FAULTS") == "long"
KILLS, PODS = (100, 50) if LONG else (2, 8)

# Begins and ends by a line in a file of the host's, so that a second run of the same pod would show.
WITNESS = """
apiVersion: v1
kind: Pod
metadata: {name: %(name)s}
spec:
  schedulerName: volcano
  restartPolicy: Never
  terminationGracePeriodSeconds: 0
  containers:
  - name: c
    image: any
    command: [sh, -c, "echo begin >> /runs/%(name)s; echo said; sleep %(seconds)s; echo end >> /runs/%(name)s; exit %(code)d"]
    volumeMounts: [{name: runs, mountPath: /runs}]
  volumes: [{name: runs, hostPath: {path: %(runs)s}}]
---
"""

MISBEHAVING = """
apiVersion: v1
kind: Pod
metadata: {name: %s}
spec:
  schedulerName: volcano
  restartPolicy: Never
  terminationGracePeriodSeconds: 1
  containers:
  - name: c
    image: any
    command: [python3, -c, %s]
    resources: {limits: {memory: 64Mi}}
    volumeMounts: [{name: disk, mountPath: /disk}, {name: small, mountPath: /small}]
  volumes: [{name: disk, emptyDir: {}}, {name: small, emptyDir: {medium: Memory, sizeLimit: 8Mi}}]
"""


def zombies():
    """How many the process with most of them has; those that wait for the machine's init are not a pod's."""
    parents = collections.Counter()
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open("/proc/%s/stat" % pid) as file:
                state, parent = file.read().rpartition(")")[2].split()[:2]
        except OSError:
            continue
        if state == "Z" and parent != "1":
            parents[parent] += 1
    return max(parents.values(), default=0)


class Kills(unittest.TestCase):
    def setUp(self):
        seed = int(os.environ.get("HEKLA_SEED", random.randrange(1 << 30)))
        print("HEKLA_SEED=%d" % seed)
        self.random = random.Random(seed)
        self.runs = tempfile.mkdtemp(prefix="hekla-faults-")
        self.addCleanup(shutil.rmtree, self.runs, True)
        self.platform = put.Platform("--image-map", "*=host", "--node-resources", "pods=200")
        self.addCleanup(self.platform.destroy)
        self.platform.up()

    def phases(self):
        return {pod["metadata"]["name"]: pod["status"].get("phase") for pod in self.platform.get("pods")["items"]}

    def test_no_pod_is_lost_run_twice_or_leaked(self):
        kills, batch = 0, 0
        while kills < KILLS:
            batch += 1
            pods = {"b%d-p%d" % (batch, i): self.random.choice([0, 0, 3]) for i in range(PODS)}
            self.platform.apply_text("".join(WITNESS % {
                "name": name, "code": code, "seconds": round(self.random.uniform(0, 4), 2), "runs": self.runs}
                for name, code in pods.items()))
            while kills < KILLS and any(phase in ("Pending", "Running", None) for phase in self.phases().values()):
                time.sleep(self.random.uniform(0, 1.5))
                self.platform.kill()
                self.platform.up()
                kills += 1
            put.wait_for("batch %d has ended" % batch, lambda: all(
                phase in ("Succeeded", "Failed") for phase in self.phases().values()), 2 * put.PATIENCE, 0.3)
            self.assertEqual(self.phases(), {n: "Failed" if code else "Succeeded" for n, code in pods.items()})
            for name in pods:
                with open(os.path.join(self.runs, name)) as file:
                    self.assertEqual(file.read().split(), ["begin", "end"], name)
            for name in self.random.sample(sorted(pods), 3):
                self.assertEqual(self.platform.kubectl("logs", name), "said\n")
            self.platform.kubectl("delete", "pods", "--all")
        self.platform.terminate()
        self.assertEqual(put.leftovers(self.platform.data_dir), [])
        self.assertEqual(os.listdir(os.path.join(self.platform.data_dir, "pods")), [])


class Misbehaviour(put.PlatformTest):
    def run_pod(self, name, program, phase="Succeeded"):
        self.platform.apply_text(MISBEHAVING % (name, json.dumps(program)))
        put.wait_for("pod %s is %s" % (name, phase), lambda: self.platform.get("pod", name)["status"].get("phase") ==
                     phase, timeout=2 * put.PATIENCE)
        return self.platform.get("pod", name)["status"]["containerStatuses"][0]["state"]

    def test_memory_hog_is_killed_alone(self):
        state = self.run_pod("hog", "x = []\nwhile True: x.append(bytearray(1 << 20))", "Failed")
        self.assertEqual((state["terminated"]["reason"], state["terminated"]["exitCode"]), ("OOMKilled", 137))

    def test_full_volume_is_the_pods_own_problem(self):
        self.run_pod("filler", "try:\n  f = open('/small/x', 'wb')\n  while True: f.write(bytes(1 << 20))\n"
                               "except OSError as e:\n  print(e.strerror)")
        self.assertEqual(self.platform.kubectl("logs", "filler"), "No space left on device\n")

    def test_a_flood_of_log_lines_fills_no_disk(self):
        self.run_pod("flood", "line = b'x' * 199 + b'\\n'\nimport sys\n"
                              "for i in range(4000): sys.stdout.buffer.write(line * 100)\nprint('the end')")
        uid = self.platform.get("pod", "flood")["metadata"]["uid"]
        place = os.path.join(self.platform.data_dir, "pods", uid, "containers", "c")
        # Three files of 16 MiB at most, some under two names.
        sizes = {entry.inode(): entry.stat().st_size for entry in os.scandir(place)}
        self.assertLess(sum(sizes.values()), 49 << 20)
        self.assertEqual(self.platform.kubectl("logs", "flood", "--tail=1"), "the end\n")

    def test_zombies_go_with_their_pod(self):
        self.run_pod("zombies", "import os, time\nfor i in range(300):\n  if os.fork() == 0: os._exit(0)\n"
                                "print('made', flush=True); time.sleep(600)", "Running")
        put.wait_for("there are zombies", lambda: zombies() >= 300)
        self.platform.kubectl("delete", "pod", "zombies")
        put.wait_for("they are gone", lambda: zombies() < 300)

    def test_sigterm_ignorer_is_killed(self):
        self.run_pod("stubborn", "import signal, time\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
                                 "print('deaf', flush=True); time.sleep(600)", "Running")
        put.wait_for("it is deaf", lambda: self.platform.kubectl("logs", "stubborn") == "deaf\n")
        begin = time.time()
        self.platform.kubectl("delete", "pod", "stubborn")
        # Less than the grace of pods that name none.
        self.assertTrue(1 <= time.time() - begin < 25, "%.1f s" % (time.time() - begin))

    def test_ten_thousand_files(self):
        self.run_pod("files", "import os\nfor d in range(100):\n  os.mkdir('/disk/%d' % d)\n"
                              "  for f in range(100): open('/disk/%d/%d' % (d, f), 'w').close()\nprint('done')")
        uid = self.platform.get("pod", "files")["metadata"]["uid"]
        begin = time.time()
        self.platform.kubectl("delete", "pod", "files")
        put.wait_for("its directory is gone", lambda: not os.path.exists(
            os.path.join(self.platform.data_dir, "pods", uid)))
        self.assertLess(time.time() - begin, 60)

    def test_dns_under_a_thousand_queries_a_second(self):
        program = r"""
import random, socket, struct, time
name = b''.join(bytes([len(x)]) + x for x in b'kubernetes.default.svc.cluster.local'.split(b'.')) + b'\0'
for line in open('/etc/resolv.conf'):
  if line.startswith('nameserver'): server = line.split()[1]
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.setblocking(False)
s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20)
good, answered, total, begin = 0, 0, 3000, time.time()
def drain():
  global good, answered
  while True:
    try: answer = s.recv(2048)
    except BlockingIOError: return
    answered += 1
    flags, questions, answers = struct.unpack('!HHH', answer[2:8])
    good += (flags & 15) == 0 and answers == 1
for i in range(total):
  s.sendto(struct.pack('!HHHHHH', i, 0x100, 1, 0, 0, 0) + name + b'\0\1\0\1', (server, 53))
  drain()
  while time.time() < begin + i / 1000: time.sleep(0.0005); drain()
  # A machine that is behind gets what it missed at its own pace and not at once: nobody's buffer is that large.
  end = time.time() + 5
  while i - answered > 100 and time.time() < end: time.sleep(0.0005); drain()
end = time.time() + 10
while good < total and time.time() < end: time.sleep(0.01); drain()
print(good, total)
"""
        self.run_pod("dns", program)
        good, total = map(int, self.platform.kubectl("logs", "dns").split())
        self.assertGreaterEqual(good, total * 0.99)


if __name__ == "__main__":
    unittest.main()
