// Pods and containers that the node does not take.
#include "agent/pod/worker/pod_worker_fixture_test.h"

namespace hekla::agent {
namespace {

TEST_F(PodWorkerTest, WhatTheNodeLacksIsNotLeftOutInSilence) {
  begin("Never", R"("hostUsers":false,)");
  EXPECT_EQ(phase(), "Pending");
  EXPECT_TRUE(has_event("FailedCreatePodSandBox", "does not support user namespaces"));
  EXPECT_EQ(calls(), "");
}

TEST_F(PodWorkerTest, ARuntimeClassIsHonouredOrRefused) {
  const kube::Resource classes{"node.k8s.io", "v1", "runtimeclasses", "RuntimeClass", false};
  context_.runtime = "crun";
  ASSERT_TRUE(api_.create(classes,
                          json::parse(R"({"metadata":{"name":"safe"},"handler":"kata"})").value()));
  begin("Never", R"("runtimeClassName":"safe",)");
  EXPECT_EQ(phase(), "Pending");
  EXPECT_TRUE(has_event("FailedCreatePodSandBox",
                        "Failed to create pod sandbox: failed to get sandbox runtime: no "
                        "runtime for \"kata\" is configured"));
  EXPECT_EQ(calls(), "");
  ASSERT_TRUE(api_.patch(classes, {"", "safe"}, json::parse(R"({"handler":"crun"})").value()));
  pass(std::chrono::minutes(1));
  EXPECT_EQ(calls(), "sandbox, launch c#0");
}

TEST_F(PodWorkerTest, BlockVolumesAreRefused) {
  begin("Never", R"("volumes":[{"name":"v","emptyDir":{}}],)", "host",
        R"("volumeDevices":[{"name":"v","devicePath":"/dev/x"}],)");
  EXPECT_EQ(phase(), "Pending");
  EXPECT_TRUE(has_event("FailedMount",
                        "volume v has volumeMode Filesystem, but is specified in volumeDevices"));
}

TEST_F(PodWorkerTest, ProfilesThatAreNotThereFailThePod) {
  begin("Never",
        R"("securityContext":{"appArmorProfile":{"type":"Localhost","localhostProfile":"x"}},)");
  EXPECT_EQ(phase(), "Failed");
  EXPECT_EQ(json::string_at(object(), {"status", "reason"}), "AppArmor");
  EXPECT_TRUE(
      has_event("AppArmor", "Cannot enforce AppArmor: AppArmor is not enabled on the host"));
}

TEST_F(PodWorkerTest, SubPathsWithoutAValueAreRefused) {
  const std::string volume = R"("volumes":[{"name":"v","emptyDir":{}}],)";
  begin("Never", volume, "host",
        R"("env":[{"name":"EMPTY","value":""}],"volumeMounts":[)"
        R"j({"name":"v","mountPath":"/v","subPathExpr":"$(EMPTY)/$(POD)"}],)j");
  EXPECT_EQ(container().state.waiting->reason, "CreateContainerConfigError");
  EXPECT_EQ(container().state.waiting->message, "missing value for EMPTY, POD");
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
  node_.lacking = PodShortage{"cpu", 500000, 0, 2000};
  begin("Never");
  EXPECT_EQ(phase(), "Failed");
  EXPECT_EQ(json::string_at(object(), {"status", "reason"}), "OutOfcpu");
  EXPECT_EQ(json::string_at(object(), {"status", "message"}),
            "Pod was rejected: Node didn't have enough resource: cpu, requested: 500000, used: 0, "
            "capacity: 2000");
  EXPECT_TRUE(has_event("OutOfcpu", "Node didn't have enough resource: cpu"));
  EXPECT_EQ(calls(), "dismantle, release");
}

TEST_F(PodWorkerTest, WhatRunsHereIsNotRejectedByTheNextProcess) {
  begin("Never");
  const PodRecord record = worker_->record();
  worker_.reset();
  node_.lacking = PodShortage{"cpu", 2000, 1000, 2000};
  worker_ =
      std::make_shared<PodWorker>(context_, std::make_shared<AgentPod>(decoded()), record, true);
  worker_->start();
  simulation_.run_until_idle();
  EXPECT_EQ(phase(), "Running");
}

TEST_F(PodWorkerTest, APodThatIsTurnedAwayNeverStarts) {
  machine_.sandbox_failure = "not yet";
  begin("Never");
  worker_->evict("The node had condition: [DiskPressure]. ", Nanos(0));
  simulation_.run_until_idle();
  EXPECT_EQ(phase(), "Failed");
  EXPECT_EQ(json::string_at(object(), {"status", "reason"}), "Evicted");
}

TEST_F(PodWorkerTest, ALocalhostSeccompProfileIsRefusedRatherThanIgnored) {
  const std::string profile =
      R"("securityContext":{"seccompProfile":{"type":"Localhost","localhostProfile":"p.json"}},)";
  begin("Never", "", "host", profile);
  EXPECT_EQ(phase(), "Pending");
  ASSERT_TRUE(container().state.waiting.has_value());
  EXPECT_EQ(container().state.waiting->reason, "CreateContainerConfigError");
  EXPECT_EQ(
      container().state.waiting->message,
      "seccomp profile Localhost (p.json) is not supported: use RuntimeDefault or Unconfined");
  EXPECT_EQ(calls(), "sandbox") << "nothing is started";
}

TEST_F(PodWorkerTest, AContainersOwnSeccompProfileIsTheLastWord) {
  begin("Never",
        R"("securityContext":{"seccompProfile":{"type":"Localhost","localhostProfile":"p"}},)",
        "host", R"("securityContext":{"seccompProfile":{"type":"RuntimeDefault"}},)");
  EXPECT_EQ(phase(), "Running");
}

}  // namespace
}  // namespace hekla::agent
