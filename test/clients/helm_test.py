"""Helm against one platform with fake nodes: charts installed, upgraded, rolled back, tested and removed, with their hooks, their CRDs and what
templates ask of the server; Volcano's own charts over what the platform brings.

Environment: HEKLA (the binary), HEKLA_CACHE, HELM (the program; make test-helm builds it), GO (fetches Volcano's chart).
"""
import json
import os
import shutil
import subprocess
import sys
import unittest

import yaml

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "e2e"))
import platform_under_test as put  # noqa: E402

CHARTS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "helm")
HELM = os.environ["HELM"]
# Helm 4 lists all releases and shows their resources unasked, applies on the server's side and waits by kstatus.
FOUR = subprocess.run([HELM, "version", "--short"], check=True, capture_output=True, text=True).stdout.startswith("v4")
VOLCANO = ["v1.8.2", "v1.10.0", "v1.14.1"]
QUEUE = """
apiVersion: scheduling.volcano.sh/v1beta1
kind: Queue
metadata: {name: mine}
spec: {weight: 3}
"""
NS = "store"


def chart(name):
    return os.path.join(CHARTS, name)


def volcano_chart(version):
    """Where Go keeps the chart that Volcano is installed with."""
    done = subprocess.run([os.environ.get("GO", "go"), "mod", "download", "-json", "volcano.sh/volcano@" + version], check=True,
                          capture_output=True, text=True)
    return os.path.join(json.loads(done.stdout)["Dir"], "installer/helm/chart/volcano")


