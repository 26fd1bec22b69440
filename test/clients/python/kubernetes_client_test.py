"""The Python `kubernetes` client against one platform: typed and dynamic, patches, watches that go on where they stopped, YAML files.

Environment: HEKLA (the binary), HEKLA_CACHE; run with an interpreter that has the `kubernetes` package (make test-python).
"""
import os
import sys
import tempfile
import threading
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../e2e"))
import platform_under_test as put  # noqa: E402

from kubernetes import client, config, dynamic, informer, utils, watch  # noqa: E402
import kubernetes.dynamic.exceptions  # noqa: E402,F401
from kubernetes.client.rest import ApiException  # noqa: E402

NS = "python"
QUEUES = ("scheduling.volcano.sh", "v1beta1", "queues")
JOBS = ("batch.volcano.sh", "v1alpha1")


def config_map(name, **data):
    return client.V1ConfigMap(metadata=client.V1ObjectMeta(name=name, labels={"test": "yes"}), data=data)


def deployment(name, replicas=1):
    return client.V1Deployment(
        metadata=client.V1ObjectMeta(name=name),
        spec=client.V1DeploymentSpec(
            replicas=replicas, selector=client.V1LabelSelector(match_labels={"app": name}),
            template=client.V1PodTemplateSpec(
                metadata=client.V1ObjectMeta(labels={"app": name}),
                spec=client.V1PodSpec(containers=[client.V1Container(name="c", image="img:1")]))))


