// The component against an API in memory and simulated time: what it writes, when, and what it does
// when writes fail.
#include "scheduler/loop/scheduler.h"

#include <gtest/gtest.h>

#include "scheduler/builders_test.h"
#include "support/fake_client.h"
#include "support/sim_executor.h"

namespace hekla::scheduler {
namespace {

namespace resources = kube::resources;
using Verb = kube::Write::Verb;

// The fake API with the one verb it lacks.
class BindingClient final : public kube::Client {
 public:
  BindingClient(test::FakeApi& api, Executor& executor) : api_(api), inner_(api, executor) {}
  Executor& executor() override { return inner_.executor(); }
  void get(const kube::Resource& resource, const kube::Key& key,
           std::move_only_function<void(Result<kube::ObjectPtr>)> done) override {
    inner_.get(resource, key, std::move(done));
  }
  void list(const kube::Resource& resource, const kube::ListOptions& options,
            std::move_only_function<void(Result<kube::List>)> done) override {
    inner_.list(resource, options, std::move(done));
  }
  std::unique_ptr<kube::Watch> watch(const kube::Resource& resource,
                                     const kube::WatchOptions& options,
                                     kube::WatchCallbacks callbacks) override {
    return inner_.watch(resource, options, std::move(callbacks));
  }
  void batch(std::vector<kube::Write> writes, kube::BatchDone done) override {
    for (kube::Write& write : writes) {
      if (write.verb != Verb::bind) continue;
      binds.push_back(write);
      write.verb = Verb::patch;
      write.body = json::Object{
          {"spec", json::Object{{"nodeName", json::string_at(write.body, {"target", "name"})}}}};
    }
    inner_.batch(std::move(writes), std::move(done));
  }
  std::vector<kube::Write> binds;

 private:
  test::FakeApi& api_;
  test::FakeClient inner_;
};

class SchedulerTest : public testing::Test {
 protected:
  sim::Simulation simulation{7};
  test::FakeApi api{simulation.clock()};
  BindingClient client{api, simulation.add("scheduler")};
  Metrics metrics;
  std::unique_ptr<Scheduler> scheduler;
  int order = 0;

