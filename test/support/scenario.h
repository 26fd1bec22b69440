// Runs scenarios (test/scenarios/*/*.yaml) on any component that lives on a kube::Client: objects
// in, steps, objects and events out, on a fake API in simulated time. The form stands in
// test/scenarios/controllers/README.md.
//
// A component says how it is started (ScenarioRig) and may add verbs and expectations of its own.
// Any document can be run again with a fault: one write refused, or the process dead right before
// or after it. What the document expects must then hold all the same.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "kube/client.h"
#include "support/fake_client.h"
#include "support/sim_executor.h"

namespace hekla::test {

class Scenario;

struct ScenarioRig {
  // Starts the component; destroying what it returns ends it. Called again after `restart`.
  std::function<std::shared_ptr<void>(Scenario&, kube::Client&)> start;
  // Kinds that scenarios name, beside the built-in and Volcano's.
  std::vector<kube::Resource> resources = {};
  // The container that `pods` speaks of; empty: each pod's first.
  std::string container = {};
  // Further verbs of a step and members of `expect`.
  std::map<std::string, std::function<void(Scenario&, const json::Value&)>> verbs = {},
                                                                            expectations = {};
  // Called when the scenario and its component are gone: a rig's own state ends with them.
  std::function<void(Scenario&)> end = {};
};

struct Fault {
  enum class What { refused, crash_before, crash_after } what = What::refused;
  int write = 0;  // of those the component makes, events aside, in order
};
std::string to_string(const Fault& fault);

class Scenario {
 public:
  explicit Scenario(ScenarioRig rig, std::optional<Fault> fault = std::nullopt);
  ~Scenario();

  // Reports through GoogleTest.
  void run(const json::Value& document);
  // Writes the component has made, events aside.
  int writes() const { return writes_; }

  // For rigs.
  const json::Value& document() const { return document_; }
  FakeApi& api() { return api_; }
  sim::Simulation& simulation() { return simulation_; }
  const kube::Resource* resource_of(std::string_view kind, std::string_view api_version = {}) const;
  kube::Key key_of(const kube::Resource& resource, const json::Value& object) const;
  // A subset, except for kind, apiVersion and name, which say where to look.
  void expect_object(const json::Value& wanted);

 private:
  void start();
  void restart();
  void settle();
  void watch_writes();
  std::optional<Error> before_write(const kube::Write& write);
  void step(const std::string& verb, const json::Value& value);
  void apply(const json::Value& object);
  void remove(const json::Value& object);
  void advance(const json::Value& value);
  void set_pod(const std::string& name, const json::Value& value);
  void set_group(const json::Value& value);
  void refuse(const json::Value& value);
  void expect(const json::Value& value);
  void expect_absent(const json::Value& wanted);
  void expect_event(const json::Value& wanted);
  std::string pods() const;
  std::string names(const kube::Resource& resource) const;

  ScenarioRig rig_;
  std::optional<Fault> fault_;
  int writes_ = 0;
  bool crashed_ = false, faulted_ = false, fired_ = false;
  json::Value document_;
  std::function<std::optional<Error>(const kube::Write&)> refusal_;
  sim::Simulation simulation_;
  FakeApi api_;
  sim::SimExecutor* executor_;
  std::unique_ptr<FakeClient> client_;
  std::shared_ptr<void> component_;
};

// The documents of test/scenarios/<directory>/<name>.yaml; the names in a directory.
std::vector<json::Value> scenario_documents(const std::string& directory, const std::string& name);
std::vector<std::string> scenario_names(const std::string& directory);

// Every document of a file, in order.
void run_scenarios(const ScenarioRig& rig, const std::string& directory, const std::string& name);
// Every document, with a fault at each of its writes: refused, a crash before it, a crash after it;
// in long documents one of the three, in turn.
void run_scenarios_with_faults(const ScenarioRig& rig, const std::string& directory,
                               const std::string& name);

}  // namespace hekla::test