class Helm(put.PlatformTest):
    FLAGS = ["--no-agent", "--fake-nodes", "3"]

    def helm(self, *arguments, check=True, namespace=NS):
        environment = dict(os.environ, KUBECONFIG=self.platform.kubeconfig, HOME=self.platform.home)
        done = subprocess.run([HELM] + list(arguments) + ["-n", namespace], capture_output=True, text=True,
                              env=environment, timeout=2 * put.PATIENCE)
        if check and done.returncode != 0:
            raise AssertionError("helm %s: exit %d\n%s%s\n--- hekla log\n%s" % (
                " ".join(arguments), done.returncode, done.stdout, done.stderr, self.platform.log()))
        return done.stdout if check else done

    def get(self, *arguments):
        return self.platform.get(*arguments, "-n", NS)

    def exists(self, *arguments):
        return self.platform.kubectl("get", *arguments, "-n", NS, check=False).returncode == 0

    def status(self, release, **options):
        return json.loads(self.helm("status", release, "-o", "json", **options))["info"]["status"]

    def refused(self, *arguments):
        done = self.helm(*arguments, check=False)
        self.assertNotEqual(done.returncode, 0, done.stdout)
        return done.stderr

    def test_1_a_release_is_installed(self):
        self.helm("lint", chart("shop"), chart("queue"), chart("training"))
        kinds = [one["kind"] for one in yaml.safe_load_all(self.helm("template", "t", chart("shop"))) if one]
        self.assertEqual(len(kinds), 24, kinds)
        said = self.helm("install", "shop", chart("shop"), "--create-namespace", "--wait", "--wait-for-jobs",
                         "--timeout", "60s")
        self.assertIn("shop greets with hello (revision 1).", said)
        self.assertEqual(self.get("deployment", "shop")["status"]["availableReplicas"], 2)
        config = self.get("configmap", "shop")
        self.assertEqual((config["data"]["nodes"], config["data"]["queues"]), ("3", "true"))
        self.assertEqual(config["metadata"]["annotations"]["meta.helm.sh/release-name"], "shop")
        self.assertEqual(self.get("gadgets.shop.example.com", "shop")["spec"], {"size": 2})
        for job in ("shop-pre-install", "shop-post-install", "shop-index"):
            self.assertEqual(self.get("job", job)["status"]["succeeded"], 1)
        secret = self.get("secret", "sh.helm.release.v1.shop.v1")
        self.assertEqual((secret["type"], secret["metadata"]["labels"]["status"]), ("helm.sh/release.v1", "deployed"))
        tried = self.helm("upgrade", "shop", chart("shop"), "--set", "greeting=tried", "--dry-run=server")
        self.assertIn('nodes: "3"', tried)  # lookup asks the server
        self.assertEqual(self.get("configmap", "shop")["data"]["greeting"], "hello")
        self.assertRegex(self.refused("install", "shop", chart("shop")), "cannot re-?use a name that is still in use")

    def test_2_it_is_upgraded_and_rolled_back(self):
        password = self.get("secret", "shop")["data"]["password"]
        self.helm("upgrade", "shop", chart("shop"), "--set", "greeting=hi,replicas=3,image=shop:2", "--wait")
        self.assertEqual(self.get("configmap", "shop")["data"]["greeting"], "hi")
        web = self.get("deployment", "shop")
        self.assertEqual(web["spec"]["template"]["spec"]["containers"][0]["image"], "shop:2")
        self.assertEqual(web["status"]["updatedReplicas"], 3)
        self.assertEqual(self.get("secret", "shop")["data"]["password"], password)  # kept by lookup
        # A hook that fails fails the upgrade; --atomic goes back by itself.
        broken = ["upgrade", "shop", chart("shop"), "--reuse-values", "--set-string", "migration={sh,-c,exit 1}"]
        self.assertIn("pre-upgrade hooks failed", self.refused(*broken))
        self.assertEqual(self.status("shop"), "failed")
        self.assertIn("has been rolled back due to", self.refused(*broken, "--atomic", "--timeout", "120s"))
        self.assertEqual(self.get("deployment", "shop")["spec"]["replicas"], 3)
        # What an administrator changed by hand stays where the chart says nothing new of it.
        self.platform.kubectl("label", "deployment", "shop", "team=blue", "-n", NS)
        self.helm("rollback", "shop", "1", "--wait")
        web = self.get("deployment", "shop")
        self.assertEqual((web["spec"]["replicas"], web["metadata"]["labels"]["team"]), (2, "blue"))
        self.assertTrue(self.exists("job", "shop-pre-rollback"))
        history = json.loads(self.helm("history", "shop", "-o", "json"))
        self.assertEqual([one["status"] for one in history],
                         ["superseded", "superseded", "failed", "failed", "superseded", "deployed"])

    def test_3_it_is_shown_and_tested(self):
        listed = json.loads(self.helm("list", "-o", "json"))
        self.assertEqual([(one["name"], one["status"]) for one in listed], [("shop", "deployed")])
        shown = self.helm("status", "shop", *([] if FOUR else ["--show-resources"]))
        for kind in ("Deployment", "Gadget", "PodDisruptionBudget", "Pod(related)"):
            self.assertIn("/" + kind + "\n", shown)
        self.assertIn("greeting: hello", self.helm("get", "values", "shop", "--all"))
        self.assertIn("helm.sh/hook: test", self.helm("get", "hooks", "shop"))
        self.assertIn("kind: DaemonSet", self.helm("get", "manifest", "shop"))
        self.assertIn("hello", self.helm("get", "notes", "shop"))
        self.assertIn("VERSION: 0.1.0", self.helm("get", "all", "shop"))
        self.assertIn("Phase:          Succeeded", self.helm("test", "shop"))

    def test_4_it_is_removed(self):
        self.assertIn("[ResourceQuota] shop", self.helm("uninstall", "shop", "--keep-history"))
        self.assertEqual(self.status("shop"), "uninstalled")
        self.assertIn("release \"shop\" uninstalled", self.helm("uninstall", "shop", "--wait"))
        for kind in ("deployment", "service", "secret", "clusterrole"):
            name = "store-shop" if kind == "clusterrole" else "shop"
            put.wait_for(kind + " is gone", lambda kind=kind, name=name: not self.exists(kind, name))
        self.assertTrue(self.exists("resourcequota", "shop"))  # helm.sh/resource-policy: keep
        self.assertTrue(self.exists("crd", "gadgets.shop.example.com"))  # helm removes no CRDs
        self.assertEqual(json.loads(self.helm("list", *([] if FOUR else ["-a"]), "-o", "json")), [])

    def test_5_a_gang_with_its_queue(self):
        self.helm("install", "blue", chart("queue"), "--create-namespace", "--wait")
        self.helm("upgrade", "blue", chart("queue"), "--set", "weight=5")
        self.assertEqual(self.get("queue", "blue")["spec"]["weight"], 5)
        self.helm("install", "gang", chart("training"), "--set", "queue=blue", "--wait")
        put.wait_for("the job is done", lambda: self.get("vcjob", "gang")["status"]["state"]["phase"] == "Completed")
        # Admission speaks through helm, and what it refused can be taken back.
        self.assertIn("job updates may not change fields other than", self.refused(
            "upgrade", "gang", chart("training"), "--reuse-values", "--set", "seconds=9"))
        self.helm("rollback", "gang", "1")
        self.helm("rollback", "blue", "1")
        self.assertEqual(self.get("queue", "blue")["spec"]["weight"], 2)
        self.helm("uninstall", "gang", "--wait", "--cascade", "foreground")
        self.helm("uninstall", "blue")
        put.wait_for("the queue is gone", lambda: not self.exists("queue", "blue"))

    def install_volcano(self, version):
        """As its documentation says, without a flag; what was there before is there afterwards."""
        p, system = self.platform, "volcano-system"
        source = os.path.join(p.home, "volcano-" + version)
        shutil.copytree(volcano_chart(version), source)  # Go's files are read-only
        self.helm("install", "volcano", source, "--create-namespace", namespace=system)
        self.assertEqual(self.status("volcano", namespace=system), "deployed")
        for name in ("admission", "controllers", "scheduler"):
            p.kubectl("rollout", "status", "deployment/volcano-" + name, "-n", system, "--timeout=60s")
        jobs = [job["metadata"]["name"] for job in p.get("jobs", "-n", system)["items"]]
        # Later charts have it as a hook, which Helm deletes when it has succeeded.
        self.assertEqual(jobs, ["volcano-admission-init"] if version == "v1.8.2" else [])
        p.apply_text(put.job("during", 2, "1"))
        p.wait_phase("during", "Running")
        self.helm("upgrade", "volcano", source, "--set", "custom.admission_replicas=2", namespace=system)
        self.helm("rollback", "volcano", "1", namespace=system)
        self.helm("uninstall", "volcano", "--wait", namespace=system)
        self.assertEqual(p.phase("during"), "Running")
        self.assertEqual(p.get("queue", "mine")["spec"]["weight"], 3)
        p.kubectl("delete", "vcjob", "during")
        put.wait_for("the configuration is back", lambda: p.get("configmap", "volcano-scheduler-configmap", "-n", system))
        p.apply_text(put.job("afterwards", 2, "1"))
        p.wait_phase("afterwards", "Running")
        p.kubectl("delete", "vcjob", "afterwards")

    def test_6_volcano_over_the_built_in_one(self):
        self.platform.apply_text(QUEUE)
        for version in VOLCANO:
            with self.subTest(version):
                self.install_volcano(version)
        self.platform.kubectl("delete", "queue", "mine")


if __name__ == "__main__":
    unittest.main()
