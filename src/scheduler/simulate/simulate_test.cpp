#include <gtest/gtest.h>

#include "scheduler/simulate/simulator.h"
#include "support/sim_executor.h"

namespace hekla::scheduler {
namespace {

using std::chrono::minutes, std::chrono::seconds;

SimulationInput input_of(std::string_view text) {
  sim::SeededRng rng(1);
  SimulationInput input;
  Result<void> read = read_simulation_file(text, rng, minutes(10), input);
  EXPECT_TRUE(read) << read.error().message;
  settle_arrivals(input);
  return input;
}

SimulationResult run(std::string_view text, std::string_view configuration = "") {
  Result<SimulationResult> result = simulate(input_of(text), configuration);
  EXPECT_TRUE(result) << result.error().message;
  return result ? *result : SimulationResult{};
}

TEST(Simulate, GangsWaitForEachOtherInVirtualTime) {
  SimulationResult result = run(R"(
nodes: [{name: m, count: 2, cpu: 4, memory: 8Gi}]
jobs:
- {name: a, pods: 8, cpu: 1, duration: 10m}
- {name: b, at: 1m, pods: 8, cpu: 1, duration: 5m}
)");
  ASSERT_EQ(result.jobs.size(), 2u);
  EXPECT_EQ(result.jobs[0].wait(), Nanos(0));
  EXPECT_EQ(result.jobs[1].start, Nanos(minutes(10)));
  EXPECT_EQ(result.jobs[1].wait(), Nanos(minutes(9)));
  EXPECT_EQ(result.makespan, Nanos(minutes(15)));
  EXPECT_EQ(result.resources.front(), "cpu");
  EXPECT_NEAR(result.utilisation.front(), 1.0, 1e-6);
  EXPECT_NEAR(result.figures[0].used_hours, 2.0, 1e-6);
}

TEST(Simulate, WeightsDivideTheCluster) {
  // Without enqueue every job is in the queue from the start.
  SimulationResult result = run(
      R"(
nodes: [{name: m, count: 1, cpu: 6, memory: 64Gi}]
queues: [{name: gold, weight: 2}, {name: tin, weight: 1}]
jobs:
- {name: g, queue: gold, count: 40, pods: 1, cpu: 1, duration: 10m}
- {name: t, queue: tin, count: 20, pods: 1, cpu: 1, duration: 10m}
)",
      "actions: allocate\ntiers:\n- plugins: [{name: gang}, {name: predicates}, {name: "
      "proportion}]\n");
  const SimulationSample& first = result.samples.front();
  EXPECT_EQ(first.used[0][0], 4);
  EXPECT_EQ(first.used[0][1], 2);
  EXPECT_EQ(result.makespan, Nanos(minutes(100)));
  EXPECT_NEAR(result.fairness, 1.0, 1e-6);
}

TEST(Simulate, WhoNeverStartsIsExplained) {
  SimulationResult result = run(R"(
nodes: [{name: m, count: 2, cpu: 4, memory: 8Gi}]
jobs: [{name: giant, pods: 20, cpu: 1, duration: 1m}]
)");
  EXPECT_NE(report_text(result).find(
                "never started: default/giant (default): no pods exist yet, at least 20 are "
                "needed; it needs 20 cpu for 20 pods at once"),
            std::string::npos)
      << report_text(result);
  EXPECT_NE(report_text(result).find("all nodes together have 8 cpu, 16Gi memory: 12 cpu short"),
            std::string::npos)
      << report_text(result);
}

TEST(Simulate, AQueueThatIsNotThereIsWarnedOf) {
  EXPECT_EQ(input_of("nodes: [{name: m, cpu: 4}]\nqueues: [{name: q}]\n"
                     "jobs: [{name: a, queue: q, cpu: 1}, {name: b, queue: typo, cpu: 1, count: "
                     "2}, {name: c}]\n")
                .warnings(),
            std::vector<std::string>{
                "queue typo is not among the queues given: it is simulated with weight 1 and "
                "without limits, where a cluster would refuse default/b-0, default/b-1"});
}

TEST(Simulate, TheSecondJobOfANameIsLeftOut) {
  SimulationInput input = input_of(
      "nodes: [{name: m, cpu: 4}]\njobs: [{name: a, cpu: 1}, {name: b, cpu: 1}, "
      "{name: a, cpu: 2}]\n");
  EXPECT_EQ(input.jobs.size(), 2u);
  EXPECT_EQ(input.warnings(),
            std::vector<std::string>{"a second job of the same name has no part in the simulation: "
                                     "default/a"});
}

TEST(Simulate, NumbersThatMakeNoSenseAreRefused) {
  auto error = [](std::string_view text) {
    sim::SeededRng rng(1);
    SimulationInput input;
    Result<void> read = read_simulation_file(text, rng, minutes(10), input);
    return read ? "(none)" : read.error().message;
  };
  EXPECT_EQ(error("jobs: [{name: j, pods: -3, cpu: 1}]\n"),
            "jobs: j: pods must be a whole number between 1 and 1000000, not -3");
  EXPECT_EQ(error("jobs: [{name: j, pods: 2, minAvailable: 3}]\n"),
            "jobs: j: minAvailable must be a whole number between 0 and 2, not 3");
  EXPECT_EQ(error("jobs: [{name: j, count: 0}]\n"),
            "jobs: j: count must be a whole number between 1 and 1000000, not 0");
  EXPECT_EQ(error("nodes: [{name: m, count: -1, cpu: 1}]\n"),
            "nodes: m: count must be a whole number between 1 and 1000000, not -1");
  EXPECT_EQ(error("{apiVersion: batch.volcano.sh/v1alpha1, kind: Job, metadata: {name: j, "
                  "namespace: team}, spec: "
                  "{tasks: [{name: t, replicas: -1, template: {}}]}}\n"),
            "job team/j: task t: replicas must not be negative, and is -1");
}

TEST(Simulate, WhatNeverFitsIsNamedWithItsReason) {
  SimulationResult result = run(R"(
nodes: [{name: m, count: 1, cpu: 4, memory: 8Gi}]
jobs:
- {name: fits, cpu: 1, pods: 1, duration: 1m}
- {name: giant, pods: 1, cpu: 4, resources: {nvidia.com/gpu: 1}, duration: 1m}
)");
  EXPECT_FALSE(result.jobs[1].started());
  EXPECT_NE(report_text(result).find("never started: default/giant"), std::string::npos)
      << report_text(result);
}

TEST(Simulate, RecordedJobsKeepTheirTimes) {
  SimulationInput input = input_of(R"(
apiVersion: v1
kind: List
items:
- kind: Job
  apiVersion: batch.volcano.sh/v1alpha1
  metadata: {name: b, namespace: x, creationTimestamp: "2026-01-01T00:01:00Z"}
  spec:
    minAvailable: 1
    tasks:
    - name: w
      replicas: 2
      template: {spec: {containers: [{name: c, image: i, resources: {requests: {cpu: "1"}}}]}}
  status: {runningDuration: 3m0s}
- kind: Job
  apiVersion: batch.volcano.sh/v1alpha1
  metadata: {name: a, namespace: x, creationTimestamp: "2026-01-01T00:00:00Z"}
  spec: {runningEstimate: 2m, tasks: [{name: w, replicas: 1, template: {}}]}
)");
  ASSERT_EQ(input.jobs.size(), 2u);
  EXPECT_EQ(input.jobs[0].name, "a");
  EXPECT_EQ(input.jobs[0].duration, Nanos(minutes(2)));
  EXPECT_EQ(input.jobs[1].arrival, Nanos(seconds(60)));
  EXPECT_EQ(input.jobs[1].duration, Nanos(minutes(3)));
  EXPECT_EQ(input.jobs[1].min_available, 1);
}

TEST(Simulate, AReservationBringsTheBigGangForward) {
  const std::string cluster = R"(
nodes: [{name: m, count: 4, cpu: 4, memory: 64Gi}]
queues: [{name: default, annotations: {RESERVE}}]
jobs:
- {name: small, count: 200, every: 30s, pods: 1, cpu: 2, duration: 4m, estimate: 4m}
- {name: big, at: 5m, pods: 16, cpu: 1, duration: 10m, estimate: 10m}
)";
  auto wait = [&](const std::string& annotation) {
    std::string text = cluster;
    text.replace(text.find("RESERVE"), 7, annotation);
    SimulationResult result = run(text);
    for (const SimulatedOutcome& job : result.jobs)
      if (job.name == "big") return job.wait();
    return Nanos(0);
  };
  EXPECT_GT(wait("a: b"), Nanos(minutes(60)));
  EXPECT_LT(wait("hekla.io/reserve-after: 1m"), Nanos(minutes(10)));
}

