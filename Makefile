# make run | build | test | bench, and the longer suites below. Everything needed is installed by these
# targets themselves, on Debian 12, as root or with sudo.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := build

SUDO := $(shell [ "$$(id -u)" = 0 ] || echo sudo)
PRESET ?= release
BUILD := build/$(PRESET)
JOBS ?= $(shell nproc)
CACHE := $(CURDIR)/.cache

# What the binary is built with, what it runs with, and what the tests add.
BUILD_PACKAGES := g++ cmake ninja-build ccache mold pkg-config git python3 \
  libboost1.81-dev libssl-dev libsimdjson-dev libyaml-dev libspdlog-dev libfmt-dev prometheus-cpp-dev \
  libcli11-dev libnl-3-dev libnl-route-3-dev libldns-dev zlib1g-dev \
  libcurl4-openssl-dev libarchive-dev libhowardhinnant-date-dev libmimalloc-dev
RUN_PACKAGES := tzdata crun conmon iproute2 nftables passt
TEST_PACKAGES := runc libgtest-dev libgmock-dev librapidcheck-dev python3-yaml python3-venv openssl procps

.PHONY: deps deps-test build run run-long test build-asan build-tsan test-asan test-tsan test-sim test-crash test-faults oracle mutants test-differential test-mutations test-kubectl test-python test-crds test-helm test-envtest test-operators envtest-assets test-conformance test-node-conformance test-volcano-e2e test-frameworks fuzz bench tidy clean

# Asks apt only for what is missing, so that a second run needs no network.
define install_packages
	missing=""; for p in $(1); do dpkg-query -W -f='$${Status}' $$p 2>/dev/null | grep -q 'ok installed' || missing="$$missing $$p"; done; \
	if [ -n "$$missing" ]; then \
	  echo "== installing:$$missing"; \
	  $(SUDO) apt-get update -qq; \
	  $(SUDO) env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $$missing >/dev/null; \
	fi
endef

deps:
	@$(call install_packages,$(BUILD_PACKAGES) $(RUN_PACKAGES))

deps-test: deps
	@$(call install_packages,$(TEST_PACKAGES))

# The binary alone, without tests and benchmarks.
$(BUILD)/hekla: deps FORCE
	@echo "== building hekla ($(PRESET))"
	@[ -f $(BUILD)/build.ninja ] || cmake --preset $(PRESET) -DHEKLA_TESTS=OFF >/dev/null
	@cmake --build $(BUILD) --target hekla -j $(JOBS)
FORCE:

build: deps-test
	@echo "== building hekla, tests and benchmarks ($(PRESET))"
	@cmake --preset $(PRESET) -DHEKLA_TESTS=ON >/dev/null
	@cmake --build $(BUILD) -j $(JOBS)

# From nothing to a finished distributed training job on this machine.
run: $(BUILD)/hekla
	@$(SUDO) tools/run_demo $(BUILD)/hekla examples/quickstart/job-1.yaml

# The same with the tutorial's job exactly as written: its pod sleeps for ten minutes.
run-long: $(BUILD)/hekla
	@$(SUDO) tools/run_demo $(BUILD)/hekla examples/quickstart/job-1-long.yaml

test: build
	@tools/fetch_kubectl $(CACHE)
	@echo "== unit tests and scenarios"
	@$(SUDO) ctest --test-dir $(BUILD) --output-on-failure -j 2
	@echo "== end to end"
	@$(SUDO) env HEKLA=$(CURDIR)/$(BUILD)/hekla HEKLA_CACHE=$(CACHE) python3 test/e2e/run.py
	@echo "== all tests passed"

# clang, unoptimised: g++ takes a minute and a half for many a file under these sanitizers.
# llvm-19 has the symbolizer: without it a finding names no functions.
build-asan build-tsan: build-%: deps-test
	@$(call install_packages,clang-19 libclang-rt-19-dev llvm-19)
	@echo "== building the tests with clang ($*)"
	@cmake --preset $* >/dev/null && cmake --build build/$* -j $(JOBS) --target tests

test-asan test-tsan: test-%: build-%
	@$(SUDO) ctest --test-dir build/$* --output-on-failure -j 2

# Jobs under failing writes, restarts of the controllers and random pod events; the API server on a bad disk, killed at
# any moment.
test-sim: build
	@$(BUILD)/sim/job_chaos
	@$(BUILD)/sim/server_chaos

