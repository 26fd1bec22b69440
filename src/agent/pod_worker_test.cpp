// The pod state machine.
#include <algorithm>

#include "agent/pod_worker_fixture_test.h"

namespace hekla::agent {
namespace {

TEST_F(PodWorkerTest, RunsToCompletionAndKeepsOnlyTheRecord) {
  begin("Never");
  EXPECT_EQ(phase(), "Running");
  EXPECT_EQ(json::string_at(object(), {"status", "podIP"}), "10.244.0.2");
  exit(0);
  EXPECT_EQ(phase(), "Succeeded");
  EXPECT_EQ(calls(), "sandbox, launch c#0, remove c, dismantle, release");
  EXPECT_EQ(json::string_at(object(), {"status", "podIP"}), "10.244.0.2");
  worker_->vanish();
  simulation_.run_until_idle();
  EXPECT_EQ(calls(), "erase");
  EXPECT_TRUE(gone_);
}

TEST_F(PodWorkerTest, AnEndThatWasDecidedButNotReportedIsReportedByTheNextProcess) {
  begin("Never");
  api_.on_write = [](const kube::Write& write) -> std::optional<Error> {
    if (write.resource == kube::resources::pods) return Error{Code::unavailable, "not now"};
    return std::nullopt;
  };
  exit(0);
  EXPECT_EQ(phase(), "Running");
  const PodRecord record = worker_->record();
  EXPECT_EQ(record.outcome, "Succeeded");
  api_.on_write = {};
  worker_ = std::make_shared<PodWorker>(context_, std::make_shared<AgentPod>(decoded()), record, true);
  worker_->start();
  simulation_.run_until_idle();
  EXPECT_EQ(phase(), "Succeeded");
  EXPECT_EQ(container().state.terminated->exitCode, 0);
}

TEST_F(PodWorkerTest, PoliciesHoldBeforeTheFirstInstruction) {
  std::vector<Done<void>> waiting;
  context_.await_policies = [&](const AgentPod&, Done<void> done) { waiting.push_back(std::move(done)); };
  begin("Always");
  EXPECT_EQ(calls(), "sandbox");
  ASSERT_EQ(waiting.size(), 1u);
  waiting[0](fail(Code::internal, "no nft"));
  simulation_.run_until_idle();
  EXPECT_EQ(calls(), "");
  EXPECT_TRUE(has_event("FailedCreatePodSandBox",
                        "Failed to create pod sandbox: network policies are not in force: no nft"));
  ASSERT_EQ(waiting.size(), 2u);
  waiting[1]({});
  simulation_.run_until_idle();
  exit(0);
  EXPECT_EQ(calls(), "launch c#0, remove c, launch c#1");  // asked once for each address
}

TEST_F(PodWorkerTest, WhatCannotBeRemovedIsNotForgotten) {
  begin("Always");
  machine_.removal_failure = "busy";
  exit(0);
  EXPECT_EQ(calls(), "sandbox, launch c#0, remove c, launch c#1");
  auto container = [&] { return worker_->record().containers[0]; };
  EXPECT_FALSE(container().previous->removed);
  machine_.removal_failure.clear();
  exit(0);
  EXPECT_EQ(calls(), "remove c");
  EXPECT_TRUE(container().current->removed);
}

TEST_F(PodWorkerTest, WhatTheNodeLacksIsNotLeftOutInSilence) {
  begin("Never", R"("hostUsers":false,)");
  EXPECT_EQ(phase(), "Pending");
  EXPECT_TRUE(has_event("FailedCreatePodSandBox", "does not support user namespaces"));
  EXPECT_EQ(calls(), "");
}

TEST_F(PodWorkerTest, ARuntimeClassIsHonouredOrRefused) {
  const kube::Resource classes{"node.k8s.io", "v1", "runtimeclasses", "RuntimeClass", false};
  context_.runtime = "crun";
  ASSERT_TRUE(api_.create(classes, json::parse(R"({"metadata":{"name":"safe"},"handler":"kata"})").value()));
  begin("Never", R"("runtimeClassName":"safe",)");
  EXPECT_EQ(phase(), "Pending");
  EXPECT_TRUE(has_event("FailedCreatePodSandBox", "Failed to create pod sandbox: failed to get sandbox runtime: no "
                                                  "runtime for \"kata\" is configured"));
  EXPECT_EQ(calls(), "");
  ASSERT_TRUE(api_.patch(classes, {"", "safe"}, json::parse(R"({"handler":"crun"})").value()));
  pass(std::chrono::minutes(1));
  EXPECT_EQ(calls(), "sandbox, launch c#0");
}

TEST_F(PodWorkerTest, PodsOnTheHostsNetworkAreToldOnlyWhatTheyCanReach) {
  context_.api = {"10.96.0.1", 443};
  context_.host_api = {"127.0.0.1", 6443};
  model::Service web;
  web.metadata.name = "web";
  web.spec.clusterIP = "10.96.0.7";
  web.spec.ports = {{.port = 80}};
  context_.services = [&](const std::string&) { return std::vector<const model::Service*>{&web}; };
  begin("Never", R"("hostNetwork":true,"dnsPolicy":"ClusterFirstWithHostNet",)");
  auto has = [&](const std::string& text) { return std::ranges::count(machine_.env, text) == 1; };
  EXPECT_TRUE(has("KUBERNETES_SERVICE_HOST=127.0.0.1"));
  EXPECT_TRUE(has("KUBERNETES_SERVICE_PORT=6443"));
  for (const std::string& one : machine_.env) EXPECT_FALSE(one.contains("10.96.")) << one;
  EXPECT_TRUE(has_event("MissingClusterDNS", "Falling back to \"Default\" policy."));
}

TEST_F(PodWorkerTest, BlockVolumesAreRefused) {
  begin("Never", R"("volumes":[{"name":"v","emptyDir":{}}],)", "host",
        R"("volumeDevices":[{"name":"v","devicePath":"/dev/x"}],)");
  EXPECT_EQ(phase(), "Pending");
  EXPECT_TRUE(has_event("FailedMount", "volume v has volumeMode Filesystem, but is specified in volumeDevices"));
}

TEST_F(PodWorkerTest, ProfilesThatAreNotThereFailThePod) {
  begin("Never", R"("securityContext":{"appArmorProfile":{"type":"Localhost","localhostProfile":"x"}},)");
  EXPECT_EQ(phase(), "Failed");
  EXPECT_EQ(json::string_at(object(), {"status", "reason"}), "AppArmor");
  EXPECT_TRUE(has_event("AppArmor", "Cannot enforce AppArmor: AppArmor is not enabled on the host"));
}

TEST_F(PodWorkerTest, CardsComeWithTheirNodes) {
  context_.gpus = {3, 1};
  context_.gpus_in_use = [] { return std::vector<std::int32_t>{0}; };
  for (std::uint32_t i = 0; i < 3; ++i)
    context_.gpu_driver.cards.push_back({"/dev/nvidia" + std::to_string(i), 'c', 195, i});
  context_.gpu_driver.shared = {{"/dev/nvidiactl", 'c', 195, 255}};
  begin("Never", "", "host", R"("resources":{"limits":{"nvidia.com/gpu":"2"}},)");
  ASSERT_EQ(machine_.devices.size(), 3u);
  EXPECT_EQ(machine_.devices[0].path, "/dev/nvidia1");
  auto has = [&](const char* entry) { return std::ranges::count(machine_.env, entry) == 1; };
  EXPECT_TRUE(has("NVIDIA_VISIBLE_DEVICES=1,2"));
  EXPECT_TRUE(has("CUDA_VISIBLE_DEVICES=0,1")) << "CUDA counts the nodes it finds";
}

TEST_F(PodWorkerTest, DeclaredCardsHaveNoNodes) {
  context_.gpus = {2, 1};
  context_.gpus_in_use = [] { return std::vector<std::int32_t>{0}; };
  begin("Never", "", "host", R"("resources":{"limits":{"nvidia.com/gpu":"1"}},)");
  EXPECT_TRUE(machine_.devices.empty());
  EXPECT_EQ(std::ranges::count(machine_.env, "CUDA_VISIBLE_DEVICES=1"), 1);
}

TEST_F(PodWorkerTest, SubPathsWithoutAValueAreRefused) {
  const std::string volume = R"("volumes":[{"name":"v","emptyDir":{}}],)";
  begin("Never", volume, "host",
        R"("env":[{"name":"EMPTY","value":""}],"volumeMounts":[)"
        R"j({"name":"v","mountPath":"/v","subPathExpr":"$(EMPTY)/$(POD)"}],)j");
  EXPECT_EQ(container().state.waiting->reason, "CreateContainerConfigError");
  EXPECT_EQ(container().state.waiting->message, "missing value for EMPTY, POD");
}

TEST(PodRecord, AnInitContainerThatIsDoneLeavesItsCards) {
  ContainerRecord container;
  container.init = true;
  EXPECT_TRUE(holds_gpus(container));
  container.current = ContainerRun{.phase = run_phase::running};
  EXPECT_TRUE(holds_gpus(container));
  container.current->phase = run_phase::exited;
  EXPECT_FALSE(holds_gpus(container));
  container.current->exit_code = 1;
  EXPECT_TRUE(holds_gpus(container)) << "it will run again";
  container.current->exit_code = 0;
  container.sidecar = true;
  EXPECT_TRUE(holds_gpus(container));
  container.init = container.sidecar = false;
  EXPECT_TRUE(holds_gpus(container));
}

TEST_F(PodWorkerTest, CrashLoops) {
  begin("Always");
  calls();
  exit(1);
  EXPECT_EQ(calls(), "remove c, launch c#1") << "the first restart is at once";
  exit(1);
  EXPECT_EQ(container().state.waiting->reason, "CrashLoopBackOff");
  EXPECT_EQ(
      container().state.waiting->message,
      "back-off 10s restarting failed container=c pod=p_default(" + worker_->record().uid + ")");
  EXPECT_EQ(container().lastState.terminated->exitCode, 1);
  EXPECT_EQ(phase(), "Running");
  calls();
  pass(seconds(9));
  EXPECT_EQ(calls(), "");
  pass(seconds(1));
  EXPECT_EQ(calls(), "launch c#2");
  EXPECT_EQ(container().restartCount, 2);
  EXPECT_TRUE(has_event("BackOff", "Back-off restarting failed container c in pod p_default("));
  pass(std::chrono::minutes(11));
  exit(1);
  pass(seconds(10));
  EXPECT_EQ(calls(), "remove c, launch c#3");
  exit(1);
  pass(seconds(10));
  EXPECT_EQ(calls(), "remove c, launch c#4") << "ten minutes of life clear the slate";
}

TEST_F(PodWorkerTest, AnotherImageIsAnotherRunWhateverThePolicy) {
  context_.images = ImageMap::parse({"*=host"}).value();
  begin("Never", "", "host");
  calls();
  change(R"({"spec":{"containers":[{"name":"c","image":"host:2","command":["x"]}]}})");
  EXPECT_EQ(calls(), "TERM");
  exit(143);
  EXPECT_EQ(calls(), "remove c, launch c#1");
  EXPECT_EQ(phase(), "Running");
  EXPECT_EQ(container().restartCount, 1);
  EXPECT_TRUE(has_event("Killing", "Container c definition changed, will be restarted"));
}

TEST_F(PodWorkerTest, AnotherImageEndsTheBackOff) {
  context_.images = ImageMap::parse({"*=host"}).value();
  begin("Always", "", "host");
  for (int i = 0; i < 3; ++i) {
    exit(1);
    pass(seconds(60));
  }
  exit(1);
  EXPECT_EQ(container().state.waiting->reason, "CrashLoopBackOff");
  calls();
  change(R"({"spec":{"containers":[{"name":"c","image":"host:2","command":["x"]}]}})");
  EXPECT_EQ(calls(), "launch c#4");
  exit(1);
  EXPECT_EQ(calls(), "remove c, launch c#5") << "as if for the first time";
}

class ResizeTest : public PodWorkerTest {
 protected:
  static std::string spec(const std::string& amounts) {
    return R"("resources":{"limits":)" + amounts + R"(,"requests":)" + amounts + "},";
  }
  void resize(const std::string& amounts) {
    change((R"({"spec":{"containers":[{"name":"c","image":"host","command":["x"],)" + more_ +
            R"("resources":{"limits":)" + amounts + R"(,"requests":)" + amounts + "}}]}}")
               .c_str());
  }
  std::string status(std::initializer_list<std::string_view> path) {
    const json::Array* statuses = json::array_at(object(), {"status", "containerStatuses"});
    const json::Value* found = json::find_path(statuses->at(0), path);
    return found ? json::serialize(*found) : "";
  }
  std::string condition(const std::string& type) {
    for (const model::PodCondition& one : decoded().status.conditions)
      if (one.type == type) return one.status + "/" + one.reason + "/" + one.message;
    return "";
  }
  std::string more_;
};

TEST_F(ResizeTest, ARunningContainerIsGivenOtherLimits) {
  begin("Never", "", "host", spec(R"({"cpu":"1","memory":"1Gi"})"));
  EXPECT_EQ(status({"resources", "limits"}), R"({"cpu":"1","memory":"1Gi"})");
  calls();
  resize(R"({"cpu":"2","memory":"2Gi"})");
  EXPECT_EQ(calls(), "resize 2000m 2147483648");
  EXPECT_EQ(machine_.resized_pod.cpu_limit_milli, 2000) << "the pod as a whole follows";
  EXPECT_EQ(machine_.resized_pod.memory_limit_bytes, 2LL << 30);
  EXPECT_EQ(status({"resources", "limits"}), R"({"cpu":"2","memory":"2Gi"})");
  EXPECT_EQ(status({"allocatedResources"}), R"({"cpu":"2","memory":"2Gi"})");
  EXPECT_EQ(container().restartCount, 0);
  pass(seconds(30));
  EXPECT_EQ(calls(), "") << "once is enough";
}

TEST_F(ResizeTest, TheNextProcessKnowsThatItIsDone) {
  begin("Never", "", "host", spec(R"({"cpu":"1","memory":"1Gi"})"));
  resize(R"({"cpu":"2","memory":"2Gi"})");
  calls();
  worker_ = std::make_shared<PodWorker>(context_, std::make_shared<AgentPod>(decoded()), machine_.saved, true);
  worker_->start();
  simulation_.run_until_idle();
  EXPECT_EQ(calls(), "");
}

TEST_F(ResizeTest, WhatTheNodeDoesNotHaveIsWaitedFor) {
  bool room = false;
  context_.resize_refusal = [&](const AgentPod&) -> std::optional<std::pair<std::string, std::string>> {
    if (room) return std::nullopt;
    return std::pair("Deferred", "no room");
  };
  begin("Never", "", "host", spec(R"({"cpu":"1"})"));
  calls();
  resize(R"({"cpu":"4"})");
  EXPECT_EQ(calls(), "");
  EXPECT_EQ(condition("PodResizePending"), "True/Deferred/no room");
  EXPECT_EQ(status({"resources", "limits"}), R"({"cpu":"1"})");
  room = true;
  pass(seconds(11));
  EXPECT_EQ(calls(), "resize 4000m 0");
  EXPECT_EQ(status({"resources", "limits"}), R"({"cpu":"4"})");
  change("{}");  // the worker hears what it wrote
  EXPECT_EQ(condition("PodResizePending"), "");
  EXPECT_EQ(condition("PodResizeInProgress"), "");
}

TEST_F(ResizeTest, WhatFailsIsSaidAndTriedAgain) {
  machine_.resize_failure = "in use";
  begin("Never", "", "host", spec(R"({"memory":"2Gi"})"));
  calls();
  resize(R"({"memory":"1Gi"})");
  EXPECT_EQ(condition("PodResizeInProgress"), "True/Error/in use");
  EXPECT_EQ(status({"resources", "limits"}), R"({"memory":"2Gi"})");
  EXPECT_EQ(calls(), "resize 0m 1073741824");
  machine_.resize_failure.clear();
  pass(seconds(11));
  EXPECT_EQ(calls(), "resize 0m 1073741824");
  EXPECT_EQ(status({"resources", "limits"}), R"({"memory":"1Gi"})");
}

TEST_F(ResizeTest, AnotherRunWhereTheSpecWantsOne) {
  more_ = R"("resizePolicy":[{"resourceName":"memory","restartPolicy":"RestartContainer"}],)";
  begin("Always", "", "host", more_ + spec(R"({"cpu":"1","memory":"1Gi"})"));
  calls();
  resize(R"({"cpu":"2","memory":"1Gi"})");
  EXPECT_EQ(calls(), "resize 2000m 1073741824") << "cpu needs no restart";
  resize(R"({"cpu":"2","memory":"2Gi"})");
  EXPECT_EQ(calls(), "TERM");
  exit(143);
  EXPECT_EQ(calls(), "remove c, launch c#1");
  EXPECT_EQ(status({"resources", "limits"}), R"({"cpu":"2","memory":"2Gi"})");
}

TEST_F(PodWorkerTest, TermThenKillThenTheObjectGoes) {
  begin("Always");
  calls();
  change(
      R"({"metadata":{"deletionTimestamp":"2030-01-01T00:00:00Z","deletionGracePeriodSeconds":30}})");
  EXPECT_EQ(calls(), "TERM");
  pass(seconds(29));
  EXPECT_EQ(calls(), "");
  pass(seconds(1));
  EXPECT_EQ(calls(), "KILL");
  exit(137);
  EXPECT_EQ(calls(), "remove c, erase, release");
  EXPECT_EQ(api_.find(kube::resources::pods, {"default", "p"}), nullptr);
  EXPECT_TRUE(has_event("Killing", "Stopping container c"));
}

TEST_F(PodWorkerTest, TheImageSaysWhichSignalStopsIt) {
  StoredImage image;
  image.name = "docker.io/library/nginx:1.25";
  image.config.stop_signal = "SIGQUIT";
  machine_.images[image.name] = image;
  begin("Never", "", "nginx:1.25");
  calls();
  change(R"({"metadata":{"deletionTimestamp":"2023-11-14T22:13:30Z","deletionGracePeriodSeconds":5}})");
  EXPECT_EQ(calls(), "QUIT");
  pass(seconds(6));
  EXPECT_EQ(calls(), "KILL");
}

TEST_F(PodWorkerTest, AShorterGraceCounts) {
  begin("Always");
  change(
      R"({"metadata":{"deletionTimestamp":"2030-01-01T00:00:00Z","deletionGracePeriodSeconds":30}})");
  pass(seconds(3));
  calls();
  change(R"({"metadata":{"deletionGracePeriodSeconds":2}})");
  EXPECT_EQ(calls(), "KILL");
}

TEST_F(PodWorkerTest, TheDeadlineFailsThePod) {
  begin("Always", R"("activeDeadlineSeconds":60,"terminationGracePeriodSeconds":5,)");
  pass(seconds(59));
  EXPECT_EQ(phase(), "Running");
  pass(seconds(1));
  exit(143);
  EXPECT_EQ(phase(), "Failed");
  EXPECT_EQ(json::string_at(object(), {"status", "reason"}), "DeadlineExceeded");
  EXPECT_EQ(json::string_at(object(), {"status", "message"}),
            "Pod was active on the node longer than the specified deadline");
  EXPECT_EQ(calls(), "sandbox, launch c#0, TERM, remove c, dismantle, release");
  EXPECT_FALSE(gone_);
}

TEST_F(PodWorkerTest, AnEvictedPodFailsAndStaysInTheApi) {
  begin("Always", R"("terminationGracePeriodSeconds":50,)");
  worker_->evict("The node was low on resource: memory. ", seconds(1));
  simulation_.run_until_idle();
  EXPECT_EQ(calls(), "sandbox, launch c#0, TERM");
  pass(seconds(2));
  EXPECT_EQ(calls(), "KILL") << "its own grace period does not count";
  exit(137);
  EXPECT_EQ(phase(), "Failed");
  EXPECT_EQ(json::string_at(object(), {"status", "reason"}), "Evicted");
  EXPECT_EQ(json::string_at(object(), {"status", "message"}), "The node was low on resource: memory. ");
  const model::PodStatus status = decoded().status;
  auto target = std::ranges::find(status.conditions, "DisruptionTarget", &model::PodCondition::type);
  ASSERT_NE(target, status.conditions.end());
  EXPECT_EQ(target->status, "True");
  EXPECT_EQ(target->reason, "TerminationByKubelet");
  EXPECT_TRUE(has_event("Evicted", "The node was low on resource: memory. "));
  EXPECT_EQ(calls(), "remove c, dismantle, release");
  EXPECT_FALSE(gone_);
  worker_->evict("again", seconds(0));
  EXPECT_EQ(json::string_at(object(), {"status", "message"}), "The node was low on resource: memory. ");
}

TEST_F(PodWorkerTest, APodOfAnotherSystemIsRejected) {
  begin("Never", R"("os":{"name":"windows"},)");
  EXPECT_EQ(phase(), "Failed");
  EXPECT_EQ(json::string_at(object(), {"status", "reason"}), "PodOSNotSupported");
  EXPECT_EQ(json::string_at(object(), {"status", "message"}),
            "Pod was rejected: Failed to admit pod as the OS field doesn't match node OS");
  EXPECT_EQ(calls().find("launch"), std::string::npos);
  EXPECT_EQ(json::find_path(object(), {"status", "containerStatuses"}), nullptr)
      << "kubectl would print their reason instead of the pod's";
}

TEST_F(PodWorkerTest, WhatTheNodeDoesNotHaveIsNotTaken) {
  context_.shortage = [](const AgentPod&) { return PodShortage{"cpu", 500000, 0, 2000}; };
  begin("Never");
  EXPECT_EQ(phase(), "Failed");
  EXPECT_EQ(json::string_at(object(), {"status", "reason"}), "OutOfcpu");
  EXPECT_EQ(json::string_at(object(), {"status", "message"}),
            "Pod was rejected: Node didn't have enough resource: cpu, requested: 500000, used: 0, capacity: 2000");
  EXPECT_TRUE(has_event("OutOfcpu", "Node didn't have enough resource: cpu"));
  EXPECT_EQ(calls(), "dismantle, release");
}

TEST_F(PodWorkerTest, WhatRunsHereIsNotRejectedByTheNextProcess) {
  begin("Never");
  const PodRecord record = worker_->record();
  worker_.reset();
  context_.shortage = [](const AgentPod&) { return PodShortage{"cpu", 2000, 1000, 2000}; };
  worker_ = std::make_shared<PodWorker>(context_, std::make_shared<AgentPod>(decoded()), record, true);
  worker_->start();
  simulation_.run_until_idle();
  EXPECT_EQ(phase(), "Running");
}

TEST_F(PodWorkerTest, WhatCannotBeDismantledIsTriedAgainLater) {
  machine_.dismantle_failure = "busy";
  begin("Never", R"("os":{"name":"windows"},)");
  pass(seconds(9));
  EXPECT_EQ(calls(), "dismantle");
  machine_.dismantle_failure.clear();
  pass(seconds(60));
  EXPECT_EQ(calls(), "dismantle, release");
}

TEST_F(PodWorkerTest, APodThatIsTurnedAwayNeverStarts) {
  machine_.sandbox_failure = "not yet";
  begin("Never");
  worker_->evict("The node had condition: [DiskPressure]. ", Nanos(0));
  simulation_.run_until_idle();
  EXPECT_EQ(phase(), "Failed");
  EXPECT_EQ(json::string_at(object(), {"status", "reason"}), "Evicted");
}

TEST_F(PodWorkerTest, ReadinessGatesKeepAPodUnready) {
  begin("Always", R"("readinessGates":[{"conditionType":"x.io/a"},{"conditionType":"x.io/b"}],)");
  auto ready = [&]() -> model::PodCondition {
    const model::PodStatus status = decoded().status;
    return *std::ranges::find(status.conditions, "Ready", &model::PodCondition::type);
  };
  EXPECT_EQ(ready().status, "False");
  EXPECT_EQ(ready().reason, "ReadinessGatesNotReady");
  EXPECT_EQ(ready().message,
            "corresponding condition of pod readiness gate \"x.io/a\" does not exist., "
            "corresponding condition of pod readiness gate \"x.io/b\" does not exist.");
  EXPECT_TRUE(container().ready);
  auto set = [&](const std::string& a, const std::string& b) {
    json::Value current = object();
    json::Array conditions;
    for (const json::Value& one : *json::array_at(current, {"status", "conditions"}))
      if (!json::string_at(one, {"type"}).starts_with("x.io/")) conditions.push_back(one);
    conditions.emplace_back(json::Object{{"type", "x.io/a"}, {"status", a}});
    conditions.emplace_back(json::Object{{"type", "x.io/b"}, {"status", b}});
    json::Object status{{"conditions", std::move(conditions)}};
    api_.patch(kube::resources::pods, {"default", "p"}, json::Object{{"status", std::move(status)}},
               "status");
    worker_->update(std::make_shared<AgentPod>(decoded()));
    simulation_.run_until_idle();
  };
  set("True", "False");
  EXPECT_EQ(ready().message, "the status of pod readiness gate \"x.io/b\" is not \"True\", but False");
  set("True", "True");
  EXPECT_EQ(ready().status, "True");
}

TEST_F(PodWorkerTest, ALocalhostSeccompProfileIsRefusedRatherThanIgnored) {
  const std::string profile =
      R"("securityContext":{"seccompProfile":{"type":"Localhost","localhostProfile":"p.json"}},)";
  begin("Never", "", "host", profile);
  EXPECT_EQ(phase(), "Pending");
  ASSERT_TRUE(container().state.waiting.has_value());
  EXPECT_EQ(container().state.waiting->reason, "CreateContainerConfigError");
  EXPECT_EQ(container().state.waiting->message,
            "seccomp profile Localhost (p.json) is not supported: use RuntimeDefault or Unconfined");
  EXPECT_EQ(calls(), "sandbox") << "nothing is started";
}

TEST_F(PodWorkerTest, AContainersOwnSeccompProfileIsTheLastWord) {
  begin("Never", R"("securityContext":{"seccompProfile":{"type":"Localhost","localhostProfile":"p"}},)",
        "host", R"("securityContext":{"seccompProfile":{"type":"RuntimeDefault"}},)");
  EXPECT_EQ(phase(), "Running");
}

TEST_F(PodWorkerTest, RetriesTheSandboxWithBackOff) {
  machine_.sandbox_failure = "no bridge";
  begin("Never");
  EXPECT_EQ(phase(), "Pending");
  pass(std::chrono::milliseconds(1600));
  EXPECT_EQ(calls(), "sandbox, sandbox, sandbox");
  machine_.sandbox_failure.clear();
  pass(seconds(3));
  EXPECT_EQ(phase(), "Running");
  EXPECT_TRUE(has_event("FailedCreatePodSandBox", "Failed to create pod sandbox: no bridge"));
}

TEST_F(PodWorkerTest, WhatCannotBeConfiguredWaits) {
  machine_.config_failure = "subPath \"../x\" leads out of the volume";
  begin("Never");
  EXPECT_EQ(phase(), "Pending");
  EXPECT_EQ(container().state.waiting->reason, "CreateContainerConfigError");
  EXPECT_EQ(container().state.waiting->message, machine_.config_failure);
  EXPECT_TRUE(has_event("Failed", "Error: subPath"));
  EXPECT_EQ(calls(), "sandbox, launch c#0");
  machine_.config_failure.clear();
  pass(seconds(10));
  EXPECT_EQ(calls(), "launch c#0");
  EXPECT_EQ(phase(), "Running");
  EXPECT_EQ(container().restartCount, 0);
}

TEST_F(PodWorkerTest, TheStatusSaysWhichSpecItIsAbout) {
  begin("Never");
  const std::int64_t before = json::int_at(object(), {"metadata", "generation"});
  ASSERT_GT(before, 0);
  EXPECT_EQ(json::int_at(object(), {"status", "observedGeneration"}), before);
  change(R"({"spec":{"activeDeadlineSeconds":1000}})");
  EXPECT_EQ(json::int_at(object(), {"status", "observedGeneration"}), before + 1);
  for (const json::Value& condition : *json::array_at(object(), {"status", "conditions"}))
    EXPECT_EQ(json::int_at(condition, {"observedGeneration"}), before + 1);
}

TEST_F(PodWorkerTest, AStartErrorIsAnExit) {
  machine_.launch_failure = "executable file `x` not found in $PATH";
  begin("Never");
  EXPECT_EQ(phase(), "Failed");
  EXPECT_EQ(container().state.terminated->exitCode, 128);
  EXPECT_EQ(container().state.terminated->reason, "StartError");
  EXPECT_NE(container().state.terminated->message.find("not found in $PATH"), std::string::npos);
}

TEST_F(PodWorkerTest, AnImageThatCannotBePulledIsTriedAgain) {
  begin("Never", "", "nginx:1.25");
  EXPECT_EQ(container().state.waiting->reason, "ErrImagePull");
  EXPECT_EQ(container().state.waiting->message, "no such image");
  EXPECT_TRUE(has_event("Pulling", "Pulling image \"nginx:1.25\""));
  EXPECT_TRUE(has_event("Failed", "Failed to pull image \"nginx:1.25\": no such image"));
  EXPECT_TRUE(has_event("Failed", "Error: ErrImagePull"));
  pass(seconds(11));
  EXPECT_EQ(container().state.waiting->reason, "ImagePullBackOff");
  EXPECT_EQ(container().state.waiting->message,
            "Back-off pulling image \"nginx:1.25\": ErrImagePull: no such image");
  EXPECT_EQ(phase(), "Pending");
  machine_.registry["docker.io/library/nginx:1.25"] = {
      "docker.io/library/nginx:1.25", "sha256:1", "docker.io/library/nginx@sha256:1", 7, {"l"},
      {"", "/srv", {"PATH=/p", "A=image"}, {"/entry"}, {"arg"}}};
  pass(seconds(11));
  EXPECT_EQ(phase(), "Running");
  EXPECT_EQ(container().imageID, "docker.io/library/nginx@sha256:1");
  EXPECT_EQ(machine_.cwd, "/srv");
  EXPECT_EQ(std::ranges::count(machine_.env, "PATH=/p"), 1);
}

TEST_F(PodWorkerTest, NoEndWaitsForAPull) {
  machine_.endless_pulls = true;
  begin("Never", "", "nginx:1.25");
  EXPECT_EQ(phase(), "Pending");
  change(R"({"metadata":{"deletionTimestamp":"2023-11-14T22:13:30Z","deletionGracePeriodSeconds":30}})");
  pass(seconds(1));
  EXPECT_EQ(calls(), "sandbox, pull docker.io/library/nginx:1.25, erase, release");
  EXPECT_TRUE(gone_);
}

TEST_F(PodWorkerTest, ADeadlineEndsAPodThatStillPulls) {
  machine_.endless_pulls = true;
  begin("Never", R"("activeDeadlineSeconds":5,)", "nginx:1.25");
  pass(seconds(6));
  EXPECT_EQ(phase(), "Failed");
  EXPECT_EQ(json::string_at(object(), {"status", "reason"}), "DeadlineExceeded");
}

TEST_F(PodWorkerTest, AnImageNameThatIsNoneIsNotAskedFor) {
  begin("Never", "", "No Image");
  EXPECT_EQ(container().state.waiting->reason, "InvalidImageName");
  EXPECT_TRUE(has_event("InspectFailed",
                        "Failed to apply default image tag \"No Image\": couldn't parse image name "
                        "\"No Image\": invalid reference format: repository name (No Image) must "
                        "be lowercase"));
}

TEST_F(PodWorkerTest, StatusWritesAreRetriedAndTheFinalOnePrecedesTheDelete) {
  int refusals = 3;
  std::vector<std::string> order;
  api_.on_write = [&](const kube::Write& write) -> std::optional<Error> {
    if (!(write.resource == kube::resources::pods)) return std::nullopt;
    order.push_back(write.verb == kube::Write::Verb::remove ? "delete" : "status");
    if (refusals-- > 0) return Error{Code::unavailable, "not now"};
    return std::nullopt;
  };
  begin("Never");
  EXPECT_EQ(phase(), "Pending");
  pass(seconds(4));
  EXPECT_EQ(phase(), "Running");
  order.clear();
  refusals = 1;
  change(
      R"({"metadata":{"deletionTimestamp":"2030-01-01T00:00:00Z","deletionGracePeriodSeconds":1}})");
  exit(0);
  pass(seconds(3));
  EXPECT_EQ(api_.find(kube::resources::pods, {"default", "p"}), nullptr);
  EXPECT_EQ(order, (std::vector<std::string>{"status", "status", "delete"}));
}

TEST_F(PodWorkerTest, ShutdownReportsATermination) {
  begin("Always");
  calls();
  worker_->shut_down();
  simulation_.run_until_idle();
  EXPECT_EQ(calls(), "TERM");
  exit(0);
  EXPECT_EQ(phase(), "Failed");
  EXPECT_EQ(json::string_at(object(), {"status", "reason"}), "Terminated");
  EXPECT_EQ(calls(), "remove c, erase, release");
  EXPECT_TRUE(gone_);
}

TEST_F(PodWorkerTest, AVanishedPodIsKilledWithoutGrace) {
  begin("Always");
  calls();
  worker_->vanish();
  simulation_.run_until_idle();
  EXPECT_EQ(calls(), "KILL, KILL");
  exit(137);
  EXPECT_EQ(calls(), "remove c, erase, release");
}

TEST_F(PodWorkerTest, TokensAreRenewedInTime) {
  int issued = 0;
  context_.token_source = [&](TokenRequest request, auto done) {
    EXPECT_EQ(request.service_account, "trainer");
    EXPECT_EQ(request.pod_uid, worker_->record().uid);
    done("token " + std::to_string(++issued));
  };
  begin("Never", R"("serviceAccountName":"trainer","volumes":[{"name":"t","projected":{"sources":[
      {"serviceAccountToken":{"path":"token","expirationSeconds":1000}}]}}],)");
  EXPECT_EQ(phase(), "Running");
  EXPECT_EQ(issued, 1);
  pass(seconds(700));
  worker_->refresh_volumes();
  simulation_.run_until_idle();
  EXPECT_EQ(issued, 1);
  pass(seconds(100));
  worker_->refresh_volumes();
  simulation_.run_until_idle();
  EXPECT_EQ(issued, 2);
}

