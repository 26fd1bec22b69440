// Sessions over random clusters: what must hold whatever the input.
#include "scheduler/session/session.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "scheduler/builders_test.h"
#include "scheduler/session/invariants.h"

namespace hekla::scheduler {
namespace {

void check_all(const Bench& bench, const Decisions& decisions) {
  for (std::string_view name :
       {"no-overcommit", "gang-all-or-none", "nothing-left-over", "bound-once", "accounts-add-up"})
    RC_ASSERT(invariants::check(name, bench.cluster, decisions) == "");
}

std::string number(int below) { return std::to_string(*rc::gen::inRange(0, below)); }

RC_GTEST_PROP(Session, KeepsItsPromisesOnAnyCluster, ()) {
  Bench bench;
  for (int i = 0; i < *rc::gen::inRange(0, 6); ++i)
    bench.node("{name: n" + std::to_string(i) + ", cpu: " + number(8) +
               ", memory: 8Gi, pods: " + number(8) + "}");
  bench.queue("{name: q1, weight: 2, capability: {cpu: 6}}");
  bench.queue("{name: q2, guarantee: {cpu: 2}}");
  int groups = *rc::gen::inRange(0, 8);
  for (int i = 0; i < groups; ++i)
    bench.group("{name: g" + std::to_string(i) + ", minMember: " + number(5) + ", queue: " +
                *rc::gen::element<std::string>("default", "q1", "q2") + ", pods: " + number(6) +
                ", each: {cpu: " + number(4) + "}, minResources: {cpu: " + number(6) + "}}");
  for (int step = 0; step < 6; ++step) {
    const Decisions& decisions = bench.run();
    check_all(bench, decisions);
    // Some bindings are confirmed, some refused, some pods end.
    for (std::size_t i = 0; i < bench.cluster.tasks().size(); ++i) {
      TaskId id(i);
      const Task task = bench.cluster.at(id);
      if (!task.live) continue;
      int chance = *rc::gen::inRange(0, 4);
      if (task.status == TaskStatus::binding && chance == 0)
        bench.cluster.bind_failed(id, task.uid);
      else if (task.status == TaskStatus::binding)
        bench.cluster.bind_succeeded(id, task.uid);
      else if (task.status == TaskStatus::bound && chance == 1)
        bench.pod("{name: " + task.name + ", group: " + bench.cluster.at(task.job).name +
                  ", node: " + bench.cluster.at(task.node).name + ", phase: Succeeded}");
    }
  }
}

TEST(Session, TheSameClusterGivesTheSameDecisions) {
  auto run = [] {
    Bench bench;
    for (int i = 0; i < 50; ++i)
      bench.node("{name: n" + std::to_string(i) + ", cpu: 8, memory: 16Gi}");
    for (int i = 0; i < 20; ++i)
      bench.group("{name: g" + std::to_string(i) +
                  ", minMember: 3, pods: 5, each: {cpu: 2, memory: 1Gi}}");
    std::string out;
    for (const BindDecision& bind : bench.run().binds)
      out += bench.cluster.at(bind.task).name + ">" + bench.cluster.at(bind.node).name + " ";
    return out;
  };
  std::string once = run();
  EXPECT_FALSE(once.empty());
  EXPECT_EQ(once, run());
}

TEST(Session, AnotherConfigurationAppliesToTheNextSession) {
  Bench bench("actions: allocate\ntiers:\n- plugins:\n  - name: binpack\n");
  bench.node("{name: n1, cpu: 4, memory: 8Gi}");
  bench.node("{name: n2, cpu: 4, memory: 8Gi}");
  bench.group("{name: g, minMember: 0, pods: 2, each: {cpu: 1, memory: 1Gi}}");
  const Decisions& packed = bench.run();
  ASSERT_EQ(packed.binds.size(), 2u);
  EXPECT_EQ(packed.binds[0].node, packed.binds[1].node);
  bench.session.configure(
      *parse_configuration("actions: allocate\ntiers:\n- plugins:\n  - name: nodeorder\n"));
  bench.group("{name: h, minMember: 0, pods: 1, each: {cpu: 1, memory: 1Gi}}");
  const Decisions& spread = bench.run();
  ASSERT_EQ(spread.binds.size(), 1u);
  EXPECT_EQ(bench.cluster.at(spread.binds[0].node).name, "n2");
}

TEST(Session, MoreClassesThanTablesAreServedAllTheSame) {
  Bench bench("actions: allocate\ntiers:\n- plugins:\n  - name: predicates\n");
  bench.node("{name: n1, cpu: 1000, pods: 2000}");
  for (int i = 0; i < 600; ++i)
    bench.pod("{name: p" + std::to_string(i) +
              ", schedulerName: default-scheduler, cpu: " + std::to_string(i + 1) + "m}");
  EXPECT_EQ(bench.run().binds.size(), 600u);
}

TEST(Session, AnEvictedPodStillHoldsItsNodeButNotItsJobsShare) {
  Bench bench;
  bench.node("{name: n1, cpu: 4, memory: 8Gi}");
  bench.group("{name: g, minMember: 1, pods: 2, each: {cpu: 1, node: n1, phase: Running}}");
  bench.run();
  bench.session.release(bench.task("g-1"));
  bench.session.evict(bench.task("g-1"), "preempt");
  const Node& node = bench.cluster.at(bench.cluster.find_node("n1"));
  EXPECT_EQ(node.idle[kCpu], 2000);
  EXPECT_EQ(node.future_idle()[kCpu], 3000);
  EXPECT_EQ(bench.cluster.at(bench.job("g")).allocated[kCpu], 1000);
  EXPECT_EQ(invariants::accounts_add_up(bench.cluster, {}), "");
}

TEST(Session, FiguresAreReportedWhenWanted) {
  Bench bench;
  bench.node("{name: n1, cpu: 4, memory: 8Gi}");
  bench.group("{name: g, minMember: 1, pods: 1, each: {cpu: 1}}");
  EXPECT_TRUE(bench.run().gauges.empty());
  bench.session.collect_gauges(true);
  const Decisions& decisions = bench.run();
  auto deserved = std::find_if(decisions.gauges.begin(), decisions.gauges.end(), [](const auto& g) {
    return g.name == "volcano_queue_deserved_milli_cpu";
  });
  ASSERT_NE(deserved, decisions.gauges.end());
  EXPECT_EQ(bench.cluster.at(deserved->queue).name, "default");
  EXPECT_EQ(deserved->value, 1000);
}

}  // namespace
}  // namespace hekla::scheduler
