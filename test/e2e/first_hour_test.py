"""The first hour: up in the background, status, what runs, a second person, and the mistakes that newcomers make."""
import json
import os
import pty
import re
import select
import shutil
import socket
import subprocess
import tempfile
import time
import unittest

import platform_under_test as put


def run(*arguments, cwd=None, stdin=None, check=True, **environment):
    """hekla as somebody types it; a variable that is None is not set."""
    merged = {name: value for name, value in dict(os.environ, **environment).items() if value is not None}
    done = subprocess.run([put.HEKLA, *arguments], capture_output=True, text=True, input=stdin, cwd=cwd, env=merged,
                          timeout=put.PATIENCE)
    if check and done.returncode != 0:
        raise AssertionError("%s: exit %d\n%s%s" % (arguments, done.returncode, done.stdout, done.stderr))
    return done


def read(path):
    with open(path) as file:
        return file.read()


def on_terminal(arguments, until, environment):
    """What a program shows on a terminal of 100 columns, until a text is there; then Ctrl-C. Its end code, too."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.environ.update(environment, TERM="xterm", COLUMNS="100")
        for name in ("CI", "KUBECONFIG"):
            os.environ.pop(name, None)
        os.execv(arguments[0], arguments)
    shown, begun, interrupted = b"", time.monotonic(), False
    while time.monotonic() - begun < put.PATIENCE:
        if select.select([terminal], [], [], 0.2)[0]:
            try:
                piece = os.read(terminal, 65536)
            except OSError:
                break
            if not piece:
                break
            shown += piece
        if not interrupted and until.encode() in shown:
            os.write(terminal, b"\x03")
            interrupted = True
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    os.close(terminal)
    return shown.decode(errors="replace"), code


class Place(unittest.TestCase):
    """A home and a data directory of the test's own."""
    maxDiff = None

    def setUp(self):
        self.home = tempfile.mkdtemp(prefix="hekla-e2e-hour-")
        self.addCleanup(shutil.rmtree, self.home, ignore_errors=True)
        self.data_dir = os.path.join(self.home, "data")
        self.here = ["--data-dir", self.data_dir]
        self.addCleanup(run, "down", "--now", *self.here, check=False)

    def hekla(self, *arguments, **more):
        return run(*arguments, **dict({"HOME": self.home, "KUBECONFIG": None}, **more))

    def up(self, *flags):
        return self.hekla("up", "--detach", *self.here, "--eviction-hard", "memory.available<1Mi", *flags)


