# The suites beyond `make test`; docs/testing.md says what each one proves. `make test-NAME` for every NAME in this list:
LONG_SUITES := sim crash faults differential mutations kubectl python training-sdk trainer-sdk pipelines crds helm envtest \
  operators conformance node-conformance volcano-e2e frameworks workbench cluster tutorials
# A suite is described by
#   packages.NAME  Debian's packages beyond those of `make deps`
#   tests.NAME     yes: it needs the test programs, not only the binary
#   kubectl.NAME   yes: it needs the kubectls of tools/fetch_kubectl
#   go.NAME        the oldest Go that will do, found by tools/find_go
#   before.NAME    builds or fetches what the suite needs, once, as the user
#   as_root.NAME   yes: it runs as root
#   run.NAME       the suite itself
# The last two commands have HEKLA (the binary), HEKLA_CACHE (what was fetched or built once) and GO in their environment.

tests.sim := yes
run.sim := $(BUILD)/sim/job_chaos; $(BUILD)/sim/server_chaos

run.crash := cd test/e2e; HEKLA_KILLS=$${HEKLA_KILLS:-200} python3 -m unittest -v kill_loop_test

kubectl.faults := yes
as_root.faults := yes
run.faults := HEKLA_FAULTS=long python3 -m unittest discover -v -s test/e2e -p faults_test.py

before.differential := test/differential/build_peers
run.differential := python3 test/differential/run.py

before.mutations := test/differential/build_peers
run.mutations := python3 test/differential/run.py --mutations

# CASES="pod kubectl_apply" runs some of them.
packages.kubectl := python3-yaml curl jq openssl bsdutils
go.kubectl := 1.24
before.kubectl := test/differential/build_peers --kubectl
run.kubectl := python3 test/kubectl-suite/run.py $(CACHE) $(CASES)

packages.python := python3-venv
kubectl.python := yes
before.python := [ -x $(CACHE)/python/bin/python ] || python3 -m venv $(CACHE)/python; \
  $(CACHE)/python/bin/python -c "import kubernetes" 2>/dev/null || $(CACHE)/python/bin/pip install -q kubernetes
as_root.python := yes
run.python := $(CACHE)/python/bin/python test/clients/python/kubernetes_client_test.py -v

# KINDS="tfjob mpijob" runs some of the first. Each SDK stands on a release of the package kubernetes of its own time.
packages.training-sdk := python3-venv openmpi-bin openssh-client dropbear-bin
kubectl.training-sdk := yes
go.training-sdk := 1.23
before.training-sdk := [ -x $(CACHE)/training-sdk/bin/python ] || python3 -m venv $(CACHE)/training-sdk; \
  $(CACHE)/training-sdk/bin/python -c "import kubeflow.training, pytest" 2>/dev/null || \
  $(CACHE)/training-sdk/bin/pip install -q kubeflow-training==1.9.3 kubernetes==31.0.0 pytest; \
  [ -x $(CACHE)/tfjob-sdk/bin/python ] || python3 -m venv $(CACHE)/tfjob-sdk; \
  $(CACHE)/tfjob-sdk/bin/python -c "import kubeflow.tfjob" 2>/dev/null || \
  $(CACHE)/tfjob-sdk/bin/pip install -q kubeflow-tfjob==0.1.3 kubernetes==10.0.1 retrying table_logger numpy==1.23.5
as_root.training-sdk := yes
run.training-sdk := $(CACHE)/tfjob-sdk/bin/python test/clients/python/tfjob_client_test.py -v; \
  KINDS="$(KINDS)" $(CACHE)/training-sdk/bin/python test/clients/python/training_sdk_suite.py

packages.trainer-sdk := python3-venv
kubectl.trainer-sdk := yes
before.trainer-sdk := [ -x $(CACHE)/trainer-sdk/bin/python ] || python3 -m venv $(CACHE)/trainer-sdk; \
  $(CACHE)/trainer-sdk/bin/python -c "import kubeflow.trainer" 2>/dev/null || \
  $(CACHE)/trainer-sdk/bin/pip install -q kubeflow==0.5.0
