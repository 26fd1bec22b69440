// Who may be evicted, plugin by plugin. Actions that evict ask these through the tiers.
#include <gtest/gtest.h>

#include "scheduler/builders_test.h"

namespace hekla::scheduler {
namespace {

std::string one_plugin(const std::string& name) {
  return "actions: enqueue\ntiers:\n- plugins:\n  - name: " + name + "\n";
}

struct Victim : Bench {
  explicit Victim(const std::string& plugin) : Bench(one_plugin(plugin)) {}

  std::string names(const std::vector<TaskId>& tasks) const {
    std::string out;
    for (TaskId id : tasks) out.append(out.empty() ? "" : " ").append(cluster.at(id).name);
    return out;
  }
  std::string preempt(const std::string& who, const std::vector<std::string>& candidates) {
    std::vector<TaskId> ids;
    for (const std::string& name : candidates) ids.push_back(task(name));
    return names(session.preemptable(task(who), ids));
  }
  std::string reclaim(const std::string& who, const std::vector<std::string>& candidates) {
    std::vector<TaskId> ids;
    for (const std::string& name : candidates) ids.push_back(task(name));
    return names(session.reclaimable(task(who), ids));
  }
};

TEST(GangVictims, OnlyWhatAJobHasAboveItsMinimum) {
  Victim bench("gang");
  bench.node("{name: n1, cpu: 8}");
  bench.group("{name: v, minMember: 2, pods: 4, each: {cpu: 1, node: n1, phase: Running}}");
  bench.group("{name: tight, minMember: 2, pods: 2, each: {cpu: 1, node: n1, phase: Running}}");
  bench.group("{name: p, minMember: 1, pods: 1, each: {cpu: 1}}");
  bench.run();
  // The count goes down with each candidate taken, in the order of the list.
  EXPECT_EQ(bench.preempt("p-0", {"v-3", "v-0", "v-1", "tight-0"}), "v-3 v-0");
  EXPECT_EQ(bench.reclaim("p-0", {"v-1", "v-2", "v-3"}), "v-1 v-2");
  EXPECT_EQ(bench.preempt("p-0", {"tight-0", "tight-1"}), "");
}

TEST(PriorityVictims, LowerJobsAndLowerTasksOfTheSameJob) {
  Victim bench("priority");
  model::PriorityClass high;
  high.metadata.name = "high";
  high.value = 100;
  bench.cluster.put(high);
  bench.node("{name: n1, cpu: 8}");
  bench.group(
      "{name: low, minMember: 1, pods: 1, each: {cpu: 1, node: n1, phase: Running, priority: 99}}");
  bench.group("{name: p, minMember: 1, priorityClassName: high}");
  bench.pod("{name: p-0, group: p, cpu: 1, priority: 5}");
  bench.pod("{name: p-1, group: p, cpu: 1, node: n1, phase: Running, priority: 4}");
  bench.pod("{name: p-2, group: p, cpu: 1, node: n1, phase: Running, priority: 5}");
  bench.run();
  EXPECT_EQ(bench.preempt("p-0", {"low-0", "p-1", "p-2"}), "low-0 p-1");
  EXPECT_EQ(bench.preempt("low-0", {"p-1"}), "");
}

TEST(ConformanceVictims, SystemPodsAreSpared) {
  Victim bench("conformance");
  bench.node("{name: n1, cpu: 8}");
  bench.group("{name: g, minMember: 1}");
  bench.pod("{name: plain, group: g, cpu: 1, node: n1}");
  bench.pod(
      "{name: critical, group: g, cpu: 1, node: n1, spec: {priorityClassName: "
      "system-node-critical}}");
  bench.run();
  EXPECT_EQ(bench.preempt("plain", {"critical", "plain"}), "plain");
  EXPECT_EQ(bench.reclaim("plain", {"critical", "plain"}), "plain");
}

TEST(DrfVictims, OnlyIfTheVictimsJobKeepsTheLargerShare) {
  Victim bench("drf");
  bench.node("{name: n1, cpu: 8, memory: 8Gi}");
  bench.group("{name: rich, minMember: 1, pods: 4, each: {cpu: 1, node: n1, phase: Running}}");
  bench.group("{name: p, minMember: 1, pods: 2, each: {cpu: 1}}");
  bench.run();
  // The preemptor's share becomes 1/8; the others' falls to 3/8, 2/8, 1/8, 0.
  EXPECT_EQ(bench.preempt("p-0", {"rich-0", "rich-1", "rich-2", "rich-3"}), "rich-0 rich-1 rich-2");
}

TEST(ProportionVictims, WhileTheirQueueHoldsMoreThanItDeserves) {
  Victim bench("proportion");
  bench.node("{name: n1, cpu: 4, memory: 8Gi}");
  bench.queue("{name: q1}");
  bench.queue("{name: q2}");
  bench.group(
      "{name: v, queue: q1, minMember: 1, pods: 4, each: {cpu: 1, node: n1, phase: Running}}");
  bench.group("{name: p, queue: q2, minMember: 1, pods: 4, each: {cpu: 1}}");
  bench.run();
  EXPECT_EQ(bench.reclaim("p-0", {"v-0", "v-1", "v-2"}), "v-0 v-1");
  EXPECT_TRUE(bench.session.preemptive(bench.cluster.find_queue("q2"), bench.task("p-0")));
  EXPECT_FALSE(bench.session.preemptive(bench.cluster.find_queue("q1"), bench.task("v-0")));
  EXPECT_TRUE(bench.session.overused(bench.cluster.find_queue("q1")));
  EXPECT_FALSE(bench.session.overused(bench.cluster.find_queue("q2")));
}

TEST(Starving, TheFirstTierDecidesTogether) {
  Bench bench("actions: enqueue\ntiers:\n- plugins:\n  - name: priority\n  - name: gang\n");
  bench.node("{name: n1, cpu: 8}");
  bench.group("{name: g, minMember: 1}");
  bench.pod("{name: g-0, group: g, cpu: 1, node: n1, phase: Running}");
  bench.pod("{name: g-1, group: g, cpu: 1}");
  bench.group("{name: h, minMember: 1, pods: 1, each: {cpu: 1}}");
  bench.run();
  // g waits for a pod (priority says starving) but has its minimum (gang says no).
  EXPECT_FALSE(bench.session.job_starving(bench.job("g")));
  EXPECT_TRUE(bench.session.job_starving(bench.job("h")));
}

TEST(QueueOrder, PriorityBeforeShare) {
  Bench bench(one_plugin("proportion"));
  bench.node("{name: n1, cpu: 4, memory: 8Gi}");
  bench.queue("{name: urgent, priority: 5}");
  bench.queue("{name: idle}");
  bench.group(
      "{name: a, queue: urgent, minMember: 1, pods: 2, each: {cpu: 1, node: n1, phase: Running}}");
  bench.group("{name: b, queue: idle, minMember: 1, pods: 1, each: {cpu: 1}}");
  bench.run();
  EXPECT_TRUE(bench.session.queue_before(bench.cluster.find_queue("urgent"),
                                         bench.cluster.find_queue("idle")));
}

}  // namespace
}  // namespace hekla::scheduler