class Background(Place):
    def test_up_status_and_down(self):
        before = self.hekla("status", *self.here, check=False)
        self.assertEqual((before.returncode, before.stdout), (
            3, "hekla does not run on %s: hekla up starts it, hekla up --detach in the background\n" % self.data_dir))
        self.assertEqual(json.loads(self.hekla("status", "-o", "json", *self.here, check=False).stdout)["running"], False)

        other = os.path.join(self.home, ".kube/config")
        os.mkdir(os.path.dirname(other))
        with open(other, "w") as file:
            file.write("apiVersion: v1\nkind: Config\ncurrent-context: work\nclusters: []\nusers: []\n"
                       "contexts: [{name: work, context: {cluster: work, user: me}}]\n")
        started = self.up("--image-map", "*=host", "--merge-kubeconfig").stdout
        facts = json.loads(self.hekla("status", "-o", "json", *self.here).stdout)
        self.assertTrue(facts["running"])
        self.assertIn("is ready in the background (pid %d)\n" % facts["pid"], started)
        for text in (facts["url"], facts["kubeconfig"], facts["web"], self.data_dir + "/hekla.log",
                     "hekla down --data-dir %s stops it" % self.data_dir):
            self.assertIn(text, started)
        self.assertEqual(facts["log"], self.data_dir + "/hekla.log")
        self.assertEqual(len(facts["nodes"]), 1)

        said = self.hekla("status", *self.here).stdout
        self.assertRegex(said, r"^hekla \S+ runs for \S+, since \S+ \(pid %d\)\n  address +%s\n" % (
            facts["pid"], re.escape(facts["url"])))
        for line in (r"kubeconfig +" + facts["kubeconfig"], r"page +http://localhost:\d+ ", r"nodes +1 ready: ",
                     r"pods +", r"jobs +none", r"queues +default"):
            self.assertRegex(said, r"(?m)^  " + line)

        # A second one says where the first is.
        second = self.hekla("up", *self.here, check=False)
        self.assertEqual((second.returncode, second.stderr), (
            1, "hekla: hekla is already running on %s at %s (pid %d); hekla status --data-dir %s tells more, "
            "hekla down --data-dir %s stops it\n" % (self.data_dir, facts["url"], facts["pid"], self.data_dir,
                                                     self.data_dir)))
        self.assertEqual(self.hekla("up", "-d", *self.here, check=False).stderr, second.stderr)

        # The context stands beside the other, which stays the current one.
        contexts = subprocess.run([put.kubectls()[0], "config", "get-contexts", "-o", "name"], capture_output=True,
                                  text=True, env=dict(os.environ, KUBECONFIG=other), check=True).stdout
        self.assertEqual(contexts.split(), ["hekla-data", "work"])
        nodes = subprocess.run([put.kubectls()[0], "--context", "hekla-data", "get", "nodes", "-o", "name"],
                               capture_output=True, text=True, env=dict(os.environ, KUBECONFIG=other), check=True).stdout
        self.assertEqual(nodes, "node/%s\n" % facts["nodes"][0]["name"])

        # The port is kept.
        self.assertRegex(self.hekla("down", *self.here).stdout, r"^hekla on \S+ is stopped\n$")
        self.assertEqual(put.leftovers(self.data_dir), [])
        self.up("--no-agent")
        self.assertEqual(json.loads(self.hekla("status", "-o", "json", *self.here).stdout)["url"], facts["url"])

    def test_pods_run_on_when_they_are_kept(self):
        self.up("--image-map", "*=host")
        self.hekla("apply", "-f", "-", *self.here, stdin=put.job("kept", 1, "100m"))
        self.hekla("wait", "pod/kept-w-0", "--for", "condition=Ready", "--timeout", "100s", *self.here)
        pod = lambda: json.loads(self.hekla("get", "pod", "kept-w-0", "-o", "json", *self.here).stdout)
        before = pod()["status"]["containerStatuses"][0]["containerID"]
        self.assertIn("is stopped; 1 pod left running, and the next hekla up goes on with it",
                      self.hekla("down", "--keep-pods", *self.here).stdout)
        self.assertIn("pods of an earlier run are still there", self.hekla("status", *self.here, check=False).stdout)
        self.up("--image-map", "*=host")
        put.wait_for("it runs as before", lambda: pod()["status"]["phase"] == "Running")
        self.assertEqual(pod()["status"]["containerStatuses"][0]["containerID"], before)
        self.assertIn("; 1 pod ended\n", self.hekla("down", "--now", *self.here).stdout)
        self.assertEqual(put.leftovers(self.data_dir), [])

    def test_what_cannot_start_says_why(self):
        with socket.create_server(("127.0.0.1", 0)) as taken:
            port = taken.getsockname()[1]
            done = self.hekla("up", "--detach", *self.here, "--no-agent", "--listen", "127.0.0.1:%d" % port, check=False)
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertIn("Address already in use", done.stderr)

    def test_on_a_terminal_it_shows_what_runs(self):
        shown, code = on_terminal([put.HEKLA, "up", "--no-agent", "--fake-nodes", "3", *self.here], "3 ready",
                                  {"HOME": self.home})
        self.assertEqual(code, 0, shown)
        for text in ("is ready after", "address", "https://127.0.0.1:", "kubeconfig", self.data_dir + "/admin.kubeconfig",
                     "3 ready", "queues", "Ctrl-C ends pods gracefully"):
            self.assertIn(text, shown)
        self.assertEqual(put.leftovers(self.data_dir), [])


