// The table's incremental answers against a plain recomputation over all nodes.
#include "scheduler/session/class_table.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "scheduler/builders_test.h"

namespace hekla::scheduler {
namespace {

// Everything from scratch: a table that has never been asked before.
std::optional<ClassTable::Pick> from_scratch(Bench& bench, ClassId pods, const NodeRules& rules,
                                             Reasons& reasons) {
  ClassTable fresh;
  fresh.refresh(bench.cluster, pods, rules, reasons);
  return fresh.best();
}

struct Rules {
  std::vector<std::unique_ptr<Plugin>> owners;
  NodeRules rules;
  Reasons& reasons;  // the one the plugins intern in

  explicit Rules(Session& session) : reasons(session.reasons()) {
    for (const PluginInfo* info : all_plugins()) {
      if (info->name != "predicates" && info->name != "nodeorder" && info->name != "binpack")
        continue;
      owners.push_back(info->make(PluginOption{std::string(info->name), {}, false, {}}));
      Plugin* plugin = owners.back().get();
      plugin->open(session);
      if (plugin->hooks().test(index_of(Hook::predicate))) rules.filters.push_back(plugin);
      if (!plugin->hooks().test(index_of(Hook::node_order))) continue;
      rules.scores.push_back(plugin);
      for (std::size_t i = 0; i < plugin->normalized_scores().size(); ++i)
        rules.normalized.push_back({plugin, i, plugin->normalized_scores()[i]});
    }
    rules.version = 1;
  }
};

RC_GTEST_PROP(ClassTable, FollowsTheClusterNodeByNode, ()) {
  Bench bench;
  int nodes = *rc::gen::inRange(1, 8);
  for (int i = 0; i < nodes; ++i) {
    std::string labels =
        *rc::gen::element<std::string>("", ", labels: {tier: gold}", ", labels: {tier: silver}");
    std::string taint = *rc::gen::element<std::string>(
        "", "", ", taints: [{key: k, value: v, effect: PreferNoSchedule}]",
        ", taints: [{key: hard, value: v, effect: NoSchedule}]");
    bench.node("{name: n" + std::to_string(i) + ", cpu: " +
               std::to_string(*rc::gen::inRange(1, 6)) + ", memory: 8Gi" + labels + taint + "}");
  }
  const std::string prefer =
      "spec: {tolerations: [{key: k, operator: Exists}], "
      "affinity: {nodeAffinity: {preferredDuringSchedulingIgnoredDuringExecution: ["
      "{weight: 1, preference: {matchExpressions: [{key: tier, operator: In, values: [silver]}]}}, "
      "{weight: 9, preference: {matchExpressions: [{key: tier, operator: In, values: "
      "[gold]}]}}]}}}";
  bench.group("{name: g, minMember: 1}");
  for (int i = 0; i < 10; ++i)
    bench.pod("{name: p-" + std::to_string(i) + ", group: g, cpu: 1, memory: 1Gi" +
              (i % 2 == 0 ? ", " + prefer : "") + "}");
  Rules rules(bench.session);
  ClassTable tables[2], handed_on;
  for (int step = 0; step < 25; ++step) {
    TaskId task = bench.task("p-" + std::to_string(*rc::gen::inRange(0, 10)));
    int which = static_cast<int>(bench.cluster.at(task).name.back() - '0') % 2;
    ClassId pods = bench.cluster.at(task).pod_class;
    tables[which].refresh(bench.cluster, pods, rules.rules, rules.reasons);
    std::optional<ClassTable::Pick> pick = tables[which].best();
    std::optional<ClassTable::Pick> plain = from_scratch(bench, pods, rules.rules, rules.reasons);
    handed_on.refresh(bench.cluster, pods, rules.rules, rules.reasons);
    std::optional<ClassTable::Pick> other = handed_on.best();
    RC_ASSERT(pick.has_value() == plain.has_value());
    RC_ASSERT(other.has_value() == plain.has_value());
    if (pick) {
      RC_ASSERT(pick->node == plain->node);
      RC_ASSERT(pick->fit == plain->fit);
      RC_ASSERT(pick->score == plain->score);
      RC_ASSERT(other->node == plain->node);
      RC_ASSERT(other->score == plain->score);
    } else {
      ClassTable fresh;
      fresh.refresh(bench.cluster, pods, rules.rules, rules.reasons);
      RC_ASSERT(tables[which].explain(rules.reasons, false) == fresh.explain(rules.reasons, false));
      RC_ASSERT(handed_on.explain(rules.reasons, false) == fresh.explain(rules.reasons, false));
    }
    TaskStatus before = bench.cluster.at(task).status;
    if (before == TaskStatus::bound)
      bench.cluster.move(task, TaskStatus::releasing, bench.cluster.at(task).node);
    else if (before != TaskStatus::pending)
      bench.cluster.move(task, TaskStatus::pending, {});
    else if (pick)
      bench.cluster.move(task, pick->fit == Fit::idle ? TaskStatus::bound : TaskStatus::pipelined,
                         pick->node);
  }
}

TEST(ClassTable, WhatNoNodeOffersFitsNowhere) {
  Bench bench;
  bench.node("{name: n1, cpu: 4}");
  bench.pod("{name: p, schedulerName: default-scheduler, cpu: 1, resources: {x.io/too-many: 1}}");
  bench.run();
  const Decisions& decisions = bench.run();
  EXPECT_TRUE(decisions.binds.empty());
  ClassTable& table = bench.session.table(bench.cluster.at(bench.task("p")).pod_class);
  EXPECT_EQ(table.explain(bench.session.reasons(), false),
            "0/1 nodes are unavailable: 1 Insufficient x.io/too-many.");
}

}  // namespace
}  // namespace hekla::scheduler
