"""Pipelines of version 2 through the REST API: steps in pods of their own, what goes between them, failure, a crash."""
import json
import os
import re
import shlex
import subprocess
import tempfile
import time
import unittest
import urllib.error
import urllib.request

import platform_under_test as put

TEXT = {"schemaTitle": "system.Dataset", "schemaVersion": "0.0.1"}


def step(script, *arguments):
    return {"container": {"image": "host", "command": ["sh", "-ec", script, *arguments]}}


def text(name):
    return {"parameters": {name: {"parameterType": "STRING"}}}


# gather -> (only if it has gathered enough) report; spare is never due.
PIPELINE = {
    "schemaVersion": "2.1.0",
    "sdkVersion": "kfp-2.17.0",
    "pipelineInfo": {"name": "two-steps"},
    "root": {
        "inputDefinitions": {"parameters": {"word": {"parameterType": "STRING", "defaultValue": "nobody"}}},
        "dag": {"tasks": {
            "gather": {
                "taskInfo": {"name": "gather"}, "componentRef": {"name": "comp-gather"},
                "cachingOptions": {"enableCache": True},
                "inputs": {"parameters": {"word": {"componentInputParameter": "word"}}}},
            "report": {
                "taskInfo": {"name": "report"}, "componentRef": {"name": "comp-report"}, "dependentTasks": ["gather"],
                "inputs": {
                    "parameters": {"count": {"taskOutputParameter": {
                        "producerTask": "gather", "outputParameterKey": "count"}}},
                    "artifacts": {"data": {"taskOutputArtifact": {
                        "producerTask": "gather", "outputArtifactKey": "data"}}}},
                "triggerPolicy": {"condition": "int(inputs.parameter_values['count']) > 2"}},
            "spare": {
                "taskInfo": {"name": "spare"}, "componentRef": {"name": "comp-spare"}, "dependentTasks": ["gather"],
                "inputs": {"parameters": {"count": {"taskOutputParameter": {
                    "producerTask": "gather", "outputParameterKey": "count"}}}},
                "triggerPolicy": {"condition": "int(inputs.parameter_values['count']) > 3"}}}}},
    "components": {
        "comp-gather": {
            "executorLabel": "exec-gather", "inputDefinitions": text("word"),
            "outputDefinitions": {"parameters": {"count": {"parameterType": "NUMBER_INTEGER"}},
                                  "artifacts": {"data": {"artifactType": TEXT}}}},
        "comp-report": {
            "executorLabel": "exec-report",
            "inputDefinitions": {"parameters": {"count": {"parameterType": "NUMBER_INTEGER"}},
                                 "artifacts": {"data": {"artifactType": TEXT}}}},
        "comp-spare": {"executorLabel": "exec-spare",
                       "inputDefinitions": {"parameters": {"count": {"parameterType": "NUMBER_INTEGER"}}}}},
    "deploymentSpec": {"executors": {
        "exec-gather": step('echo gathering "$0"; test "$0" != bad; printf "%s,%s" "$0" "$0" > "$1"; printf 3 > "$2"',
                            "{{$.inputs.parameters['word']}}", "{{$.outputs.artifacts['data'].path}}",
                            "{{$.outputs.parameters['count'].output_file}}"),
        "exec-report": step('echo "count $0, data $(cat "$1")"; sleep 3', "{{$.inputs.parameters['count']}}",
                            "{{$.inputs.artifacts['data'].path}}"),
        "exec-spare": step("echo spare")}}}


