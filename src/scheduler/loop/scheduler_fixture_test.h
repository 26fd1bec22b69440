// The component against an API in memory and simulated time.
#pragma once

#include <gtest/gtest.h>

#include "scheduler/builders_test.h"
#include "scheduler/loop/scheduler.h"
#include "support/fake_client.h"
#include "support/sim_executor.h"

namespace hekla::scheduler {

namespace resources = kube::resources;

// The fake API with the one verb it lacks.
class BindingClient final : public test::FakeClient {
 public:
  BindingClient(test::FakeApi& api, Executor& executor) : FakeClient(api, executor), api_(api) {}
  void batch(std::vector<kube::Write> writes, kube::BatchDone done) override {
    if (dies_after && writes.size() > *dies_after) {
      // The process ends in the middle: what was sent holds, and nobody hears of it.
      writes.resize(*dies_after);
      dead = true;
    }
    if (dead) done = [](const std::vector<kube::WriteResult>&) {};
    events += static_cast<std::size_t>(
        std::ranges::count(writes, kube::resources::events, &kube::Write::resource));
    for (kube::Write& write : writes) {
      if (write.verb != kube::Write::Verb::bind) continue;
      binds.push_back(write);
      const json::Value* pod = api_.find(kube::resources::pods, write.key);
      if (pod && !json::string_at(*pod, {"spec", "nodeName"}).empty()) ++bound_twice;
      write.verb = kube::Write::Verb::patch;
      write.body = json::Object{
          {"spec", json::Object{{"nodeName", json::string_at(write.body, {"target", "name"})}}}};
    }
    FakeClient::batch(std::move(writes), std::move(done));
  }
  std::vector<kube::Write> binds;
  int bound_twice = 0;
  std::size_t events = 0;
  std::optional<std::size_t> dies_after;  // writes of a batch
  bool dead = false;

 private:
  test::FakeApi& api_;
};

class SchedulerTest : public testing::Test {
 protected:
  sim::Simulation simulation{7};
  test::FakeApi api{simulation.clock()};
  BindingClient client{api, simulation.add("scheduler")};
  Metrics metrics;
  std::unique_ptr<Scheduler> scheduler;
  int order = 0;

  void start(Options options = {}) {
    options.rng = &simulation.rng();
    scheduler = *Scheduler::create(options, client, &metrics);
    client.executor().post([this] { scheduler->start(); });
    settle();
  }
  void settle() { ASSERT_TRUE(simulation.run_for(std::chrono::milliseconds(50))); }

  void node(std::string_view text) {
    ASSERT_TRUE(api.create(resources::nodes, shorthand::node(Bench::yaml(text))));
  }
  void group(std::string_view text) {
    json::Value value = Bench::yaml(text);
    ASSERT_TRUE(api.create(resources::pod_groups, plain(shorthand::group(value, order++))));
    for (const json::Value& one : shorthand::pods_of(value))
      ASSERT_TRUE(api.create(resources::pods, plain(shorthand::pod(one, order++))));
  }
  void pod(std::string_view text) {
    ASSERT_TRUE(api.create(resources::pods, plain(shorthand::pod(Bench::yaml(text), order++))));
  }
  // The API gives out uids itself.
  static json::Value plain(json::Value value) {
    json::at_path(value, {"metadata"}).as_object().erase("uid");
    return value;
  }
  std::string at(const kube::Resource& resource, const std::string& ns, const std::string& name,
                 std::initializer_list<std::string_view> path) {
    const json::Value* object = api.find(resource, {ns, name});
    if (!object) return "(no object)";
    const json::Value* value = json::find_path(*object, path);
    return value ? shorthand::text_of(*value) : "(absent)";
  }
  std::string node_of(const std::string& pod) {
    return at(resources::pods, "default", pod, {"spec", "nodeName"});
  }
  std::string phase_of_group(const std::string& name) {
    return at(resources::pod_groups, "default", name, {"status", "phase"});
  }
  std::vector<std::string> events_about(const std::string& name) {
    std::vector<std::string> out;
    for (const json::Value* event : api.list(resources::events))
      if (json::string_at(*event, {"involvedObject", "name"}) == name)
        out.push_back(std::string(json::string_at(*event, {"source", "component"})) + " " +
                      std::string(json::string_at(*event, {"reason"})) + ": " +
                      std::string(json::string_at(*event, {"message"})));
    return out;
  }
  std::size_t writes_to(const kube::Resource& resource) {
    std::size_t count = 0;
    for (const kube::Write& write : api.log()) count += write.resource == resource;
    return count;
  }
};

}  // namespace hekla::scheduler