as_root.trainer-sdk := yes
run.trainer-sdk := $(CACHE)/trainer-sdk/bin/python test/clients/python/trainer_client_test.py -v

packages.pipelines := python3-venv
kubectl.pipelines := yes
before.pipelines := [ -x $(CACHE)/pipelines/bin/python ] || python3 -m venv $(CACHE)/pipelines; \
  $(CACHE)/pipelines/bin/python -c "import kfp, boto3" 2>/dev/null || \
  $(CACHE)/pipelines/bin/pip install -q kfp==2.17.0 boto3; \
  [ -x $(CACHE)/pipelines-1/bin/python ] || python3 -m venv $(CACHE)/pipelines-1; \
  $(CACHE)/pipelines-1/bin/python -c "import kfp" 2>/dev/null || \
  $(CACHE)/pipelines-1/bin/pip install -q kfp==1.8.22
as_root.pipelines := yes
run.pipelines := $(CACHE)/pipelines/bin/python test/clients/python/pipelines_client_test.py -v; \
  $(CACHE)/pipelines-1/bin/python test/clients/python/pipelines_v1_client_test.py -v

packages.crds := python3-venv
kubectl.crds := yes
go.crds := 1.24
as_root.crds := yes
run.crds := python3 test/clients/upstream_crds.py

HELM_VERSIONS := v3.22.0 v4.3.1
packages.helm := python3-venv python3-yaml
kubectl.helm := yes
go.helm := 1.26
before.helm := for version in $(HELM_VERSIONS); do \
    [ -x $(CACHE)/helm/$$version/helm ] || { echo "== building helm $$version"; \
      GOBIN=$(CACHE)/helm/$$version GOFLAGS="$${GOFLAGS:-} -p=1" CGO_ENABLED=0 \
      nice -n 10 $$GO install helm.sh/helm/$${version%%.*}/cmd/helm@$$version; }; \
  done
as_root.helm := yes
run.helm := for version in $(HELM_VERSIONS); do \
    HELM=$(CACHE)/helm/$$version/helm python3 test/clients/helm_test.py -v; \
  done

# The chart, its other forms, its rights, and what tutorials type.
LONG_SUITES += chart package
packages.chart := $(packages.helm)
kubectl.chart := yes
go.chart := $(go.helm)
before.chart := $(before.helm)
as_root.chart := yes
run.chart := HELM=$(CACHE)/helm/$(firstword $(HELM_VERSIONS))/helm python3 test/clients/chart_test.py -v

packages.package := $(PACKAGE_PACKAGES) python3-yaml
as_root.package := yes
run.package := python3 test/clients/package_test.py -v

# Hekla under the names of the programs that envtest starts.
ASSETS := $(CACHE)/envtest
envtest_assets := mkdir -p $(ASSETS); ln -sf $$HEKLA $(ASSETS)/kube-apiserver; ln -sf $$HEKLA $(ASSETS)/etcd; \
  ln -sf $(CACHE)/kubectl-debian/usr/bin/kubectl $(ASSETS)/kubectl
packages.envtest := python3-venv
kubectl.envtest := yes
go.envtest := 1.25
before.envtest := $(envtest_assets)
run.envtest := (cd test/clients/envtest; KUBEBUILDER_ASSETS=$(ASSETS) GOFLAGS="$${GOFLAGS:-} -p=1 -buildvcs=false" \
  nice -n 10 $$GO test -vet=off -count=1 -v .); test/clients/envtest_suites $(ASSETS) $$GO

packages.operators := python3-venv
kubectl.operators := yes
go.operators := 1.25
before.operators := $(envtest_assets)
run.operators := test/clients/envtest_suites --operators $(ASSETS) $$GO

packages.conformance := python3-venv
kubectl.conformance := yes
before.conformance := test/conformance/build $(CACHE)
as_root.conformance := yes
run.conformance := python3 test/conformance/run.py $(CACHE)

