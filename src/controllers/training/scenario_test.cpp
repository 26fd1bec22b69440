// Runs test/scenarios/controllers/training/*/*.yaml on every training kind, plainly and with a
// fault at each write. Beside the form of test/scenarios/controllers/README.md a document has
// `gangScheduler` ("none": no gangs), `clusterDomain` and `helperImage` (of injected containers).
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "controllers/training/description.h"
#include "controllers/training_controllers.h"
#include "support/scenario.h"

namespace hekla::controllers::training {
namespace {

namespace fs = std::filesystem;
constexpr const char* kDirectory = "controllers/training";

// The same key every time, so that scenarios can name it.
SshKey numbered_key() { return {"a private key", "a public key"}; }

struct Component {
  Metrics metrics;
  TrainingControllers controllers;
  Component(kube::Client& client, TrainingControllers::Options options)
      : controllers(client, std::move(options), &metrics) {
    controllers.start();
  }
};

// With faults nothing is said of metrics, which a process takes with it.
test::ScenarioRig rig(bool faults) {
  test::ScenarioRig rig;
  for (const TrainingKind* kind : all_training_kinds()) {
    rig.resources.push_back(kind->resource);
    for (const TrainingKind* one : {kind, kind->variant})
      if (one && one->owns)
        for (const framework::OwnedKind& owned : one->owns())
          rig.resources.push_back(owned.resource);
  }
  auto component = std::make_shared<std::shared_ptr<Component>>();
  rig.start = [component](test::Scenario& scenario, kube::Client& client) -> std::shared_ptr<void> {
    TrainingControllers::Options options;
    if (json::find(scenario.document(), "gangScheduler"))
      options.jobs.gang_scheduler = json::string_at(scenario.document(), {"gangScheduler"});
    options.jobs.cluster_domain = json::string_at(scenario.document(), {"clusterDomain"});
    if (std::string_view image = json::string_at(scenario.document(), {"helperImage"});
        !image.empty()) {
      options.jobs.pytorch_init_image = image;
      options.jobs.kubectl_delivery_image = image;
    }
    options.jobs.make_ssh_key = numbered_key;
    *component = std::make_shared<Component>(client, std::move(options));
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

std::vector<std::string> names() {
  std::vector<std::string> all;
  std::error_code error;
  for (const auto& folder :
       fs::directory_iterator("test/scenarios/" + std::string(kDirectory), error))
    for (const std::string& name :
         test::scenario_names(kDirectory + ("/" + folder.path().filename().string())))
      all.push_back(folder.path().filename().string() + "/" + name);
  std::sort(all.begin(), all.end());
  return all;
}

class TrainingScenario : public ::testing::TestWithParam<std::string> {};
TEST_P(TrainingScenario, Holds) { test::run_scenarios(rig(false), kDirectory, GetParam()); }
TEST_P(TrainingScenario, HoldsThoughAnyWriteFails) {
  test::run_scenarios_with_faults(rig(true), kDirectory, GetParam());
}
INSTANTIATE_TEST_SUITE_P(Files, TrainingScenario, ::testing::ValuesIn(names()),
                         [](const auto& info) {
                           std::string name = info.param;
                           std::replace(name.begin(), name.end(), '/', '_');
                           return name;
                         });
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(TrainingScenario);

}  // namespace
}  // namespace hekla::controllers::training
