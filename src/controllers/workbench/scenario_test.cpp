// Runs test/scenarios/workbench/*.yaml on every kind of the workbench, plainly and with a fault at
// each write.
#include <gtest/gtest.h>

#include "controllers/workbench/profile_access.h"
#include "controllers/workbench_controllers.h"
#include "model/time.h"
#include "support/scenario.h"

namespace hekla::controllers::workbench {
namespace {

WorkbenchOptions options_of(const json::Value& document) {
  WorkbenchOptions options;
  if (const std::string idle = json::text_at(document, {"cullAfter"}); !idle.empty())
    options.cull_after = *model::parse_go_duration(idle);
  options.add_fs_group = json::bool_at(document, {"addFsGroup"}, true);
  return options;
}

test::ScenarioRig rig() {
  test::ScenarioRig rig;
  rig.resources = {virtual_services,
                   authorization_policies,
                   role_bindings,
                   {"kubeflow.org", "v1alpha1", "poddefaults", "PodDefault"}};
  for (const WorkbenchKind* kind : all_workbench_kinds()) rig.resources.push_back(kind->resource);
  rig.start = [](test::Scenario& scenario, kube::Client& client) -> std::shared_ptr<void> {
    if (json::bool_at(scenario.document(), {"withoutIstio"}))
      scenario.api().unserved = {virtual_services.plural, authorization_policies.plural};
    auto controllers =
        std::make_shared<WorkbenchControllers>(client, options_of(scenario.document()));
    controllers->start();
    return controllers;
  };
  return rig;
}

class WorkbenchScenario : public ::testing::TestWithParam<std::string> {};
TEST_P(WorkbenchScenario, Holds) { test::run_scenarios(rig(), "workbench", GetParam()); }
TEST_P(WorkbenchScenario, HoldsThoughAnyWriteFails) {
  test::run_scenarios_with_faults(rig(), "workbench", GetParam());
}
INSTANTIATE_TEST_SUITE_P(Files, WorkbenchScenario,
                         ::testing::ValuesIn(test::scenario_names("workbench")),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace hekla::controllers::workbench
