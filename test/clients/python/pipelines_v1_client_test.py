"""The `kfp` SDK 1.8, unmodified, against one platform: volumes, resources, files, loops, conditions, recursion, an exit
handler; pipelines, versions, experiments, runs and recurring runs by the v1beta1 API.

The images are mapped to this machine with the interpreter's own packages.
Environment: HEKLA (the binary), HEKLA_CACHE; run as root with an interpreter that has `kfp` 1.8
(make test-pipelines).
"""
import json
import os
import sys
import tempfile
import unittest
import warnings

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../e2e"))
import platform_under_test as put  # noqa: E402

warnings.filterwarnings("ignore")
import kfp  # noqa: E402
from kfp import dsl  # noqa: E402
from kfp.components import InputPath, OutputPath, create_component_from_func  # noqa: E402
from typing import NamedTuple  # noqa: E402


def gather(n: int, rows: OutputPath(str)) -> NamedTuple("Gathered", [("total", int), ("items", list)]):
    with open(rows, "w") as file:
        file.write("rows of %d" % n)
    return 2 * n, [1, 2, 3]


def take(rows: InputPath(str), text: str) -> str:
    said = "%s, %s" % (open(rows).read(), text)
    print(said)
    return said


gather_op = create_component_from_func(gather, base_image="python:3.11")
take_op = create_component_from_func(take, base_image="python:3.11")


def train_op(volume):
    return dsl.ContainerOp(name="train", image="python:3.11", command=["sh", "-c"],
                           arguments=["echo 2.0 > /mnt/model && echo 0.97 > /tmp/acc"],
                           pvolumes={"/mnt": volume}, file_outputs={"accuracy": "/tmp/acc"})


def predict_op(volume, x, accuracy):
    program = ("import sys; weight = float(open('/mnt/model').read());"
               " open('/mnt/out', 'w').write(str(weight * float(sys.argv[1])))")
    return dsl.ContainerOp(name="predict", image="python:3.11", command=["python3", "-c"],
                           arguments=[program, x, "--accuracy", accuracy], pvolumes={"/mnt": volume})


@dsl.pipeline(name="v1 volume pipeline", description="make a claim, train, predict, print")
def volumes(size: str = "1Gi", x: float = 3.0):
    claim = dsl.VolumeOp(name="create-pvc", resource_name="work", size=size, modes=dsl.VOLUME_MODE_RWO)
    train = train_op(claim.volume)
    predict = predict_op(train.pvolumes["/mnt"], x, train.output)
    show = dsl.ContainerOp(name="print", image="alpine:3.18", command=["cat", "/mnt/out"],
                           pvolumes={"/mnt": predict.pvolumes["/mnt"]})
    show.set_retry(2).set_memory_limit("128Mi").add_node_selector_constraint("disk", "ssd")
    with dsl.Condition(train.output > 0.5, "good"):
        dsl.ContainerOp(name="celebrate", image="alpine:3.18", command=["echo", "ok"])
    job = dsl.ResourceOp(
        name="job", action="create", success_condition="status.succeeded > 0",
        attribute_outputs={"name": "{.metadata.name}"}, k8s_resource={
            "apiVersion": "batch/v1", "kind": "Job", "metadata": {"generateName": "j-"},
            "spec": {"template": {"spec": {"restartPolicy": "Never", "containers": [
                {"name": "c", "image": "alpine:3.18", "command": ["true"]}]}}}})
    job.after(show)
    claim.delete().after(show)


@dsl.graph_component
def double_until(x):
    more = gather_op(x)
    with dsl.Condition(more.outputs["total"] < 10):
        double_until(more.outputs["total"])


@dsl.pipeline(name="all of it")
def everything(n: int = 3, words: list = [{"a": "one", "b": 1}, {"a": "two", "b": 2}]):
    bye = dsl.ContainerOp(name="bye", image="alpine:3.18",
                          command=["echo", "ended", "{{workflow.status}}", dsl.RUN_ID_PLACEHOLDER])
    with dsl.ExitHandler(bye):
        data = gather_op(n).set_retry(2).set_timeout(100)
        take_op("constant", "text")
        with dsl.ParallelFor(data.outputs["items"]) as item:
            with dsl.Condition(item == 2, "two"):
                take_op(data.outputs["rows"], item)
        with dsl.ParallelFor(words, parallelism=1) as word:
            take_op(data.outputs["rows"], word.a)
        with dsl.Condition(data.outputs["total"] == 7):
            take_op(data.outputs["rows"], "never")
        double_until(n)
        made = dsl.ResourceOp(name="settings", action="create", k8s_resource={
            "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"generateName": "settings-"},
            "data": {"n": str(n)}})
        made.delete()