# kill -9 of the API server under 32 writers; the whole suite has a short form.
test-crash: $(BUILD)/hekla
	@cd test/e2e && HEKLA=$(CURDIR)/$(BUILD)/hekla HEKLA_KILLS=$${HEKLA_KILLS:-200} python3 -m unittest -v kill_loop_test

# Decisions on random clusters beside the real Volcano's, which Go builds from its modules (about ten minutes, once).
oracle: build
	@test/oracle/run $(BUILD) $(CACHE)

# Every hook and action of the scheduler, every rule of admission and of the controllers crippled in turn: some
# scenario must notice.
mutants: build
	@tools/mutants $(BUILD)

# kill -9 of hekla at a hundred random moments with fifty pods at a time, and pods that misbehave (about half an hour).
test-faults: $(BUILD)/hekla
	@tools/fetch_kubectl $(CACHE)
	@$(SUDO) env HEKLA_FAULTS=long HEKLA=$(CURDIR)/$(BUILD)/hekla HEKLA_CACHE=$(CACHE) \
	  python3 -m unittest discover -v -s test/e2e -p 'faults_test.py'

# The Python client, from PyPI in an environment of its own.
test-python: $(BUILD)/hekla
	@$(call install_packages,python3-venv)
	@tools/fetch_kubectl $(CACHE)
	@[ -x $(CACHE)/python/bin/python ] || python3 -m venv $(CACHE)/python
	@$(CACHE)/python/bin/python -c 'import kubernetes' 2>/dev/null || $(CACHE)/python/bin/pip install -q kubernetes
	@$(SUDO) env HEKLA=$(CURDIR)/$(BUILD)/hekla HEKLA_CACHE=$(CACHE) \
	  $(CACHE)/python/bin/python test/clients/python/kubernetes_client_test.py -v

# The same requests to kube-apiserver 1.34 with etcd and to Hekla; needs Go, builds the peers once.
test-differential: $(BUILD)/hekla
	@test/differential/build_peers
	@HEKLA=$(CURDIR)/$(BUILD)/hekla python3 test/differential/run.py

test-mutations: $(BUILD)/hekla
	@test/differential/build_peers
	@HEKLA=$(CURDIR)/$(BUILD)/hekla python3 test/differential/run.py --mutations

# Kubernetes' own tests of kubectl (test/cmd of its sources); CASES="pod kubectl_apply" runs some of them.
test-kubectl: $(BUILD)/hekla
	@$(call install_packages,python3-yaml curl jq openssl bsdutils)
	@test/differential/build_peers --kubectl
	@GO=$$(tools/find_go $(CACHE)) HEKLA=$(CURDIR)/$(BUILD)/hekla python3 test/kubectl-suite/run.py $(CACHE) $(CASES)

# The CRDs of Volcano, Kubeflow and JobSet as published, fetched with the go command.
test-crds: build
	@tools/fetch_kubectl $(CACHE)
	@$(call install_packages,python3-venv)
	@go=$$(tools/find_go $(CACHE)); \
	  $(SUDO) env GO=$$go HEKLA=$(CURDIR)/$(BUILD)/hekla HEKLA_CACHE=$(CACHE) python3 test/clients/upstream_crds.py

# Helm, built by the go command from its modules, once.
HELM_VERSIONS := v3.22.0 v4.3.1
test-helm: $(BUILD)/hekla
	@$(call install_packages,python3-venv python3-yaml)
	@tools/fetch_kubectl $(CACHE)
	@go=$$(tools/find_go $(CACHE) 1.26); set -e; for version in $(HELM_VERSIONS); do \
	  [ -x $(CACHE)/helm/$$version/helm ] || { echo "== building helm $$version"; \
	    GOBIN=$(CACHE)/helm/$$version GOFLAGS="$${GOFLAGS:-} -p=1" CGO_ENABLED=0 nice -n 10 $$go install helm.sh/helm/$${version%%.*}/cmd/helm@$$version; }; \
	  $(SUDO) env GO=$$go HELM=$(CACHE)/helm/$$version/helm HEKLA=$(CURDIR)/$(BUILD)/hekla HEKLA_CACHE=$(CACHE) \
	  python3 test/clients/helm_test.py -v; done

