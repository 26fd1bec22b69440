"""What a pod needs to really run: probes, hooks, persistent volumes."""
import os
import shutil
import tempfile
import unittest

import platform_under_test as put

PODS = """
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data}
spec:
  accessModes: [ReadWriteOnce]
  resources: {requests: {storage: 1Gi}}
---
apiVersion: v1
kind: Pod
metadata: {name: writer}
spec:
  schedulerName: volcano
  restartPolicy: Never
  securityContext: {runAsUser: 1234}
  containers:
  - name: c
    image: any
    command: [sh, -c, 'mkdir -p /data/sub; echo kept > /data/sub/file; ls -ld /data']
    volumeMounts: [{name: data, mountPath: /data}]
  volumes: [{name: data, persistentVolumeClaim: {claimName: data}}]
---
apiVersion: v1
kind: Pod
metadata: {name: probed}
spec:
  schedulerName: volcano
  terminationGracePeriodSeconds: 2
  containers:
  - name: web
    image: any
    workingDir: /tmp
    command: [sh, -c, 'sleep 3; exec python3 -m http.server 8000']
    startupProbe: {httpGet: {path: /, port: 8000}, periodSeconds: 1, failureThreshold: 120}
    readinessProbe: {tcpSocket: {port: 8000}, periodSeconds: 1}
    livenessProbe:
      exec: {command: [sh, -c, 'echo it is sick; ! test -e /tmp/sick']}
      periodSeconds: 1
      failureThreshold: 1
      timeoutSeconds: 30
    lifecycle:
      postStart: {exec: {command: [sh, -c, 'echo started > /tmp/hook']}}
      preStop: {sleep: {seconds: 1}}
"""

READER = """
apiVersion: v1
kind: Pod
metadata: {name: reader}
spec:
  schedulerName: volcano
  restartPolicy: Never
  containers:
  - name: c
    image: any
    command: [cat, /data/file]
    volumeMounts: [{name: data, mountPath: /data, subPath: sub, readOnly: true}]
  volumes: [{name: data, persistentVolumeClaim: {claimName: data}}]
"""


GPU_POD = """
apiVersion: v1
kind: Pod
metadata: {name: gpu-%d}
spec:
  schedulerName: volcano
  terminationGracePeriodSeconds: 0
  containers:
  - name: c
    image: any
    command: [sh, -c, 'echo $NVIDIA_VISIBLE_DEVICES $CUDA_VISIBLE_DEVICES; sleep 100']
    resources: {limits: {nvidia.com/gpu: 1}}
---
"""

HARDENED = """
apiVersion: v1
kind: Pod
metadata: {name: hardened}
spec:
  schedulerName: volcano
  terminationGracePeriodSeconds: 0
  securityContext: {runAsUser: 1234, runAsGroup: 2345, supplementalGroups: [3456], fsGroup: 4567, seccompProfile: {type: RuntimeDefault}}
  containers:
  - name: c
    image: any
    command: [sleep, "100"]
    securityContext: {readOnlyRootFilesystem: true, allowPrivilegeEscalation: false, capabilities: {drop: [ALL]}}
    resources: {limits: {cpu: 200m, memory: 64Mi}}
    volumeMounts: [{name: scratch, mountPath: /scratch}]
  volumes: [{name: scratch, emptyDir: {medium: Memory, sizeLimit: 1Mi}}]
"""


EPHEMERAL = """
apiVersion: v1
kind: Pod
metadata: {name: scratch}
spec:
  schedulerName: volcano
  terminationGracePeriodSeconds: 0
  containers:
  - name: c
    image: any
    command: [sh, -c, 'echo mine > /data/file; sleep 100']
    volumeMounts: [{name: data, mountPath: /data}]
  volumes:
  - name: data
    ephemeral:
      volumeClaimTemplate:
        metadata: {labels: {team: a}}
        spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Mi}}}
"""

REFUSED = """
apiVersion: v1
kind: Pod
metadata: {name: tuned}
spec:
  securityContext: {sysctls: [{name: kernel.msgmax, value: "65536"}]}
  containers: [{name: c, image: any, command: [sleep, "100"]}]
  nodeName: %s
---
apiVersion: v1
kind: Pod
metadata: {name: huge}
spec:
  containers: [{name: c, image: any, command: [sleep, "100"], resources: {requests: {cpu: 5000}}}]
  nodeName: %s
"""