TEST_F(PodWorkerTest, GivesTheDefaultEnvironment) {
  begin("Never");
  EXPECT_EQ(machine_.env.at(0),
            "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin");
  EXPECT_EQ(machine_.env.at(1), "HOSTNAME=p");
}

class ProbingTest : public PodWorkerTest {
 protected:
  // A pod whose container has the given members.
  void begin_with(const std::string& members, const std::string& spec_members = "") {
    begin("Always", R"("terminationGracePeriodSeconds":20,)" + spec_members, "host", members);
  }
  static std::string probe(const char* word, int period, int failures) {
    return R"({"exec":{"command":[")" + std::string(word) +
           R"("]},"periodSeconds":)" + std::to_string(period) + R"(,"failureThreshold":)" +
           std::to_string(failures) + "}";
  }
};

TEST_F(ProbingTest, ReadinessComesAndGoes) {
  machine_.failing = {"ready"};
  begin_with(R"("readinessProbe":)" + probe("ready", 5, 2) + ",");
  EXPECT_EQ(phase(), "Running");
  EXPECT_FALSE(container().ready);
  EXPECT_TRUE(has_event("Unhealthy", "Readiness probe failed: no ready"));
  machine_.failing.clear();
  pass(seconds(5));
  EXPECT_TRUE(container().ready);
  machine_.failing = {"ready"};
  pass(seconds(5));
  EXPECT_TRUE(container().ready) << "one failure is below the threshold";
  pass(seconds(5));
  EXPECT_FALSE(container().ready);
  EXPECT_EQ(container().restartCount, 0);
}