TEST(Simulate, TemplatesKeepLabelsAnnotationsAndTheNetwork) {
  const std::string text = R"(
nodes: [{name: a, count: 2, cpu: 4, memory: 8Gi}, {name: b, count: 2, cpu: 4, memory: 8Gi}]
---
apiVersion: topology.volcano.sh/v1alpha1
kind: HyperNode
metadata: {name: rack-a}
spec: {tier: 1, members: [{type: Node, selector: {regexMatch: {pattern: "a-.*"}}}]}
---
apiVersion: topology.volcano.sh/v1alpha1
kind: HyperNode
metadata: {name: rack-b}
spec: {tier: 1, members: [{type: Node, selector: {regexMatch: {pattern: "b-.*"}}}]}
---
apiVersion: batch.volcano.sh/v1alpha1
kind: Job
metadata: {name: near, annotations: {volcano.sh/preemptable: "false"}}
spec:
  minAvailable: 12
  networkTopology: {mode: hard, highestTierAllowed: 1}
  tasks:
  - {name: w, replicas: 12, template: {spec: {containers: [{name: c, resources: {requests: {cpu: "1"}}}]}}}
---
apiVersion: batch.volcano.sh/v1alpha1
kind: Job
metadata: {name: apart}
spec:
  minAvailable: 5
  tasks:
  - name: w
    replicas: 5
    partitionPolicy: {totalPartitions: 5, partitionSize: 1, minPartitions: 5}
    template:
      metadata: {labels: {app: apart}, annotations: {example.com/a: b}}
      spec:
        containers: [{name: c, resources: {requests: {cpu: "1"}}}]
        affinity:
          podAntiAffinity:
            requiredDuringSchedulingIgnoredDuringExecution:
            - {labelSelector: {matchLabels: {app: apart}}, topologyKey: kubernetes.io/hostname}
)";
  SimulationInput input = input_of(text);
  EXPECT_EQ(input.jobs[1].roles[0].labels.at("app"), "apart");
  EXPECT_EQ(input.jobs[1].roles[0].annotations.at("example.com/a"), "b");
  EXPECT_EQ(input.jobs[0].roles[0].annotations.at("volcano.sh/preemptable"), "false");
  ASSERT_TRUE(input.jobs[1].roles[0].partitions);
  for (model::Node& node : input.nodes)
    node.metadata.labels["kubernetes.io/hostname"] = node.metadata.name;
  Result<SimulationResult> result =
      simulate(input, R"({actions: "enqueue, allocate", tiers: [{plugins: [{name: gang},
    {name: predicates}, {name: network-topology-aware}]}]})",
               true);
  ASSERT_TRUE(result);
  EXPECT_FALSE(result->jobs[0].started()) << "a rack takes 8 of the 12";
  EXPECT_FALSE(result->jobs[1].started()) << "there are 4 hosts";
  EXPECT_TRUE(result->broken_invariants.empty()) << result->broken_invariants.begin()->first;
}

