"""The `kfp` SDK, unmodified, against one platform: lightweight components in pods, what goes between them, loops,
conditions, an exit handler, the cache; and boto3 on the object store, from this machine and from a pod.

The components' image is mapped to this machine with the interpreter's own packages.
Environment: HEKLA (the binary), HEKLA_CACHE; run as root with an interpreter that has `kfp` and `boto3`
(make test-pipelines).
"""
import os
import re
import subprocess
import sys
import tempfile
import unittest
import urllib.request

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../e2e"))
import platform_under_test as put  # noqa: E402

import boto3  # noqa: E402
import kfp  # noqa: E402
from botocore.client import Config  # noqa: E402
from kfp import dsl  # noqa: E402
from kfp.dsl import Dataset, Input, Metrics, Model, Output  # noqa: E402


@dsl.component(base_image="python:3.11")
def gather(rows: int, out: Output[Dataset]) -> str:
    with open(out.path, "w") as file:
        file.writelines("%d\n" % (i * i) for i in range(rows))
    out.metadata["rows"] = rows
    print("gathered", rows)
    return "%d rows" % rows


@dsl.component(base_image="python:3.11")
def train(data: Input[Dataset], note: str, model: Output[Model], metrics: Output[Metrics]) -> int:
    total = sum(int(line) for line in open(data.path))
    with open(model.path, "w") as file:
        file.write("%s of %s: %d" % (note, data.metadata["rows"], total))
    metrics.log_metric("total", total)
    print("trained on", note)
    return total


@dsl.component(base_image="python:3.11")
def double(number: int) -> int:
    return 2 * number


@dsl.component(base_image="python:3.11")
def add(numbers: list) -> int:
    print("sum", sum(numbers))
    return sum(numbers)


@dsl.component(base_image="python:3.11")
def say(text: str):
    print("said", text)


@dsl.component(base_image="python:3.11")
def break_down():
    raise SystemExit(7)


@dsl.component(base_image="python:3.11")
def store(key: str, text: str) -> str:
    import boto3
    s3 = boto3.client("s3", endpoint_url="http://minio-service.kubeflow:9000", aws_access_key_id="minio",
                      aws_secret_access_key="minio123", region_name="us-east-1")
    s3.put_object(Bucket="mlpipeline", Key=key, Body=text.encode())
    return s3.get_object(Bucket="mlpipeline", Key=key)["Body"].read().decode()


@dsl.pipeline(name="training")
def training(rows: int = 4):
    data = gather(rows=rows)
    fitted = train(data=data.outputs["out"], note=data.outputs["Output"])
    with dsl.If(fitted.outputs["Output"] > 10):
        say(text="good")
    with dsl.Else():
        say(text="bad")


@dsl.pipeline(name="loops")
def loops():
    with dsl.ParallelFor([1, 2, 3]) as number:
        doubled = double(number=number)
    add(numbers=dsl.Collected(doubled.output))


@dsl.pipeline(name="ending")
def ending():
    with dsl.ExitHandler(say(text="the end")):
        break_down().set_caching_options(False)


@dsl.pipeline(name="storing")
def storing(key: str, text: str):
    store(key=key, text=text).set_caching_options(False)


