"""hekla operator on a real control plane: as its service account, with admission over HTTPS. Tests run in order."""
import collections
import json
import time
import unittest

from control_plane import NAMESPACE, PATIENCE, ControlPlane, Operator, Web, wait_for

PODS = "/api/v1/namespaces/default/pods"
JOBS = "/apis/batch.volcano.sh/v1alpha1/namespaces/default/jobs"
GROUPS = "/apis/scheduling.volcano.sh/v1beta1/namespaces/default/podgroups"
LEASE = "/apis/coordination.k8s.io/v1/namespaces/%s/leases/hekla-operator" % NAMESPACE


def template(cpu="1", annotations=None):
    return {"metadata": {"annotations": annotations or {}},
            "spec": {"restartPolicy": "Never", "containers": [
                {"name": "main", "image": "busybox", "resources": {"requests": {"cpu": cpu, "memory": "64Mi"}}}]}}


def vcjob(name, pods, cpu="1", runs_for="1s", **spec):
    annotations = {"hekla.test/runs-for": runs_for} if runs_for else {}
    return {"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job", "metadata": {"name": name, "namespace": "default"},
            "spec": dict({"schedulerName": "volcano", "minAvailable": pods, "tasks": [
                {"name": "main", "replicas": pods, "template": template(cpu, annotations)}]}, **spec)}


def training_job(kind, name, roles):
    container = "tensorflow" if kind == "TFJob" else "pytorch"
    def replica(count):
        pods = template(annotations={"hekla.test/runs-for": "1s"})
        pods["spec"]["containers"][0]["name"] = container
        return {"replicas": count, "restartPolicy": "Never", "template": pods}
    return {"apiVersion": "kubeflow.org/v1", "kind": kind, "metadata": {"name": name, "namespace": "default"},
            "spec": {"tfReplicaSpecs" if kind == "TFJob" else "pytorchReplicaSpecs":
                     {role: replica(count) for role, count in roles.items()}}}


