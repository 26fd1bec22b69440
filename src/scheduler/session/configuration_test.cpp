#include "scheduler/session/configuration.h"

#include <gtest/gtest.h>

#include "scheduler/session/action.h"
#include "scheduler/session/plugin.h"

namespace hekla::scheduler {
namespace {

TEST(Configuration, TheHelmDefault) {
  Result<Configuration> parsed = parse_configuration(helm_default_configuration());
  ASSERT_TRUE(parsed) << parsed.error().message;
  EXPECT_EQ(parsed->actions, (std::vector<std::string>{"enqueue", "allocate", "backfill"}));
  ASSERT_EQ(parsed->tiers.size(), 2u);
  std::string names;
  for (const Tier& tier : parsed->tiers) {
    for (const PluginOption& plugin : tier.plugins) names += plugin.name + " ";
    names += "| ";
  }
  EXPECT_EQ(
      names,
      "priority gang conformance | overcommit drf predicates proportion nodeorder binpack | ");
  EXPECT_FALSE(parsed->tiers[0].plugins[1].enabled.test(index_of(Hook::preemptable)));
  EXPECT_TRUE(parsed->tiers[0].plugins[1].enabled.test(index_of(Hook::job_ready)));
  EXPECT_TRUE(parsed->unknown_plugins.empty());
}

TEST(Configuration, AnUnknownActionIsRefused) {
  Result<Configuration> parsed = parse_configuration("actions: \"enqueue, nonsense\"\n");
  ASSERT_FALSE(parsed);
  EXPECT_NE(parsed.error().message.find("nonsense"), std::string::npos);
}

TEST(Configuration, AnUnknownPluginIsSkipped) {
  Result<Configuration> parsed = parse_configuration(
      "actions: allocate\ntiers:\n- plugins:\n  - name: nonsense\n  - name: gang\n");
  ASSERT_TRUE(parsed) << parsed.error().message;
  EXPECT_EQ(parsed->unknown_plugins, std::vector<std::string>{"nonsense"});
  ASSERT_EQ(parsed->tiers[0].plugins.size(), 1u);
}

TEST(Configuration, NoYamlNoActionsNoNames) {
  EXPECT_FALSE(parse_configuration("actions: [\n"));
  EXPECT_EQ(parse_configuration("").error().message, "scheduler configuration: the text is empty");
  EXPECT_EQ(parse_configuration("# nothing\n").error().message,
            "scheduler configuration: the text is empty");
  for (const char* text : {"actions: \"\"\n", "actions: \"  \"\n"})
    EXPECT_EQ(parse_configuration(text).error().message,
              "scheduler configuration: actions is empty: nothing would ever be scheduled");
  EXPECT_FALSE(parse_configuration("tiers: []\n"));
  EXPECT_FALSE(
      parse_configuration("actions: allocate\ntiers:\n- plugins:\n  - enableJobOrder: true\n"));
}

TEST(Configuration, ProportionAndHierarchicalDrfExcludeEachOtherInOneTier) {
  std::string drf = "  - name: drf\n    enableHierarchy: true\n";
  Result<Configuration> together = parse_configuration("actions: allocate\ntiers:\n- plugins:\n" +
                                                       drf + "  - name: proportion\n");
  ASSERT_FALSE(together);
  EXPECT_EQ(together.error().message, "proportion and drf with hierarchy enabled conflicts");
  EXPECT_TRUE(parse_configuration("actions: allocate\ntiers:\n- plugins:\n" + drf +
                                  "- plugins:\n  - name: proportion\n"));
}

TEST(Configuration, EverySwitchReachesItsHook) {
  struct {
    const char* key;
    Hook hook;
  } cases[] = {
      {"enableJobOrder", Hook::job_order},          {"enableTaskOrder", Hook::task_order},
      {"enableQueueOrder", Hook::queue_order},      {"enablePredicate", Hook::predicate},
      {"enableNodeOrder", Hook::node_order},        {"enableJobReady", Hook::job_ready},
      {"enableJobPipelined", Hook::job_pipelined},  {"enableJobStarving", Hook::job_starving},
      {"enableJobEnqueued", Hook::job_enqueueable}, {"enableJobEnqueued", Hook::job_enqueued},
      {"enabledOverused", Hook::overused},          {"enabledAllocatable", Hook::allocatable},
      {"enablePreemptive", Hook::preemptive},       {"enablePreemptable", Hook::preemptable},
      {"enableReclaimable", Hook::reclaimable}};
  for (const auto& one : cases) {
    Result<Configuration> parsed = parse_configuration(
        std::string("actions: allocate\ntiers:\n- plugins:\n  - name: gang\n    ") + one.key +
        ": false\n");
    ASSERT_TRUE(parsed) << parsed.error().message;
    EXPECT_FALSE(parsed->tiers[0].plugins[0].enabled.test(index_of(one.hook))) << one.key;
  }
}

TEST(Configuration, AnErrorNamesItsPlace) {
  auto error = [](const std::string& text) {
    Result<Configuration> parsed = parse_configuration(text);
    return parsed ? std::string("(fine)") : parsed.error().message;
  };
  const std::string plugin = "actions: allocate\ntiers:\n- plugins:\n  - name: gang\n";
  EXPECT_EQ(error(plugin + "    enableJobOrder: maybe\n"),
            "scheduler configuration: tiers[0].plugins[0] (gang).enableJobOrder must be true or "
            "false, not \"maybe\"");
  EXPECT_EQ(error(plugin + "    arguments: [1]\n"),
            "scheduler configuration: tiers[0].plugins[0] (gang).arguments must be an object, not "
            "[1]");
  EXPECT_EQ(error("actions: allocate\ntiers: gang\n"),
            "scheduler configuration: tiers must be a list, not \"gang\"");
  EXPECT_EQ(error("actions: allocate\ntiers:\n- plugins: {}\n"),
            "scheduler configuration: tiers[0].plugins must be a list, not {}");
  EXPECT_EQ(error("actions: allocate\nconfigurations:\n- arguments: {}\n"),
            "scheduler configuration: configurations[0] has no name");
  EXPECT_EQ(error(plugin + "    enabledVictim: false\n"), "(fine)");
}

TEST(Configuration, MembersNobodyReadsAreWarnedOf) {
  Result<Configuration> parsed = parse_configuration(
      "actions: allocate\ntier: []\ntiers:\n- plugins:\n  - name: gang\n    enableOverused: true\n"
      "configurations:\n- name: alocate\n");
  ASSERT_TRUE(parsed) << parsed.error().message;
  EXPECT_EQ(parsed->warnings,
            (std::vector<std::string>{
                "tiers[0].plugins[0] (gang): enableOverused is no switch of a plugin and has no "
                "effect",
                "configurations[0]: there is no action alocate to take these arguments",
                "tier is no member of a configuration"}));
}

TEST(Configuration, ArgumentsThatHaveNoEffectAreNamed) {
  auto warnings = [](const std::string& plugin, const std::string& arguments) {
    Result<Configuration> parsed =
        parse_configuration("actions: allocate\ntiers: [{plugins: [{name: " + plugin +
                            ", arguments: {" + arguments + "}}]}]\n");
    EXPECT_TRUE(parsed) << (parsed ? "" : parsed.error().message);
    std::string out;
    for (const std::string& one : parsed->warnings) out += one + "\n";
    return out;
  };
  EXPECT_EQ(warnings("binpack",
                     "binpack.weight: 5, binpack.resources: nvidia.com/gpu, "
                     "binpack.resources.nvidia.com/gpu: 3"),
            "");
  EXPECT_EQ(warnings("binpack", "binpack.wieght: 5"),
            "tiers[0].plugins[0] (binpack): binpack.wieght is not supported and has no effect, did "
            "you mean "
            "binpack.weight?\n");
  EXPECT_EQ(warnings("nodeorder", "leastRequested.weight: 5"),
            "tiers[0].plugins[0] (nodeorder): leastRequested.weight is not supported and has no "
            "effect, did you mean "
            "leastrequested.weight?\n");
  EXPECT_EQ(
      warnings("overcommit", "overcommit-factor: much"),
      "tiers[0].plugins[0] (overcommit): overcommit-factor must be a number, not \"much\"; the "
      "default is used\n");
  EXPECT_EQ(warnings("tdm", "tdm.revocable-zone.rz1: 10.00-21.00"),
            "tiers[0].plugins[0] (tdm): tdm.revocable-zone.rz1 must be hours like 10:00-21:00, not "
            "\"10.00-21.00\"; "
            "the default is used\n");
  EXPECT_EQ(warnings("tdm", "tdm.revocablezone.rz1: \"10:00-21:00\""),
            "tiers[0].plugins[0] (tdm): tdm.revocablezone.rz1 is not supported and has no effect, "
            "did you mean "
            "tdm.revocable-zone.?\n");
  EXPECT_EQ(warnings("deviceshare", "deviceshare.SchedulePolicy: densest"),
            "tiers[0].plugins[0] (deviceshare): deviceshare.SchedulePolicy must be binpack or "
            "spread, not \"densest\"; "
            "the default is used\n");
  EXPECT_EQ(warnings("deviceshare", "deviceshare.GPUExclusiveRules: x"),
            "tiers[0].plugins[0] (deviceshare): deviceshare.GPUExclusiveRules is not supported and "
            "has no effect\n");
  EXPECT_EQ(warnings("usage", "thresholds: {cpu: 70, memory: 70}"),
            "tiers[0].plugins[0] (usage): thresholds.memory is not supported and has no effect\n");
  Result<Configuration> action = parse_configuration(
      "actions: preempt\nconfigurations: [{name: preempt, arguments: "
      "{enableTopologyAwarePreemtion: true}}]\n");
  ASSERT_TRUE(action);
  EXPECT_EQ(action->warnings,
            std::vector<std::string>{
                "configurations[0] (preempt): enableTopologyAwarePreemtion is not supported and "
                "has no effect, did you mean enableTopologyAwarePreemption?"});
}

TEST(Configuration, ArgumentsTolerateStrings) {
  Result<Configuration> parsed = parse_configuration(
      "actions: \"allocate\"\n"
      "tiers:\n- plugins:\n  - name: binpack\n    arguments:\n      a: \"3\"\n      b: 4\n      c: "
      "\"true\"\n"
      "      d: nonsense\n      e: 1.5\n"
      "configurations:\n- name: allocate\n  arguments:\n    predicateErrorCacheEnable: false\n"
      "metrics: {type: prometheus}\n");
  ASSERT_TRUE(parsed) << parsed.error().message;
  const Arguments& arguments = parsed->tiers[0].plugins[0].arguments;
  EXPECT_EQ(arguments.integer("a", 0), 3);
  EXPECT_EQ(arguments.integer("b", 0), 4);
  EXPECT_TRUE(arguments.boolean("c", false));
  EXPECT_EQ(arguments.integer("d", 7), 7);
  EXPECT_EQ(arguments.number("e", 0), 1.5);
  EXPECT_EQ(arguments.integer("absent", 9), 9);
  EXPECT_FALSE(parsed->action_arguments.at("allocate").boolean("predicateErrorCacheEnable", true));
}

TEST(Configuration, TheTablesHoldWhatTheFilesExport) {
  std::string plugins, actions;
  for (const PluginInfo* plugin : all_plugins()) plugins += std::string(plugin->name) + " ";
  for (const ActionInfo* action : all_actions()) actions += std::string(action->name) + " ";
  for (const char* name : {"binpack", "conformance", "drf", "gang", "nodeorder", "overcommit",
                           "predicates", "priority", "proportion"})
    EXPECT_NE(plugins.find(name), std::string::npos) << name;
  for (const char* name : {"allocate", "backfill", "enqueue"})
    EXPECT_NE(actions.find(name), std::string::npos) << name;
  for (const PluginInfo* plugin : all_plugins())
    EXPECT_FALSE(plugin->summary.empty()) << plugin->name;
}

}  // namespace
}  // namespace hekla::scheduler
