// A group that did not fit is looked at again only when something could have changed that.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "scheduler/builders_test.h"

namespace hekla::scheduler {
namespace {

struct RestTest : testing::Test {
  RestTest() {
    bench.session.look_again_after(std::chrono::seconds(1));
    bench.node("{name: n1, cpu: 2, memory: 8Gi}");
    bench.pod("{name: other, cpu: 1, node: n1, phase: Running, schedulerName: elsewhere}");
    bench.group("{name: g, minMember: 2, pods: 2, each: {cpu: 1}}");
    bench.run();
    EXPECT_TRUE(bench.run().binds.empty());
    EXPECT_TRUE(bench.session.rests(bench.job("g")));
  }
  bool rests_now() {
    const Decisions& decisions = bench.run();
    EXPECT_TRUE(decisions.waiting);
    return bench.session.rests(bench.job("g"));
  }
  Bench bench;
};

TEST_F(RestTest, WhatHasNothingToDoWithItDoesNotWakeIt) {
  bench.group("{name: later, minMember: 1, pods: 1, each: {cpu: 3}}");
  bench.queue("{name: elsewhere}");
  EXPECT_TRUE(rests_now());
  EXPECT_EQ(bench.cluster.at(bench.job("g")).conditions.size(), 1u) << "what was said stands";
}

TEST_F(RestTest, ANodeThatGainsRoomWakesIt) {
  bench.pod("{name: other, cpu: 1, node: n1, phase: Succeeded, schedulerName: elsewhere}");
  EXPECT_EQ(bench.run().binds.size(), 2u);
}

TEST_F(RestTest, ANewNodeWakesIt) {
  bench.node("{name: n2, cpu: 1, memory: 8Gi}");
  EXPECT_EQ(bench.run().binds.size(), 2u);
}

TEST_F(RestTest, ItsQueueWakesIt) {
  bench.queue("{name: default, weight: 7}");
  EXPECT_FALSE(rests_now());
  EXPECT_TRUE(rests_now());
}

TEST_F(RestTest, ItsOwnPodsAndItsGroupWakeIt) {
  bench.pod("{name: g-2, group: g, cpu: 1}");
  EXPECT_FALSE(rests_now());
  EXPECT_TRUE(rests_now());
  bench.cluster.put(*json::decode<model::PodGroup>(
      shorthand::group(Bench::yaml("{name: g, minMember: 1, phase: Inqueue}"), 1)));
  EXPECT_EQ(bench.run().binds.size(), 1u);
}

TEST_F(RestTest, ASecondWakesIt) {
  bench.clock.advance(std::chrono::milliseconds(999));
  EXPECT_TRUE(rests_now());
  bench.clock.advance(std::chrono::milliseconds(1));
  EXPECT_FALSE(rests_now());
}

TEST_F(RestTest, AnotherConfigurationWakesIt) {
  bench.session.configure(*parse_configuration(helm_default_configuration()));
  EXPECT_FALSE(rests_now());
}

TEST_F(RestTest, ABindingThatFailsWakesTheOthers) {
  bench.group("{name: small, minMember: 1, pods: 1, each: {cpu: 1}}");
  bench.run();
  const Decisions& decisions = bench.run();
  ASSERT_EQ(decisions.binds.size() + bench.cluster.at(bench.job("small")).allocated_tasks(), 1u);
  TaskId bound = bench.task("small-0");
  bench.cluster.bind_failed(bound, bench.cluster.at(bound).uid);
  bench.run();
  EXPECT_FALSE(bench.session.rests(bench.job("g")));
}

// Whoever rests would not have fitted.
RC_GTEST_PROP(Rest, ChangesNoDecision, ()) {
  Bench resting, trying;
  resting.session.look_again_after(std::chrono::seconds(1));
  auto both = [&](auto change) { change(resting), change(trying); };
  auto number = [](int below) { return std::to_string(*rc::gen::inRange(1, below)); };
  for (int i = 0; i < 3; ++i)
    both([&, text = "{name: n" + std::to_string(i) + ", cpu: " + number(6) +
                    ", memory: 8Gi}"](Bench& b) { b.node(text); });
  for (int step = 0; step < 8; ++step) {
    std::string group = "{name: g" + std::to_string(step) + ", minMember: " + number(4) +
                        ", pods: 3, each: {cpu: " + number(4) + "}}";
    std::string ends = "g" + std::to_string(*rc::gen::inRange(0, step + 1)) + "-" + number(3);
    both([&](Bench& b) {
      b.group(group);
      TaskId id = b.task(ends);
      if (!id.valid() || b.cluster.at(id).status != TaskStatus::bound) return;
      const Task task = b.cluster.at(id);
      b.pod("{name: " + task.name + ", group: " + b.cluster.at(task.job).name +
            ", node: " + b.cluster.at(task.node).name + ", cpu: 1, phase: Succeeded}");
    });
    for (int session = 0; session < 2; ++session) {
      auto placed = [](Bench& b) {
        std::string out;
        for (const BindDecision& bind : b.run().binds)
          out += b.cluster.at(bind.task).name + "@" + b.cluster.at(bind.node).name + " ";
        for (std::size_t i = 0; i < b.cluster.tasks().size(); ++i)
          b.cluster.bind_succeeded(TaskId(i), b.cluster.tasks()[i].uid);
        return out;
      };
      RC_ASSERT(placed(resting) == placed(trying));
    }
  }
}

}  // namespace
}  // namespace hekla::scheduler
