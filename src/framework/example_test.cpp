// The kind that docs/extending.md shows, and its tests.
#include <gtest/gtest.h>

#include "base/disk.h"
#include "support/scenario.h"

// Demo: an image behind a Service of the same name. Its status says how many copies are ready.
#include "framework/condition.h"
#include "framework/kind_controller.h"

namespace hekla::example {

using framework::AnyObject, framework::Outcome, framework::View;
using json::Array, json::Object;
namespace resources = kube::resources;

const kube::Resource demos{"example.org", "v1", "demos", "Demo"};

Result<Outcome> reconcile(const AnyObject& demo, const View& view) {
  const std::string& name = demo.metadata.name;
  const std::int64_t port = json::int_at(demo.spec, {"port"}, 80);
  const Object labels{{"demo", name}};
  const Object container{{"name", "main"},
                         {"image", json::string_at(demo.spec, {"image"})},
                         {"ports", Array{Object{{"containerPort", port}}}}};
  Outcome outcome;
  outcome.children.push_back(
      {resources::deployments,
       Object{{"metadata", Object{{"name", name}}},
              {"spec",
               Object{{"replicas", json::int_at(demo.spec, {"copies"}, 1)},
                      {"selector", Object{{"matchLabels", labels}}},
                      {"template", Object{{"metadata", Object{{"labels", labels}}},
                                          {"spec", Object{{"containers", Array{container}}}}}}}}}});
  if (port != 0)  // a Demo that listens nowhere has no Service: one that it had is pruned
    outcome.children.push_back(
        {resources::services,
         Object{{"metadata", Object{{"name", name}}},
                {"spec", Object{{"selector", labels}, {"ports", Array{Object{{"port", port}}}}}}}});

  framework::AnyRef deployment = view.child(resources::deployments, name);
  const std::int64_t ready = deployment ? json::int_at(deployment->status, {"readyReplicas"}) : 0;
  framework::Conditions conditions(demo.status, framework::kPlainConditions, view.now());
  if (conditions.set({"Ready", ready > 0 ? "True" : "False", ready > 0 ? "Answering" : "Starting"}))
    outcome.tell_with_status("Normal", ready > 0 ? "Answering" : "Starting", name);
  outcome.status = Object{{"ready", ready}, {"conditions", conditions.list()}};
  return outcome;
}

framework::KindDescription demo_kind() {
  return {.name = "demo-controller",
          .resource = demos,
          .owns = {{.resource = resources::deployments},
                   {.resource = resources::services, .prune = true}},
          .reconcile = reconcile};
}

}  // namespace hekla::example

namespace hekla::example {
namespace {

struct Component {
  explicit Component(kube::Client& client) : caches(client), demos(caches, demo_kind()) {
    caches.start();
  }
  kube::CacheSet caches;
  framework::KindController demos;
};

test::ScenarioRig demo_rig() {
  return {.start = [](test::Scenario&, kube::Client& client) -> std::shared_ptr<void> {
            return std::make_shared<Component>(client);
          },
          .resources = {demos}};
}

class FrameworkScenario : public ::testing::TestWithParam<std::string> {};
TEST_P(FrameworkScenario, Holds) { test::run_scenarios(demo_rig(), "framework", GetParam()); }
TEST_P(FrameworkScenario, HoldsThoughAnyWriteFails) {
  test::run_scenarios_with_faults(demo_rig(), "framework", GetParam());
}
INSTANTIATE_TEST_SUITE_P(Files, FrameworkScenario,
                         ::testing::ValuesIn(test::scenario_names("framework")),
                         [](const auto& info) { return info.param; });

TEST(Example, StandsInTheDocumentAsItIsCompiled) {
  Result<std::string> document = read_file("docs/extending.md");
  Result<std::string> source = read_file("src/framework/example_test.cpp");
  ASSERT_TRUE(document && source);
  std::size_t begin = document->find("```cpp\n// Demo: ");
  ASSERT_NE(begin, std::string::npos);
  begin += 7;
  std::string shown = document->substr(begin, document->find("```", begin) - begin);
  EXPECT_NE(source->find(shown), std::string::npos);
  EXPECT_LE(std::count(shown.begin(), shown.end(), '\n'), 60);
}

}  // namespace
}  // namespace hekla::example