class Pipelines(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        url = "http://127.0.0.1:%d" % put.free_port()
        cls.platform = put.Platform("--pipelines-listen", url.removeprefix("http://"),
                                    "--image-map", "python:3.11=host, venv=" + sys.prefix)
        cls.addClassCleanup(cls.platform.destroy)
        cls.platform.up()
        os.environ["HOME"] = cls.platform.home  # the client keeps its settings there
        cls.client, cls.url = kfp.Client(host=url), url

    def run_to_end(self, pipeline, **arguments):
        run_id = self.client.create_run_from_pipeline_func(pipeline, arguments=arguments).run_id
        run = self.client.wait_for_run_completion(run_id, timeout=put.PATIENCE, sleep_duration=1)
        return run

    def logs(self, run):
        """Of each step what it has said itself, sorted; one pod is one step."""
        pods = self.platform.get("pods", "-n", "kubeflow", "-l", "pipeline/runid=" + run.run_id)["items"]
        texts = [self.platform.kubectl("logs", "-n", "kubeflow", pod["metadata"]["name"]) for pod in pods]
        return sorted(" ".join(re.findall(r"(?m)^(?:gathered|trained|said|sum) .*$", text)) for text in texts)

    def states(self, run):
        return {task.display_name: task.state for task in run.run_details.task_details}

    def s3(self, **settings):
        with open(os.path.join(self.platform.data_dir, "objects-port")) as file:
            url = "http://127.0.0.1:" + file.read().strip()
        return boto3.client("s3", endpoint_url=url, aws_access_key_id="minio", aws_secret_access_key="minio123",
                            region_name="us-east-1", config=Config(**settings))

    def test_training(self):
        run = self.run_to_end(training, rows=5)
        self.assertEqual(run.state, "SUCCEEDED", run)
        self.assertEqual(self.logs(run), ["gathered 5", "said good", "trained on 5 rows"])
        self.assertEqual(self.client.get_run(run.run_id).run_id, run.run_id)
        self.assertIn(run.run_id, [one.run_id for one in self.client.list_runs(page_size=50).runs])
        models = [entry["Key"] for entry in self.s3().list_objects_v2(
            Bucket="mlpipeline", Prefix="v2/artifacts/training/%s/train/" % run.run_id)["Contents"]
            if entry["Key"].endswith("/model")]
        self.assertEqual(self.s3().get_object(Bucket="mlpipeline", Key=models[0])["Body"].read(), b"5 rows of 5: 30")
        again = self.run_to_end(training, rows=5)
        self.assertEqual(again.state, "SUCCEEDED", again)
        self.assertEqual(self.logs(again), [])  # every step's outputs were kept

    def test_loops(self):
        run = self.run_to_end(loops)
        self.assertEqual(run.state, "SUCCEEDED", run)
        self.assertIn("sum 12", self.logs(run))
        self.assertEqual(len(self.logs(run)), 4)

    def test_ending(self):
        run = self.run_to_end(ending)
        self.assertEqual(run.state, "FAILED")
        self.assertIn("exit code 7", run.error.message if hasattr(run.error, "message") else str(run.error))
        self.assertIn("said the end", self.logs(run))
        self.assertEqual(self.states(run)["say"], "SUCCEEDED")

    def test_pipelines_and_versions(self):
        with tempfile.TemporaryDirectory() as place:
            package = os.path.join(place, "loops.yaml")
            kfp.compiler.Compiler().compile(loops, package)
            pipeline = self.client.upload_pipeline(package, pipeline_name="kept")
            version = self.client.upload_pipeline_version(package, "second", pipeline_id=pipeline.pipeline_id)
        self.assertEqual(self.client.get_pipeline_id("kept"), pipeline.pipeline_id)
        experiment = self.client.create_experiment("trials")
        run = self.client.run_pipeline(experiment.experiment_id, "from a version", pipeline_id=pipeline.pipeline_id,
                                       version_id=version.pipeline_version_id)
        run = self.client.wait_for_run_completion(run.run_id, timeout=put.PATIENCE, sleep_duration=1)
        self.assertEqual(run.state, "SUCCEEDED", run)
        self.assertEqual(run.experiment_id, experiment.experiment_id)

    def test_recurring_runs(self):
        experiment = self.client.create_experiment("schedules")
        with tempfile.TemporaryDirectory() as place:
            package = os.path.join(place, "loops.yaml")
            kfp.compiler.Compiler().compile(loops, package)
            recurring = self.client.create_recurring_run(experiment.experiment_id, "often",
                                                         cron_expression="* * * * * *", max_concurrency=1,
                                                         pipeline_package_path=package)
        runs = put.wait_for("it has run", lambda: self.client.list_runs(experiment_id=experiment.experiment_id).runs)
        self.client.disable_recurring_run(recurring.recurring_run_id)
        run = self.client.wait_for_run_completion(runs[0].run_id, timeout=put.PATIENCE, sleep_duration=1)
        self.assertEqual(run.state, "SUCCEEDED", run)
        listed = self.client.list_recurring_runs(experiment_id=experiment.experiment_id).recurring_runs
        self.assertEqual([one.status for one in listed], ["DISABLED"])
        self.client.delete_recurring_run(recurring.recurring_run_id)

    def test_the_example(self):
        """examples/pipelines/train.py, as its README runs it."""
        program = os.path.join(put.ROOT, "examples/pipelines/train.py")
        with tempfile.TemporaryDirectory() as place:
            for arguments, last in (([], ""), ([self.url], "SUCCEEDED")):
                done = subprocess.run([sys.executable, program, *arguments], cwd=place, capture_output=True, text=True,
                                      timeout=2 * put.PATIENCE)
                self.assertEqual((done.returncode, done.stdout.split("\n")[-2:][0]), (0, last), done.stdout + done.stderr)
            self.assertEqual(os.listdir(place), ["pipeline.yaml"])

    def test_object_store(self):
        run = self.run_to_end(storing, key="from/a/pod", text="hello")
        self.assertEqual(run.state, "SUCCEEDED", run)
        s3 = self.s3()
        self.assertEqual(s3.get_object(Bucket="mlpipeline", Key="from/a/pod")["Body"].read(), b"hello")
        s3.create_bucket(Bucket="mine")
        s3.put_object(Bucket="mine", Key="a/b", Body=b"bytes")
        self.assertEqual([entry["Key"] for entry in s3.list_objects_v2(Bucket="mine")["Contents"]], ["a/b"])
        for version in ("s3", "s3v4"):  # the first is what boto3 signs links with unless it is told otherwise
            link = self.s3(signature_version=version).generate_presigned_url(
                "get_object", {"Bucket": "mine", "Key": "a/b"})
            with urllib.request.urlopen(link) as answer:
                self.assertEqual(answer.read(), b"bytes")


if __name__ == "__main__":
    unittest.main()