class PythonClient(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        cls.platform = put.Platform("--no-agent", "--fake-nodes", "2")
        cls.addClassCleanup(cls.platform.destroy)
        cls.platform.up()
        cls.api = config.new_client_from_config(cls.platform.kubeconfig)
        cls.core = client.CoreV1Api(cls.api)
        cls.apps = client.AppsV1Api(cls.api)
        cls.custom = client.CustomObjectsApi(cls.api)
        cls.core.create_namespace(client.V1Namespace(metadata=client.V1ObjectMeta(name=NS)))

    def refused(self, code, call, *arguments, **options):
        with self.assertRaises(ApiException) as caught:
            call(*arguments, **options)
        self.assertEqual(caught.exception.status, code, caught.exception.body)
        return caught.exception.body

    def test_1_objects(self):
        made = self.core.create_namespaced_config_map(NS, config_map("crud", a="1"))
        self.assertTrue(made.metadata.uid)
        self.assertIn('configmaps \\"crud\\" already exists',
                      self.refused(409, self.core.create_namespaced_config_map, NS, config_map("crud")))
        made.data["b"] = "2"
        changed = self.core.replace_namespaced_config_map("crud", NS, made)
        self.assertEqual(changed.data, {"a": "1", "b": "2"})
        made.data["b"] = "3"
        self.assertIn("the object has been modified",
                      self.refused(409, self.core.replace_namespaced_config_map, "crud", NS, made))
        self.assertEqual([m.metadata.name for m in self.core.list_namespaced_config_map(
            NS, label_selector="test=yes").items], ["crud"])
        page = self.core.list_namespaced_config_map(NS, limit=1)
        rest = self.core.list_namespaced_config_map(NS, limit=10, _continue=page.metadata._continue)
        self.assertEqual(sorted(m.metadata.name for m in page.items + rest.items), ["crud", "kube-root-ca.crt"])
        gone = self.core.delete_namespaced_config_map("crud", NS)
        self.assertEqual(gone["status"] if isinstance(gone, dict) else gone.status, "Success")
        self.refused(404, self.core.read_namespaced_config_map, "crud", NS)
        thread = self.core.list_node(async_req=True)
        self.assertEqual([n.metadata.name for n in thread.get(10).items], ["fake-0", "fake-1"])

    def test_2_patches(self):
        self.apps.create_namespaced_deployment(NS, deployment("patched"))
        strategic = self.apps.patch_namespaced_deployment("patched", NS, {"spec": {"template": {"spec": {"containers": [
            {"name": "c", "env": [{"name": "A", "value": "1"}]}]}}}})
        container = strategic.spec.template.spec.containers[0]
        self.assertEqual((container.image, container.env[0].name), ("img:1", "A"))
        listed = self.apps.patch_namespaced_deployment("patched", NS, [
            {"op": "replace", "path": "/spec/replicas", "value": 3}])
        self.assertEqual(listed.spec.replicas, 3)
        merged = self.apps.patch_namespaced_deployment("patched", NS, {"metadata": {"labels": {"a": "b"}}},
                                                       _content_type="application/merge-patch+json")
        self.assertEqual(merged.metadata.labels, {"a": "b"})
        applied = self.apps.patch_namespaced_deployment(
            "patched", NS, {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "patched", "labels": {"c": "d"}}},
            field_manager="python", _content_type="application/apply-patch+yaml")
        self.assertEqual(applied.metadata.labels, {"a": "b", "c": "d"})
        self.assertIn("python", [m.manager for m in applied.metadata.managed_fields])
        scaled = self.apps.patch_namespaced_deployment_scale("patched", NS, {"spec": {"replicas": 2}})
        self.assertEqual(scaled.spec.replicas, 2)
        status = self.apps.patch_namespaced_deployment_status("patched", NS, {"status": {"observedGeneration": 4}})
        self.assertEqual((status.status.observed_generation, status.spec.replicas), (4, 2))

    def test_3_watch_goes_on_where_it_stopped(self):
        self.core.create_namespaced_config_map(NS, config_map("w0"))
        seen = []
        stream = watch.Watch()
        for event in stream.stream(self.core.list_namespaced_config_map, NS, label_selector="test=yes", timeout_seconds=10):
            seen.append((event["type"], event["object"].metadata.name))
            if len(seen) == 1:
                self.core.create_namespaced_config_map(NS, config_map("w1"))
            if len(seen) == 2:
                stream.stop()
        version = stream.resource_version
        self.core.patch_namespaced_config_map("w0", NS, {"data": {"x": "y"}})
        self.core.delete_namespaced_config_map("w1", NS)
        for event in watch.Watch().stream(self.core.list_namespaced_config_map, NS, label_selector="test=yes",
                                          resource_version=version, timeout_seconds=2):
            seen.append((event["type"], event["object"].metadata.name))
            if len(seen) == 4:
                break
        self.assertEqual(seen, [("ADDED", "w0"), ("ADDED", "w1"), ("MODIFIED", "w0"), ("DELETED", "w1")])
        body = self.core.delete_collection_namespaced_config_map(NS, label_selector="test=yes")
        self.assertEqual(self.core.list_namespaced_config_map(NS, label_selector="test=yes").items, [], body)

    def test_4_custom_objects(self):
        queue = {"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "Queue", "metadata": {"name": "py"},
                 "spec": {"weight": 1}}
        made = self.custom.create_cluster_custom_object(*QUEUES, queue)
        self.assertEqual(made["spec"]["parent"], "root")
        patched = self.custom.patch_cluster_custom_object(*QUEUES, "py", {"spec": {"weight": 5}})
        self.assertEqual(patched["spec"]["weight"], 5)
        names = [q["metadata"]["name"] for q in self.custom.list_cluster_custom_object(*QUEUES)["items"]]
        self.assertIn("py", names)
        job = {"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job", "metadata": {"name": "train"},
               "spec": {"minAvailable": 1, "queue": "py", "tasks": [{"name": "w", "replicas": 1, "template": {"spec": {
                   "restartPolicy": "Never", "containers": [{"name": "c", "image": "i", "command": ["sleep", "1"]}]}}}]}}
        self.custom.create_namespaced_custom_object(*JOBS, NS, "jobs", job)
        phases = []
        for event in watch.Watch().stream(self.custom.list_namespaced_custom_object, *JOBS, NS, "jobs", timeout_seconds=30):
            phase = event["object"].get("status", {}).get("state", {}).get("phase")
            if phase and (not phases or phases[-1] != phase):
                phases.append(phase)
            if phase == "Completed":
                break
        self.assertEqual(phases[-1], "Completed", phases)
        self.custom.delete_namespaced_custom_object(*JOBS, NS, "jobs", "train")
        self.refused(404, self.custom.get_namespaced_custom_object, *JOBS, NS, "jobs", "nope")

    def test_5_dynamic_client(self):
        dynamic_client = dynamic.DynamicClient(self.api)
        maps = dynamic_client.resources.get(api_version="v1", kind="ConfigMap")
        maps.create(body={"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "dyn"}, "data": {"a": "1"}}, namespace=NS)
        self.assertEqual(maps.get(name="dyn", namespace=NS).data.a, "1")
        maps.patch(body={"data": {"a": "2"}}, name="dyn", namespace=NS, content_type="application/merge-patch+json")
        applied = maps.server_side_apply(body={"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "dyn"},
                                               "data": {"z": "1"}}, name="dyn", namespace=NS, field_manager="dyn")
        self.assertEqual(applied.data.to_dict(), {"a": "2", "z": "1"})
        queues = dynamic_client.resources.get(api_version="scheduling.volcano.sh/v1beta1", kind="Queue")
        self.assertIn("default", [q.metadata.name for q in queues.get().items])
        maps.delete(name="dyn", namespace=NS)

    def test_6_yaml_files(self):
        with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
            file.write("""
apiVersion: v1
kind: ConfigMap
metadata: {name: from-yaml}
---
apiVersion: batch/v1
kind: Job
metadata: {name: from-yaml}
spec: {suspend: true, template: {spec: {restartPolicy: Never, containers: [{name: c, image: i}]}}}
""")
            file.flush()
            utils.create_from_yaml(self.api, file.name, namespace=NS)
            with self.assertRaises(utils.FailToCreateError):
                utils.create_from_yaml(self.api, file.name, namespace=NS)
        self.assertTrue(client.BatchV1Api(self.api).read_namespaced_job("from-yaml", NS).spec.suspend)

    def test_7_kinds_deserialise(self):
        """The client's constructors refuse answers in which something required is missing."""
        for call in [self.core.list_node, self.core.list_namespace, self.core.list_pod_for_all_namespaces,
                     self.core.list_service_for_all_namespaces, self.core.list_event_for_all_namespaces,
                     self.core.list_service_account_for_all_namespaces, self.apps.list_deployment_for_all_namespaces,
                     client.SchedulingV1Api(self.api).list_priority_class,
                     client.ApiextensionsV1Api(self.api).list_custom_resource_definition,
                     client.RbacAuthorizationV1Api(self.api).list_cluster_role,
                     client.CoordinationV1Api(self.api).list_lease_for_all_namespaces,
                     client.DiscoveryV1Api(self.api).list_endpoint_slice_for_all_namespaces,
                     client.StorageV1Api(self.api).list_storage_class]:
            self.assertIsNotNone(call().items, call.__name__)
        self.assertEqual(client.VersionApi(self.api).get_code().minor, "34")
        groups = [g.name for g in client.ApisApi(self.api).get_api_versions().groups]
        self.assertIn("batch.volcano.sh", groups)

    def test_8_many_threads(self):
        errors = []

        def work(index):
            try:
                for i in range(10):
                    self.core.create_namespaced_config_map(NS, config_map("t-%d-%d" % (index, i)))
            except ApiException as error:
                errors.append(error)
        threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        self.assertEqual(errors, [])
        self.assertEqual(len(self.core.list_namespaced_config_map(NS, label_selector="test=yes").items), 80)

    def test_9_informer(self):
        seen = []
        follower = informer.SharedInformer(self.core.list_namespaced_config_map, namespace=NS, label_selector="informed=yes")
        for kind in (informer.ADDED, informer.MODIFIED, informer.DELETED):
            follower.add_event_handler(kind, lambda thing, kind=kind: seen.append((kind, thing.metadata.name)))

        def made(name):
            return client.V1ConfigMap(metadata=client.V1ObjectMeta(name=name, labels={"informed": "yes"}))
        self.core.create_namespaced_config_map(NS, made("before"))
        follower.start()
        try:
            put.wait_for("the first list", lambda: seen == [("ADDED", "before")], 10)
            self.core.create_namespaced_config_map(NS, made("after"))
            put.wait_for("a creation", lambda: ("ADDED", "after") in seen, 10)
            self.core.patch_namespaced_config_map("after", NS, {"data": {"x": "y"}})
            put.wait_for("a change", lambda: ("MODIFIED", "after") in seen, 10)
            self.assertEqual(follower.cache.get_by_key(NS + "/after").data, {"x": "y"})
            self.core.delete_namespaced_config_map("before", NS)
            put.wait_for("a deletion", lambda: ("DELETED", "before") in seen, 10)
            self.assertEqual(follower.cache.list_keys(), [NS + "/after"])
        finally:
            follower.stop()
        self.assertEqual(len(seen), 4, seen)

    def test_a_tokens(self):
        self.core.create_namespaced_service_account(NS, client.V1ServiceAccount(metadata=client.V1ObjectMeta(name="robot")))
        asked = self.core.create_namespaced_service_account_token("robot", NS, client.AuthenticationV1TokenRequest(
            spec=client.V1TokenRequestSpec(audiences=[], expiration_seconds=600)))
        settings = client.Configuration()
        settings.host, settings.ssl_ca_cert = self.api.configuration.host, self.api.configuration.ssl_ca_cert
        settings.api_key = {"authorization": "Bearer " + asked.status.token}
        robot = client.ApiClient(settings)
        who = client.AuthenticationV1Api(robot).create_self_subject_review(client.V1SelfSubjectReview())
        self.assertEqual(who.status.user_info.username, "system:serviceaccount:%s:robot" % NS)
        self.assertIn('cannot list resource \\"secrets\\"', self.refused(
            403, client.CoreV1Api(robot).list_namespaced_secret, NS))
        client.RbacAuthorizationV1Api(self.api).create_namespaced_role_binding(NS, client.V1RoleBinding(
            metadata=client.V1ObjectMeta(name="robot"),
            role_ref=client.V1RoleRef(api_group="rbac.authorization.k8s.io", kind="ClusterRole", name="edit"),
            subjects=[client.RbacV1Subject(kind="ServiceAccount", name="robot", namespace=NS)]))
        self.assertEqual(client.CoreV1Api(robot).list_namespaced_secret(NS).items, [])
        allowed = client.AuthorizationV1Api(robot).create_self_subject_access_review(client.V1SelfSubjectAccessReview(
            spec=client.V1SelfSubjectAccessReviewSpec(resource_attributes=client.V1ResourceAttributes(
                namespace=NS, verb="delete", resource="nodes"))))
        self.assertFalse(allowed.status.allowed)

    def test_b_apply_by_two(self):
        maps = dynamic.DynamicClient(self.api).resources.get(api_version="v1", kind="ConfigMap")

        def apply(manager, force=False, **data):
            return maps.server_side_apply(body={"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "shared"}, "data": data},
                                          name="shared", namespace=NS, field_manager=manager, force_conflicts=force)
        apply("one", a="1", b="1")
        with self.assertRaises(dynamic.exceptions.ConflictError) as caught:
            apply("two", a="2")
        self.assertIn('conflict with \\"one\\": .data.a', str(caught.exception.body))
        self.assertEqual(apply("two", force=True, a="2").data.to_dict(), {"a": "2", "b": "1"})
        self.assertEqual(apply("one", a="2").data.to_dict(), {"a": "2"})


if __name__ == "__main__":
    unittest.main()