TEST_F(ProbingTest, NothingIsReadyBeforeItsFirstProbe) {
  bool ready = false;
  context_.on_change = [&] { ready = ready || is_ready(worker_->status()); };
  machine_.failing = {"ready"};
  begin_with(R"("readinessProbe":)" + probe("ready", 5, 2) + ",");
  exit(1);
  EXPECT_EQ(container().restartCount, 1);
  EXPECT_FALSE(ready);
  machine_.failing.clear();
  pass(seconds(5));
  EXPECT_TRUE(ready);
}

TEST_F(ProbingTest, NothingHasStartedBeforeItsStartupProbe) {
  std::set<bool> started;
  machine_.failing = {"up"};
  api_.on_write = [&](const kube::Write& write) -> std::optional<Error> {
    const json::Array* all = json::array_at(write.body, {"status", "containerStatuses"});
    for (std::size_t i = 0; all && i < all->size(); ++i)
      started.insert(json::bool_at(all->at(i), {"started"}) || json::bool_at(all->at(i), {"ready"}));
    return std::nullopt;
  };
  begin_with(R"("startupProbe":)" + probe("up", 5, 9) + ",");
  EXPECT_EQ(started, std::set<bool>{false});
}

TEST_F(ProbingTest, WithoutProbesAContainerIsReadyAtOnce) {
  int unready = 0;
  api_.on_write = [&](const kube::Write& write) -> std::optional<Error> {
    const json::Array* all = json::array_at(write.body, {"status", "containerStatuses"});
    if (all && json::find_path(all->at(0), {"state", "running"}) && !json::bool_at(all->at(0), {"ready"})) ++unready;
    return std::nullopt;
  };
  begin_with("");
  EXPECT_TRUE(container().ready);
  EXPECT_EQ(unready, 0) << "a status that is wrong, and one write too many";
}

