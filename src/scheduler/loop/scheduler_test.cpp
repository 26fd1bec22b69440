// What the component writes, when, and what it does when writes fail.
#include "scheduler/loop/scheduler_fixture_test.h"

namespace hekla::scheduler {
namespace {

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

// The value of a series, as the metrics are served.
std::string value_of(const Metrics& metrics, std::string series) {
  std::string text = "\n" + metrics.text();
  series = "\n" + series + " ";
  std::size_t begin = text.find(series);
  if (begin == std::string::npos) return "(none)";
  begin += series.size();
  return text.substr(begin, text.find('\n', begin) - begin);
}

TEST_F(SchedulerTest, WhatAQueueNoLongerHoldsLeavesItsStatus) {
  node("{name: n1, cpu: 4, memory: 8Gi, resources: {nvidia.com/gpu: 4}}");
  start();
  group("{name: g, minMember: 1, pods: 1, each: {cpu: 1, resources: {nvidia.com/gpu: 4}}}");
  settle();
  EXPECT_EQ(at(resources::queues, "", "default", {"status", "allocated", "nvidia.com/gpu"}), "4");
  const std::string gpus = R"({queue_name="default",resource="nvidia.com/gpu"})";
  EXPECT_EQ(value_of(metrics, "volcano_queue_allocated_scalar_resources" + gpus), "4000");
  ASSERT_TRUE(api.remove(resources::pods, {"default", "g-0"}));
  ASSERT_TRUE(api.remove(resources::pod_groups, {"default", "g"}));
  settle();
  EXPECT_EQ(at(resources::queues, "", "default", {"status", "allocated"}),
            R"({"cpu":"0","memory":"0","pods":"0"})");
  EXPECT_EQ(value_of(metrics, R"(volcano_queue_request_milli_cpu{queue_name="default"})"), "0");
}

TEST_F(SchedulerTest, AStatusFromBeforeTheRestartIsCorrected) {
  node("{name: n1, cpu: 4, memory: 8Gi, resources: {nvidia.com/gpu: 4}}");
  json::Value queue = shorthand::queue(Bench::yaml("{name: old}"));
  json::at_path(queue, {"status", "allocated"}) = json::Object{{"cpu", "1"},
                                                               {"memory", "0"},
                                                               {"pods", "1"},
                                                               {"nvidia.com/gpu", "4"},
                                                               {"long.gone/thing", "1"}};
  ASSERT_TRUE(api.create(resources::queues, plain(queue)));
  start();
  settle();
  EXPECT_EQ(at(resources::queues, "", "old", {"status", "allocated"}),
            R"({"cpu":"0","memory":"0","pods":"0"})");
}

TEST_F(SchedulerTest, FiguresAboutAQueueGoWithIt) {
  node("{name: n1, cpu: 4, memory: 8Gi}");
  json::Value queue = shorthand::queue(Bench::yaml("{name: passing, capability: {cpu: 2}}"));
  ASSERT_TRUE(api.create(resources::queues, plain(queue)));
  start();
  settle();
  const std::string capacity = R"(volcano_queue_capacity_milli_cpu{queue_name="passing"})";
  EXPECT_EQ(value_of(metrics, capacity), "2000");
  EXPECT_EQ(value_of(metrics, R"(volcano_queue_weight{queue_name="passing"})"), "1");
  ASSERT_TRUE(api.remove(resources::queues, {"", "passing"}));
  settle();
  EXPECT_EQ(value_of(metrics, capacity), "(none)");
  EXPECT_EQ(value_of(metrics, R"(volcano_queue_weight{queue_name="passing"})"), "(none)");
}

TEST_F(SchedulerTest, FiguresAboutAGroupGoWithIt) {
  auto figure = [&](std::string series) { return value_of(metrics, std::move(series)); };
  const std::string share = R"(volcano_job_share{job_id="g",job_ns="default"})";
  const std::string unready = R"(volcano_unschedule_task_count{job_id="g"})";
  const std::string duration =
      R"(volcano_e2e_job_scheduling_duration{job_name="g",job_namespace="default",queue="default"})";
  const std::string labels = R"({job_name="g",job_namespace="default",queue="default"})";
  const std::string started = "volcano_e2e_job_scheduling_start_time" + labels;
  const std::string last = "volcano_e2e_job_scheduling_last_time" + labels;
  const std::string retries = R"(volcano_job_retry_counts{job_id="g"})";
  start();
  group("{name: g, minMember: 2, pods: 2, each: {cpu: 1}}");
  settle();
  EXPECT_EQ(figure(unready), "2");
  EXPECT_EQ(figure(duration), "(none)");
  EXPECT_NE(figure(retries), "(none)");
  EXPECT_NE(figure(started), "(none)");
  node("{name: n1, cpu: 4, memory: 8Gi}");
  settle();
  EXPECT_EQ(figure(unready), "0");
  EXPECT_EQ(figure(share), "0.5");
  EXPECT_NE(figure(duration), "(none)");
  EXPECT_NE(figure(last), "(none)");
  EXPECT_NE(metrics.text().find(
                R"(volcano_scheduling_stage_duration_milliseconds_count{stage="Bind"} 2)"),
            std::string::npos);
  EXPECT_NE(
      metrics.text().find(R"(volcano_task_scheduling_latency_milliseconds_count{stage="Bound"} 2)"),
      std::string::npos);
  ASSERT_TRUE(api.remove(resources::pods, {"default", "g-0"}));
  ASSERT_TRUE(api.remove(resources::pods, {"default", "g-1"}));
  ASSERT_TRUE(api.remove(resources::pod_groups, {"default", "g"}));
  settle();
  EXPECT_EQ(figure(unready), "(none)");
  EXPECT_EQ(figure(share), "(none)");
  for (const std::string& gone : {duration, started, last, retries})
    EXPECT_EQ(figure(gone), "(none)") << gone;
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

TEST_F(SchedulerTest, AGangIsUnknownOnlyIfAPodItLostIsNotReplacedWithinASecond) {
  node("{name: n1, cpu: 4, memory: 8Gi}");
  start();
  group("{name: g, minMember: 2, pods: 2, each: {cpu: 1}}");
  settle();
  for (const char* name : {"g-0", "g-1"})
    api.patch(resources::pods, {"default", name}, Bench::yaml("{status: {phase: Running}}"),
              "status");
  settle();
  auto lose = [&] {
    ASSERT_TRUE(api.remove(resources::pods, {"default", "g-1"}));
    api.finish_termination({"default", "g-1"});
  };
  lose();
  settle();
  EXPECT_EQ(phase_of_group("g"), "Running");
  pod("{name: g-1, group: g, cpu: 1}");
  settle();
  EXPECT_EQ(node_of("g-1"), "n1");
  ASSERT_TRUE(simulation.run_for(std::chrono::seconds(3)));
  EXPECT_EQ(phase_of_group("g"), "Running");
  EXPECT_EQ(
      at(resources::pod_groups, "default", "g", {"status", "conditions"}).find("Unschedulable"),
      std::string::npos);
  lose();
  ASSERT_TRUE(simulation.run_for(std::chrono::seconds(3)));
  EXPECT_EQ(phase_of_group("g"), "Unknown")
      << "nothing has happened since, and it looks again by itself";
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