  void start() {
    Options options;
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

TEST_F(SchedulerTest, MakesTheQueuesAndPlacesAGangWithinMilliseconds) {
  node("{name: n1, cpu: 4, memory: 8Gi}");
  start();
  EXPECT_EQ(at(resources::queues, "", "root", {"spec", "reclaimable"}), "false");
  EXPECT_EQ(at(resources::queues, "", "default", {"spec", "reclaimable"}), "true");
  group("{name: g, minMember: 2, pods: 2, each: {cpu: 1}}");
  ASSERT_TRUE(simulation.run_for(std::chrono::milliseconds(5)));
  EXPECT_EQ(node_of("g-0"), "n1");
  EXPECT_EQ(node_of("g-1"), "n1");
  settle();
  EXPECT_EQ(phase_of_group("g"), "Running");
  EXPECT_EQ(events_about("g-0"),
            std::vector<std::string>{"volcano Scheduled: Successfully assigned default/g-0 to n1"});
  EXPECT_EQ(at(resources::queues, "", "default", {"status", "allocated"}),
            R"({"cpu":"2","memory":"0","pods":"2"})");
  EXPECT_EQ(at(resources::queues, "", "default", {"status", "reservation"}), "{}");
  EXPECT_EQ(at(resources::queues, "", "default", {"status", "running"}), "1");
  EXPECT_EQ(at(resources::queues, "", "root", {"status", "allocated", "cpu"}), "2");
  EXPECT_NE(metrics.text().find("volcano_e2e_scheduling_latency_milliseconds"), std::string::npos);
  EXPECT_NE(metrics.text().find("volcano_queue_deserved_milli_cpu"), std::string::npos);
}

TEST_F(SchedulerTest, OwnWritesStartNoSessionForEver) {
  node("{name: n1, cpu: 4, memory: 8Gi}");
  start();
  group("{name: g, minMember: 1, pods: 1, each: {cpu: 1}}");
  settle();
  api.patch(resources::pods, {"default", "g-0"}, Bench::yaml("{status: {phase: Running}}"),
            "status");
  settle();
  EXPECT_EQ(at(resources::pod_groups, "default", "g", {"status", "running"}), "1");
  std::uint64_t before = scheduler->sessions();
  std::size_t log = api.log().size();
  ASSERT_TRUE(simulation.run_for(std::chrono::minutes(10)));
  EXPECT_EQ(scheduler->sessions(), before) << "nothing is pending";
  EXPECT_EQ(api.log().size(), log);
}

TEST_F(SchedulerTest, WhilePodsArePendingItLooksEverySecondAndWritesNothingTwice) {
  node("{name: n1, cpu: 1, memory: 8Gi}");
  start();
  group("{name: g, minMember: 2, pods: 2, each: {cpu: 1}}");
  settle();
  EXPECT_EQ(phase_of_group("g"), "Inqueue");
  EXPECT_EQ(at(resources::pods, "default", "g-1", {"status", "conditions"}).find("PodScheduled") !=
                std::string::npos,
            true);
  std::uint64_t before = scheduler->sessions();
  std::size_t log = api.log().size();
  ASSERT_TRUE(simulation.run_for(std::chrono::seconds(10)));
  EXPECT_GE(scheduler->sessions(), before + 9);
  EXPECT_LE(scheduler->sessions(), before + 11);
  EXPECT_EQ(api.log().size(), log);
}

TEST_F(SchedulerTest, ARefusedBindingIsUndoneAndTriedAgain) {
  node("{name: n1, cpu: 4, memory: 8Gi}");
  start();
  int refusals = 2;
  api.on_write = [&](const kube::Write& write) -> std::optional<Error> {
    bool binding = json::find_path(write.body, {"spec", "nodeName"}) != nullptr;
    if (!binding || refusals == 0) return std::nullopt;
    --refusals;
    return Error{Code::internal, "no"};
  };
  group("{name: g, minMember: 1, pods: 1, each: {cpu: 1}}");
  ASSERT_TRUE(simulation.run_for(std::chrono::seconds(2)));
  EXPECT_EQ(node_of("g-0"), "n1");
  EXPECT_EQ(client.binds.size(), 3u);
  EXPECT_EQ(phase_of_group("g"), "Running");
}

TEST_F(SchedulerTest, AFailedStatusWriteIsMadeAgain) {
  node("{name: n1, cpu: 4, memory: 8Gi}");
  start();
  bool refuse = true;
  api.on_write = [&](const kube::Write& write) -> std::optional<Error> {
    if (!refuse || (write.resource != resources::pod_groups && write.resource != resources::queues))
      return std::nullopt;
    return Error{Code::unavailable, "later"};
  };
  group("{name: g, minMember: 1, pods: 1, each: {cpu: 1}}");
  settle();
  EXPECT_EQ(phase_of_group("g"), "(absent)");
  refuse = false;
  ASSERT_TRUE(simulation.run_for(std::chrono::seconds(2)));
  EXPECT_EQ(phase_of_group("g"), "Running");
  EXPECT_EQ(at(resources::queues, "", "default", {"status", "allocated", "cpu"}), "1");
}

TEST_F(SchedulerTest, ARestartTakesTheStateFromTheApi) {
  node("{name: n1, cpu: 4, memory: 8Gi}");
  start();
  group("{name: g, minMember: 1, pods: 1, each: {cpu: 3}}");
  settle();
  EXPECT_EQ(node_of("g-0"), "n1");
  scheduler.reset();
  api.clear_log();
  start();
  EXPECT_EQ(client.binds.size(), 1u);
  EXPECT_EQ(writes_to(resources::pod_groups), 0u) << "what it finds is what it would write";
  group("{name: h, minMember: 1, pods: 1, each: {cpu: 3}}");
  settle();
  EXPECT_EQ(node_of("h-0"), "(absent)");
  EXPECT_EQ(at(resources::pod_groups, "default", "h", {"status", "phase"}), "Inqueue");
}

TEST_F(SchedulerTest, PlainPodsNeedNoGroup) {
  node("{name: n1, cpu: 1, memory: 8Gi}");
  start();
  pod("{name: web, schedulerName: default-scheduler, cpu: 1}");
  pod("{name: gpu, schedulerName: default-scheduler, resources: {nvidia.com/gpu: 1}}");
  settle();
  EXPECT_EQ(node_of("web"), "n1");
  EXPECT_EQ(node_of("gpu"), "(absent)");
  EXPECT_EQ(events_about("gpu"),
            std::vector<std::string>{"default-scheduler FailedScheduling: 0/1 nodes are available: "
                                     "1 Insufficient nvidia.com/gpu."});
  EXPECT_EQ(writes_to(resources::pod_groups), 0u);
}

TEST_F(SchedulerTest, ABadConfigurationIsRefusedAndTheOldOneStays) {
  Options bad;
  bad.configuration = "actions: nonsense";
  EXPECT_FALSE(Scheduler::create(bad, client, nullptr));
  node("{name: n1, cpu: 4, memory: 8Gi}");
  start();
  EXPECT_FALSE(scheduler->set_configuration("actions: nonsense"));
  group("{name: g, minMember: 1, pods: 1, each: {cpu: 1}}");
  settle();
  EXPECT_EQ(node_of("g-0"), "n1");
  EXPECT_TRUE(scheduler->set_configuration("actions: enqueue\n"));
  group("{name: h, minMember: 1, pods: 1, each: {cpu: 1}}");
  settle();
  EXPECT_EQ(node_of("h-0"), "(absent)");
}

TEST_F(SchedulerTest, ADeletedPodFreesItsNodeForTheNext) {
  node("{name: n1, cpu: 1, memory: 8Gi}");
  start();
  group("{name: a, minMember: 1, pods: 1, each: {cpu: 1}}");
  settle();
  group("{name: b, minMember: 1, pods: 1, each: {cpu: 1}}");
  settle();
  EXPECT_EQ(node_of("b-0"), "(absent)");
  ASSERT_TRUE(api.remove(resources::pods, {"default", "a-0"}));
  api.finish_termination({"default", "a-0"});
  ASSERT_TRUE(simulation.run_for(std::chrono::milliseconds(5)));
  EXPECT_EQ(node_of("b-0"), "n1");
}

}  // namespace
}  // namespace hekla::scheduler
