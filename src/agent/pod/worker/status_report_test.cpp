// The status of a pod: which writes the API gets, and when.
#include <algorithm>

#include "agent/pod/worker/pod_worker_fixture_test.h"

namespace hekla::agent {
namespace {

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
  worker_ =
      std::make_shared<PodWorker>(context_, std::make_shared<AgentPod>(decoded()), record, true);
  worker_->start();
  simulation_.run_until_idle();
  EXPECT_EQ(phase(), "Succeeded");
  EXPECT_EQ(container().state.terminated->exitCode, 0);
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
  EXPECT_EQ(ready().message,
            "the status of pod readiness gate \"x.io/b\" is not \"True\", but False");
  set("True", "True");
  EXPECT_EQ(ready().status, "True");
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

}  // namespace
}  // namespace hekla::agent
