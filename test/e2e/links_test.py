"""hekla under the names of docker and kfctl, as the tutorials type them."""
import os
import re
import shutil
import subprocess
import tempfile
import unittest

import platform_under_test as put
from registry import Registry, layer

# What a tutorial pulls before it installs Kubeflow 1.6, from a mirror.
PULLS = """
arrikto/istio/pilot:1.14.1-1-g19df463bb arrikto/kubeflow/oidc-authservice:28c59ef
knative-releases/knative.dev/eventing/cmd/controller@sha256:dc0ac2d8f235edb04ec1290721f389d2bc719ab8b6222ee86f17af8d7d2a160f
knative-releases/knative.dev/eventing/cmd/mtping@sha256:632d9d710d070efed2563f6125a87993e825e8e36562ec3da0366e2a897406c0
knative-releases/knative.dev/eventing/cmd/webhook@sha256:b7faf7d253bd256dbe08f1cac084469128989cf39abbe256ecb4e1d4eb085a31
knative-releases/knative.dev/net-istio/cmd/controller@sha256:f253b82941c2220181cee80d7488fe1cefce9d49ab30bdb54bcb8c76515f7a26
knative-releases/knative.dev/net-istio/cmd/webhook@sha256:a705c1ea8e9e556f860314fe055082fbe3cde6a924c29291955f98d979f8185e
knative-releases/knative.dev/serving/cmd/activator@sha256:93ff6e69357785ff97806945b284cbd1d37e50402b876a320645be8877c0d7b7
knative-releases/knative.dev/serving/cmd/autoscaler@sha256:007820fdb75b60e6fd5a25e65fd6ad9744082a6bf195d72795561c91b425d016
knative-releases/knative.dev/serving/cmd/controller@sha256:75cfdcfa050af9522e798e820ba5483b9093de1ce520207a3fedf112d73a4686
knative-releases/knative.dev/serving/cmd/domain-mapping@sha256:23baa19322320f25a462568eded1276601ef67194883db9211e1ea24f21a0beb
knative-releases/knative.dev/serving/cmd/domain-mapping-webhook@sha256:847bb97e38440c71cb4bcc3e430743e18b328ad1e168b6fca35b10353b9a2c22
knative-releases/knative.dev/serving/cmd/queue@sha256:14415b204ea8d0567235143a6c3377f49cbd35f18dc84dfa4baa7695c2a9b53d
knative-releases/knative.dev/serving/cmd/webhook@sha256:9084ea8498eae3c6c4364a397d66516a25e48488f4a9871ef765fa554ba483f0
kubebuilder/kube-rbac-proxy:v0.8.0 ml-pipeline/api-server:2.0.0-alpha.3 ml-pipeline/cache-server:2.0.0-alpha.3
ml-pipeline/frontend:2.0.0-alpha.3 ml-pipeline/metadata-writer:2.0.0-alpha.3
ml-pipeline/minio:RELEASE.2019-08-14T20-37-41Z-license-compliance ml-pipeline/mysql:5.7-debian
ml-pipeline/persistenceagent:2.0.0-alpha.3 ml-pipeline/scheduledworkflow:2.0.0-alpha.3
ml-pipeline/viewer-crd-controller:2.0.0-alpha.3 ml-pipeline/visualization-server:2.0.0-alpha.3
ml-pipeline/workflow-controller:v3.3.8-license-compliance tfx-oss-public/ml_metadata_store_server:1.5.0
""".split()
DOCKERFILE = """
FROM host
COPY train.py /opt/train.py
CMD ["python3", "/opt/train.py"]
"""


def linked(test, name):
    directory = tempfile.mkdtemp(prefix="hekla-e2e-links-")
    test.addCleanup(shutil.rmtree, directory, ignore_errors=True)
    os.symlink(put.HEKLA, os.path.join(directory, name))
    return os.path.join(directory, name)