TEST_F(ProbingTest, AnAdoptedContainerIsWhatItWas) {
  begin_with(R"("startupProbe":)" + probe("up", 5, 2) + R"(,"readinessProbe":)" + probe("ready", 5, 2) +
             R"(,"livenessProbe":{"exec":{"command":["alive"]},"initialDelaySeconds":60},)");
  pass(seconds(30));
  ASSERT_TRUE(container().ready);
  const PodRecord record = worker_->record();
  worker_.reset();  // the process is killed
  machine_.failing = {"ready"};
  machine_.probed.clear();
  worker_ = std::make_shared<PodWorker>(context_, std::make_shared<AgentPod>(decoded()), record, true);
  worker_->start();
  simulation_.run_until_idle();
  EXPECT_TRUE(container().ready) << "one failure is below the threshold";
  EXPECT_EQ(machine_.probed, std::vector<std::string>{"ready"}) << "it has started once";
  pass(seconds(5));
  EXPECT_FALSE(container().ready);
  pass(seconds(26));
  EXPECT_EQ(std::ranges::count(machine_.probed, "alive"), 1) << "sixty seconds after the container's start";
}

TEST_F(ProbingTest, LivenessKillsAndTheContainerStartsAgain) {
  begin_with(R"("livenessProbe":)" + probe("alive", 10, 2) + ",");
  EXPECT_TRUE(container().ready);
  calls();
  machine_.failing = {"alive"};
  pass(seconds(21));
  EXPECT_EQ(calls(), "TERM");
  EXPECT_TRUE(has_event("Killing", "Container c failed liveness probe, will be restarted"));
  pass(seconds(20));
  EXPECT_EQ(calls(), "KILL");
  machine_.failing.clear();
  exit(137);
  EXPECT_EQ(calls(), "remove c, launch c#1");
  EXPECT_EQ(container().restartCount, 1);
  EXPECT_EQ(container().lastState.terminated->exitCode, 137);
  pass(std::chrono::minutes(5));
  EXPECT_EQ(calls(), "") << "the new run has a clean slate";
}

