"""The training SDK's own end-to-end tests, unmodified, against one platform: all job kinds, once plainly and once with
gang scheduling. Their images are mapped to the environments of images/, which are kept in HEKLA_CACHE.

Environment: HEKLA (the binary), HEKLA_CACHE, GO; run as root with an interpreter that has the packages `kubeflow-training`
and `pytest` (make test-training-sdk). KINDS="tfjob mpijob" runs some of them.
"""
import json
import os
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../e2e"))
import platform_under_test as put  # noqa: E402

MODULE = "github.com/kubeflow/training-operator@v1.9.3"  # the SDK's tests are in the module's zip
KINDS = ["xgboostjob", "mpijob", "jaxjob", "paddlejob", "pytorchjob", "tfjob"]


def fetch_suite(work):
    found = subprocess.run([os.environ["GO"], "mod", "download", "-json", MODULE], check=True, capture_output=True, text=True,
                           cwd=work)
    # The tests import each other as the package `test`, which must be found before Python's own of that name.
    shutil.copytree(os.path.join(json.loads(found.stdout)["Dir"], "sdk/python/test"), os.path.join(work, "test"))
    subprocess.run(["chmod", "-R", "u+w", work], check=True)


def main():
    kinds = os.environ.get("KINDS", "").split() or KINDS
    work = tempfile.mkdtemp(prefix="hekla-training-sdk-")
    platform = put.Platform("--node-resources", "cpu=6")  # a job of two wants 2400m, whatever this machine has
    failed = []
    try:
        fetch_suite(work)
        store = os.path.join(put.CACHE, "framework-images")
        os.makedirs(store, exist_ok=True)
        os.symlink(store, os.path.join(platform.data_dir, "images"))
        platform.up()
        for kind in kinds:
            for gang in ("none", "volcano"):
                print("== %s, gang scheduler %s" % (kind, gang), flush=True)
                done = subprocess.run(
                    [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test/e2e/test_e2e_%s.py" % kind,
                     "--namespace=default"],
                    cwd=work, env=dict(os.environ, KUBECONFIG=platform.kubeconfig, GANG_SCHEDULER_NAME=gang))
                if done.returncode != 0:
                    failed.append("%s (%s)" % (kind, gang))
    finally:
        platform.destroy()
        shutil.rmtree(work, True)
    print("failed: " + ", ".join(failed) if failed else "all passed", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
