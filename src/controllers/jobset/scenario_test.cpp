// Runs test/scenarios/controllers/jobset/*.yaml, plainly and with a fault at each write. Beside the
// form of test/scenarios/controllers/README.md a document has `gangScheduler` ("none": no gangs).
#include <gtest/gtest.h>

#include "controllers/jobset/description.h"
#include "framework/kind_controller.h"
#include "kube/cache_set.h"
#include "support/scenario.h"

namespace hekla::controllers::jobset {
namespace {

constexpr const char* kDirectory = "controllers/jobset";

struct Component {
  Metrics metrics;
  kube::CacheSet caches;
  framework::KindController controller;
  Component(kube::Client& client, const Options& options)
      : caches(client), controller(caches, describe(options, &metrics)) {
    caches.start();
  }
};

// With faults nothing is said of metrics, which a process takes with it.
test::ScenarioRig rig(bool faults) {
  test::ScenarioRig rig;
  rig.resources = {kube::resources::job_sets, kube::resources::batch_jobs};
  auto component = std::make_shared<std::shared_ptr<Component>>();
  rig.start = [component](test::Scenario& scenario, kube::Client& client) -> std::shared_ptr<void> {
    Options options;
    if (json::find(scenario.document(), "gangScheduler"))
      options.gang_scheduler = json::string_at(scenario.document(), {"gangScheduler"});
    *component = std::make_shared<Component>(client, options);
    return *component;
  };
  rig.expectations["metrics"] = [=](test::Scenario&, const json::Value& lines) {
    if (faults) return;
    const std::string all = "\n" + (*component)->metrics.text();
    for (const json::Value& line : lines.get_array())
      EXPECT_NE(all.find("\n" + std::string(json::sv(line.get_string())) + "\n"), std::string::npos)
          << json::serialize(line) << " in" << all;
  };
  return rig;
}

class JobSetScenario : public ::testing::TestWithParam<std::string> {};
TEST_P(JobSetScenario, Holds) { test::run_scenarios(rig(false), kDirectory, GetParam()); }
TEST_P(JobSetScenario, HoldsThoughAnyWriteFails) {
  test::run_scenarios_with_faults(rig(true), kDirectory, GetParam());
}
INSTANTIATE_TEST_SUITE_P(Files, JobSetScenario,
                         ::testing::ValuesIn(test::scenario_names(kDirectory)),
                         [](const auto& info) { return info.param; });
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(JobSetScenario);

}  // namespace
}  // namespace hekla::controllers::jobset
