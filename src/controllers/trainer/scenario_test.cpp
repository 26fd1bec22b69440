// Runs test/scenarios/controllers/trainer/*.yaml, plainly and with a fault at each write.
#include <gtest/gtest.h>

#include "controllers/trainer/description.h"
#include "framework/kind_controller.h"
#include "kube/cache_set.h"
#include "support/scenario.h"

namespace hekla::controllers::trainer {
namespace {

constexpr const char* kDirectory = "controllers/trainer";

struct Component {
  kube::CacheSet caches;
  framework::KindController controller;
  explicit Component(kube::Client& client)
      : caches(client),
        controller(caches, describe({[]() -> SshKey {
                     return {"a private key", "a public key"};  // so that scenarios can name it
                   }})) {
    caches.start();
  }
};

test::ScenarioRig rig() {
  test::ScenarioRig rig;
  rig.resources = {kube::resources::train_jobs, kube::resources::training_runtimes,
                   kube::resources::cluster_training_runtimes, kube::resources::job_sets};
  rig.start = [](test::Scenario&, kube::Client& client) -> std::shared_ptr<void> {
    return std::make_shared<Component>(client);
  };
  return rig;
}

class TrainJobScenario : public ::testing::TestWithParam<std::string> {};
TEST_P(TrainJobScenario, Holds) { test::run_scenarios(rig(), kDirectory, GetParam()); }
TEST_P(TrainJobScenario, HoldsThoughAnyWriteFails) {
  test::run_scenarios_with_faults(rig(), kDirectory, GetParam());
}
INSTANTIATE_TEST_SUITE_P(Files, TrainJobScenario,
                         ::testing::ValuesIn(test::scenario_names(kDirectory)),
                         [](const auto& info) { return info.param; });
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(TrainJobScenario);

}  // namespace
}  // namespace hekla::controllers::trainer
