// The pod state machine: from the sandbox to the last run.
#include <algorithm>

#include "agent/pod/worker/pod_worker_fixture_test.h"

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
  EXPECT_TRUE(node_.gone);
}

TEST_F(PodWorkerTest, PoliciesHoldBeforeTheFirstInstruction) {
  struct Gate final : PolicyGate {
    std::vector<Done<void>> waiting;
    void await(const model::Pod&, Done<void> done) override { waiting.push_back(std::move(done)); }
  } gate;
  std::vector<Done<void>>& waiting = gate.waiting;
  context_.policies = &gate;
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

TEST_F(PodWorkerTest, PodsOnTheHostsNetworkAreToldOnlyWhatTheyCanReach) {
  context_.api = {"10.96.0.1", 443};
  context_.host_api = {"127.0.0.1", 6443};
  model::Service web;
  web.metadata.name = "web";
  web.spec.clusterIP = "10.96.0.7";
  web.spec.ports = {{.port = 80}};
  node_.all_services = {std::make_shared<model::Service>(web)};
  begin("Never", R"("hostNetwork":true,"dnsPolicy":"ClusterFirstWithHostNet",)");
  auto has = [&](const std::string& text) { return std::ranges::count(machine_.env, text) == 1; };
  EXPECT_TRUE(has("KUBERNETES_SERVICE_HOST=127.0.0.1"));
  EXPECT_TRUE(has("KUBERNETES_SERVICE_PORT=6443"));
  for (const std::string& one : machine_.env) EXPECT_FALSE(one.contains("10.96.")) << one;
  EXPECT_TRUE(has_event("MissingClusterDNS", "Falling back to \"Default\" policy."));
}

TEST_F(PodWorkerTest, CardsComeWithTheirNodes) {
  context_.gpus = {3, 1};
  node_.cards_in_use = {0};
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
  node_.cards_in_use = {0};
  begin("Never", "", "host", R"("resources":{"limits":{"nvidia.com/gpu":"1"}},)");
  EXPECT_TRUE(machine_.devices.empty());
  EXPECT_EQ(std::ranges::count(machine_.env, "CUDA_VISIBLE_DEVICES=1"), 1);
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

TEST_F(PodWorkerTest, AStartErrorIsAnExit) {
  machine_.launch_failure = "executable file `x` not found in $PATH";
  begin("Never");
  EXPECT_EQ(phase(), "Failed");
  EXPECT_EQ(container().state.terminated->exitCode, 128);
  EXPECT_EQ(container().state.terminated->reason, "StartError");
  EXPECT_NE(container().state.terminated->message.find("not found in $PATH"), std::string::npos);
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

}  // namespace
}  // namespace hekla::agent