class Docker(unittest.TestCase):
    def setUp(self):
        self.docker = linked(self, "docker")
        self.place = os.path.dirname(self.docker)
        self.registry = Registry()
        self.addCleanup(self.registry.close)
        self.environment = dict(os.environ, HOME=self.place)
        self.environment.pop("KUBECONFIG", None)

    def run_it(self, *arguments, code=0, stdin=None):
        done = subprocess.run([self.docker, *arguments], cwd=self.place, env=self.environment, input=stdin,
                              capture_output=True, timeout=put.PATIENCE)
        self.assertEqual(done.returncode, code, (done.stdout[:2000], done.stderr))
        return done.stdout if code == 0 else done.stderr.decode()

    def typed(self, line, **options):
        """As a tutorial types it; only the data directory is this test's own."""
        words = line.split()
        return self.run_it(words[0], "--data-dir", self.place + "/data", *words[1:], **options)

    def test_images_of_components_are_not_pulled(self):
        self.assertEqual(len(PULLS), 27)
        for image in PULLS:
            said = self.typed("pull gcr.m.daocloud.io/" + image).decode()
            self.assertEqual(said, "gcr.m.daocloud.io/%s: built into Hekla, not pulled\n" % image)

    def test_an_image_is_built_and_tagged(self):
        with open(self.place + "/Dockerfile", "w") as file:
            file.write(DOCKERFILE)
        with open(self.place + "/train.py", "w") as file:
            file.write("print('trained')\n")
        name = self.registry.host + "/bingomatrix/distributed-tensorflow:0.0.1"
        self.typed("build --no-cache -t %s ." % name)
        self.assertRegex(self.typed("images").decode(), r"(?m)^REPOSITORY +TAG +IMAGE ID +CREATED +SIZE$")
        self.assertRegex(self.typed("images").decode(),
                         r"(?m)^%s +0\.0\.1 +\w{12} +\S+ ago +\S+$" % re.escape(name.rsplit(":", 1)[0]))
        self.typed("tag %s %s" % (name, name.replace("0.0.1", "latest")))
        self.assertIn(b"latest", self.typed("images"))
        self.typed("rmi %s %s" % (name, name.replace("0.0.1", "latest")))
        self.assertEqual(self.typed("images -q"), b"")

    def test_pull_login_push_save_and_load(self):
        self.registry.publish("team/a:1", [layer(("etc/name", b"a\n", 0o644))])
        self.typed("pull %s/team/a:1" % self.registry.host)
        self.assertEqual(self.typed("login %s" % self.registry.host, stdin=b"user\nsecret\n"), b"Login Succeeded\n")
        self.typed("tag %s/team/a:1 %s/team/b:1" % (self.registry.host, self.registry.host))
        self.typed("push %s/team/b:1" % self.registry.host)
        self.assertTrue([one for one in self.registry.requests if "team/b/manifests/1" in one])
        archive = self.typed("save %s/team/a:1" % self.registry.host)
        self.typed("rmi %s/team/a:1 %s/team/b:1" % (self.registry.host, self.registry.host))
        self.typed("load", stdin=archive)
        self.assertIn(b"team/a", self.typed("images"))
        with open(self.place + "/image.tar", "wb") as file:
            file.write(archive)
        self.typed("rmi %s/team/a:1" % self.registry.host)
        self.typed("load -i image.tar")
        self.assertIn(b"team/a", self.typed("images"))

    def test_containers_run_in_pods(self):
        self.assertIn("docker run: this docker is a link to hekla", self.run_it("run", "-it", "ubuntu", code=2))


class Kfctl(put.PlatformTest):
    FLAGS = ["--no-agent", "--fake-nodes", "1"]
    URL = "https://raw.githubusercontent.com/kubeflow/manifests/v1.0-branch/kfdef/kfctl_k8s_istio.v1.0.2.yaml"

    def kfctl(self, name, *arguments, check=True):
        done = subprocess.run([linked(self, name), *arguments], cwd=self.platform.home, capture_output=True, text=True,
                              timeout=put.PATIENCE, env=dict(os.environ, KUBECONFIG=self.platform.kubeconfig))
        if check:
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done

    def test_a_file_is_gone_through_and_taken_away(self):
        p = self.platform
        with open(os.path.join(p.home, "kf.yaml"), "w") as file:
            file.write("apiVersion: kfdef.apps.kubeflow.org/v1\nkind: KfDef\nspec:\n  applications:\n"
                       "  - {name: istio-crds}\n  - {name: tf-job-operator}\n  - {name: spartakus}\n")
        said = self.kfctl("Kfctl", "apply", "-V", "-f", "kf.yaml").stdout
        self.assertEqual([line for line in said.splitlines() if not line.startswith(" ")], [
            "Deploying application istio-crds", "Successfully applied application istio-crds",
            "Deploying application tf-job-operator", "Successfully applied application tf-job-operator",
            "spartakus is not part of Hekla; skipped", "Applied the configuration successfully!"])
        self.assertEqual(p.get("namespace", "kubeflow")["metadata"]["labels"]["control-plane"], "kubeflow")
        self.assertEqual(p.get("profile", "anonymous")["spec"]["owner"]["name"], "anonymous@kubeflow.org")
        self.assertEqual(p.get("namespace", "anonymous")["status"]["phase"], "Active")
        self.assertTrue(os.path.exists(os.path.join(p.home, "app.yaml")))
        self.kfctl("kfctl", "apply", "-V", "-f", "kf.yaml")  # again
        self.kfctl("kfctl", "delete", "-V", "-f", "kf.yaml")
        put.wait_for("the namespace is gone", lambda: p.kubectl("get", "ns", "anonymous", check=False).returncode)
        self.assertNotIn("control-plane", p.get("namespace", "kubeflow")["metadata"]["labels"])

    def test_what_is_no_definition_is_refused(self):
        with open(os.path.join(self.platform.home, "other.yaml"), "w") as file:
            file.write("kind: ConfigMap\n")
        self.assertIn("other.yaml: no document of kind KfDef", self.kfctl("kfctl", "build", "-f", "other.yaml", check=False).stderr)
        self.assertIn("nowhere.yaml", self.kfctl("kfctl", "build", "-f", "nowhere.yaml", check=False).stderr)


if __name__ == "__main__":
    unittest.main()
