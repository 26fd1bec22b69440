"""Kubeflow's training kinds as an API: the tutorials' documents pass kubectl's strict validation, every version of a kind is
served in its own shape, and refusals are worded as upstream words them. Whether anything runs is not looked at."""
import json
import os
import unittest

import platform_under_test as put

HERE = os.path.join(os.path.dirname(__file__), "tutorials", "training")
EDITOR = "system:serviceaccount:default:default-editor"
VIEWER = "system:serviceaccount:default:default-viewer"

FILLED_IN = ("trainjob.yaml", "jobset.yaml")  # in lists, which kubectl sends again as they stand in the document


def doc(name):
    return os.path.join(HERE, name)


def text_of(name):
    with open(doc(name)) as file:
        return file.read()


class TrainingApi(put.PlatformTest):
    FLAGS = ["--no-agent"]

    def refusal(self, text, *flags):
        return self.platform.kubectl("create", "-f", "-", *flags, stdin=text, tool=put.kubectls()[-1], check=False).stderr

    def test_1_documents_of_the_tutorials(self):
        p = self.platform
        for name in ("tfjob-module6.yaml", "pytorch-simple.yaml", "tf-job-mnist.yaml", "mnist-train.yaml",
                     "distributed-mnist.yaml", "tfjob-v1alpha1.yaml", "mpi-pi.yaml", "trainjob.yaml", "jobset.yaml"):
            for tool in put.kubectls():
                with self.subTest(document=name, kubectl=tool):
                    first = p.kubectl("apply", "-f", doc(name), tool=tool)
                    self.assertNotIn("Warning", first)
                    again = p.kubectl("apply", "-f", doc(name), tool=tool)
                    if name not in FILLED_IN:
                        self.assertTrue(all(line.endswith(" unchanged") for line in again.strip().splitlines()), again)
        for kind, name in (("trainingruntime", "torch"), ("trainjob", "small"), ("jobset", "pair")):
            self.assertEqual(p.get(kind, name)["metadata"]["generation"], 1, name)
        said = p.kubectl("create", "-f", doc("tfjob-generated.yaml"))
        self.assertRegex(said, r"^tfjob.kubeflow.org/tfjob[a-z0-9]{5} created\n$")

    def test_2_versions_of_a_tfjob(self):
        p = self.platform
        job = p.get("tfjobs.v1.kubeflow.org", "distributed-mnist")
        self.assertEqual(job["metadata"]["annotations"]["hekla.io/api-version"], "v1beta1")
        self.assertEqual(sorted(job["spec"]["tfReplicaSpecs"]), ["MASTER", "PS", "WORKER"])
        self.assertNotIn("runPolicy", job["spec"])

        job = p.get("tfjob", "listed")
        self.assertEqual(job["apiVersion"], "kubeflow.org/v1")
        self.assertEqual(job["metadata"]["annotations"]["hekla.io/api-version"], "v1alpha1")
        self.assertEqual(sorted(job["spec"]["tfReplicaSpecs"]), ["MASTER", "PS", "TensorBoard", "WORKER"])
        self.assertEqual(job["spec"]["runPolicy"], {"cleanPodPolicy": "All", "suspend": False})
        self.assertEqual(job["spec"]["schedulerName"], "kube-batch")
        worker = job["spec"]["tfReplicaSpecs"]["WORKER"]["template"]["spec"]["containers"][0]
        self.assertEqual(worker["ports"], [{"name": "tfjob-port", "containerPort": 2223}])
        listed = p.get("tfjobs.v1alpha1.kubeflow.org", "listed")
        self.assertEqual([role["tfReplicaType"] for role in listed["spec"]["replicaSpecs"]], ["MASTER", "WORKER", "PS"])
        self.assertEqual(listed["spec"]["tensorboard"], {"logDir": "/tmp/tensorflow", "serviceType": "NodePort"})
        self.assertEqual(listed["spec"]["tfImage"], "tensorflow/tensorflow:1.3.0")

        # An edit of one version is one of all, and takes nothing away.
        p.kubectl("patch", "tfjobs.v1.kubeflow.org", "distributed-mnist", "--type=merge", "-p",
                  '{"spec":{"successPolicy":"AllWorkers"}}')
        p.kubectl("patch", "tfjobs.v1beta1.kubeflow.org", "distributed-mnist", "--type=merge", "-p",
                  '{"spec":{"cleanPodPolicy":"All"}}')
        job = p.get("tfjob", "distributed-mnist")
        self.assertEqual((job["spec"]["successPolicy"], job["spec"]["runPolicy"]["cleanPodPolicy"]), ("AllWorkers", "All"))
        self.assertEqual(job["metadata"]["annotations"]["hekla.io/api-version"], "v1beta1")

    def test_3_versions_of_an_mpijob(self):
        p = self.platform
        job = p.get("mpijob", "pi")
        self.assertEqual(job["apiVersion"], "kubeflow.org/v1")
        self.assertEqual(job["metadata"]["annotations"]["hekla.io/api-version"], "v2beta1")
        self.assertEqual((job["spec"]["sshAuthMountPath"], job["spec"]["mpiImplementation"]), ("/home/mpiuser/.ssh", "OpenMPI"))
        second = p.get("mpijobs.v2beta1.kubeflow.org", "pi")
        self.assertEqual((second["spec"]["launcherCreationPolicy"], second["spec"]["runPolicy"]),
                         ("AtStartup", {"cleanPodPolicy": "Running", "suspend": False}))

    def test_4_what_is_filled_in(self):
        p = self.platform
        job = p.get("trainjob", "small")
        self.assertEqual(job["spec"]["runtimeRef"],
                         {"apiGroup": "trainer.kubeflow.org", "kind": "TrainingRuntime", "name": "torch"})
        self.assertEqual((job["spec"]["suspend"], job["spec"]["managedBy"]),
                         (False, "trainer.kubeflow.org/trainjob-controller"))
        pair = p.get("jobset", "pair")["spec"]
        self.assertEqual((pair["successPolicy"], pair["startupPolicy"], pair["network"]),
                         ({"operator": "All"}, {"startupPolicyOrder": "AnyOrder"},
                          {"enableDNSHostnames": True, "publishNotReadyAddresses": True}))
        self.assertEqual(pair["failurePolicy"]["restartStrategy"], "Recreate")
        leader = pair["replicatedJobs"][0]
        self.assertEqual((leader["replicas"], leader["groupName"], leader["template"]["spec"]["completionMode"]),
                         (1, "default", "Indexed"))
        self.assertEqual(leader["template"]["spec"]["template"]["spec"]["restartPolicy"], "OnFailure")

    def test_5_columns(self):
        p = self.platform
        for kind, columns in (("tfjob", "NAME STATE AGE"), ("pytorchjob -n kubeflow", "NAME STATE AGE"),
                              ("mpijob", "NAME AGE STATE"), ("mpijobs.v2beta1.kubeflow.org", "NAME AGE"),
                              ("trainjob", "NAME STATE AGE"), ("trainingruntime", "NAME AGE"),
                              ("jobset", "NAME TERMINALSTATE RESTARTS COMPLETED SUSPENDED AGE")):
            self.assertEqual(p.kubectl("get", *kind.split()).splitlines()[0].split(), columns.split(), kind)

    def test_6_refusals(self):
        job = text_of("tf-job-mnist.yaml").replace("dist-mnist-for-e2e-test", "refused")
        self.assertIn('admission webhook "validator.tfjob.training-operator.kubeflow.org" denied the request: '
                      "spec.tfReplicaSpecs[PS].template.spec.containers: Required value: must have at least one container "
                      "with name tensorflow", self.refusal(job.replace("name: tensorflow", "name: main", 1)))
        self.assertIn("(Forbidden)", self.refusal(job.replace("name: tensorflow", "name: main", 1)))
        # Older ones look for typos themselves, in the schema they are served.
        self.assertRegex(self.refusal(job.replace("tfReplicaSpecs", "tfReplicaSpec")), 'unknown field "(spec.)?tfReplicaSpec"')
        self.assertRegex(self.refusal(job.replace("image:", "imag:", 1)),
                         r'unknown field "(spec.tfReplicaSpecs.PS.template.spec.containers\[0\].)?imag"')
        self.assertIn("spec.tfReplicaSpecs: Required value",
                      self.refusal(json.dumps({"apiVersion": "kubeflow.org/v1", "kind": "TFJob", "metadata": {"name": "j"},
                                               "spec": {}}), "--validate=false"))
        train = text_of("trainjob.yaml").split("---\n")[1].replace("small", "refused")
        self.assertIn("specified trainingRuntime must be created before the TrainJob is created",
                      self.refusal(train.replace("name: torch", "name: none")))
        self.assertIn("metadata.name must match RFC 1035 DNS label format",
                      self.refusal(train.replace("name: refused", "name: 1refused")))
        said = self.platform.kubectl("patch", "trainjob", "small", "--type=merge", "-p",
                                     '{"spec":{"trainer":{"numNodes":3}}}', check=False).stderr
        self.assertIn("spec.trainer: Invalid value: ", said)
        self.assertIn("field is immutable", said)

    def test_7_queue_is_immutable(self):
        p = self.platform
        pod = {"spec": {"containers": [{"name": "jax", "image": "host"}]}}
        p.apply_text(json.dumps({"apiVersion": "kubeflow.org/v1", "kind": "JAXJob", "metadata": {"name": "queued"}, "spec": {
            "runPolicy": {"schedulingPolicy": {"queue": "default"}},
            "jaxReplicaSpecs": {"Worker": {"replicas": 1, "template": pod}}}}))
        self.assertIn("spec.runPolicy.schedulingPolicy.queue is immutable", p.kubectl(
            "patch", "jaxjob", "queued", "--type=merge", "-p", '{"spec":{"runPolicy":{"schedulingPolicy":{"queue":"q"}}}}',
            check=False).stderr)
        p.kubectl("scale", "jaxjob/queued", "--replicas=3")
        self.assertEqual(p.get("jaxjob", "queued")["spec"]["jaxReplicaSpecs"]["Worker"]["replicas"], 3)

    def test_8_who_may(self):
        p = self.platform

        def may(user, *what):
            return p.kubectl("auth", "can-i", *what, "--as", user, check=False).stdout.strip() == "yes"

        put.wait_for("the editor's role is gathered", lambda: may(EDITOR, "create", "tfjobs.kubeflow.org"))
        self.assertTrue(may(EDITOR, "create", "trainjobs.trainer.kubeflow.org"))
        self.assertTrue(may(EDITOR, "list", "clustertrainingruntimes.trainer.kubeflow.org", "-A"))
        self.assertTrue(may(VIEWER, "get", "pytorchjobs.kubeflow.org"))
        self.assertFalse(may(VIEWER, "create", "pytorchjobs.kubeflow.org"))
        for name in ("kubeflow-training-admin", "kubeflow-trainer-admin"):
            put.wait_for(name + " is gathered", lambda: p.get("clusterrole", name).get("rules"))


if __name__ == "__main__":
    unittest.main()