# client-go's informers, a controller-runtime manager and controller-runtime's own suites, with Hekla as envtest's control plane;
# test-operators: the suites of training-operator and JobSet likewise.
test-envtest: envtest-assets
	@go=$$(tools/find_go $(CACHE) 1.25); (cd test/clients/envtest && \
	  KUBEBUILDER_ASSETS=$(CACHE)/envtest GOFLAGS="$${GOFLAGS:-} -p=1 -buildvcs=false" nice -n 10 $$go test -vet=off -count=1 -v .) && \
	  test/clients/envtest_suites $(CACHE)/envtest $$go

test-operators: envtest-assets
	@test/clients/envtest_suites --operators $(CACHE)/envtest $$(tools/find_go $(CACHE) 1.25)

envtest-assets: $(BUILD)/hekla
	@$(call install_packages,python3-venv)
	@tools/fetch_kubectl $(CACHE)
	@mkdir -p $(CACHE)/envtest && ln -sf $(CURDIR)/$(BUILD)/hekla $(CACHE)/envtest/kube-apiserver && ln -sf $(CURDIR)/$(BUILD)/hekla $(CACHE)/envtest/etcd
	@ln -sf $(CACHE)/kubectl-debian/usr/bin/kubectl $(CACHE)/envtest/kubectl

# Kubernetes' conformance tests that need no container runtime; Go builds them from Kubernetes' modules, once.
test-conformance: $(BUILD)/hekla
	@$(call install_packages,python3-venv)
	@tools/fetch_kubectl $(CACHE)
	@test/conformance/build $(CACHE)
	@$(SUDO) env HEKLA=$(CURDIR)/$(BUILD)/hekla HEKLA_CACHE=$(CACHE) python3 test/conformance/run.py $(CACHE)

# Those that run containers, with this machine as the node; their images are made of Debian's packages and Kubernetes' sources.
test-node-conformance: $(BUILD)/hekla
	@$(call install_packages,python3-venv busybox-static bind9-dnsutils curl iproute2 netcat-openbsd)
	@tools/fetch_kubectl $(CACHE)
	@test/conformance/build $(CACHE)
	@$(SUDO) env HEKLA=$(CURDIR)/$(BUILD)/hekla HEKLA_CACHE=$(CACHE) python3 test/conformance/run.py $(CACHE) --node

# Volcano's own end-to-end suites; Go builds them from Volcano's modules, once. SUITES="jobp vcctl" runs some.
test-volcano-e2e: $(BUILD)/hekla
	@$(call install_packages,python3-venv busybox-static)
	@tools/fetch_kubectl $(CACHE)
	@test/volcano-e2e/build $(CACHE)
	@$(SUDO) env HEKLA=$(CURDIR)/$(BUILD)/hekla HEKLA_CACHE=$(CACHE) python3 test/volcano-e2e/run.py $(CACHE) $(SUITES)

# Training with TensorFlow and XGBoost from PyPI, PyTorch and Open MPI from Debian (about 2 GB, once).
test-frameworks: $(BUILD)/hekla
	@$(call install_packages,python3-venv python3-yaml python3-torch python3-mpi4py openmpi-bin openssh-client dropbear-bin)
	@tools/fetch_kubectl $(CACHE)
	@[ -x $(CACHE)/frameworks/bin/python ] || /usr/bin/python3 -m venv $(CACHE)/frameworks
	@$(CACHE)/frameworks/bin/python -c 'import tf_keras, xgboost' 2>/dev/null || { \
	  $(CACHE)/frameworks/bin/pip install -q tensorflow-cpu==2.21.0 xgboost-cpu==3.2.0; \
	  $(CACHE)/frameworks/bin/pip install -q --no-deps tf_keras==2.21.0; }
	@$(SUDO) env HEKLA=$(CURDIR)/$(BUILD)/hekla HEKLA_CACHE=$(CACHE) FRAMEWORKS=$(CACHE)/frameworks \
	  /usr/bin/python3 test/frameworks/frameworks_test.py

# Every parser under libFuzzer, from the committed corpus, for FUZZ_SECONDS each (two at a time; about 25 minutes).
# The build is that of test-asan; a finding is left in build/asan/findings.
FUZZ_SECONDS ?= 300
fuzz: build-asan
	@tools/fuzz build/asan $(FUZZ_SECONDS)

tidy:
	@tools/tidy

bench: build
	@tools/run_bench $(BUILD)

clean:
	rm -rf build