class PipelinesOfSdk1(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        url = "http://127.0.0.1:%d" % put.free_port()
        cls.platform = put.Platform("--pipelines-listen", url.removeprefix("http://"),
                                    "--image-map", "python:3.11=host, venv=" + sys.prefix,
                                    "--image-map", "alpine:*=host")
        cls.addClassCleanup(cls.platform.destroy)
        cls.platform.up()
        cls.platform.kubectl("label", "nodes", "--all", "disk=ssd")
        os.environ["HOME"] = cls.platform.home  # the client keeps its settings there
        cls.client = kfp.Client(host=url)

    def ended(self, run_id):
        detail = self.client.wait_for_run_completion(run_id, timeout=put.PATIENCE)
        workflow = json.loads(detail.pipeline_runtime.workflow_manifest)
        return detail.run, workflow, {node["displayName"]: node for node in workflow["status"]["nodes"].values()}

    def log(self, node):
        return self.platform.kubectl("logs", "-n", "kubeflow", node["id"], "-c", "main").strip()

    def test_a_volume_goes_from_step_to_step(self):
        run, workflow, nodes = self.ended(
            self.client.create_run_from_pipeline_func(volumes, arguments={"x": 5}).run_id)
        self.assertEqual(run.status, "Succeeded", workflow["status"])
        self.assertEqual(self.log(nodes["print"]), "10.0")
        self.assertEqual(self.log(nodes["celebrate"]), "ok")
        outputs = {one["name"]: one["value"] for one in nodes["create-pvc"]["outputs"]["parameters"]}
        self.assertEqual(outputs["create-pvc-name"], workflow["metadata"]["name"] + "-work")
        self.assertTrue(nodes["job"]["outputs"]["parameters"])
        self.assertEqual(nodes["kubernetes-resource-delete"]["phase"], "Succeeded")
        listed = self.platform.kubectl("get", "workflows", "-n", "kubeflow")
        self.assertIn(workflow["metadata"]["name"], listed)

    def test_everything_else(self):
        run, workflow, nodes = self.ended(
            self.client.create_run_from_pipeline_func(everything, arguments={}).run_id)
        self.assertEqual(run.status, "Succeeded", workflow["status"])
        said = [self.log(node) for node in workflow["status"]["nodes"].values()
                if node["type"] == "Pod" and node["templateName"].startswith("take")]
        self.assertEqual(sorted(said), ["constant, text", "rows of 3, 2", "rows of 3, one", "rows of 3, two"])
        name = workflow["metadata"]["name"]
        self.assertEqual(self.log(nodes[name + ".onExit"]), "ended Succeeded " + run.id)
        doubled = [node for node in workflow["status"]["nodes"].values() if node["templateName"] == "gather-2"]
        self.assertEqual(len(doubled), 2)  # 3, 6; 12 is enough
        self.assertFalse([one for one in self.platform.get("configmaps", "-n", "kubeflow")["items"]
                          if one["metadata"]["name"].startswith("settings-")])

    def test_the_client(self):
        client = self.client
        experiment = client.create_experiment("ex")
        self.assertEqual(client.create_experiment("ex").id, experiment.id)
        with tempfile.TemporaryDirectory() as place:
            for ending in ("yaml", "tar.gz", "zip"):
                kfp.compiler.Compiler().compile(volumes, os.path.join(place, "p." + ending))
            pipeline = client.upload_pipeline(os.path.join(place, "p.yaml"), "nm")
            version = client.upload_pipeline_version(os.path.join(place, "p.tar.gz"), "v2", pipeline_id=pipeline.id)
            client.upload_pipeline(os.path.join(place, "p.zip"), "zipped")
        self.assertEqual(client.get_pipeline_id("nm"), pipeline.id)
        self.assertEqual({one.name: one.value for one in pipeline.parameters}, {"size": "1Gi", "x": "3.0"})
        self.assertEqual({one.name for one in client.list_pipeline_versions(pipeline.id).versions}, {"nm", "v2"})
        self.assertEqual(client.get_pipeline(pipeline.id).default_version.name, "v2")
        self.assertIn("name: create-pvc", client.pipelines.get_template(pipeline.id).template)
        runs = [client.run_pipeline(experiment.id, "j", pipeline_id=pipeline.id, params={"x": 1}),
                client.run_pipeline(experiment.id, "j", version_id=version.id)]
        for one in runs:
            self.assertEqual(self.ended(one.id)[0].status, "Succeeded")
        listed = client.list_runs(experiment_id=experiment.id, sort_by="created_at desc", page_size=1)
        self.assertEqual((listed.total_size, listed.runs[0].id), (2, runs[1].id))
        listed = client.list_runs(experiment_id=experiment.id, sort_by="created_at desc",
                                  page_token=listed.next_page_token, page_size=1)
        self.assertEqual(listed.runs[0].id, runs[0].id)
        client.runs.archive_run(runs[0].id)
        self.assertEqual(client.get_run(runs[0].id).run.storage_state, "STORAGESTATE_ARCHIVED")
        job = client.create_recurring_run(experiment.id, "j", cron_expression="* * * * * *", pipeline_id=pipeline.id,
                                          params={"x": "[[Index]]"})
        made = put.wait_for("it has run", lambda: [
            run for run in client.list_runs(experiment_id=experiment.id, page_size=50).runs
            if any(one.key.id == job.id for one in run.resource_references)])
        client.disable_job(job.id)
        self.assertFalse(client.get_recurring_run(job.id).enabled)
        self.assertEqual(self.ended(made[0].id)[0].status, "Succeeded")
        client.delete_job(job.id)
        client.delete_pipeline_version(version.id)
        client.delete_pipeline(pipeline.id)
        client.archive_experiment(experiment.id)
        with self.assertRaises(ValueError):
            client.get_experiment(experiment_name="nowhere")


if __name__ == "__main__":
    unittest.main()