class Newcomer(Place):
    """The mistakes that people make in their first hour; each ends in a sentence that says what to do."""

    def test_a_port_that_is_taken(self):
        with socket.create_server(("127.0.0.1", 0)) as taken:
            port = taken.getsockname()[1]
            for flag in ("--listen", "--web-listen"):
                done = self.hekla("up", "--no-agent", *self.here, flag, "127.0.0.1:%d" % port, check=False)
                self.assertEqual((done.returncode, done.stdout), (1, ""))
                self.assertEqual(done.stderr, (
                    "hekla: listening on 127.0.0.1:%d: Address already in use by %s (pid %d); choose another address with "
                    "%s ADDR:PORT (port 0 takes a free one)\n" % (
                        port, read("/proc/self/comm").strip(), os.getpid(), flag)))

    @unittest.skipUnless(os.geteuid() == 0, "takes user namespaces away from an ordinary user")
    def test_neither_root_nor_user_namespaces(self):
        os.chmod(self.home, 0o777)
        done = subprocess.run(
            ["unshare", "--user", "--map-user=1000", "--keep-caps", "--mount-proc", "--mount", "--pid", "--fork", "sh", "-c",
             'echo 0 >/proc/sys/user/max_user_namespaces && exec "$@"', "sh", put.HEKLA, "up", *self.here],
            capture_output=True, text=True, timeout=put.PATIENCE, env=dict(os.environ, HOME=self.home))
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        self.assertIn("hekla: running pods needs root, or user namespaces, which do not work here", done.stderr)
        self.assertIn("use sudo hekla up, or --no-agent to run without this machine's own node\n", done.stderr)

    def test_no_kubectl(self):
        bare = os.path.join(self.home, "bin")
        os.mkdir(bare)
        with open(os.path.join(self.home, "said"), "wb") as said:
            process = subprocess.Popen([put.HEKLA, "up", "--no-agent", *self.here], stdout=said,
                                       env=dict(os.environ, HOME=self.home, PATH=bare))
        self.addCleanup(process.wait, put.PATIENCE)
        self.addCleanup(process.terminate)
        sentence = ("kubectl is not on this machine (apt install kubernetes-client brings it); hekla get, apply, logs and "
                    "wait do its work without it\n")
        put.wait_for("it says so", lambda: sentence in read(os.path.join(self.home, "said")))

    def test_typing_mistakes_in_a_file(self):
        self.up("--no-agent", "--fake-nodes", "1")
        path = os.path.join(self.home, "job.yaml")

        def refused(verb, old, new):
            with open(path, "w") as file:
                file.write(put.job("typo", 2, "1").replace(old, new))
            done = self.hekla(verb, "-f", path, *self.here, check=False)
            self.assertEqual(done.returncode, 1, done.stdout)
            return done.stderr

        for verb in ("apply", "run"):
            self.assertIn('%s:6: ' % path, refused(verb, "minAvailable", "minAvailble"))
            self.assertIn('unknown field "spec.minAvailble", did you mean "minAvailable"?',
                          refused(verb, "minAvailable", "minAvailble"))
            inside = refused(verb, "terminationGracePeriodSeconds", "terminationGracePeriodSecond")
            self.assertIn("%s:14: " % path, inside)
            self.assertIn('did you mean "terminationGracePeriodSeconds"?', inside)
            self.assertIn('no matches for kind "Jbo" in version "batch.volcano.sh/v1alpha1", did you mean Job?',
                          refused(verb, "kind: Job", "kind: Jbo"))
            self.assertIn("a Job is served as batch/v1, batch.volcano.sh/v1alpha1",
                          refused(verb, "batch.volcano.sh/v1alpha1", "batch.volcano.sh/v1"))
        self.assertIn("job.yaml: yaml: line 5: did not find expected ',' or '}'",
                      refused("apply", "metadata: {name: typo}", "metadata: {name: typo"))

    def test_a_job_too_big_for_the_machine(self):
        self.up("--no-agent", "--fake-nodes", "2", "--fake-node-resources", "cpu=4,memory=8Gi,pods=20")
        path = os.path.join(self.home, "big.yaml")
        with open(path, "w") as file:
            file.write(put.job("big", 1, "64"))
        done = self.hekla("run", "-f", path, "--timeout", "12", *self.here, check=False)
        self.assertEqual(done.returncode, 1)
        self.assertIn("job big waits:\n", done.stdout)
        said = done.stdout.split("job big waits:\n")[1]
        self.assertRegex(said, r"64 cpu")
        self.assertRegex(said, r"(?m)^-> .+")
        self.assertIn("the job has not ended within 12 s", done.stderr)

    @unittest.skipUnless(os.geteuid() == 0, "makes a chroot")
    def test_a_plain_chroot(self):
        script = ("set -e; mount -t tmpfs none /mnt; mkdir /mnt/sub /mnt/sub/root; cd /mnt/sub/root; "
                  "mkdir proc sys dev tmp etc run var; for d in usr bin sbin lib lib64; do "
                  "[ -L /$d ] && cp -P /$d . || { mkdir -p $d; mount --rbind /$d $d; }; done; "
                  "mount -t proc proc proc; mount --rbind /sys sys; mount --rbind /dev dev; cp -r /etc/passwd etc; "
                  "cp %s tmp/hekla; exec chroot . /tmp/hekla %s --data-dir /tmp/data")
        for verb in ("up", "doctor"):
            arguments = script % (put.HEKLA, verb) if verb == "up" else (script % (put.HEKLA, verb)).split(" --data")[0]
            done = subprocess.run(["unshare", "--mount", "--pid", "--fork", "sh", "-c", arguments], capture_output=True,
                                  text=True, timeout=put.PATIENCE)
            self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
            said = done.stdout + done.stderr
            self.assertIn("/ is no mount point, as in a plain chroot, where no container can be started", said)
            self.assertIn("mount --bind DIR DIR", said)


