#!/usr/bin/env python3
"""Kubernetes' own tests of kubectl, test/cmd of its sources, against Hekla's API server with kube-controller-manager
beside it, as upstream runs them.

docs/compat/kubectl-suite.md names the cases that do not pass, and why. The run fails when another one fails, or when a
listed one passes.

usage: run.py CACHE_DIR [CASE...]    CASE: run_pod_tests, or pod
Environment: HEKLA, GO; the peers come from test/differential/build_peers.
"""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "differential"))
import servers  # noqa: E402

PAGE = "docs/compat/kubectl-suite.md"
# What test/cmd reads of the sources.
SOURCES = ["hack", "test/cmd", "test/fixtures", "test/e2e/testing-manifests", "third_party/forked/shell2junit"]
PROGRAMS = ["kubectl", "kubectl-convert"]
# As hack/make-rules/test-cmd.sh starts kube-apiserver.
FLAGS = ["--bind-address=127.0.0.1", "--authorization-mode=RBAC,AlwaysAllow",
         "--enable-admission-plugins=LimitRanger,ResourceQuota",
         "--disable-admission-plugins=ServiceAccount,DefaultStorageClass,DefaultTolerationSeconds,"
         "MutatingAdmissionWebhook,ValidatingAdmissionWebhook,StorageObjectInUseProtection",
         "--runtime-config=api/v1", "--service-cluster-ip-range=10.0.0.0/24",
         "--service-account-issuer=https://kubernetes.default.svc", "--service-account-lookup=true"]


def known_failures():
    """case -> reason, from the rows `| case | reason |` of the page."""
    with open(os.path.join(servers.ROOT, PAGE)) as file:
        rows = [re.match(r"\| (run_\w+) \| (.+) \|$", line) for line in file]
    return {row.group(1): row.group(2) for row in rows if row}


def copy_sources(to):
    go = os.environ.get("GO", "go")
    source = subprocess.run([go, "list", "-m", "-f", "{{.Dir}}", "k8s.io/kubernetes"], check=True, text=True,
                            stdout=subprocess.PIPE, env=dict(os.environ, GOFLAGS="-mod=mod"),
                            cwd=os.path.join(HERE, "..", "differential", "peers", "kubernetes")).stdout.strip()
    for name in SOURCES:
        shutil.copytree(os.path.join(source, name), os.path.join(to, name))
    for directory, _, files in os.walk(to):
        os.chmod(directory, 0o755)
        for name in files:  # a module's files are read-only and have lost that some are programs
            os.chmod(os.path.join(directory, name), 0o755 if "plugins" in directory or name.endswith(".sh") else 0o644)
    os.mkdir(os.path.join(to, "bin"))
    for name in PROGRAMS:
        os.symlink(os.path.join(servers.PEERS, "bin", name), os.path.join(to, "bin", name))


