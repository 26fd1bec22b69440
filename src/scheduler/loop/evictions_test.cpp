// Evictions on their way out: what the pod and its group say, and what happens when the API
// refuses.
#include "scheduler/loop/scheduler_fixture_test.h"

namespace hekla::scheduler {
namespace {

constexpr std::string_view kPreempting = R"(actions: "enqueue, allocate, preempt"
tiers:
- plugins:
  - name: priority
  - name: predicates
)";

struct EvictionTest : SchedulerTest {
  // g-0 runs on the only node when g-1, more important, comes.
  void one_of_two() {
    node("{name: n1, cpu: 1, memory: 8Gi}");
    start();
    ASSERT_TRUE(scheduler->set_configuration(kPreempting));
    group("{name: g, minMember: 1}");
    pod("{name: g-0, group: g, cpu: 1, priority: 1}");
    settle();
    ASSERT_EQ(node_of("g-0"), "n1");
    api.patch(resources::pods, {"default", "g-0"}, Bench::yaml("{status: {phase: Running}}"),
              "status");
    settle();
    pod("{name: g-1, group: g, cpu: 1, priority: 100}");
  }
};

TEST_F(EvictionTest, ThePodSaysWhyAndTheOtherGetsItsNode) {
  one_of_two();
  settle();
  EXPECT_NE(at(resources::pods, "default", "g-0", {"metadata", "deletionTimestamp"}), "(absent)");
  std::string conditions = at(resources::pods, "default", "g-0", {"status", "conditions"});
  EXPECT_NE(conditions.find("PreemptionByScheduler"), std::string::npos) << conditions;
  EXPECT_NE(conditions.find("volcano: preempting to accommodate a higher priority pod"),
            std::string::npos)
      << conditions;
  std::vector<std::string> events = events_about("g-0");
  EXPECT_NE(
      std::find(events.begin(), events.end(), "volcano Evict: Pod is evicted, because of preempt"),
      events.end());
  EXPECT_EQ(at(resources::pods, "default", "g-1", {"status", "nominatedNodeName"}), "n1");
  api.finish_termination({"default", "g-0"});
  settle();
  EXPECT_EQ(node_of("g-1"), "n1");
}

TEST_F(EvictionTest, WhatIsSaidOfAPodIsNotSaidOfTheNextOneOfItsName) {
  one_of_two();
  std::string other;
  api.on_write = [&](const kube::Write& write) -> std::optional<Error> {
    // The pod is replaced between the decision and the first write of it.
    if (write.key.name != "g-0" || !other.empty()) return std::nullopt;
    other = "made";
    json::Value again = *api.find(resources::pods, {"default", "g-0"});
    api.remove(resources::pods, {"default", "g-0"});
    api.finish_termination({"default", "g-0"});
    again.as_object()["metadata"].as_object().erase("uid");
    again.as_object()["metadata"].as_object().erase("deletionTimestamp");
    again.as_object()["spec"].as_object().erase("nodeName");
    again.as_object()["status"] = json::Object{{"phase", "Pending"}};
    EXPECT_TRUE(api.create(resources::pods, again));
    return std::nullopt;
  };
  settle();
  ASSERT_EQ(other, "made");
  EXPECT_EQ(at(resources::pods, "default", "g-0", {"metadata", "uid"}), "u-pods-g-0-2");
  std::string conditions = at(resources::pods, "default", "g-0", {"status", "conditions"});
  EXPECT_EQ(conditions.find("PreemptionByScheduler"), std::string::npos) << conditions;
}

TEST_F(EvictionTest, ARefusedEvictionIsUndoneAndTriedAgain) {
  int refusals = 2;
  api.on_write = [&](const kube::Write& write) -> std::optional<Error> {
    if (write.verb != kube::Write::Verb::remove || refusals == 0) return std::nullopt;
    --refusals;
    return Error{Code::internal, "no"};
  };
  one_of_two();
  ASSERT_TRUE(simulation.run_for(std::chrono::seconds(5)));
  EXPECT_EQ(refusals, 0);
  EXPECT_NE(at(resources::pods, "default", "g-0", {"metadata", "deletionTimestamp"}), "(absent)");
}

}  // namespace
}  // namespace hekla::scheduler