class ClusterTest(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        cls.plane = ControlPlane(nodes=20)
        cls.addClassCleanup(cls.plane.stop)
        cls.plane.install("operator", "web")
        cls.operators = []
        cls.addClassCleanup(lambda: [one.end() for one in cls.operators])
        cls.first = cls.start_operator()
        wait_for("the default queue", lambda: cls.plane.list("/apis/scheduling.volcano.sh/v1beta1/queues"))

    @classmethod
    def start_operator(cls):
        cls.operators.append(Operator(cls.plane, *Operator.SHORT_LEASE))
        return cls.operators[-1].wait_ready()

    def apply(self, *objects):
        for one in objects:
            self.plane.apply(text=json.dumps(one))

    def phase(self, name):
        return self.plane.call("GET", "%s/%s" % (JOBS, name)).get("status", {}).get("state", {}).get("phase")

    def bound(self, prefix=""):
        return [pod for pod in self.plane.list(PODS)
                if pod["spec"].get("nodeName") and pod["metadata"]["name"].startswith(prefix)]

    def bindings(self):
        """Bindings that the API server has made since it started."""
        return sum(value for labels, value in self.plane.server_metrics("apiserver_request_total").items()
                   if dict(labels).get("subresource") == "binding" and dict(labels)["code"] == "201")

    def assert_nothing_was_forbidden(self):
        for operator in self.operators:
            if operator.process.poll() is None:
                self.assertEqual(operator.forbidden(), [])

    def test_01_a_job_runs_and_completes(self):
        self.apply(vcjob("one", 3))
        wait_for("it completes", lambda: self.phase("one") == "Completed")
        job = self.plane.call("GET", JOBS + "/one")
        self.assertEqual((job["status"]["succeeded"], job["status"]["minAvailable"]), (3, 3))
        self.assertEqual(job["spec"]["queue"], "default", "admission has filled it in")
        wait_for("its group is gone", lambda: self.plane.list(GROUPS) == [])

    def test_02_failures_follow_the_jobs_policy(self):
        failing = vcjob("fails", 2, maxRetry=1, policies=[{"event": "PodFailed", "action": "AbortJob"}])
        failing["spec"]["tasks"][0]["template"]["metadata"]["annotations"]["hekla.test/fails-with"] = "3"
        self.apply(failing)
        wait_for("it is aborted", lambda: self.phase("fails") == "Aborted")

    def test_03_a_gang_waits_whole_and_says_why_once(self):
        self.apply(vcjob("wide", 21, cpu="30"))
        wait_for("the group says why", lambda: any(
            c["type"] == "Unschedulable" for c in self.plane.call("GET", GROUPS).get("items", [])
            for c in c.get("status", {}).get("conditions", []) if c["status"] == "True"))
        time.sleep(3)
        self.assertEqual(self.bound("wide-"), [])
        before = self.first.requests().get(("patch", "pods", "OK"), 0)
        time.sleep(5)
        self.assertEqual(self.first.requests().get(("patch", "pods", "OK"), 0), before, "what has not changed is not written")
        self.plane.call("DELETE", JOBS + "/wide")
        wait_for("its pods are gone", lambda: not [p for p in self.plane.list(PODS) if p["metadata"]["name"].startswith("wide-")])

    def test_04_queues_have_limits(self):
        self.apply({"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "Queue", "metadata": {"name": "small"},
                    "spec": {"weight": 1, "capability": {"cpu": "2"}}},
                   vcjob("within", 2, queue="small", runs_for="3s"), vcjob("beyond", 2, queue="small"))
        wait_for("the first completes", lambda: self.phase("within") == "Completed")
        wait_for("and then the second", lambda: self.phase("beyond") == "Completed")
        ends = {job: self.plane.call("GET", "%s/%s" % (JOBS, job))["status"]["state"]["lastTransitionTime"]
                for job in ("within", "beyond")}
        self.assertLess(ends["within"], ends["beyond"])

    def test_05_training_jobs(self):
        self.apply(training_job("TFJob", "tf", {"Chief": 1, "Worker": 2}), training_job("PyTorchJob", "torch", {"Master": 1, "Worker": 2}))
        for plural, name in (("tfjobs", "tf"), ("pytorchjobs", "torch")):
            path = "/apis/kubeflow.org/v1/namespaces/default/%s/%s" % (plural, name)
            wait_for(name + " succeeds", lambda: any(
                c["type"] == "Succeeded" and c["status"] == "True" for c in self.plane.call("GET", path).get("status", {}).get("conditions", [])))

    def test_06_admission_over_https(self):
        said = self.plane.refused(json.dumps(vcjob("bad", 1, minAvailable=3)))
        self.assertIn('admission webhook "validatejob.volcano.sh" denied the request', said)
        self.assertIn("job 'minAvailable' should not be greater than total replicas in tasks", said)
        bad = training_job("TFJob", "bad", {"Worker": 1})
        bad["spec"]["tfReplicaSpecs"]["Worker"]["template"]["spec"]["containers"][0]["name"] = "other"
        self.assertIn('admission webhook "validator.tfjob.training-operator.kubeflow.org" denied', self.plane.refused(json.dumps(bad)))

    def test_07_the_certificate_is_the_operators_own(self):
        secret = self.plane.call("GET", "/api/v1/namespaces/%s/secrets/hekla-webhook-certificate" % NAMESPACE)
        hooks = self.plane.list("/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations")
        mine = [hook for one in hooks if one["metadata"]["name"].startswith("hekla-webhook-") for hook in one["webhooks"]]
        self.assertTrue(mine)
        self.assertEqual({hook["clientConfig"]["caBundle"] for hook in mine}, {secret["data"]["ca.crt"]})

    def test_08_nothing_that_was_asked_for_is_forbidden(self):
        self.assert_nothing_was_forbidden()

    def test_09_a_missing_right_is_seen(self):
        self.plane.grant("operator", without=["pods/binding"])
        try:
            self.apply(vcjob("unbound", 1))
            wait_for("bindings are refused", lambda: ("bind", "pods", "Forbidden") in self.first.requests())
        finally:
            self.plane.grant("operator")
        wait_for("it goes on when the right is back", lambda: self.phase("unbound") == "Completed")

    def finish(self, names):
        """Waits for the end of the jobs. As a kubelet would, it starts a leader again that could not renew its lease."""
        def finished():
            if not any(one.process.poll() is None for one in self.operators):
                self.start_operator()
            return all(self.phase(name) == "Completed" for name in names)
        wait_for("all jobs complete", finished, 240)

    def assert_no_node_has_too_much(self):
        used = collections.Counter()
        for pod in self.bound():
            if pod["status"].get("phase") not in ("Succeeded", "Failed"):
                used[pod["spec"]["nodeName"]] += int(pod["spec"]["containers"][0]["resources"]["requests"]["cpu"])
        self.assertLessEqual(max(used.values(), default=0), 32)

    def test_10_a_leader_killed_in_the_middle_of_bindings(self):
        other = self.start_operator()
        made = self.bindings()
        holder = self.plane.call("GET", LEASE)["spec"]["holderIdentity"]
        names = ["burst-%d" % number for number in range(5)]
        self.apply(*[vcjob(name, 80, runs_for="20s") for name in names])
        wait_for("some are bound", lambda: self.bindings() - made >= 100, interval=0.02)
        self.first.kill()
        at_kill = self.bindings() - made
        wait_for("the other leads", lambda: self.plane.call("GET", LEASE)["spec"]["holderIdentity"] != holder)
        wait_for("every pod is bound", lambda: len(self.bound("burst-")) == 400)
        self.assertLess(at_kill, 400, "the burst was over before the leader was killed")
        self.assert_no_node_has_too_much()
        # What was under way when its sender died may have been made without an answer that counts.
        self.assertLessEqual(self.bindings() - made, 400, "no pod was bound twice")
        self.finish(names)
        self.assertEqual(other.forbidden(), [])

    def test_11_the_api_server_restarts_in_the_middle(self):
        names = ["restart-%d" % number for number in range(4)]
        made = self.bindings()
        self.apply(*[vcjob(name, 75, runs_for="10s") for name in names])
        wait_for("some are bound", lambda: self.bindings() - made >= 30, interval=0.02)
        self.plane.restart_api_server()
        self.finish(names)
        pods = [pod for pod in self.plane.list(PODS) if pod["metadata"]["name"].startswith("restart-")]
        self.assertEqual(len(pods), 300)
        self.assertEqual({pod["status"]["phase"] for pod in pods}, {"Succeeded"})

    def test_12_the_hand_over_is_graceful(self):
        leader = [one for one in self.operators if one.process.poll() is None][-1]
        heir = self.start_operator()
        begun = time.monotonic()
        self.assertEqual(leader.end(), 0)
        self.apply(vcjob("after", 2))
        wait_for("the heir works", lambda: self.phase("after") == "Completed")
        self.assertLess(time.monotonic() - begun, PATIENCE)
        self.assertEqual(heir.forbidden(), [])

    def test_13_two_are_ready_and_one_leads(self):
        running = [one for one in self.operators if one.process.poll() is None]
        running.append(self.start_operator())
        self.assertEqual([one.get("/readyz") for one in running], ["ok"] * len(running))
        self.apply(vcjob("led", 1))
        wait_for("it completes", lambda: self.phase("led") == "Completed")
        idle = [one for one in running if not any(verb == "bind" for verb, _, _ in one.requests())]
        self.assertEqual(len(idle), len(running) - 1)

    def test_14_the_page_shows_each_visitor_what_they_may_see(self):
        web = Web(self.plane).wait_ready()
        self.addCleanup(web.end)
        self.assertEqual(web.get("/hekla/v1/session")[0], 302, "to the login")
        token = self.plane.token("default", "default")
        status, said = web.get("/hekla/v1/session", token)
        self.assertEqual(status, 200, said)
        self.assertEqual(json.loads(said)["user"], "system:serviceaccount:default:default")
        jobs = "/hekla/v1/k8s" + JOBS
        status, said = web.get(jobs, token)
        self.assertEqual(status, 403, said)
        self.assertIn('User \\"system:serviceaccount:default:default\\" cannot list', said)
        role = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": {"name": "look", "namespace": "default"},
                "rules": [{"apiGroups": ["batch.volcano.sh"], "resources": ["jobs"], "verbs": ["list"]}]}
        binding = {"apiVersion": role["apiVersion"], "kind": "RoleBinding", "metadata": role["metadata"],
                   "subjects": [{"kind": "ServiceAccount", "name": "default", "namespace": "default"}],
                   "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "look"}}
        self.apply(role, binding)
        wait_for("the visitor sees the jobs", lambda: web.get(jobs, token)[0] == 200)
        self.assertIn("one", [job["metadata"]["name"] for job in json.loads(web.get(jobs, token)[1])["items"]])


if __name__ == "__main__":
    unittest.main()