class Cluster:
    """hekla apiserver and kube-controller-manager, on loopback."""

    def __init__(self, directory, sources):
        self.directory, self.testdata = directory, os.path.join(sources, "hack", "testdata")
        self.port, self.manager_port = servers.free_ports(2)
        self.processes = []

    def start(self):
        key = self.new_key("service-accounts.key")
        # kube-apiserver makes these itself; some cases read them.
        subprocess.run(["openssl", "req", "-x509", "-new", "-key", self.new_key("apiserver.key"), "-subj", "/CN=127.0.0.1",
                        "-addext", "subjectAltName=IP:127.0.0.1", "-out", os.path.join(self.directory, "apiserver.crt")],
                       check=True)
        self.run("hekla", servers.HEKLA, "apiserver", *FLAGS, "--secure-port=%d" % self.port,
                 "--data-dir=" + os.path.join(self.directory, "data"), "--cert-dir=" + self.directory,
                 "--service-account-key-file=" + key, "--service-account-signing-key-file=" + key,
                 "--client-ca-file=" + os.path.join(self.testdata, "ca", "ca.crt"),
                 "--token-auth-file=" + os.path.join(self.testdata, "auth-tokens.csv"))
        config = os.path.join(self.directory, "controller-manager.kubeconfig")
        with open(config, "w") as file:
            json.dump({"apiVersion": "v1", "kind": "Config", "current-context": "c",
                       "users": [{"name": "u", "user": {"token": "admin-token"}}],
                       "clusters": [{"name": "l", "cluster": {"server": "https://127.0.0.1:%d" % self.port,
                                                              "insecure-skip-tls-verify": True}}],
                       "contexts": [{"name": "c", "context": {"cluster": "l", "user": "u"}}]}, file)
        subprocess.run(["curl", "-ksf", "--retry", "50", "--retry-delay", "1", "--retry-connrefused", "-o", os.devnull,
                        "https://127.0.0.1:%d/readyz" % self.port], check=True)
        self.run("controller-manager", os.path.join(servers.PEERS, "bin", "kube-controller-manager"),
                 "--kubeconfig=" + config, "--bind-address=127.0.0.1", "--secure-port=%d" % self.manager_port,
                 "--cluster-signing-cert-file=" + os.path.join(self.testdata, "ca", "ca.crt"),
                 "--cluster-signing-key-file=" + os.path.join(self.testdata, "ca", "ca.key"))

    def new_key(self, name):
        path = os.path.join(self.directory, name)
        subprocess.run(["openssl", "ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", path], check=True)
        return path

    def run(self, name, *command):
        with open(os.path.join(self.directory, name + ".log"), "wb") as log:
            self.processes.append(subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT))

    def stop(self):
        for process in reversed(self.processes):
            process.kill()
            process.wait()


def outcomes(log):
    """case -> whether it has passed, from what the suite printed."""
    found, case = {}, None
    with open(log, errors="replace") as file:
        for line in file:
            if running := re.search(r"\+\+\+ Running case: test-cmd\.(run_\w+)", line):
                case = running.group(1)
            elif case and (code := re.search(r"\+\+\+ exit code: (\d+)", line)):
                found[case], case = code.group(1) == "0", None
    return found


def main():
    cache, cases = sys.argv[1], sys.argv[2:]
    reports = os.path.join(cache, "kubectl-suite")
    shutil.rmtree(reports, ignore_errors=True)
    os.makedirs(reports)
    log = os.path.join(reports, "output.log")
    with tempfile.TemporaryDirectory(prefix="hekla-kubectl-suite-") as directory:
        sources = os.path.join(directory, "kubernetes")
        copy_sources(sources)
        cluster = Cluster(directory, sources)
        print("== running test/cmd of Kubernetes; what it prints goes to", log, flush=True)
        try:
            cluster.start()
            with open(log, "wb") as output:
                # The suite looks for the server's certificate in the directory of temporary files.
                subprocess.run(["bash", os.path.join(HERE, "suite.sh"), sources, str(cluster.port),
                                *(re.sub(r"^run_(\w+)_tests$", r"\1", case) for case in cases)],
                               stdout=output, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, timeout=3600,
                               env=dict(os.environ, TMPDIR=directory, KUBE_JUNIT_REPORT_DIR=reports))
        finally:
            cluster.stop()
            for name in ("hekla", "controller-manager"):
                shutil.copy(os.path.join(directory, name + ".log"), reports)
    found, known = outcomes(log), known_failures()
    failed = {case for case, passed in found.items() if not passed}
    wrong = ["%s fails" % case for case in sorted(failed - known.keys())]
    wrong += ["%s passes, but is listed in %s" % (case, PAGE) for case in sorted(known.keys() & found.keys() - failed)
              if not known[case].startswith("needs the Internet")]
    with open(log, errors="replace") as file:  # a failure between two cases ends the suite at once
        if not re.search("^(FAILED TESTS|ALL TESTS PASSED)", file.read(), re.MULTILINE):
            wrong.append("the suite has not come to its end")
    if not cases:
        wrong += ["%s is listed in %s and was not run" % (case, PAGE) for case in sorted(known.keys() - found.keys())]
    print("%d of %d cases pass, %d of the others are listed" % (
        len(found) - len(failed), len(found), len(failed & known.keys())))
    print(*wrong, sep="\n", end="\n" if wrong else "")
    sys.exit(1 if wrong or not found else 0)


if __name__ == "__main__":
    main()
