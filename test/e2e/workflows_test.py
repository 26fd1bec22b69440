"""Pipelines of SDK 1: Workflows of Argo by the v1beta1 API and by kubectl, with a volume, files, a loop and an exit
handler."""
import json
import unittest
import urllib.request

import platform_under_test as put


def step(name, script, *arguments, **more):
    return {"name": name, "container": {"image": "host", "command": ["sh", "-ec", script], "args": list(arguments)},
            **more}


def given(**values):
    return {"parameters": [{"name": name, "value": value} for name, value in values.items()]}


def inputs(*names):
    return {"parameters": [{"name": name} for name in names]}


def with_volume(template):
    template["container"]["volumeMounts"] = [{"name": "data", "mountPath": "/mnt"}]
    template["volumes"] = [{"name": "data", "persistentVolumeClaim": {"claimName": "{{inputs.parameters.pvc}}"}}]
    template["inputs"] = inputs("pvc", *template.pop("takes", []))
    return template


CLAIM = """
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: '{{workflow.name}}-work'}
spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: '{{inputs.parameters.size}}'}}}
"""
PVC = "{{tasks.create-pvc.outputs.parameters.create-pvc-name}}"
ACCURACY = "{{tasks.train.outputs.parameters.accuracy}}"

# A claim is made, a model written to it, used, printed and the claim removed; what SDK 1.8 compiles has this form.
WORKFLOW = {
    "apiVersion": "argoproj.io/v1alpha1", "kind": "Workflow",
    "metadata": {"generateName": "volume-", "annotations": {
        "pipelines.kubeflow.org/pipeline_spec": json.dumps({"name": "volume"})}},
    "spec": {
        "entrypoint": "volume", "onExit": "bye", "arguments": given(size="1Gi", x="3.0"),
        "serviceAccountName": "pipeline-runner",
        "templates": [
            {"name": "create-pvc", "inputs": inputs("size"), "resource": {"action": "create", "manifest": CLAIM},
             "outputs": {"parameters": [{"name": "create-pvc-name", "valueFrom": {"jsonPath": "{.metadata.name}"}}]}},
            with_volume(step(
                "train", "echo 2 > /mnt/model; echo 0.97 > /tmp/accuracy; printf said > /tmp/note", outputs={
                    "parameters": [{"name": "accuracy", "valueFrom": {"path": "/tmp/accuracy"}}],
                    "artifacts": [{"name": "note", "path": "/tmp/note"}]})),
            with_volume(step("predict", 'echo "$(cat /mnt/model) * $0, accuracy $1" > /mnt/out; cat /mnt/out',
                             "{{inputs.parameters.x}}", "{{inputs.parameters.accuracy}}", takes=["x", "accuracy"])),
            step("good", 'echo "good, $(cat /tmp/note), $(cat /tmp/raw)"', inputs={"artifacts": [
                {"name": "note", "path": "/tmp/note"},
                {"name": "raw", "path": "/tmp/raw", "raw": {"data": "run of {{workflow.name}}"}}]}),
            step("bad", "echo bad"),
            step("each", 'echo "item $0"', "{{inputs.parameters.item}}", inputs=inputs("item")),
            {"name": "remove", "inputs": inputs("pvc"), "container": {
                "image": "gcr.io/cloud-builders/kubectl", "command": [
                    "kubectl", "delete", "PersistentVolumeClaim", "{{inputs.parameters.pvc}}", "--ignore-not-found",
                    "--output", "name", "--wait=false"]}},
            step("bye", 'echo "ended $0"', "{{workflow.status}}"),
            {"name": "volume", "inputs": inputs("size", "x"), "dag": {"tasks": [
                {"name": "create-pvc", "template": "create-pvc", "arguments": given(size="{{inputs.parameters.size}}")},
                {"name": "train", "template": "train", "dependencies": ["create-pvc"], "arguments": given(pvc=PVC)},
                {"name": "predict", "template": "predict", "dependencies": ["create-pvc", "train"],
                 "arguments": given(pvc=PVC, x="{{inputs.parameters.x}}", accuracy=ACCURACY)},
                {"name": "good", "template": "good", "dependencies": ["train"], "when": ACCURACY + " > 0.5",
                 "arguments": {"artifacts": [
                     {"name": "note", "from": "{{tasks.train.outputs.artifacts.note}}"}]}},
                {"name": "bad", "template": "bad", "dependencies": ["train"], "when": ACCURACY + " <= 0.5"},
                {"name": "each", "template": "each", "withItems": ["a", "b"], "arguments": given(item="{{item}}")},
                {"name": "remove", "template": "remove", "dependencies": ["predict"],
                 "arguments": given(pvc=PVC)}]}}]}}

HELLO = {
    "apiVersion": "argoproj.io/v1alpha1", "kind": "Workflow", "metadata": {"name": "hello"},
    "spec": {"entrypoint": "main", "templates": [
        step("main", "echo hello from $0", "{{workflow.namespace}}")]}}


