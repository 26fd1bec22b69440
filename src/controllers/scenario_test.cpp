// Runs test/scenarios/controllers/*.yaml on the whole set of Volcano controllers. The format stands
// in that directory's README.
#include <gtest/gtest.h>

#include "controllers/volcano_controllers.h"
#include "support/scenario.h"

namespace hekla::controllers {
namespace {

namespace resources = kube::resources;
using test::Scenario;

std::string text_of(const json::Value& value) {
  return value.is_string() ? std::string(json::sv(value.get_string())) : json::serialize(value);
}

// Pods in which some ports answer.
class ListeningPods final : public kube::PodStreams {
 public:
  // The answer to a request, by "pod:port".
  std::map<std::string, std::string> answers;

  void logs(const kube::PodRef&, const kube::LogOptions&, std::shared_ptr<kube::ByteSink>,
            Done<void>) override {}
  void exec(const kube::PodRef&, const kube::ExecOptions&, ProcessReady) override {}
  void attach(const kube::PodRef&, const kube::ExecOptions&, ProcessReady) override {}
  void forward(const kube::PodRef& pod, std::uint16_t port,
               std::shared_ptr<kube::ForwardClient> client, ForwardReady ready) override {
    auto found = answers.find(pod.name + ":" + std::to_string(port));
    if (found == answers.end()) return ready(fail(Code::unavailable, "connection refused"));
    ready(std::make_shared<Connection>(std::move(client), found->second));
  }

 private:
  struct Connection final : kube::ForwardedConnection {
    std::shared_ptr<kube::ForwardClient> client;
    std::string answer;
    Connection(std::shared_ptr<kube::ForwardClient> c, std::string a)
        : client(std::move(c)), answer(std::move(a)) {}
    void write(std::string request) override {
      std::string path = request.substr(0, request.find(" HTTP/"));
      if (answer.empty()) return client->end();
      client->write(
          "HTTP/1.1 " +
          (answer.starts_with(path + " ") ? answer.substr(path.size() + 1) : std::string("404")) +
          " x\r\n");
    }
    void end() override {}
    void leave() override {}
  };
};

VolcanoControllers::Options options_of(const json::Value& document) {
  VolcanoControllers::Options options;
  if (const json::Array* names = json::array_at(document, {"disabled"}))
    for (const json::Value& name : *names) options.disabled.insert(text_of(name));
  options.max_requeue = static_cast<int>(json::int_at(document, {"maxRequeue"}, 15));
  options.queue_commands = json::bool_at(document, {"queueCommands"}, true);
  options.follow_owners = json::bool_at(document, {"followOwners"}, true);
  options.inherit_owner_annotations = json::bool_at(document, {"inheritAnnotations"}, true);
  return options;
}

// The controllers of one scenario, and what outlives a restart of theirs.
struct World {
  std::unique_ptr<ListeningPods> streams;
  Metrics metrics;
  VolcanoControllers* controllers = nullptr;
};

// {pod:80: ""} takes connections there, {pod:80: GET /ready 200} answers requests too.
void listen(World& world, const json::Value& value) {
  if (!world.streams) world.streams = std::make_unique<ListeningPods>();
  world.controllers->set_pod_streams(world.streams.get());
  for (const auto& member : value.get_object())
    world.streams->answers[std::string(member.key())] = text_of(member.value());
}

// {job: j, action: AbortJob} or {queue: q, action: CloseQueue}
void issue(Scenario& scenario, const json::Value& value) {
  bool job = json::find(value, "job") != nullptr;
  json::Object target{
      {"apiVersion", job ? "batch.volcano.sh/v1alpha1" : "scheduling.volcano.sh/v1beta1"},
      {"kind", job ? "Job" : "Queue"},
      {"name", *json::find(value, job ? "job" : "queue")},
      {"uid", "any"}};
  ASSERT_TRUE(scenario.api().create(
      resources::commands, json::Object{{"metadata", json::Object{{"generateName", "command-"}}},
                                        {"action", *json::find(value, "action")},
                                        {"target", std::move(target)}}));
}

// A line of the text form; a leading "no " wants no line to begin with the rest.
void expect_metric(Metrics& metrics, const std::string& wanted) {
  std::string all = "\n" + metrics.text();
  if (wanted.starts_with("no "))
    EXPECT_EQ(all.find("\n" + wanted.substr(3)), std::string::npos) << all;
  else
    EXPECT_NE(all.find("\n" + wanted + "\n"), std::string::npos) << wanted << " in" << all;
}

test::ScenarioRig volcano() {
  auto worlds = std::make_shared<std::map<Scenario*, World>>();
  test::ScenarioRig rig;
  rig.container = "main";
  rig.start = [worlds](Scenario& scenario, kube::Client& client) {
    World& world = (*worlds)[&scenario];
    auto controllers = std::make_shared<VolcanoControllers>(client, options_of(scenario.document()),
                                                            &world.metrics);
    world.controllers = controllers.get();
    controllers->start();
    if (world.streams) controllers->set_pod_streams(world.streams.get());
    return controllers;
  };
  // The next scenario may stand at the same address: it must not find this one's listening pods.
  rig.end = [worlds](Scenario& scenario) { worlds->erase(&scenario); };
  rig.verbs["listen"] = [worlds](Scenario& scenario, const json::Value& value) {
    listen((*worlds)[&scenario], value);
  };
  rig.verbs["command"] = issue;
  rig.expectations["metrics"] = [worlds](Scenario& scenario, const json::Value& value) {
    for (const json::Value& line : value.get_array())
      expect_metric((*worlds)[&scenario].metrics, text_of(line));
  };
  rig.expectations["status"] = [](Scenario& scenario, const json::Value& value) {
    for (const auto& job : value.get_object())
      scenario.expect_object(
          json::Object{{"kind", "Job"}, {"name", job.key()}, {"status", job.value()}});
  };
  return rig;
}

class ControllerScenario : public ::testing::TestWithParam<std::string> {};

TEST_P(ControllerScenario, Holds) { test::run_scenarios(volcano(), "controllers", GetParam()); }

INSTANTIATE_TEST_SUITE_P(Files, ControllerScenario,
                         ::testing::ValuesIn(test::scenario_names("controllers")),
                         [](const auto& info) { return info.param; });
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(ControllerScenario);

// Kinds on the framework survive any write that fails, and a crash between any two.
class DescribedKinds : public ::testing::TestWithParam<std::string> {};

TEST_P(DescribedKinds, HoldThoughAnyWriteFails) {
  test::run_scenarios_with_faults(volcano(), "controllers", GetParam());
}

INSTANTIATE_TEST_SUITE_P(Files, DescribedKinds,
                         ::testing::Values("cron_jobs", "cron_rules", "flows", "flow_rules",
                                           "plain_pods"),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace hekla::controllers