class WhatRuns(Place):
    """top, events, wait, logs, a command without YAML, a second person, completion of names."""

    def test_a_command_as_a_gang(self):
        work = os.path.join(self.home, "work")
        os.mkdir(work)
        with open(os.path.join(work, "train.py"), "w") as file:
            file.write("import os, sys\nprint('replica', os.environ['VC_TASK_INDEX'], 'of',\n"
                       "      len(os.environ['VC_WORKER_HOSTS'].split(',')), sys.argv[1:], os.getcwd())\n")
        self.up("--image-map", "*=host")
        done = self.hekla("run", "--replicas", "3", "--name", "three", *self.here, "--", "python", "train.py", "--epochs", "2",
                          cwd=work)
        for index in range(3):
            self.assertIn("three-worker-%d | replica %d of 3 ['--epochs', '2'] /workspace\n" % (index, index), done.stdout)
        self.assertRegex(done.stdout, r"job three ended as Completed after [0-9.]+ s\n$")
        job = json.loads(self.hekla("get", "vcjob", "three", "-o", "json", *self.here).stdout)
        self.assertEqual(job["spec"]["minAvailable"], 3)

        failed = self.hekla("run", *self.here, "--name", "bad", "--", "sh", "-c", "echo oh; exit 3", cwd=work, check=False)
        self.assertEqual(failed.returncode, 1)
        self.assertIn("bad-worker-0 | oh\n", failed.stdout)
        self.assertIn("job bad ended as Terminated", failed.stdout)
        for words, sentence in ((["job.yaml"], "job.yaml is a file of objects, no program: hekla run -f job.yaml"),
                                ([], "name what to run: -f FILE, or a command after -- (see hekla run --help)")):
            with open(os.path.join(work, "job.yaml"), "w"):
                pass
            wrong = self.hekla("run", *self.here, *words, cwd=work, check=False)
            self.assertEqual((wrong.returncode, wrong.stderr), (2, "hekla: %s\n" % sentence))

        # How jobs ended, by name alone.
        self.assertEqual(self.hekla("wait", "three", *self.here).stdout, "job three ended as Completed\n")
        lost = self.hekla("wait", "bad", *self.here, check=False)
        self.assertEqual((lost.returncode, lost.stderr), (
            1, "hekla: not completed: job bad (hekla logs NAME shows why)\n"))
        self.assertIn("three-worker-2 | replica 2 of 3", self.hekla("logs", "-f", "three", *self.here).stdout)
        self.assertIn("there is no job \"none\"", self.hekla("wait", "none", *self.here, check=False).stderr)

        events = self.hekla("events", "three", *self.here).stdout
        self.assertEqual(events.splitlines()[0].split("  ")[0], "LAST SEEN")
        self.assertIn("pod/three-worker-0", events)
        self.assertNotIn("bad-worker", events)
        self.assertIn("no events of none", self.hekla("events", "none", *self.here).stderr)

    def test_top(self):
        self.up("--no-agent", "--fake-nodes", "2", "--fake-node-resources", "cpu=4,memory=8Gi,pods=20,nvidia.com/gpu=2")
        self.hekla("apply", "-f", "-", *self.here, stdin=put.job("runs", 3, "1"))
        self.hekla("apply", "-f", "-", *self.here, stdin=put.job("waits", 1, "64"))
        put.wait_for("it runs", lambda: self.hekla("get", "vcjob", "runs", "-o", "yaml", *self.here)
                     .stdout.count("phase: Running"))
        told = lambda: json.loads(self.hekla("top", "-o", "json", *self.here).stdout)
        put.wait_for("the queue counts it", lambda: [queue["allocated"].get("cpu") for queue in told()["queues"]
                                                     if queue["name"] == "default"] == ["3"])
        jobs = {job["name"]: (job["state"], job["running"], job["replicas"], job["queue"]) for job in told()["jobs"]}
        self.assertEqual(jobs, {"runs": ("Running", 3, 3, "default"), "waits": ("Pending", 0, 1, "default")})
        self.assertEqual(sum(float(node["requested"].get("cpu", 0)) for node in told()["nodes"]), 3)
        said = self.hekla("top", *self.here).stdout
        for line in (r"NODES", r"  fake-\S+ +cpu +[█▏▎▍▌▋▊▉░]+ [0-9.]+/4 ", r"QUEUES", r"  default .*cpu +\S+ 3/8 .*weight 1",
                     r"JOBS", r"  runs +job +Running +█+ 3/3 ", r"  waits +job +Pending +░+ 0/1 "):
            self.assertRegex(said, r"(?m)^" + line)
        self.assertNotIn("JOBS", self.hekla("top", "nodes", *self.here).stdout)
        self.assertEqual(self.hekla("top", "pods", *self.here, check=False).returncode, 2)

    def test_a_second_person(self):
        self.up("--no-agent")
        said = self.hekla("user", "kubeconfig", "alice", "-n", "team-a", *self.here, cwd=self.home).stdout
        self.assertIn("namespace team-a is created\n", said)
        self.assertRegex(said, r"alice may edit in namespace team-a until \S+, with alice.kubeconfig\n")
        self.assertIn("it works on this machine alone", said)
        file = os.path.join(self.home, "alice.kubeconfig")
        self.assertEqual(os.stat(file).st_mode & 0o777, 0o600)

        def may(verb, *what):
            done = subprocess.run([put.kubectls()[0], "--kubeconfig", file, "auth", "can-i", verb, *what], text=True,
                                  capture_output=True, timeout=put.PATIENCE)
            return done.stdout.strip()
        self.assertEqual([may("create", "jobs.batch.volcano.sh"), may("get", "pods/log"), may("create", "rolebindings"),
                          may("list", "pods", "-n", "default"), may("list", "nodes")], ["yes", "yes", "no", "no", "no"])
        self.assertEqual(self.hekla("apply", "-f", "-", KUBECONFIG=file, stdin=put.job("hers", 1, "1")).stdout,
                         "job.batch.volcano.sh/hers created\n")
        # Another role in the place of the first; and nothing at all.
        self.hekla("user", "kubeconfig", "alice", "-n", "team-a", "--role", "view", "--file", "-", *self.here)
        self.assertEqual(may("create", "jobs.batch.volcano.sh"), "no")
        self.hekla("delete", "serviceaccount", "alice", "-n", "team-a", *self.here)
        put.wait_for("she is out", lambda: self.hekla("get", "pods", KUBECONFIG=file, check=False).returncode == 1)

    def test_completion_knows_objects(self):
        self.up("--no-agent", "--fake-nodes", "1")
        self.hekla("apply", "-f", "-", *self.here, stdin=put.job("train", 1, "1"))
        self.hekla("apply", "-f", "-", *self.here,
                   stdin="apiVersion: scheduling.volcano.sh/v1beta1\nkind: Queue\nmetadata: {name: research}\n")

        def complete(*words):
            script = ('source <("%s" completion bash); COMP_WORDS=("%s" %s); COMP_CWORD=%d; _hekla; '
                      'printf "%%s\n" "${COMPREPLY[@]}"' % (
                          put.HEKLA, put.HEKLA, " ".join("'%s'" % word for word in words), len(words)))
            return subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True, cwd=self.home,
                                  env=dict(os.environ, KUBECONFIG=self.data_dir + "/admin.kubeconfig")).stdout.split()
        self.assertEqual(complete("logs", "-f", "tr"), ["train", "train-w-0"])
        self.assertEqual(complete("explain", "job", ""), ["train"])
        self.assertEqual(complete("get", "vcj"), ["vcjob"])
        self.assertEqual(complete("get", "vcjob/t"), ["vcjob/train"])
        self.assertEqual(complete("delete", "queue", "res"), ["research"])
        self.assertEqual(complete("run", "--queue", "res"), ["research"])
        self.assertEqual(complete("top", "-n", "kube-p"), ["kube-public"])