CAP_SYS_RESOURCE = 24


class Pods(put.PlatformTest):
    FLAGS = ["--image-map", "*=host", "--node-resources", "nvidia.com/gpu=2", "--gpu-replicas", "3"]

    @classmethod
    def setUpClass(cls):
        directory = tempfile.mkdtemp(prefix="hekla-e2e-keys-")
        cls.addClassCleanup(shutil.rmtree, directory)
        cls.keys = os.path.join(directory, "admin.conf")
        cls.FLAGS = cls.FLAGS + ["--kubeconfig-out", cls.keys]
        super().setUpClass()
        cls.platform.apply_text(PODS)

    def phase_of(self, pod):
        return self.platform.get("pod", pod)["status"].get("phase")

    def test_1_a_claim_is_provisioned_for_its_first_pod_and_keeps_its_files(self):
        p = self.platform
        put.wait_for("the writer is done", lambda: self.phase_of("writer") == "Succeeded")
        claim = p.get("pvc", "data")
        self.assertEqual(claim["status"]["phase"], "Bound")
        self.assertEqual(claim["spec"]["storageClassName"], "local-path")
        self.assertEqual(claim["spec"]["volumeName"], "pvc-" + claim["metadata"]["uid"])
        volume = p.get("pv", claim["spec"]["volumeName"])
        self.assertEqual(volume["status"]["phase"], "Bound")
        self.assertEqual(p.get("storageclass", "local-path")["provisioner"], "rancher.io/local-path")
        p.apply_text(READER)
        put.wait_for("the reader is done", lambda: self.phase_of("reader") == "Succeeded")
        self.assertEqual(p.kubectl("logs", "reader"), "kept\n")
        path = volume["spec"]["hostPath"]["path"]
        self.assertTrue(os.path.isdir(path))
        p.kubectl("delete", "pod", "writer", "reader")
        p.kubectl("delete", "pvc", "data")
        put.wait_for("the volume is gone", lambda: not p.get("pv")["items"] and not os.path.exists(path))

    def test_2_probes_and_hooks(self):
        p = self.platform
        put.wait_for("ready", lambda: p.get("pod", "probed")["status"].get("containerStatuses", [{}])[0].get("ready"))
        self.assertEqual(p.kubectl("exec", "probed", "--", "cat", "/tmp/hook"), "started\n")
        p.kubectl("exec", "probed", "--", "touch", "/tmp/sick")
        put.wait_for("restarted", lambda: p.get("pod", "probed")["status"]["containerStatuses"][0]["restartCount"] == 1)
        for text in ("Liveness probe failed: it is sick", "Container web failed liveness probe, will be restarted",
                     "Startup probe failed: Get \"http://"):
            put.wait_for(text, lambda: text in p.kubectl("get", "events"))
        put.wait_for("ready again",
                     lambda: p.get("pod", "probed")["status"]["containerStatuses"][0].get("ready"))

    def test_3_five_pods_share_two_gpus(self):
        p = self.platform
        p.apply_text("".join(GPU_POD % i for i in range(5)))
        names = ["gpu-%d" % i for i in range(5)]
        put.wait_for("all run", lambda: all(self.phase_of(name) == "Running" for name in names))
        cards = put.wait_for("all say their card", lambda: (
            lambda said: said if all(said) else None)([p.kubectl("logs", name).split() for name in names]))
        self.assertTrue(all(one[0] == one[1] for one in cards), cards)
        self.assertEqual(sorted([one[0] for one in cards]), ["0", "0", "0", "1", "1"])
        p.kubectl("delete", "pod", *names)

    def test_4_a_hardened_pod_sees_and_may_do_little(self):
        p = self.platform
        p.apply_text(HARDENED)
        put.wait_for("it runs", lambda: self.phase_of("hardened") == "Running")

        def sh(script):
            done = p.kubectl("exec", "hardened", "--", "sh", "-c", script, check=False)
            return done.stdout.strip(), done.returncode
        self.assertEqual(sh("id -u; id -g; id -G")[0], "1234\n2345\n2345 3456 4567")
        self.assertNotEqual(sh("touch /tmp/x")[1], 0)
        self.assertEqual(sh("touch /scratch/x && stat -c %g /scratch/x")[0], "4567")
        self.assertNotEqual(sh("head -c 2000000 /dev/zero > /scratch/large")[1], 0)
        status = dict(line.split(":\t", 1) for line in sh("cat /proc/self/status")[0].splitlines() if ":\t" in line)
        self.assertEqual(int(status["CapBnd"], 16), 0)
        self.assertEqual(status["NoNewPrivs"], "1")
        self.assertEqual(status["Seccomp"], "2")
        self.assertEqual(sh("head -c 10 /proc/kcore 2>/dev/null | wc -c")[0], "0")
        self.assertNotEqual(sh("unshare -U true")[1], 0)
        self.assertEqual(p.get("pod", "hardened")["status"]["qosClass"], "Guaranteed")
        with open("/proc/self/status") as file:
            capabilities = next(int(line.split()[1], 16) for line in file if line.startswith("CapEff"))
        with open("/proc/self/oom_score_adj") as file:
            inherited = file.read().strip()
        may_lower = capabilities >> CAP_SYS_RESOURCE & 1
        self.assertEqual(sh("cat /proc/1/oom_score_adj")[0], "-997" if may_lower else inherited)

    def test_5_the_machines_secrets_are_not_in_its_image(self):
        p = self.platform
        p.apply_text(HARDENED.replace("name: hardened", "name: curious").replace(
            "runAsUser: 1234, runAsGroup: 2345", "runAsUser: 0"))
        put.wait_for("it runs", lambda: self.phase_of("curious") == "Running")
        for path in ["/root", "/etc/ssh", "/run/hekla", "/home", p.data_dir, p.home, "/var/log", "/var/lib/hekla", "/var/lib/docker",
                     "/var/lib/containerd", "/etc/kubernetes", "/etc/ssl/private", "/etc/sudoers.d", "/var/spool/cron"]:
            seen = p.kubectl("exec", "curious", "--", "sh", "-c", "find %s -type f 2>/dev/null | head" % path)
            self.assertEqual(seen, "", path)
        for path in ["/etc/shadow", "/etc/shadow-", "/etc/gshadow", "/etc/sudoers", "/etc/krb5.keytab", p.kubeconfig]:
            seen = p.kubectl("exec", "curious", "--", "sh", "-c", "cat %s 2>/dev/null || true" % path)
            self.assertEqual(seen, "", path)

    def test_6_an_ephemeral_volume_comes_and_goes_with_its_pod(self):
        p = self.platform
        p.apply_text(EPHEMERAL)
        put.wait_for("it runs", lambda: self.phase_of("scratch") == "Running")
        claim = p.get("pvc", "scratch-data")
        self.assertEqual(claim["status"]["phase"], "Bound")
        self.assertEqual(claim["metadata"]["labels"], {"team": "a"})
        put.wait_for("it has written", lambda: p.kubectl("exec", "scratch", "--", "cat", "/data/file") == "mine\n")
        p.kubectl("delete", "pod", "scratch")
        put.wait_for("the claim is gone", lambda: not p.get("pvc")["items"])

    def test_7_the_node_refuses_what_it_cannot_bear(self):
        p = self.platform
        node = p.get("node")["items"][0]["metadata"]["name"]
        p.apply_text(REFUSED % (node, node))
        for pod, reason in (("tuned", "SysctlForbidden"), ("huge", "OutOfcpu")):
            put.wait_for(reason, lambda: self.phase_of(pod) == "Failed")
            self.assertIn(reason, p.kubectl("get", "pod", pod))
        self.assertIn("Pod was rejected: Node didn't have enough resource: cpu, requested: 5000000, used: ",
                      p.get("pod", "huge")["status"]["message"])
        p.kubectl("delete", "pod", "tuned", "huge")

    def test_8_the_administrators_key_is_no_volume(self):
        self.assertTrue(os.path.exists(self.keys))
        pod = HARDENED.replace("name: hardened", "name: thief").replace(
            "emptyDir: {medium: Memory, sizeLimit: 1Mi}", "hostPath: {path: %s}" % self.keys)
        refused = self.platform.kubectl("create", "-f", "-", stdin=pod, check=False)
        self.assertIn("spec.volumes[0].hostPath.path: Forbidden: the path belongs to Hekla itself", refused.stderr)


if __name__ == "__main__":
    unittest.main()
