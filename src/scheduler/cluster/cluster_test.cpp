#include "scheduler/cluster/cluster.h"

#include <gtest/gtest.h>

#include "scheduler/builders_test.h"
#include "scheduler/session/invariants.h"

namespace hekla::scheduler {
namespace {

TEST(Cluster, PodsThatLookAlikeAreOneClassAcrossJobs) {
  Bench bench;
  bench.group("{name: a, minMember: 1, pods: 3, each: {cpu: 1}}");
  bench.group("{name: b, minMember: 1, pods: 3, each: {cpu: 1}}");
  bench.pod("{name: other, group: a, cpu: 2}");
  EXPECT_EQ(bench.cluster.at(bench.task("a-0")).pod_class,
            bench.cluster.at(bench.task("b-2")).pod_class);
  EXPECT_NE(bench.cluster.at(bench.task("a-0")).pod_class,
            bench.cluster.at(bench.task("other")).pod_class);
}

TEST(Cluster, SaysWhatADeltaMeans) {
  Bench bench;
  EXPECT_EQ(bench.node("{name: n1, cpu: 4}"), Impact::decide);
  EXPECT_EQ(bench.node("{name: n1, cpu: 4}"), Impact::none) << "a heartbeat";
  EXPECT_EQ(bench.node("{name: n1, cpu: 8}"), Impact::decide);
  EXPECT_EQ(bench.queue("{name: q}"), Impact::decide);
  EXPECT_EQ(bench.queue("{name: q}"), Impact::none);
  EXPECT_EQ(bench.queue("{name: q, state: Closed}"), Impact::decide);
  EXPECT_EQ(bench.group("{name: g, minMember: 1}"), Impact::decide);
  EXPECT_EQ(bench.group("{name: g, minMember: 1}"), Impact::none);
  EXPECT_EQ(bench.pod("{name: p, group: g, cpu: 1}"), Impact::decide);
  EXPECT_EQ(bench.pod("{name: p, group: g, cpu: 1}"), Impact::none);
  EXPECT_EQ(bench.pod("{name: p, group: g, cpu: 1, node: n1}"), Impact::report);
  EXPECT_EQ(bench.pod("{name: p, group: g, cpu: 1, node: n1, phase: Running}"), Impact::report);
  EXPECT_EQ(bench.pod("{name: p, group: g, cpu: 1, node: n1, phase: Running, deleting: true}"),
            Impact::decide);
  bench.group("{name: gang, minMember: 2}");
  EXPECT_EQ(bench.pod("{name: gang-0, group: gang, cpu: 1}"), Impact::report);
  EXPECT_EQ(bench.pod("{name: gang-1, group: gang, cpu: 1}"), Impact::decide);
  EXPECT_EQ(bench.pod("{name: foreign, schedulerName: x, cpu: 1}"), Impact::none);
  EXPECT_EQ(bench.pod("{name: foreign, schedulerName: x, cpu: 1, node: n1}"), Impact::none);
  EXPECT_EQ(bench.pod("{name: foreign, schedulerName: x, cpu: 1, node: n1, phase: Succeeded}"),
            Impact::decide)
      << "it frees its node";
}

TEST(Cluster, FollowsNodesPodsAndTheirAccounts) {
  Bench bench;
  bench.pod("{name: early, schedulerName: x, cpu: 1, node: n1}");  // before the node itself
  bench.node("{name: n1, cpu: 4}");
  NodeId n1 = bench.cluster.find_node("n1");
  EXPECT_EQ(bench.cluster.at(n1).idle[kCpu], 3000);
  bench.node("{name: n1, cpu: 2}");
  EXPECT_EQ(bench.cluster.at(n1).idle[kCpu], 1000);
  EXPECT_EQ(bench.cluster.total()[kCpu], 2000);
  bench.group(
      "{name: g, minMember: 1, pods: 1, each: {cpu: 1, node: n1, phase: Running, deleting: true}}");
  EXPECT_EQ(bench.cluster.at(n1).idle[kCpu], 0);
  EXPECT_EQ(bench.cluster.at(n1).future_idle()[kCpu], 1000);
  EXPECT_EQ(invariants::accounts_add_up(bench.cluster, {}), "");
  model::Node gone;
  gone.metadata.name = "n1";
  EXPECT_EQ(bench.cluster.remove(gone), Impact::decide);
  EXPECT_EQ(bench.cluster.total()[kCpu], 0);
  EXPECT_EQ(bench.cluster.live_nodes(), 0u);
}

TEST(Cluster, AGroupsPodsMayComeFirstAndStayLast) {
  Bench bench;
  bench.pod("{name: p, group: g, cpu: 1}");
  JobId job = bench.job("g");
  ASSERT_TRUE(job.valid());
  EXPECT_FALSE(bench.cluster.at(job).has_group);
  bench.group("{name: g, minMember: 1}");
  EXPECT_EQ(bench.job("g"), job);
  model::PodGroup group;
  group.metadata.ns = "default";
  group.metadata.name = "g";
  group.metadata.uid = "group-g";
  bench.cluster.remove(group);
  EXPECT_TRUE(bench.job("g").valid()) << "its pod is still there";
  model::Pod pod;
  pod.metadata.uid = "pod-p";
  bench.cluster.remove(pod);
  EXPECT_FALSE(bench.job("g").valid());
}

TEST(Cluster, WhileAStatusWriteIsOnItsWayTheWatchKnowsLess) {
  Bench bench;
  bench.group("{name: g, minMember: 1, phase: Pending}");
  JobId job = bench.job("g");
  bench.cluster.edit(job).phase = Phase::inqueue;
  bench.cluster.edit(job).status_writes = 1;
  EXPECT_EQ(bench.group("{name: g, minMember: 1, phase: Pending}"), Impact::none);
  EXPECT_EQ(bench.cluster.at(job).phase, Phase::inqueue);
  bench.cluster.edit(job).status_writes = 0;
  EXPECT_EQ(bench.group("{name: g, minMember: 1, phase: Running}"), Impact::decide);
  EXPECT_EQ(bench.cluster.at(job).phase, Phase::running);
}

TEST(Cluster, AGroupMadeAgainIsReadFromTheWatchAnew) {
  Bench bench;
  bench.group("{name: g, minMember: 1, phase: Pending}");
  JobId job = bench.job("g");
  bench.cluster.edit(job).status_writes = 1;
  bench.cluster.edit(job).status_unwritten = true;
  model::PodGroup group;
  group.metadata.ns = bench.cluster.at(job).ns;
  group.metadata.name = "g";
  group.metadata.uid = "another";
  group.status.phase = "Inqueue";
  EXPECT_EQ(bench.cluster.put(group), Impact::decide);
  EXPECT_EQ(bench.cluster.at(job).status_writes, 0);
  EXPECT_FALSE(bench.cluster.at(job).status_unwritten);
  group.status.phase = "Running";
  bench.cluster.put(group);
  EXPECT_EQ(bench.cluster.at(job).phase, Phase::running);
}

TEST(Cluster, ChangesAreLoggedAndOldOnesForgotten) {
  Bench bench;
  bench.node("{name: n1, cpu: 4}");
  bench.group("{name: g, minMember: 1, pods: 1, each: {cpu: 1}}");
  std::uint64_t before = bench.cluster.change_sequence();
  NodeId n1 = bench.cluster.find_node("n1");
  for (int i = 0; i < 3000; ++i) {
    bench.cluster.move(bench.task("g-0"), TaskStatus::bound, n1);
    bench.cluster.move(bench.task("g-0"), TaskStatus::pending, {});
  }
  ASSERT_TRUE(bench.cluster.changed_since(before));
  EXPECT_EQ(bench.cluster.changed_since(before)->size(), 6000u);
  bench.cluster.trim_log();
  EXPECT_FALSE(bench.cluster.changed_since(before));
  EXPECT_TRUE(bench.cluster.changed_since(bench.cluster.change_sequence())->empty());
}

TEST(Cluster, AResizedPodChangesItsClassAndItsNodesAccount) {
  Bench bench;
  bench.node("{name: n1, cpu: 4}");
  bench.pod("{name: p, group: g, cpu: 1, node: n1}");
  EXPECT_EQ(bench.pod("{name: p, group: g, cpu: 2, node: n1}"), Impact::decide);
  EXPECT_EQ(bench.cluster.at(bench.cluster.find_node("n1")).idle[kCpu], 2000);
  EXPECT_EQ(invariants::accounts_add_up(bench.cluster, {}), "");
}

TEST(Cluster, WhatAPodIsStillToGiveUpIsNotFree) {
  Bench bench;
  bench.node("{name: n1, cpu: 4}");
  json::Value pod =
      shorthand::pod(Bench::yaml("{name: p, group: g, cpu: 1, node: n1, phase: Running}"), 0);
  std::string name(json::string_at((*json::array_at(pod, {"spec", "containers"}))[0], {"name"}));
  auto idle_with = [&](const char* has) {
    json::at_path(pod, {"status", "containerStatuses"}) = json::Array{
        json::Object{{"name", name},
                     {"allocatedResources", json::Object{{"cpu", "1"}}},
                     {"resources", json::Object{{"requests", json::Object{{"cpu", has}}}}}}};
    bench.cluster.put(*json::decode<model::Pod>(pod));
    return bench.cluster.at(bench.cluster.find_node("n1")).idle[kCpu];
  };
  EXPECT_EQ(idle_with("3"), 1000) << "asks for less than it has";
  EXPECT_EQ(idle_with("1"), 3000);
  EXPECT_EQ(invariants::accounts_add_up(bench.cluster, {}), "");
}

}  // namespace
}  // namespace hekla::scheduler