class Texts(Place):
    def test_manual_pages(self):
        pages = os.path.join(self.home, "man")
        self.hekla("man", pages)
        self.assertIn("hekla.1", os.listdir(pages))
        self.assertIn("hekla-up.1", os.listdir(pages))
        with open(os.path.join(pages, "hekla-run.1")) as file:
            page = file.read()
        self.assertIn(".SH NAME\nhekla\\-run \\- ", page)
        self.assertIn("\\-\\-replicas", page)
        if shutil.which("man"):
            for name in os.listdir(pages):
                done = subprocess.run(["man", "--warnings", "-E", "UTF-8", "-l", os.path.join(pages, name)], text=True,
                                      capture_output=True, env=dict(os.environ, MANWIDTH="100"))
                self.assertEqual((done.returncode, done.stderr), (0, ""), name)

    def test_help_is_in_groups_and_teaches_by_example(self):
        said = self.hekla("--help").stdout
        groups = [said.index(title) for title in ("Every day:", "Administration:", "Testing:")]
        self.assertEqual(groups, sorted(groups))
        self.assertLess(said.index("  up "), said.index("  simulate "))
        self.assertNotIn("\nMore:", said)
        self.assertIn("hekla run --replicas 4 -- python train.py", said)
        alone = self.hekla(check=False)
        self.assertEqual((alone.returncode, alone.stdout, alone.stderr), (2, "", said))
        # The flags of up are named in run's help, and explained in their own.
        help_of_run = self.hekla("run", "--help").stdout
        self.assertIn("Flags of hekla up, for a platform it starts: ", help_of_run)
        self.assertNotIn("where everything durable lives", help_of_run)
        for verb in ("up", "status", "down", "run", "train", "top", "explain", "logs", "events", "wait", "get", "apply",
                     "delete", "describe"):
            self.assertRegex(self.hekla(verb, "--help").stdout, r"Examples?:\n  ", verb)

    def test_version_tells_what_it_was_built_from(self):
        said = self.hekla("version").stdout
        self.assertRegex(said, r"^hekla \d+\.\d+\.\d+ \(commit \S+( of \d{4}-\d\d-\d\d)?, g\+\+ [0-9.]+\)\n")
        for line in (r"build +release for \S+", r"libraries +Boost \S+, OpenSSL 3\.", r"page +(built in|not built in)"):
            self.assertRegex(said, r"(?m)^  " + line)
        self.assertEqual(set(json.loads(self.hekla("version", "-o", "json").stdout)), {
            "version", "commit", "commitDate", "compiler", "build", "libraries", "kubernetes", "page"})


if __name__ == "__main__":
    unittest.main()