packages.node-conformance := python3-venv busybox-static bind9-dnsutils curl iproute2 netcat-openbsd
kubectl.node-conformance := yes
before.node-conformance := test/conformance/build $(CACHE)
as_root.node-conformance := yes
run.node-conformance := python3 test/conformance/run.py $(CACHE) --node

# SUITES="jobp vcctl" runs some of them.
packages.volcano-e2e := python3-venv busybox-static
kubectl.volcano-e2e := yes
before.volcano-e2e := test/volcano-e2e/build $(CACHE)
as_root.volcano-e2e := yes
run.volcano-e2e := python3 test/volcano-e2e/run.py $(CACHE) $(SUITES)

packages.frameworks := python3-venv python3-yaml openmpi-bin openssh-client dropbear-bin
kubectl.frameworks := yes
as_root.frameworks := yes
run.frameworks := python3 -m unittest discover -v -s test/frameworks -p "*_test.py"

# A real JupyterLab and TensorBoard behind the gateway, by WebSocket and in Debian's chromium.
packages.workbench := python3-venv git chromium
kubectl.workbench := yes
as_root.workbench := yes
run.workbench := python3 -m unittest discover -v -s test/workbench -p "*_test.py"; \
  tools/web_test --long web $(BUILD) $(CACHE)

packages.cluster := python3-yaml openssl
go.cluster := 1.24
before.cluster := test/differential/build_peers --cluster
run.cluster := cd test/cluster; python3 -m unittest -v cluster_test

# MANIFESTS=DIR takes a checkout of kubeflow/manifests, with local-path-storage.yaml in it, instead of look-alikes.
kubectl.tutorials := yes
as_root.tutorials := yes
run.tutorials := cd test/tutorials; MANIFESTS="$(MANIFESTS)" python3 -m unittest -v installs_test

.PHONY: $(LONG_SUITES:%=test-%) build-asan build-tsan test-asan test-tsan oracle mutants fuzz

$(LONG_SUITES:%=test-%): test-%: $(BUILD)/hekla
	@$(call install_packages,$(packages.$*))
	@$(if $(tests.$*),$(MAKE) --no-print-directory build)
	@$(if $(kubectl.$*),tools/fetch_kubectl $(CACHE))
	@export HEKLA=$(CURDIR)/$(BUILD)/hekla HEKLA_CACHE=$(CACHE); \
	$(if $(go.$*),GO=$$(tools/find_go $(CACHE) $(go.$*)); export GO;) \
	$(if $(before.$*),$(before.$*);) \
	$(if $(as_root.$*),$(SUDO)) env HEKLA=$$HEKLA HEKLA_CACHE=$$HEKLA_CACHE $${GO:+GO=$$GO} $(SHELL) $(.SHELLFLAGS) '$(run.$*)'

# clang, unoptimised: g++ takes a minute and a half for many a file under these sanitizers.
# llvm-19 has the symbolizer: without it a finding names no functions.
build-asan build-tsan: build-%: deps-test
	@$(call install_packages,clang-19 libclang-rt-19-dev llvm-19)
	@echo "== building the tests with clang ($*)"
	@cmake --preset $* >/dev/null && cmake --build build/$* -j $(JOBS) --target tests

test-asan test-tsan: test-%: build-%
	@$(SUDO) ctest --test-dir build/$* --output-on-failure -j 2

# Every parser under libFuzzer, from the committed corpus, for FUZZ_SECONDS each (two at a time; about 25 minutes).
# The build is that of test-asan; a finding is left in build/asan/findings.
FUZZ_SECONDS ?= 300
fuzz: build-asan
	@tools/fuzz build/asan $(FUZZ_SECONDS)

# Decisions on random clusters beside the real Volcano's, which Go builds from its modules (about ten minutes, once).
oracle: deps-test
	$(call build_targets,oracle_decide)
	@test/oracle/run $(BUILD) $(CACHE)

# Every hook and action of the scheduler, every rule of admission and of the controllers crippled in turn: some
# scenario must notice.
mutants: deps-test
	$(call build_targets,scheduler_test)
	@tools/mutants $(BUILD)
