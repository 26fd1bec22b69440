// Runs test/scenarios/workspace/*.yaml on every kind of the workbench, plainly and with a fault at
// each write.
#include <gtest/gtest.h>

#include "controllers/workspace/workspace_kind.h"
#include "framework/kind_controller.h"
#include "support/scenario.h"

namespace hekla::controllers::workspace {
namespace {

struct Component {
  explicit Component(kube::Client& client) : caches(client) {
    for (const WorkspaceKind* kind : all_workspace_kinds())
      kinds.push_back(
          std::make_unique<framework::KindController>(caches, kind->describe(WorkspaceOptions{})));
    caches.start();
  }
  kube::CacheSet caches;
  std::vector<std::unique_ptr<framework::KindController>> kinds;
};

test::ScenarioRig rig() {
  test::ScenarioRig rig;
  rig.resources = {virtual_services};
  for (const WorkspaceKind* kind : all_workspace_kinds()) rig.resources.push_back(kind->resource);
  rig.start = [](test::Scenario& scenario, kube::Client& client) -> std::shared_ptr<void> {
    if (json::bool_at(scenario.document(), {"withoutIstio"}))
      scenario.api().unserved = {virtual_services.plural};
    return std::make_shared<Component>(client);
  };
  return rig;
}

class WorkspaceScenario : public ::testing::TestWithParam<std::string> {};
TEST_P(WorkspaceScenario, Holds) { test::run_scenarios(rig(), "workspace", GetParam()); }
TEST_P(WorkspaceScenario, HoldsThoughAnyWriteFails) {
  test::run_scenarios_with_faults(rig(), "workspace", GetParam());
}
INSTANTIATE_TEST_SUITE_P(Files, WorkspaceScenario,
                         ::testing::ValuesIn(test::scenario_names("workspace")),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace hekla::controllers::workspace
