# make run | build | test | bench | package, and the longer suites of test/suites.mk. Everything needed is installed by these
# targets themselves, on Debian 12, as root or with sudo.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := build

SUDO := $(shell [ "$$(id -u)" = 0 ] || echo sudo)
PRESET ?= release
BUILD := build/$(PRESET)
JOBS ?= $(shell nproc)
CACHE := $(CURDIR)/.cache

# The packages that the binary is built with, that it runs with, and that the tests add.
BUILD_PACKAGES := g++ cmake ninja-build ccache mold pkg-config git python3 python3-venv \
  libboost1.81-dev libssl-dev libcrypt-dev libsimdjson-dev libyaml-dev libspdlog-dev libfmt-dev prometheus-cpp-dev \
  libcli11-dev libre2-dev libnl-3-dev libnl-route-3-dev libldns-dev zlib1g-dev \
  libcurl4-openssl-dev libarchive-dev libhowardhinnant-date-dev libmimalloc-dev libsqlite3-dev \
  libpugixml-dev
RUN_PACKAGES := tzdata crun conmon iproute2 nftables passt
TEST_PACKAGES := runc libgtest-dev libgmock-dev librapidcheck-dev clang-format-19 \
  python3-yaml openssl procps chromium
PACKAGE_PACKAGES := g++ binutils patchelf dpkg-dev

.PHONY: FORCE deps deps-test build run run-long package test test-web bench build-times man tidy clean

# Asks apt only for what is missing, so that a second run needs no network.
define install_packages
	missing=""; for p in $(1); do \
	  dpkg-query -W -f='$${Status}' $$p 2>/dev/null | grep -q 'ok installed' || missing="$$missing $$p"; done; \
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

# The binary alone.
$(BUILD)/hekla: deps FORCE
	@echo "== building hekla ($(PRESET))"
	@[ -f $(BUILD)/build.ninja ] || cmake --preset $(PRESET) -DHEKLA_TESTS=OFF >/dev/null
	@cmake --build $(BUILD) --target hekla -j $(JOBS)
FORCE:

# The binary and the tests. Benchmarks and the oracle's half have targets of their own.
define build_targets
	@cmake --preset $(PRESET) -DHEKLA_TESTS=ON >/dev/null
	@cmake --build $(BUILD) -j $(JOBS) --target $(1)
endef
build: deps-test
	@echo "== building hekla and its tests ($(PRESET))"
	$(call build_targets,hekla tests)

# From nothing to a finished distributed training job on this machine; KEEP=1 leaves the platform running.
run: $(BUILD)/hekla
	@$(SUDO) env KEEP=$(KEEP) tools/run_demo $(BUILD)/hekla examples/quickstart/job-1.yaml

# The same with the tutorial's job exactly as written: its pod sleeps for ten minutes.
run-long: $(BUILD)/hekla
	@$(SUDO) tools/run_demo $(BUILD)/hekla examples/tutorial/job-1.yaml

# A tarball, a Debian package, an image and a chart repository, in build/package. IMAGE=NAME is written into the charts.
package: $(BUILD)/hekla
	@$(call install_packages,$(PACKAGE_PACKAGES))
	@tools/package $(BUILD)/hekla build/package $(if $(IMAGE),--image $(IMAGE))

TIMED := tools/timed $(BUILD)/test_times
test: deps-test
	@rm -f $(BUILD)/test_times
	@$(TIMED) build $(MAKE) --no-print-directory build
	@tools/fetch_kubectl $(CACHE)
	@echo "== unit tests and scenarios"
	@$(TIMED) ctest $(SUDO) ctest --test-dir $(BUILD) --output-on-failure -j 2
	@echo "== the page"
	@$(TIMED) "the page" tools/web_test web $(BUILD) $(CACHE)
	@echo "== end to end"
	@$(TIMED) "end to end" $(SUDO) env HEKLA=$(CURDIR)/$(BUILD)/hekla HEKLA_CACHE=$(CACHE) python3 test/e2e/run.py
	@$(TIMED)
	@echo "== all tests passed"

# The page's tests alone; SCREENSHOTS=DIR keeps a picture of every page in both themes and languages.
test-web: deps-test
	$(call build_targets,hekla)
	@tools/web_test web $(BUILD) $(CACHE)

bench: deps-test
	$(call build_targets,hekla benchmarks)
	@tools/run_bench $(BUILD)

# CPU seconds of compiling the binary, by module.
build-times: deps
	@tools/build_times build/times

# The manual pages, made from the tables of commands and flags.
man: $(BUILD)/hekla
	@$(BUILD)/hekla man build/man
	@echo "== man build/man/hekla.1 shows the first of them"

tidy:
	@$(call install_packages,python3 git clang-format-19)
	@tools/tidy

clean:
	rm -rf build

include test/suites.mk
