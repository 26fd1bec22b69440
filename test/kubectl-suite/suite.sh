#!/usr/bin/env bash
# Runs Kubernetes' test/cmd against the server at 127.0.0.1:PORT that takes the token "admin-token"; the sources' own
# programs (kubectl, kubectl-convert) are in SOURCES/bin.
# usage: suite.sh SOURCES PORT [CASE...]    CASE: pod, kubectl_apply, ... for run_CASE_tests
set -o nounset -o pipefail
cd "$1"
export KUBE_ROOT=$PWD THIS_PLATFORM_BIN=$PWD/bin SECURE_API_PORT=$2
export ALLOW_SKEW=1  # the server's version is 1.34.1 and something
shift 2
for library in util logging test; do source "hack/lib/$library.sh"; done
source test/cmd/legacy-script.sh

kube::util::ensure-temp-dir
export HOME=$KUBE_TEMP
trap 'stop-proxy; rm -rf "$KUBE_TEMP"' EXIT
kube::util::ensure-gnu-sed
CONTEXT=test
kubectl config set-credentials test-admin --token admin-token
kubectl config set-cluster local --insecure-skip-tls-verify --server "https://127.0.0.1:$SECURE_API_PORT"
kubectl config set-context "$CONTEXT" --user test-admin --cluster local
kubectl config use-context "$CONTEXT"
# There is no kubelet. The annotation has managedFields kept of what would be an empty object.
kubectl create -f - <<'NODE'
{"apiVersion": "v1", "kind": "Node", "metadata": {"name": "127.0.0.1", "annotations": {"save-managers": "true"}},
 "status": {"capacity": {"memory": "1Gi"}}}
NODE
export SUPPORTED_RESOURCES=("*")
set -o errexit
WHAT="$*" runTests
echo "ALL TESTS PASSED"
