"""The command line without kubectl, and vcctl's commands with their tables."""
import os
import re
import shutil
import subprocess
import tempfile
import unittest

import platform_under_test as put

JOB = """
apiVersion: scheduling.volcano.sh/v1beta1
kind: Queue
metadata: {name: cli}
spec: {weight: 2}
---
apiVersion: batch.volcano.sh/v1alpha1
kind: Job
metadata: {name: one, labels: {team: a}}
spec:
  queue: cli
  tasks:
  - name: t
    replicas: 2
    template: {spec: {restartPolicy: Never, containers: [{name: c, image: i, command: [sleep, "600"]}]}}
"""


class CommandLine(put.PlatformTest):
    FLAGS = ["--no-agent", "--fake-nodes", "2", "--fake-node-resources", "cpu=8,memory=16Gi,pods=20"]

    def hekla(self, *arguments, name=None, check=True, stdin=None, **more):
        environment = dict(os.environ, KUBECONFIG=self.platform.kubeconfig, **more)
        program = put.HEKLA
        if name:
            program = os.path.join(self.platform.home, name)
            if not os.path.exists(program):
                os.symlink(put.HEKLA, program)
        done = subprocess.run([program] + list(arguments), capture_output=True, text=True, input=stdin,
                              env=environment, timeout=put.PATIENCE)
        if check:
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            return done.stdout
        return done

    def test_1_objects(self):
        # A queue and a job in it, in one file, applied once.
        self.assertEqual(self.hekla("apply", "-f", "-", stdin=JOB),
                         "queue.scheduling.volcano.sh/cli created\njob.batch.volcano.sh/one created\n")
        self.assertEqual(self.hekla("apply", "-f", "-", stdin=JOB),
                         "queue.scheduling.volcano.sh/cli unchanged\njob.batch.volcano.sh/one unchanged\n")
        self.assertIn("condition met", self.hekla(
            "wait", "vcjob/one", "--for", "jsonpath={.status.state.phase}=Running", "--timeout", "110s"))
        self.assertEqual(self.hekla("get", "vcjob", "-A").splitlines()[0].split(),
                         ["NAMESPACE", "NAME", "STATUS", "MINAVAILABLE", "RUNNINGS", "AGE"])
        self.assertEqual(self.hekla("get", "vcjob", "-l", "team=a", "-o", "name"), "job.batch.volcano.sh/one\n")
        without_age = lambda table: re.sub(r"\S+$", "", table, flags=re.M)  # a second may pass between the two
        self.assertEqual(without_age(self.hekla("get", "vcjob", "one")),
                         without_age(self.platform.kubectl("get", "vcjob", "one")))
        # kubectl 1.20 still shows managedFields.
        without_managers = lambda text: re.sub(r"^  managedFields:\n(  [- ] .*\n)*", "", text, flags=re.M)
        put.wait_for("the same, once nobody changes it", lambda: self.hekla("get", "vcjob/one", "-o", "yaml") ==
                     without_managers(self.platform.kubectl("get", "vcjob", "one", "-o", "yaml")))
        self.assertIn("Min Available:", self.hekla("describe", "vcjob", "one"))
        self.assertEqual(re.sub(r"Age.*", "", self.hekla("describe", "vcjob/one"), flags=re.S),
                         re.sub(r"Age.*", "", self.hekla("describe", "vcjob", "one"), flags=re.S))
        unnamed = self.hekla("wait", "pods", "--for", "condition=Ready", check=False)
        self.assertEqual((unnamed.returncode, unnamed.stderr),
                         (1, "hekla: resource(s) were provided, but no name was specified\n"))
        self.hekla("apply", "-f", "-", stdin="{apiVersion: v1, kind: ConfigMap, metadata: {name: there}}")
        partly = self.hekla("delete", "cm", "away", "there", "gone", check=False)
        self.assertEqual((partly.returncode, partly.stdout), (1, 'configmap "there" deleted\n'))
        self.assertEqual(partly.stderr, 'hekla: configmaps "away" not found\nhekla: configmaps "gone" not found\n')
        missing = self.hekla("get", "vcjob", "none", check=False)
        self.assertEqual(missing.returncode, 1)
        self.assertIn('jobs.batch.volcano.sh "none" not found', missing.stderr)

    def test_1_training_jobs(self):
        text = """
apiVersion: kubeflow.org/v1
kind: TFJob
metadata: {name: short}
spec:
  tfReplicaSpecs:
    Worker:
      replicas: 2
      template:
        metadata: {annotations: {hekla.io/run-duration: 1s}}
        spec: {containers: [{name: tensorflow, image: any}]}
---
apiVersion: kubeflow.org/v1beta1
kind: TFJob
metadata: {name: wrong}
spec:
  tfReplicaSpecs:
    MASTER:
      template:
        metadata: {annotations: {hekla.io/run-duration: 1s, hekla.io/exit-code: "3"}}
        spec: {restartPolicy: Never, containers: [{name: tensorflow, image: any}]}
"""
        done = self.hekla("run", "-f", "-", "--no-logs", stdin=text, check=False)
        self.assertEqual(done.returncode, 1, done.stderr)
        said = done.stdout
        self.assertRegex(said, r"(?m)^pod short-worker-1: Succeeded$")
        self.assertRegex(said, r"(?m)^tfjob short ended as Succeeded after [0-9.]+ s$")
        self.assertIn("tfjob wrong: Failed: TFJob default/wrong has failed because 1 Master replica(s) failed.\n", said)
        again = self.hekla("run", "-f", "-", stdin=text, check=False)
        self.assertEqual(again.returncode, 1)
        self.assertRegex(again.stdout, r"(?m)^tfjob short succeeded \S+ ago: nothing was run; to run it again, add --replace$")
        self.assertIn("condition met", self.hekla("wait", "tfjob/short", "--for", "condition=succeeded"))
        self.assertIn("the job is over: TFJobSucceeded, ", self.hekla("explain", "tfjob", "short"))
        self.assertIn("short-worker-0: no node agent serves logs", self.hekla("logs", "short", check=False).stderr)

    def test_1_typos_are_answered_with_the_right_name(self):
        wrong = JOB.replace("queue: cli", "queue: cli\n  minAvailble: 1").replace("name: one", "name: typo")
        refused = self.hekla("apply", "-f", "-", stdin=wrong, check=False)
        self.assertEqual(refused.returncode, 1)
        self.assertIn('unknown field "spec.minAvailble", did you mean "minAvailable"?', refused.stderr)
        # An older kubectl, which leaves validation to itself, and one told not to validate.
        warned = self.platform.kubectl("apply", "--validate=false", "-f", "-", stdin=wrong, check=False)
        self.assertEqual(warned.returncode, 0, warned.stderr)
        self.assertIn('Warning: unknown field "spec.minAvailble", did you mean "minAvailable"?', warned.stderr)
        self.hekla("delete", "vcjob", "typo")

    def test_1_server_side_and_watch(self):
        queue = "apiVersion: scheduling.volcano.sh/v1beta1\nkind: Queue\nmetadata: {name: watched}\nspec: {weight: %d}\n"
        self.assertEqual(self.hekla("apply", "--server-side", "-f", "-", stdin=queue % 2),
                         "queue.scheduling.volcano.sh/watched serverside-applied\n")
        fields = self.platform.get("queue", "watched", "--show-managed-fields")["metadata"]["managedFields"] \
            if "--show-managed-fields" in self.platform.kubectl("get", "--help") else \
            self.platform.get("queue", "watched")["metadata"]["managedFields"]
        self.assertIn(("kubectl", "Apply"), [(entry["manager"], entry["operation"]) for entry in fields])
        watch = subprocess.Popen([put.HEKLA, "get", "queue", "watched", "-w", "--kubeconfig", self.platform.kubeconfig],
                                 stdout=subprocess.PIPE, text=True)
        self.addCleanup(watch.stdout.close)
        self.addCleanup(watch.wait)
        self.addCleanup(watch.kill)
        self.assertEqual(put.line_of(watch).split(), ["NAME", "AGE", "PARENT"])
        self.assertEqual(put.line_of(watch).split()[0], "watched")
        self.hekla("apply", "--server-side", "-f", "-", stdin=queue % 3)
        self.assertEqual(put.line_of(watch).split()[0], "watched")

    def test_2_lsf(self):
        """vsub, vjobs, vsuspend, vresume, vcancel by their own names; -n is the name there."""
        self.assertEqual(self.hekla("-n", "sub", "-i", "busybox", "-r", "2", "-c", "sleep 600", name="vsub"),
                         "run job sub successfully\n")
        self.platform.wait_phase("sub", "Running")
        self.assertEqual(self.platform.get("vcjob", "sub")["spec"]["tasks"][0]["template"]["spec"]["containers"][0]["command"],
                         ["sleep", "600"])
        self.platform.kubectl("create", "namespace", "lsf")
        self.hekla("-n", "quoted", "-c", r"""sh -c "echo 'a b'; exit \"0\"" ''""", name="vsub",
                   VOLCANO_DEFAULT_JOB_NAMESPACE="lsf")
        task = self.platform.get("vcjob", "quoted", "-n", "lsf")["spec"]["tasks"][0]
        self.assertEqual(task["template"]["spec"]["containers"][0]["command"], ["sh", "-c", "echo 'a b'; exit \"0\"", ""])
        self.assertEqual((task["name"], task["template"]["metadata"]["labels"]), ("default0", {"job.volcano.sh": "quoted"}))
        unended = self.hekla("-n", "u", "-c", "echo 'a", name="vsub", check=False)
        self.assertEqual((unended.returncode, unended.stderr), (1, 'hekla: the command "echo \'a" ends within quotes\n'))
        self.assertIn("sub", self.hekla(name="vjobs"))
        self.assertTrue(self.hekla("-n", "sub", name="vjobs").startswith("Name:         sub\n"))
        self.hekla("-n", "sub", name="vsuspend")
        self.platform.wait_phase("sub", "Aborted")
        self.hekla("-n", "sub", name="vresume")
        self.platform.wait_phase("sub", "Running")
        self.assertIn("default", self.hekla("-n", "default", name="vqueues"))
        self.assertEqual(self.hekla("-n", "sub", name="vcancel"), "delete job sub successfully\n")

    def test_2_vcctl(self):
        self.hekla("job", "run", "-N", "two", "-r", "2", "-m", "1", "-R", "cpu=100m,memory=10Mi",
                   "-L", "cpu=100m,memory=10Mi", name="vcctl")
        self.platform.wait_phase("two", "Running")
        table = [line.split() for line in self.hekla("job", "list", "--selector", "two").splitlines()]
        self.assertEqual(table[0], ["Name", "Creation", "Phase", "JobType", "Replicas", "Min", "Pending", "Running",
                                    "Succeeded", "Failed", "Unknown", "RetryCount"])
        self.assertEqual(table[1][0], "two")
        self.assertEqual(table[1][2:6], ["Running", "Batch", "2", "1"])
        self.assertIn("two-default0-0", self.hekla("pod", "list", "-j", "two"))
        # A plain pod is no job's, but may be in a queue.
        self.hekla("apply", "-f", "-", stdin="""{apiVersion: v1, kind: Pod, metadata: {name: plain, annotations:
            {scheduling.volcano.sh/queue-name: default}}, spec: {schedulerName: volcano, containers: [{name: c, image: i}]}}""")
        self.assertNotIn("plain", self.hekla("pod", "list"))
        self.assertIn("plain", self.hekla("pod", "list", "-q", "default"))
        self.assertIn("two-default0-1", self.hekla("pod", "list", "-q", "default", "-n", "default"))
        self.platform.kubectl("delete", "pod", "plain")
        self.hekla("job", "suspend", "-N", "two")
        self.platform.wait_phase("two", "Aborted")
        self.hekla("-n", "two", name="vresume")
        self.platform.wait_phase("two", "Running")
        self.assertNotIn("retryCount", self.platform.get("vcjob", "two")["status"])
        self.assertEqual(self.hekla("-n", "two", name="vcancel"), "delete job two successfully\n")

    def test_3_queues(self):
        self.hekla("queue", "create", "-n", "q3", "-w", "4")
        put.wait_for("it is open", lambda: self.hekla("queue", "get", "-n", "q3").splitlines()[1].split()[:4] ==
                     ["q3", "4", "Open", "root"])
        self.hekla("queue", "create", "-n", "q4", "-S", "Closed")
        put.wait_for("closed", lambda: self.platform.get("queue", "q4")["status"].get("state") == "Closed")
        self.hekla("queue", "operate", "-n", "q3", "-a", "update", "-w", "7")
        self.assertEqual(self.platform.get("queue", "q3")["spec"]["weight"], 7)
        self.hekla("queue", "operate", "-n", "q3", "-a", "close")
        put.wait_for("closed", lambda: self.platform.get("queue", "q3")["status"].get("state") == "Closed")
        self.assertIn("q3", self.hekla(name="vqueues"))
        self.hekla("queue", "delete", "-n", "q3")
        wrong = self.hekla("queue", "operate", "-n", "q3", "-a", "burn", check=False)
        self.assertEqual(wrong.returncode, 1)
        self.assertIn("valid actions are open, close and update", wrong.stderr)

    def complete(self, *words):
        """What bash offers for these words."""
        script = 'source <("%s" completion bash); COMP_WORDS=(%s); COMP_CWORD=%d; _hekla; printf "%%s\n" "${COMPREPLY[@]}"' % (
            put.HEKLA, " ".join("'%s'" % word for word in ("hekla",) + words), len(words))
        return subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True).stdout.split()

    def test_3_mistakes_are_answered(self):
        def answer(*arguments):
            done = self.hekla(*arguments, check=False)
            self.assertEqual(done.stdout, "")
            return done.stderr.strip(), done.returncode
        self.assertEqual(answer("contollers"),
                         ('hekla: there is no command "contollers", did you mean controllers? (see hekla --help)', 2))
        self.assertEqual(answer("job", "lst"),
                         ('hekla: there is no command "lst", did you mean list? (see hekla job --help)', 2))
        self.assertEqual(answer("job"), ("hekla: hekla job needs a command: run, list, view, suspend, resume, delete "
                                         "(see hekla job --help)", 2))
        self.assertEqual(answer("get", "pods", "--namspace", "x"),
                         ("hekla: unknown flag --namspace, did you mean --namespace? (see hekla get --help)", 2))
        self.assertEqual(answer("down", "now"), ('hekla: unexpected argument "now" (see hekla down --help)', 2))
        self.assertEqual(answer("explain", "deployment", "x"),
                         ('hekla: KIND: cannot explain a "deployment": name a job, podgroup, pod, queue or run, or '
                          'a kind of training job (tfjob, pytorchjob, mpijob, xgboostjob, paddlejob, jaxjob, mxjob, '
                          'trainjob, jobset) '
                          "(see hekla explain --help)", 2))
        self.assertIn("name what to delete", answer("delete")[0])
        # A repeatable flag does not swallow what follows it.
        self.assertIn("/nonexistent", answer("image", "build", "-t", "x", "/nonexistent", "--data-dir",
                                             self.platform.data_dir)[0])
        self.assertNotIn("A first hour", self.hekla("down", "--help"))

    def test_3_version_and_help(self):
        self.assertRegex(self.hekla("--version"), r"^hekla \d+\.\d+\.\d+ \(commit \S+\)\n$")
        self.assertEqual(self.hekla("help"), self.hekla("--help"))
        self.assertEqual(self.hekla("help", "job", "run"), self.hekla("job", "run", "--help"))
        self.assertIn("vcctl's job commands", self.hekla("help", "job"))
        unknown = self.hekla("help", "job", "rn", check=False)
        self.assertEqual((unknown.returncode, unknown.stdout, unknown.stderr),
                         (2, "", 'hekla: there is no command "rn", did you mean run? (see hekla job --help)\n'))

    def test_3_completion(self):
        self.assertEqual(self.complete("jobf"), ["jobflow"])
        self.assertEqual(sorted(self.complete("job", "")), ["delete", "list", "resume", "run", "suspend", "view"])
        self.assertIn("--all-namespaces", self.complete("job", "list", "--all"))
        self.assertEqual(self.complete("-n", "x", "queue", "oper"), ["operate"])
        self.assertEqual(self.complete("queue", "operate", "-n", "/etc/hostnam"), ["/etc/hostname"])
        for shell, check in (("zsh", ["-n"]), ("fish", ["--no-execute"])):
            script = self.hekla("completion", shell)
            self.assertIn("jobflow", script)
            if shutil.which(shell):
                with tempfile.NamedTemporaryFile("w") as file:
                    file.write(script)
                    file.flush()
                    subprocess.run([shell] + check + [file.name], check=True)
        unknown = self.hekla("completion", "tcsh", check=False)
        self.assertEqual((unknown.returncode, unknown.stderr),
                         (2, "hekla: no completion for tcsh: there is bash, zsh and fish\n"))

    def test_4_flows(self):
        with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
            file.write("apiVersion: flow.volcano.sh/v1alpha1\nkind: JobFlow\nmetadata: {name: f}\n"
                       "spec: {flows: [{name: missing}]}\n")
            file.flush()
            self.assertEqual(self.hekla("jobflow", "create", "-f", file.name), "Created JobFlow: default/f\n")
        self.assertIn("name a file with -f", self.hekla("jobflow", "create", check=False).stderr)
        # A column without a value is empty, as kubectl has it.
        self.hekla("apply", "-f", "-", stdin="{apiVersion: topology.volcano.sh/v1alpha1, kind: HyperNode, metadata: {name: h}, "
                   "spec: {tier: 1, members: [{type: Node, selector: {exactMatch: {name: x}}}]}}")
        without_age = lambda table: re.sub(r"\S+$", "", table, flags=re.M)
        self.assertEqual(without_age(self.hekla("get", "hypernode")), without_age(self.platform.kubectl("get", "hypernode")))
        self.assertEqual(self.hekla("jobflow", "list").splitlines()[0].split(), ["Name", "Namespace", "Phase", "Age"])
        self.assertIn("kind: JobFlow", self.hekla("jobflow", "describe", "-N", "f"))
        self.assertEqual(self.hekla("jobflow", "describe"), self.hekla("jobflow", "describe", "-N", "f"))
        self.assertEqual(self.hekla("jobflow", "delete", "-N", "f"), "Deleted JobFlow: default/f\n")


if __name__ == "__main__":
    unittest.main()
