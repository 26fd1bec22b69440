#include "scheduler/cluster/companions.h"

#include <gtest/gtest.h>

#include "scheduler/builders_test.h"

namespace hekla::scheduler {
namespace {

Companion object(std::string_view text) { return *json::decode<Companion>(Bench::yaml(text)); }

TEST(Companions, AChangeIsOneOnlyIfItSaysSomethingNew) {
  Companions companions;
  Companion quota =
      object("{metadata: {namespace: a, name: q, resourceVersion: '1'}, spec: {x: 1}}");
  EXPECT_TRUE(companions.put(CompanionKind::quota, quota));
  std::uint64_t before = companions.version(CompanionKind::quota);
  quota.metadata.resourceVersion = "2";
  EXPECT_FALSE(companions.put(CompanionKind::quota, quota));
  EXPECT_EQ(companions.version(CompanionKind::quota), before);
  EXPECT_TRUE(companions.put(CompanionKind::quota,
                             object("{metadata: {namespace: a, name: q}, spec: {x: 2}}")));
  ASSERT_TRUE(companions.changed_since(CompanionKind::quota, before));
  ASSERT_EQ(companions.changed_since(CompanionKind::quota, before)->size(), 1u);
  EXPECT_EQ(companions.changed_since(CompanionKind::quota, before)->front(), "a/q");
  EXPECT_EQ(json::int_at(companions.find(CompanionKind::quota, "a/q")->body, {"spec", "x"}), 2);
  EXPECT_TRUE(companions.remove(CompanionKind::quota, quota));
  EXPECT_FALSE(companions.remove(CompanionKind::quota, quota));
  EXPECT_EQ(companions.find(CompanionKind::quota, "a/q"), nullptr);
  EXPECT_EQ(companions.version(CompanionKind::volume), 0u);
}

TEST(Companions, WhoIsFarBehindLooksAtAll) {
  Companions companions;
  for (int i = 0; i < 5000; ++i)
    companions.put(CompanionKind::volume,
                   object("{metadata: {name: v" + std::to_string(i) + "}, spec: {}}"));
  EXPECT_FALSE(companions.changed_since(CompanionKind::volume, 0));
  EXPECT_EQ(companions.changed_since(CompanionKind::volume, 4999)->size(), 1u);
  EXPECT_EQ(companions.all(CompanionKind::volume).size(), 5000u);
}

TEST(Companions, SurviveARecord) {
  Companion claim = object(
      "{kind: PersistentVolumeClaim, metadata: {namespace: a, name: c, labels: {x: one}}, spec: "
      "{volumeName: v}, status: {phase: Bound}}");
  Companion again = *json::decode<Companion>(json::encode(claim));
  EXPECT_EQ(again.key(), "a/c");
  EXPECT_EQ(again.metadata.label("x"), "one");
  EXPECT_TRUE(json::equal(again.body, claim.body));
}

TEST(ClusterCompanions, WhatABindingBroughtAlongIsRead) {
  Bench bench;
  bench.node("{name: n1, cpu: 4}");
  bench.group("{name: g, minMember: 1}");
  bench.pod("{name: p, group: g, cpu: 1}");
  EXPECT_EQ(bench.cluster.at(bench.task("p")).annotation("volcano.sh/gpu-index"), "");
  bench.pod("{name: p, group: g, cpu: 1, node: n1, annotations: {volcano.sh/gpu-index: '3'}}");
  EXPECT_EQ(bench.cluster.at(bench.task("p")).annotation("volcano.sh/gpu-index"), "3");
}

TEST(ClusterCompanions, PodsFindTheirSubGroupsWhicheverComesFirst) {
  const std::string group =
      "{name: g, minMember: 1, subGroupPolicy: [{name: r, subGroupSize: 1, matchLabelKeys: "
      "[part]}]}";
  const std::string pods[] = {"{name: a, group: g, cpu: 1, labels: {part: x}}",
                              "{name: b, group: g, cpu: 1}",
                              "{name: c, group: g, cpu: 1, labels: {part: x}, node: n1}"};
  for (bool group_first : {true, false}) {
    Bench bench;
    bench.node("{name: n1, cpu: 4}");
    if (group_first) bench.group(group);
    for (const std::string& pod : pods) bench.pod(pod);
    if (!group_first) bench.group(group);
    const Job& job = bench.cluster.at(bench.job("g"));
    ASSERT_EQ(job.sub_jobs.size(), 2u);
    EXPECT_EQ(job.sub_jobs[1].id, "r-x");
    EXPECT_EQ(job.sub_jobs[0].of(TaskStatus::pending), 1);
    EXPECT_EQ(job.sub_jobs[1].of(TaskStatus::pending), 1);
    EXPECT_EQ(job.sub_jobs[1].of(TaskStatus::bound), 1);
    bench.pod("{name: a, group: g, cpu: 1}");  // it loses its label
    EXPECT_EQ(job.sub_jobs[0].of(TaskStatus::pending), 2);
    EXPECT_EQ(job.sub_jobs[1].tasks, 1);
  }
}

}  // namespace
}  // namespace hekla::scheduler
