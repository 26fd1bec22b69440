// Runs test/scenarios/training/*.yaml on every training kind, plainly and with a fault at each
// write.
#include <gtest/gtest.h>

#include "controllers/training/training_loop.h"
#include "framework/kind_controller.h"
#include "support/scenario.h"

namespace hekla::controllers::training {
namespace {

struct Component {
  Component(kube::Client& client, const TrainingOptions& options) : caches(client) {
    for (const TrainingKind* kind : all_training_kinds())
      kinds.push_back(
          std::make_unique<framework::KindController>(caches, describe(*kind, options)));
    caches.start();
  }
  kube::CacheSet caches;
  std::vector<std::unique_ptr<framework::KindController>> kinds;
};

test::ScenarioRig rig() {
  test::ScenarioRig rig;
  for (const TrainingKind* kind : all_training_kinds()) rig.resources.push_back(kind->resource);
  rig.start = [](test::Scenario& scenario, kube::Client& client) -> std::shared_ptr<void> {
    TrainingOptions options;
    if (const json::Value* name = json::find(scenario.document(), "gangScheduler"))
      options.gang_scheduler = json::sv(name->get_string());
    return std::make_shared<Component>(client, options);
  };
  return rig;
}

class TrainingScenario : public ::testing::TestWithParam<std::string> {};
TEST_P(TrainingScenario, Holds) { test::run_scenarios(rig(), "training", GetParam()); }
TEST_P(TrainingScenario, HoldsThoughAnyWriteFails) {
  test::run_scenarios_with_faults(rig(), "training", GetParam());
}
INSTANTIATE_TEST_SUITE_P(Files, TrainingScenario,
                         ::testing::ValuesIn(test::scenario_names("training")),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace hekla::controllers::training
