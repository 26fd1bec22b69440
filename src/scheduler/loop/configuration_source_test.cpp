#include "scheduler/loop/configuration_source.h"

#include "scheduler/loop/scheduler_fixture_test.h"

namespace hekla::scheduler {
namespace {

const kube::Key kMap{"volcano-system", "volcano-scheduler-configmap"};
const char* const kOnlyEnqueue = "actions: enqueue\n";

class ConfigurationSourceTest : public SchedulerTest {
 protected:
  void set_map(const std::string& text) {
    json::Value patch = json::Object{{"data", json::Object{{"volcano-scheduler.conf", text}}}};
    ASSERT_TRUE(api.patch(resources::config_maps, kMap, std::move(patch)));
    settle();
  }
  void make_map(const std::string& text) {
    ASSERT_TRUE(api.create(
        resources::config_maps,
        json::Object{{"metadata", json::Object{{"namespace", kMap.ns}, {"name", kMap.name}}},
                     {"data", json::Object{{"volcano-scheduler.conf", text}}}}));
  }
  // Whether a group created now is placed.
  bool places(const std::string& name) {
    group("{name: " + name + ", minMember: 1, pods: 1, each: {cpu: 1}}");
    settle();
    return node_of(name + "-0") == "n1";
  }
};

TEST_F(ConfigurationSourceTest, TheMapIsMadeWithTheDefaultAndObeyedWhenItChanges) {
  node("{name: n1, cpu: 8, memory: 8Gi}");
  start();
  EXPECT_EQ(at(resources::config_maps, kMap.ns, kMap.name, {"data", "volcano-scheduler.conf"}),
            std::string(helm_default_configuration()));
  EXPECT_TRUE(places("a"));
  set_map(kOnlyEnqueue);
  EXPECT_FALSE(places("b"));
  set_map(std::string(helm_default_configuration()));
  EXPECT_EQ(node_of("b-0"), "n1") << "the new configuration is in use at once";
}

TEST_F(ConfigurationSourceTest, AMapThatIsThereIsNotTouchedAndHoldsFromTheFirstSessionOn) {
  node("{name: n1, cpu: 8, memory: 8Gi}");
  make_map(kOnlyEnqueue);
  start();
  EXPECT_EQ(at(resources::config_maps, kMap.ns, kMap.name, {"data", "volcano-scheduler.conf"}),
            kOnlyEnqueue);
  EXPECT_FALSE(places("a"));
}

TEST_F(ConfigurationSourceTest, AMapThatIsDeletedComesBack) {
  start();
  const auto text = [&] {
    return at(resources::config_maps, kMap.ns, kMap.name, {"data", "volcano-scheduler.conf"});
  };
  ASSERT_EQ(text(), std::string(helm_default_configuration()));
  ASSERT_TRUE(api.remove(resources::config_maps, kMap));
  simulation.run_for(std::chrono::seconds(1));
  EXPECT_NE(text(), std::string(helm_default_configuration()));
  simulation.run_for(std::chrono::seconds(2));
  EXPECT_EQ(text(), std::string(helm_default_configuration()));
}

TEST_F(ConfigurationSourceTest, WhatHasNoEffectIsAnEvent) {
  node("{name: n1, cpu: 8, memory: 8Gi}");
  start();
  set_map(
      "actions: \"enqueue, allocate\"\ntiers: [{plugins: [{name: gang}, {name: overcommit, "
      "arguments: "
      "{overcommitfactor: 2}}]}]\n");
  EXPECT_TRUE(places("a"));
  EXPECT_EQ(events_about(kMap.name),
            std::vector<std::string>{
                "volcano ConfigurationWithoutEffect: tiers[0].plugins[1] (overcommit): "
                "overcommitfactor is not supported and has no effect, did you mean "
                "overcommit-factor?"});
}

TEST_F(ConfigurationSourceTest, ABadTextIsReportedOnceAndTheOldOneStays) {
  node("{name: n1, cpu: 8, memory: 8Gi}");
  start();
  set_map("actions: \"enqueue, alocate\"\n");
  EXPECT_TRUE(places("a"));
  ASSERT_TRUE(simulation.run_for(std::chrono::seconds(5)));
  EXPECT_EQ(events_about(kMap.name),
            std::vector<std::string>{
                "volcano InvalidConfiguration: the scheduler configuration is not used, the old "
                "one stays: failed to find Action alocate, ignore it"});
  set_map(std::string(helm_default_configuration()) + "# edited\n");
  EXPECT_EQ(events_about(kMap.name).size(), 2u) << "and it says when all is well again";
  ASSERT_TRUE(api.remove(resources::config_maps, kMap));
  EXPECT_TRUE(places("b")) << "a map that goes away changes nothing";
}

TEST_F(ConfigurationSourceTest, AnEmptyTextAndNoActionsAreBadTextsToo) {
  node("{name: n1, cpu: 8, memory: 8Gi}");
  start();
  const std::string refused =
      "volcano InvalidConfiguration: the scheduler configuration is not used, the old one stays: "
      "scheduler "
      "configuration: ";
  set_map("");
  EXPECT_TRUE(places("a"));
  set_map("actions: \"\"\n");
  EXPECT_TRUE(places("b"));
  EXPECT_EQ(
      events_about(kMap.name),
      (std::vector<std::string>{refused + "the text is empty",
                                refused + "actions is empty: nothing would ever be scheduled"}));
}

TEST_F(ConfigurationSourceTest, ABadMapAtTheStartMeansTheDefault) {
  node("{name: n1, cpu: 8, memory: 8Gi}");
  make_map("nonsense");
  start();
  EXPECT_TRUE(places("a"));
  EXPECT_EQ(events_about(kMap.name).size(), 1u);
}

TEST_F(ConfigurationSourceTest, AFileIsReadAgainAndWinsOverTheMap) {
  node("{name: n1, cpu: 8, memory: 8Gi}");
  make_map(kOnlyEnqueue);
  Result<std::string> file = std::string(helm_default_configuration());
  Options options;
  options.read_configuration = [&] { return file; };
  start(options);
  EXPECT_TRUE(places("a"));
  file = kOnlyEnqueue;
  ASSERT_TRUE(simulation.run_for(std::chrono::seconds(1)));
  EXPECT_FALSE(places("b"));
  file = fail(Code::not_found, "gone");
  ASSERT_TRUE(simulation.run_for(std::chrono::seconds(3)));
  file = "actions: [";
  ASSERT_TRUE(simulation.run_for(std::chrono::seconds(3)));
  EXPECT_FALSE(places("c"));
  for (const char* bad : {"actions: nonsense", ""}) {
    options.read_configuration = [bad] { return Result<std::string>(bad); };
    EXPECT_FALSE(Scheduler::create(options, client, nullptr))
        << "at the start a bad file is an error";
  }
}

}  // namespace
}  // namespace hekla::scheduler
