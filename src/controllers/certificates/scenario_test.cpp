// Runs test/scenarios/certificates/*.yaml on cert-manager's kinds.
#include <gtest/gtest.h>

#include "controllers/certificate_controllers.h"
#include "controllers/certificates/issuer.h"
#include "controllers/certificates/unobeyed.h"
#include "support/scenario.h"

namespace hekla::controllers::certificates {
namespace {

test::ScenarioRig rig() {
  test::ScenarioRig rig;
  rig.resources = {issuers, cluster_issuers, certificate_kind};
  for (const framework::KindDescription& kind : unobeyed_descriptions())
    if (kind.resource.kind != "Service") rig.resources.push_back(kind.resource);
  rig.start = [](test::Scenario& scenario, kube::Client& client) -> std::shared_ptr<void> {
    scenario.api().unserved = {};
    auto controllers = std::make_shared<CertificateControllers>(client);
    controllers->start();
    return controllers;
  };
  return rig;
}

class CertificateScenario : public ::testing::TestWithParam<std::string> {};
TEST_P(CertificateScenario, Holds) { test::run_scenarios(rig(), "certificates", GetParam()); }
INSTANTIATE_TEST_SUITE_P(Files, CertificateScenario,
                         ::testing::ValuesIn(test::scenario_names("certificates")),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace hekla::controllers::certificates