class Pipelines(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.url = "http://127.0.0.1:%d" % put.free_port()
        cls.platform = put.Platform("--pipelines-listen", cls.url.removeprefix("http://"))
        cls.addClassCleanup(cls.platform.destroy)
        cls.platform.up()

    def call(self, method, path, body=None):
        request = urllib.request.Request(self.url + "/apis/v2beta1" + path, method=method, headers={
            "Content-Type": "application/json"}, data=json.dumps(body).encode() if body is not None else None)
        with urllib.request.urlopen(request, timeout=put.PATIENCE) as answer:
            return json.load(answer)

    def start(self, name, **parameters):
        run = self.call("POST", "/runs", {"display_name": name, "pipeline_spec": PIPELINE,
                                          "runtime_config": {"parameters": parameters}})
        self.assertEqual(run["state"], "PENDING")
        return run["run_id"]

    def ended(self, run_id):
        def final():
            run = self.call("GET", "/runs/" + run_id)
            return run["state"] in ("SUCCEEDED", "FAILED", "CANCELED") and run
        return put.wait_for("the run has ended", final)

    def pods(self, run_id):
        found = self.platform.get("pods", "-n", "kubeflow", "-l", "pipeline/runid=" + run_id)["items"]
        return {pod["metadata"]["annotations"]["hekla.io/pipeline-node"].split("/")[-1]: pod for pod in found}

    def log(self, pod):
        return self.platform.kubectl("logs", "-n", "kubeflow", pod["metadata"]["name"], "-c", "main")

    def states(self, run):
        return {task["display_name"]: task["state"] for task in run["run_details"]["task_details"]}

    def test_steps_are_pods(self):
        run = self.ended(self.start("first", word="one"))
        pods = self.pods(run["run_id"])
        self.assertEqual(run["state"], "SUCCEEDED", run)
        self.assertEqual(set(pods), {"gather", "report"})
        self.assertEqual(self.log(pods["gather"]), "gathering one\n")
        self.assertEqual(self.log(pods["report"]), "count 3, data one,one\n")
        states = self.states(run)
        self.assertEqual((states["gather"], states["report"], states["spare"]), ("SUCCEEDED", "SUCCEEDED", "SKIPPED"))

        again = self.ended(self.start("second", word="one"))
        self.assertEqual(again["state"], "SUCCEEDED", again)
        self.assertEqual(set(self.pods(again["run_id"])), {"report"})  # the other one's outputs were kept
        listed = self.call("GET", "/runs?sort_by=created_at%20desc&page_size=2")
        self.assertEqual([one["display_name"] for one in listed["runs"]], ["second", "first"])

    def test_a_failed_step_fails_the_run(self):
        run = self.ended(self.start("bad", word="bad"))
        self.assertEqual(run["state"], "FAILED")
        self.assertEqual(set(self.pods(run["run_id"])), {"gather"})
        failed = [task for task in run["run_details"]["task_details"] if task["display_name"] == "gather"]
        self.assertIn("exit code 1", failed[0]["error"]["message"])
        with self.assertRaises(urllib.error.HTTPError) as refused:
            self.start("unknown parameter", number=1)
        self.assertEqual(refused.exception.code, 400)

    def test_a_recurring_run(self):
        made = self.call("POST", "/recurringruns", {
            "display_name": "often", "pipeline_spec": PIPELINE, "max_concurrency": 2, "mode": "ENABLE",
            "runtime_config": {"parameters": {"word": "[[Index]]"}},
            "trigger": {"periodic_schedule": {"interval_second": 1}}})
        self.assertEqual((made["status"], made["max_concurrency"]), ("ENABLED", "2"))
        path = "/recurringruns/" + made["recurring_run_id"]

        def first():
            runs = self.call("GET", "/runs?sort_by=created_at%20desc&page_size=50").get("runs", [])
            return [run for run in runs if run.get("recurring_run_id") == made["recurring_run_id"]]
        runs = put.wait_for("it has run", first)
        self.call("POST", path + ":disable")
        self.assertEqual(self.call("GET", path)["status"], "DISABLED")
        run = self.ended(runs[-1]["run_id"])
        self.assertEqual(run["state"], "SUCCEEDED", run)
        self.assertEqual(run["runtime_config"]["parameters"], {"word": "1"})
        self.call("DELETE", path)
        self.assertEqual(self.call("GET", "/recurringruns"), {})

    def test_the_ways_to_the_api(self):
        proxied = self.platform.kubectl(
            "get", "--raw", "/api/v1/namespaces/kubeflow/services/ml-pipeline:http/proxy/apis/v2beta1/healthz")
        self.assertFalse(json.loads(proxied)["multi_user"])
        with open(os.path.join(self.platform.data_dir, "web-port")) as file:
            door = "http://localhost:%s/pipeline/apis/v2beta1/" % file.read().strip()
        with self.assertRaises(urllib.error.HTTPError) as refused:
            urllib.request.urlopen(door + "healthz", timeout=put.PATIENCE)
        self.assertEqual(refused.exception.code, 401)
        token = json.loads(self.platform.kubectl(
            "create", "--raw", "/api/v1/namespaces/kubeflow/serviceaccounts/pipeline-runner/token", "-f", "-",
            stdin=json.dumps({"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest",
                              "spec": {"audiences": ["pipelines.kubeflow.org"]}})))["status"]["token"]
        made = urllib.request.Request(door + "experiments", method="POST", data=b'{"display_name": "by the door"}',
                                      headers={"Authorization": "Bearer " + token, "Content-Type": "application/json"})
        with urllib.request.urlopen(made, timeout=put.PATIENCE) as answer:
            self.assertEqual(json.load(answer)["display_name"], "by the door")

    def hekla(self, *arguments):
        return subprocess.run([put.HEKLA, *arguments], capture_output=True, text=True, timeout=put.PATIENCE, cwd=put.ROOT,
                              env=dict(os.environ, KUBECONFIG=self.platform.kubeconfig))

    def test_the_lines_of_the_document(self):
        with open(os.path.join(put.ROOT, "docs/pipelines.md")) as file:
            section = re.search(r"^## From the command line\n+```\n(.*?)^```", file.read(), re.MULTILINE | re.DOTALL)
        said = {}
        for line in section.group(1).splitlines():
            words = shlex.split(line)
            done = self.hekla(*words[1:])
            self.assertEqual(done.returncode, 0, line + "\n" + done.stdout + done.stderr)
            said[" ".join(words[1:3])] = done.stdout
        ran = said["pipeline run"].splitlines()
        self.assertRegex(ran[0], r"^run first of pipeline words: [0-9a-f-]{36}$")
        self.assertEqual(ran[-1], "run first: Succeeded")
        for step in ("gather", "for-each-letter/0/count", "for-each-letter/2/count", "report"):
            self.assertTrue(any(line.startswith(step + ": Succeeded after ") for line in ran), ran)
        self.assertRegex(said["pipeline list"], r"(?m)^first +SUCCEEDED ")
        self.assertRegex(said["pipeline graph"], r"(?m)^  for-each-letter +succeeded  after gather; for each item$")
        self.assertEqual(said["pipeline logs"], "4 words\n")
        self.assertRegex(said["explain run"], r"(?m)^Run first \([0-9a-f-]{36}\): SUCCEEDED$")

        # The same file is no second version; a mistake and a failure are said and are the exit code.
        wrong = self.hekla("pipeline", "run", "examples/pipelines/words.yaml", "-p", "letters=f")
        self.assertEqual((wrong.returncode, wrong.stderr),
                         (1, 'hekla: parameter letters is a list in JSON: "f" is not one\n'))
        pipeline = self.call("GET", "/pipelines/names/words")["pipeline_id"]
        self.assertEqual(self.call("GET", "/pipelines/%s/versions" % pipeline)["total_size"], 1)
        with tempfile.TemporaryDirectory() as place:
            with open(place + "/two.yaml", "w") as file:
                json.dump(PIPELINE, file)
            failed = self.hekla("pipeline", "run", place + "/two.yaml", "-p", "word=bad", "--name", "broken")
        self.assertEqual(failed.returncode, 1)
        self.assertIn("gather | gathering bad", failed.stdout)
        self.assertIn("hekla: run broken ended as FAILED", failed.stderr)
        self.assertIn("Failed to terminate run", self.hekla("pipeline", "stop", "broken").stderr)
        self.assertEqual(self.hekla("pipeline", "logs", "broken", "report").stderr,
                         'hekla: the run has no step "report" that has begun; it has gather\n')

    def test_what_steps_leave_outlives_their_pods(self):
        run = self.ended(self.start("kept", word="kept"))
        tasks = {task["name"]: task for task in self.call("GET", "/tasks?run_id=" + run["run_id"])["tasks"]}
        self.assertEqual(tasks["gather"]["outputs"]["parameters"], {"count": 3})
        self.assertEqual(tasks["report"]["inputs"]["parameters"], {"count": 3})
        made = self.call("GET", "/artifacts?run_id=" + run["run_id"])["artifacts"]
        self.assertEqual([(one["name"], one["type"]) for one in made], [("data", "system.Dataset")])
        self.assertEqual(made[0]["uri"], tasks["report"]["inputs"]["artifacts"]["data"][0]["uri"])
        path = "/k8s/pod/logs?runid=%s&podname=%s" % (run["run_id"], tasks["gather"]["pods"][-1])

        def log():
            with urllib.request.urlopen(self.url + path, timeout=put.PATIENCE) as answer:
                return answer.read().decode()
        self.assertEqual(log(), "gathering kept\n")
        self.platform.kubectl("delete", "pods", "-n", "kubeflow", "-l", "pipeline/runid=" + run["run_id"])
        self.assertEqual(log(), "gathering kept\n")
        with self.assertRaises(urllib.error.HTTPError) as refused:  # another's pod is no step of this run
            urllib.request.urlopen(self.url + "/k8s/pod/logs?runid=%s&podname=other" % run["run_id"], timeout=put.PATIENCE)
        self.assertEqual(refused.exception.code, 404)

    def test_a_run_waits_in_its_queue(self):
        done = self.hekla("pipeline", "run", "examples/pipelines/words.yaml", "--queue", "closed", "--name", "waits",
                          "--no-wait")
        self.assertEqual(done.returncode, 0, done.stderr)
        run_id = done.stdout.split()[-1]
        pod = put.wait_for("the step's pod", lambda: self.pods(run_id).get("gather"))
        self.assertEqual(pod["spec"]["schedulerName"], "volcano")
        put.wait_for("the reason", lambda: "closed" in self.hekla("explain", "run", "waits").stdout)
        self.assertEqual(self.hekla("pipeline", "stop", "waits").returncode, 0)
        self.assertEqual(self.ended(run_id)["state"], "CANCELED")

    def test_a_crash_loses_nothing(self):
        run_id = self.start("crash", word="two")
        put.wait_for("the second step runs",
                     lambda: self.pods(run_id)["report"]["status"]["phase"] == "Running")
        self.platform.kill()
        time.sleep(3)  # the step ends while nobody is there
        self.platform.up()
        run = self.ended(run_id)
        self.assertEqual(run["state"], "SUCCEEDED", run)
        self.assertEqual(self.log(self.pods(run_id)["report"]), "count 3, data two,two\n")


if __name__ == "__main__":
    unittest.main()