TEST(Simulate, PodsOfTheClusterTakeUpTheirRoomAndWhatIsLeftOutIsNamed) {
  const std::string text = R"(
nodes: [{name: m, cpu: 4, memory: 8Gi, colour: red}]
jobs: [{name: j, pods: 3, cpu: 1, duration: 1m}, {name: k, pods: 2, cpu: 1, duration: 1m}]
---
apiVersion: v1
kind: Pod
metadata: {name: daemon, namespace: kube-system}
spec: {nodeName: m, containers: [{name: c, resources: {requests: {cpu: "2"}}}]}
status: {phase: Running}
---
apiVersion: v1
kind: Pod
metadata: {name: j-task-0, namespace: default, annotations: {volcano.sh/job-name: j}}
spec: {nodeName: m, containers: [{name: c, resources: {requests: {cpu: "2"}}}]}
status: {phase: Running}
---
apiVersion: v1
kind: Pod
metadata: {name: waits, namespace: default}
spec: {containers: [{name: c}]}
---
apiVersion: v1
kind: Service
metadata: {name: s, namespace: default}
)";
  EXPECT_EQ(input_of(text).warnings(),
            (std::vector<std::string>{
                "Pod without a node or at its end has no part in the simulation: default/waits",
                "Service has no part in the simulation: default/s",
                "member colour of nodes has no part in the simulation: m"}));
  SimulationResult result = run(text);
  EXPECT_FALSE(result.jobs[0].started());
  EXPECT_TRUE(result.jobs[1].started())
      << "the job's own pod of the time of the recording is not there";
}