class Workflows(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.url = "http://127.0.0.1:%d" % put.free_port()
        cls.platform = put.Platform("--pipelines-listen", cls.url.removeprefix("http://"))
        cls.addClassCleanup(cls.platform.destroy)
        cls.platform.up()

    def call(self, method, path, body=None):
        request = urllib.request.Request(self.url + "/apis/v1beta1" + path, method=method, headers={
            "Content-Type": "application/json"}, data=json.dumps(body).encode() if body is not None else None)
        with urllib.request.urlopen(request, timeout=put.PATIENCE) as answer:
            return json.load(answer)

    def ended(self, run_id):
        def final():
            run = self.call("GET", "/runs/" + run_id)
            return run["run"]["status"] in ("Succeeded", "Failed") and run
        return put.wait_for("the run has ended", final)

    def log(self, name, namespace="kubeflow"):
        return self.platform.kubectl("logs", "-n", namespace, name, "-c", "main")

    def create(self, workflow, namespace):
        self.platform.kubectl("create", "-n", namespace, "-f", "-", stdin=json.dumps(workflow))

    def test_a_pipeline_with_a_volume(self):
        made = self.call("POST", "/runs", {"name": "first", "pipeline_spec": {
            "workflow_manifest": json.dumps(WORKFLOW), "parameters": [{"name": "x", "value": "4"}]}})
        self.assertEqual(made["run"]["status"], "Pending")
        run = self.ended(made["run"]["id"])
        workflow = json.loads(run["pipeline_runtime"]["workflow_manifest"])
        self.assertEqual(run["run"]["status"], "Succeeded", workflow["status"])
        name = workflow["metadata"]["name"]
        nodes = {node["displayName"]: node for node in workflow["status"]["nodes"].values()}
        self.assertEqual({shown: node["phase"] for shown, node in nodes.items()}, {
            name: "Succeeded", "create-pvc": "Succeeded", "train": "Succeeded", "predict": "Succeeded",
            "good": "Succeeded", "bad": "Skipped", "each": "Succeeded", "each(0:a)": "Succeeded",
            "each(1:b)": "Succeeded", "remove": "Succeeded", name + ".onExit": "Succeeded"})
        self.assertEqual(nodes["train"]["outputs"]["parameters"], [{"name": "accuracy", "value": "0.97"}])
        self.assertEqual(self.log(nodes["predict"]["id"]), "2 * 4, accuracy 0.97\n")
        self.assertEqual(self.log(nodes["good"]["id"]), "good, said, run of %s\n" % name)
        self.assertEqual(self.log(nodes["each(1:b)"]["id"]), "item b\n")
        self.assertEqual(self.log(nodes[name + ".onExit"]["id"]), "ended Succeeded\n")
        self.assertEqual(self.platform.get("pvc", "-n", "kubeflow")["items"], [])
        pods = self.platform.get("pods", "-n", "kubeflow", "-l", "pipeline/runid=" + run["run"]["id"])["items"]
        self.assertEqual(len(pods), 6)  # none for the claim, its removal, the graph and the loop

        def shown():
            listed = self.platform.kubectl("get", "workflows", "-n", "kubeflow", name, "--no-headers").split()
            return listed[:2] == [name, "Succeeded"]
        put.wait_for("the workflow shows the run", shown)

    def test_a_workflow_of_kubectl_runs(self):
        self.platform.kubectl("create", "namespace", "team")
        put.wait_for("the account is there", lambda: self.platform.get("sa", "-n", "team")["items"])
        self.create(HELLO, "team")

        def phase(name):
            return self.platform.get("workflow", name, "-n", "team").get("status", {}).get("phase")
        put.wait_for("it has ended", lambda: phase("hello") == "Succeeded")
        hello = self.platform.get("workflow", "hello", "-n", "team")
        pod = self.platform.get("pods", "-n", "team")["items"][0]["metadata"]["name"]
        self.assertEqual(self.log(pod, "team"), "hello from team\n")
        run = self.call("GET", "/runs/" + hello["metadata"]["uid"])
        self.assertEqual((run["run"]["name"], run["run"]["status"]), ("hello", "Succeeded"))

        refused = dict(HELLO, metadata={"name": "refused"}, spec=dict(HELLO["spec"], suspend=True))
        self.create(refused, "team")
        put.wait_for("it is refused", lambda: phase("refused") == "Error")
        self.assertIn("spec.suspend: not supported",
                      self.platform.get("workflow", "refused", "-n", "team")["status"]["message"])

        endless = dict(HELLO, metadata={"name": "endless"}, spec={
            "entrypoint": "main", "templates": [step("main", "sleep 1000")]})
        self.create(endless, "team")
        put.wait_for("its pod runs", lambda: [pod for pod in self.platform.get("pods", "-n", "team")["items"]
                                              if pod["status"]["phase"] == "Running"])
        uid = self.platform.get("workflow", "endless", "-n", "team")["metadata"]["uid"]
        self.platform.kubectl("delete", "workflow", "endless", "-n", "team")
        self.assertEqual(self.ended(uid)["run"]["status"], "Failed")


if __name__ == "__main__":
    unittest.main()