TEST_F(ProbingTest, StartupHoldsTheOthersBack) {
  machine_.failing = {"up", "alive"};
  begin_with(R"("startupProbe":)" + probe("up", 5, 10) + R"(,"livenessProbe":)" +
             probe("alive", 1, 1) + ",");
  calls();
  pass(seconds(12));
  EXPECT_EQ(calls(), "");
  EXPECT_FALSE(container().started.value_or(true));
  EXPECT_EQ(std::ranges::count(machine_.probed, "alive"), 0);
  machine_.failing.clear();
  pass(seconds(5));
  EXPECT_TRUE(container().started.value_or(false));
  pass(seconds(2));
  EXPECT_GT(std::ranges::count(machine_.probed, "alive"), 0);
  EXPECT_EQ(calls(), "");
}

TEST_F(ProbingTest, HooksRunAtBothEnds) {
  begin_with(R"("lifecycle":{"postStart":{"exec":{"command":["hello"]}},)"
             R"("preStop":{"exec":{"command":["bye"]}}},)");
  EXPECT_EQ(machine_.probed, std::vector<std::string>{"hello"});
  EXPECT_TRUE(container().ready);
  calls();
  change(
      R"({"metadata":{"deletionTimestamp":"2030-01-01T00:00:00Z","deletionGracePeriodSeconds":20}})");
  EXPECT_EQ(machine_.probed, (std::vector<std::string>{"hello", "bye"}));
  EXPECT_EQ(calls(), "TERM");
}

TEST_F(ProbingTest, AFailedPostStartHookEndsTheContainer) {
  machine_.failing = {"hello"};
  begin_with(R"("lifecycle":{"postStart":{"exec":{"command":["hello"]}}},)");
  EXPECT_EQ(calls(), "sandbox, launch c#0, TERM");
  EXPECT_TRUE(has_event("FailedPostStartHook", "PostStartHook failed"));
}

TEST_F(ProbingTest, SidecarsMustHaveStartedFirst) {
  machine_.failing = {"up"};
  begin_with("", R"("initContainers":[{"name":"s","image":"host","command":["x"],)"
                 R"("restartPolicy":"Always","startupProbe":)" + probe("up", 5, 10) + "}],");
  EXPECT_EQ(calls(), "sandbox, launch s#0");
  pass(seconds(6));
  EXPECT_EQ(calls(), "");
  EXPECT_EQ(phase(), "Pending");
  machine_.failing.clear();
  pass(seconds(5));
  EXPECT_EQ(calls(), "launch c#0");
  EXPECT_EQ(phase(), "Running");
}

}  // namespace
}  // namespace hekla::agent