TEST(Simulate, BadInputIsNamed) {
  sim::SeededRng rng(1);
  auto error = [&](std::string_view text) {
    SimulationInput input;
    Result<void> read = read_simulation_file(text, rng, minutes(1), input);
    return read ? std::string("(fine)") : read.error().message;
  };
  EXPECT_EQ(error("jobs: [{name: a, duration: long}]"),
            "jobs: a.duration: \"long\" is not a duration like 90s");
  EXPECT_EQ(error("jobs: [{cpu: 1}]"), "jobs: an entry has no name");
  EXPECT_EQ(error("cheese: [1]"),
            "line 1: \"cheese\" is neither a list of nodes, queues or jobs nor a member of a "
            "Kubernetes object");
  EXPECT_FALSE(simulate({}, ""));
}

TEST(Simulate, ThePageStandsAlone) {
  SimulationResult result = run(R"(
nodes: [{name: m, count: 2, cpu: 4, memory: 8Gi}]
queues: [{name: "a<b"}]
jobs: [{name: j, queue: "a<b", count: 30, every: 1m, random: true, pods: 2, cpu: 1, memory: 1Gi, duration: [1m, 9m]}]
)");
  std::string page = report_html(result, "a test");
  for (const char* foreign : {"http://", "https://", "<script", "@import", "url("})
    EXPECT_EQ(page.find(foreign), std::string::npos) << foreign;
  EXPECT_EQ(page.find("a<b"), std::string::npos) << "names are escaped";
  for (const char* there : {"a&lt;b", "All 30 jobs started; the last one ended after",
                            "of those that started did so at once", "The scarcest resource was cpu",
                            ">time since the start<", ">cores<", ">GiB<",
                            "</i>what the cluster has<", "% by weight 1<", ">% of jobs started<"})
    EXPECT_NE(page.find(there), std::string::npos) << there;
  EXPECT_EQ(run("nodes: [{name: m, cpu: 4, memory: 8Gi}]\njobs: [{name: j, pods: 1, cpu: 1, "
                "duration: 1m}]")
                .jobs[0]
                .end,
            Nanos(minutes(1)));
}

}  // namespace
}  // namespace hekla::scheduler
