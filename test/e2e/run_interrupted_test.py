"""hekla run that is interrupted: by Ctrl-C, by signals, by the end of whoever reads it. Nothing it started stays."""
import os
import signal
import subprocess
import tempfile
import threading
import unittest

import platform_under_test as put

JOB = """
apiVersion: batch.volcano.sh/v1alpha1
kind: Job
metadata: {name: script}
spec:
  minAvailable: 1
  schedulerName: volcano
  policies: [{event: PodEvicted, action: RestartJob}]
  tasks:
  - name: main
    replicas: 1
    template:
      spec:
        restartPolicy: Never
        terminationGracePeriodSeconds: 300
        containers: [{name: main, image: any, command: [sh, -c, '%s; echo begun; while :; do sleep 0.1; done']}]
"""
POLITE = 'trap "exit 0" TERM'
STUBBORN = 'trap "" TERM'
ENDS_ALL = "ending the jobs and the platform that was started for them; once more ends them at once"


class Following:
    """hekla run as a process, and what it says, line by line."""

    def __init__(self, test, script, *flags, **options):
        self.directory = tempfile.mkdtemp(prefix="hekla-e2e-run-")
        test.addCleanup(subprocess.run, ["rm", "-rf", self.directory])
        self.data_dir = os.path.join(self.directory, "data")
        path = os.path.join(self.directory, "job.yaml")
        with open(path, "w") as file:
            file.write(JOB % script)
        flags = flags or ("--data-dir", self.data_dir, "--image-map", "*=host", "--eviction-hard", "memory.available<1Mi")
        options.setdefault("stdout", subprocess.PIPE)
        environment = {name: value for name, value in os.environ.items() if name != "KUBECONFIG"}
        self.process = subprocess.Popen([put.HEKLA, "run", "-f", path, "--timeout", "600", *flags],
                                        stderr=subprocess.PIPE, text=True, env=environment, **options)
        test.addCleanup(self.end)
        self.said, self.complaints = [], []
        self.threads = [threading.Thread(target=lambda: self.complaints.extend(self.process.stderr), daemon=True)]
        self.threads[0].start()

    def read_on(self):
        thread = threading.Thread(target=lambda: self.said.extend(self.process.stdout), daemon=True)
        thread.start()
        self.threads.append(thread)

    def await_begin(self):
        put.wait_for("the job has begun", lambda: any(
            "script-main-0" in line and line.endswith("| begun\n") for line in self.said))

    def await_complaint(self, text):
        put.wait_for(text, lambda: any(text in line for line in self.complaints))

    def wait(self, timeout=put.PATIENCE):
        code = self.process.wait(timeout)
        for thread in self.threads:
            thread.join(put.PATIENCE)
        return code

    def end(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        subprocess.run([put.HEKLA, "down", "--data-dir", self.data_dir], capture_output=True, timeout=put.PATIENCE)
        for pipe in (self.process.stdout, self.process.stderr):
            if pipe:
                pipe.close()


class InterruptedRun(unittest.TestCase):
    def assert_gone(self, run):
        self.assertEqual(put.leftovers(run.data_dir), [])
        self.assertEqual(put.machine_leftovers(run.data_dir), [])

    def test_each_signal_ends_the_job_and_the_platform(self):
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            with self.subTest(number.name):
                run = Following(self, POLITE)
                run.read_on()
                run.await_begin()
                run.process.send_signal(number)
                self.assertEqual(run.wait(), 128 + number, run.complaints)
                self.assertEqual(run.complaints, ["hekla: %s: %s\n" % (number.name, ENDS_ALL)])
                self.assertIn("job script: Aborted\n", run.said)
                self.assert_gone(run)

    def test_ctrl_c_at_a_terminal(self):
        master, slave = os.openpty()
        self.addCleanup(os.close, master)
        run = Following(self, POLITE, stdin=slave, stdout=slave, preexec_fn=lambda: (os.setsid(), os.login_tty(os.dup(slave))))
        os.close(slave)

        def read_terminal():
            try:
                while piece := os.read(master, 4096):
                    run.said.extend(line + "\n" for line in piece.decode().replace("\r", "").splitlines())
            except OSError:
                pass  # nobody has it open any more
        threading.Thread(target=read_terminal, daemon=True).start()
        run.await_begin()
        os.write(master, b"\x03")
        self.assertEqual(run.process.wait(put.PATIENCE), 128 + signal.SIGINT)
        self.assert_gone(run)

    def test_nobody_reads_it_any_more(self):
        run = Following(self, POLITE)
        while "begun" not in put.line_of(run.process):
            pass
        run.process.stdout.close()
        self.assertEqual(run.wait(), 128 + signal.SIGPIPE, run.complaints)
        self.assertEqual(run.complaints, ["hekla: SIGPIPE: %s\n" % ENDS_ALL])
        self.assert_gone(run)

    def test_a_second_signal_ends_at_once(self):
        run = Following(self, STUBBORN)
        run.read_on()
        run.await_begin()
        run.process.send_signal(signal.SIGINT)
        put.wait_for("the job is being aborted", lambda: "job script: Aborting\n" in run.said)
        with self.assertRaises(subprocess.TimeoutExpired):
            run.process.wait(1)  # the pod has five minutes
        run.process.send_signal(signal.SIGINT)
        self.assertEqual(run.wait(60), 128 + signal.SIGINT, run.complaints)
        self.assert_gone(run)

    def test_a_second_signal_while_the_platform_stops(self):
        platform = put.Platform("--image-map", "*=host").up()
        self.addCleanup(platform.destroy)
        platform.apply_text(JOB % STUBBORN)
        platform.wait_phase("script", "Running")
        put.wait_for("it has begun", lambda: "begun" in platform.kubectl("logs", "script-main-0"))
        platform.process.send_signal(signal.SIGTERM)
        with self.assertRaises(subprocess.TimeoutExpired):
            platform.process.wait(1)
        platform.process.send_signal(signal.SIGTERM)
        self.assertEqual(platform.process.wait(60), 0)
        self.assertEqual(put.leftovers(platform.data_dir), [])
        self.assertEqual(put.machine_leftovers(platform.data_dir), [])

    def test_a_crash_of_run_ends_the_platform(self):
        run = Following(self, POLITE)
        run.read_on()
        run.await_begin()
        run.process.kill()
        run.wait()
        put.wait_for("the platform is gone", lambda: not put.leftovers(run.data_dir))
        self.assert_gone(run)

    def test_jobs_of_a_platform_that_was_there_go_on(self):
        platform = put.Platform("--image-map", "*=host").up()
        self.addCleanup(platform.destroy)
        run = Following(self, POLITE, "--data-dir", platform.data_dir)
        run.read_on()
        run.await_begin()
        run.process.send_signal(signal.SIGINT)
        self.assertEqual(run.wait(), 128 + signal.SIGINT)
        self.assertEqual(run.complaints, [
            "hekla: SIGINT: no longer following\n",
            "job script goes on; hekla logs -f vcjob/script -n default follows it, "
            "hekla job suspend -N script -n default ends it\n"])
        self.assertEqual(platform.phase("script"), "Running")
        # Under nohup a terminal may go.
        kept = Following(self, POLITE, "--data-dir", platform.data_dir,
                         preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
        kept.read_on()
        kept.await_begin()
        kept.process.send_signal(signal.SIGHUP)
        kept.process.send_signal(signal.SIGTERM)
        self.assertEqual(kept.wait(), 128 + signal.SIGTERM)


if __name__ == "__main__":
    unittest.main()
