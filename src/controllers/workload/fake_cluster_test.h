// The workload controllers on a fake API in simulated time, with a node that runs every pod.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>

#include "controllers/cluster_controllers.h"
#include "json/parse.h"
#include "model/time.h"
#include "support/fake_client.h"
#include "support/sim_executor.h"

namespace hekla::controllers {

class WorkloadsTest : public ::testing::Test {
 protected:
  WorkloadsTest()
      : simulation_(1),
        api_(simulation_.clock()),
        client_(api_, simulation_.add("workloads")),
        controllers_(client_) {
    controllers_.start();
    settle();
  }

  void settle() { ASSERT_TRUE(simulation_.run_until_idle(200'000)) << "spinning"; }
  void advance(std::chrono::seconds time) { ASSERT_TRUE(simulation_.run_for(time, 200'000)); }

  // One object in YAML.
  void apply(const kube::Resource& resource, const std::string& yaml) {
    Result<std::vector<json::YamlDocument>> parsed = json::parse_yaml(yaml);
    ASSERT_TRUE(parsed) << parsed.error().message;
    json::Value object = (*parsed)[0].value;
    kube::Key key{"default", std::string(json::string_at(object, {"metadata", "name"}))};
    if (!resource.namespaced) key.ns.clear();
    kube::WriteResult done = api_.find(resource, key) ? api_.patch(resource, key, object)
                                                      : api_.create(resource, object);
    ASSERT_TRUE(done) << done.error().message;
    settle();
  }
  const json::Value& object(const kube::Resource& resource, const std::string& name) {
    const json::Value* found = api_.find(resource, {resource.namespaced ? "default" : "", name});
    static const json::Value none;
    EXPECT_TRUE(found) << "no " << resource.kind << " " << name;
    return found ? *found : none;
  }
  std::int64_t status_of(const kube::Resource& resource, const std::string& name,
                         std::string_view member) {
    return json::int_at(object(resource, name), {"status", member});
  }
  // "True MinimumReplicasAvailable"
  std::string condition(const kube::Resource& resource, const std::string& name,
                        std::string_view type) {
    if (const json::Array* all = json::array_at(object(resource, name), {"status", "conditions"}))
      for (const json::Value& one : *all)
        if (json::string_at(one, {"type"}) == type)
          return std::string(json::string_at(one, {"status"})) + " " +
                 std::string(json::string_at(one, {"reason"}));
    return "";
  }
  std::vector<std::string> pod_names() {
    std::vector<std::string> names;
    for (const json::Value* pod : api_.list(kube::resources::pods))
      names.emplace_back(json::string_at(*pod, {"metadata", "name"}));
    return names;
  }
  void set_phase(const std::string& name, const std::string& phase, int exit_code = 0,
                 const std::string& node = "n1") {
    json::Object container{{"name", "main"}, {"restartCount", 0}};
    if (phase != "Running")
      container["state"] = json::Object{
          {"terminated",
           json::Object{{"exitCode", exit_code},
                        {"finishedAt", model::format_rfc3339(simulation_.clock().wall())}}}};
    json::Array conditions{
        json::Object{{"type", "Ready"},
                     {"status", phase == "Running" ? "True" : "False"},
                     {"lastTransitionTime", model::format_rfc3339(simulation_.clock().wall())}}};
    kube::Key key{"default", name};
    ASSERT_TRUE(api_.patch(kube::resources::pods, key,
                           json::Object{{"spec", json::Object{{"nodeName", node}}}}));
    ASSERT_TRUE(api_.patch(
        kube::resources::pods, key,
        json::Object{{"status", json::Object{{"phase", phase},
                                             {"conditions", std::move(conditions)},
                                             {"containerStatuses", json::Array{container}}}}},
        "status"));
    settle();
  }
  // What a node does once: ends what is to end, starts what waits. False when there was nothing.
  bool node_step() {
    bool did = false;
    for (const std::string& name : pod_names()) {
      const json::Value* pod = api_.find(kube::resources::pods, {"default", name});
      if (!pod) continue;
      std::string_view phase = json::string_at(*pod, {"status", "phase"});
      if (!json::string_at(*pod, {"metadata", "deletionTimestamp"}).empty()) {
        api_.finish_termination({"default", name});
        did = true;
        settle();
      } else if (phase.empty() || phase == "Pending") {
        set_phase(name, "Running");
        did = true;
      }
    }
    return did;
  }
  void run_nodes() {
    for (int i = 0; i < 200; ++i)
      if (!node_step()) return;
    FAIL() << "pods keep changing";
  }
  bool has_event(const std::string& reason, const std::string& message,
                 std::string_view source = {}) {
    for (const json::Value* event : api_.list(kube::resources::events))
      if (json::string_at(*event, {"reason"}) == reason &&
          json::string_at(*event, {"message"}) == message &&
          (source.empty() || json::string_at(*event, {"source", "component"}) == source))
        return true;
    return false;
  }

  sim::Simulation simulation_;
  test::FakeApi api_;
  test::FakeClient client_;
  ClusterControllers controllers_;
};

}  // namespace hekla::controllers
