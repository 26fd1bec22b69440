#include "scheduler/explain/explain.h"

#include <gtest/gtest.h>

#include "scheduler/builders_test.h"

namespace hekla::scheduler {
namespace {

// Objects by shorthand, then an explanation.
class ExplainTest : public testing::Test {
 protected:
  World world;
  int order = 0;

  void SetUp() override {
    world.now = WallTime(std::chrono::seconds(1700009999));
    queue("{name: default}");
  }
  void add(json::Value object, const char* kind, const char* version = "v1") {
    object.as_object()["kind"] = kind;
    object.as_object()["apiVersion"] = version;
    Result<void> added = world.add(object);
    ASSERT_TRUE(added) << added.error().message;
  }
  void node(std::string_view text) { add(shorthand::node(Bench::yaml(text)), "Node"); }
  void queue(std::string_view text) { add(shorthand::queue(Bench::yaml(text)), "Queue"); }
  void pod(std::string_view text) { add(shorthand::pod(Bench::yaml(text), order++), "Pod"); }
  void group(std::string_view text) {
    json::Value value = Bench::yaml(text);
    add(shorthand::group(value, order++), "PodGroup");
    for (const json::Value& one : shorthand::pods_of(value))
      add(shorthand::pod(one, order++), "Pod");
  }
  void object(std::string_view text) {
    json::Value value = Bench::yaml(text);
    ASSERT_TRUE(world.add(value));
  }
  Explanation about(const std::string& kind, const std::string& name) {
    Result<Explanation> made = explain(world, kind, "default", name);
    EXPECT_TRUE(made) << made.error().message;
    return made ? *made : Explanation{};
  }
  std::string text(const Explanation& explanation, std::string_view code) {
    const Finding* found = explanation.find(code);
    return found ? found->text : "(no " + std::string(code) + ")\n" + explanation.to_text();
  }
};

TEST_F(ExplainTest, GangTooBigForTheCluster) {
  node("{name: n1, cpu: 4, memory: 8Gi}");
  node("{name: n2, cpu: 4, memory: 8Gi}");
  group("{name: g, minMember: 3, pods: 3, each: {cpu: 3}, phase: Inqueue}");
  EXPECT_EQ(
      text(about("podgroup", "g"), "gang-too-big"),
      "it needs 9 cpu for 3 pods at once; the nodes that would take it have 8 cpu, 16Gi memory "
      "free: 1 cpu short; even an empty cluster has no room for it");
}

TEST_F(ExplainTest, RoomThatOthersHold) {
  node("{name: n1, cpu: 4, memory: 8Gi}");
  group("{name: old, minMember: 1, phase: Running}");
  pod("{name: old-0, group: old, cpu: 1, node: n1, phase: Running}");
  group("{name: holder, minMember: 1, phase: Running}");
  pod("{name: holder-0, group: holder, cpu: 2, node: n1, phase: Running}");
  group("{name: g, minMember: 3, pods: 3, each: {cpu: 1}, phase: Inqueue}");
  Explanation made = about("podgroup", "g");
  EXPECT_EQ(
      text(made, "not-enough-room"),
      "it needs 3 cpu for 3 pods at once; the nodes that would take it have 1 cpu, 8Gi memory "
      "free: 2 cpu short; it fits when default/holder ends");
  EXPECT_EQ(made.summary.substr(0, 48), "0 of 3 pods are placed, at least 3 are needed; i");
  EXPECT_EQ(json::serialize(made.find("not-enough-room")->facts.at("fitsWhenTheseEnd")),
            R"(["default/holder"])");
}

TEST_F(ExplainTest, QueueOverCapability) {
  node("{name: n1, cpu: 8, memory: 8Gi}");
  queue("{name: small, capability: {cpu: 2, memory: 4Gi}}");
  group("{name: in, queue: small, minMember: 1, minResources: {cpu: 1}, phase: Running}");
  pod("{name: in-0, group: in, cpu: 1, node: n1, phase: Running}");
  group("{name: g, queue: small, minMember: 1, minResources: {cpu: 2}, phase: Pending}");
  EXPECT_EQ(text(about("podgroup", "g"), "queue-over-capability"),
            "queue small may hold 2 cpu, 4Gi memory, holds 1 cpu, and this group needs 2 cpu: 1 "
            "cpu too much, so it is not "
            "let in (queue resource quota insufficient: insufficient cpu)");
}

TEST_F(ExplainTest, QueueClosedAndQueueMissing) {
  node("{name: n1, cpu: 8, memory: 8Gi}");
  queue("{name: shut, state: Closed}");
  group("{name: g, queue: shut, minMember: 1, pods: 1, each: {cpu: 1}}");
  EXPECT_EQ(text(about("podgroup", "g"), "queue-closed"),
            "its queue shut is not open: nothing new is let in or placed");
  group("{name: h, queue: nowhere, minMember: 1, pods: 1, each: {cpu: 1}}");
  EXPECT_EQ(text(about("podgroup", "h"), "queue-missing"),
            "its queue nowhere does not exist, so the scheduler leaves it out");
}

TEST_F(ExplainTest, MissingResourceAndPodTooBig) {
  node("{name: n1, cpu: 4, memory: 8Gi}");
  group(
      "{name: g, minMember: 1, pods: 1, each: {cpu: 1, resources: {nvidia.com/gpu: 2}}, phase: "
      "Inqueue}");
  EXPECT_EQ(text(about("podgroup", "g"), "missing-resource"),
            "no node offers nvidia.com/gpu, and each pod asks for 2 nvidia.com/gpu");
  group("{name: outside, minMember: 2, minResources: {cpu: 2, nvidia.com/gpu: 4}, phase: Pending}");
  EXPECT_EQ(text(about("podgroup", "outside"), "missing-resource"),
            "no node offers nvidia.com/gpu, and its pods together ask for 4 nvidia.com/gpu, so it "
            "is not let in "
            "(resource in cluster is overused: overused nvidia.com/gpu)");
  pod("{name: big, schedulerName: default-scheduler, cpu: 5}");
  EXPECT_EQ(text(about("pod", "big"), "pod-too-big"),
            "a pod asks for 5 cpu, more than the largest node has (4 cpu)");
}

TEST_F(ExplainTest, TaintsAndAffinity) {
  node("{name: n1, cpu: 4, memory: 8Gi, taints: [{key: gpu, value: only, effect: NoSchedule}]}");
  node("{name: n2, cpu: 4, memory: 8Gi, taints: [{key: gpu, value: only, effect: NoSchedule}]}");
  group("{name: g, minMember: 1, pods: 1, each: {cpu: 1}, phase: Inqueue}");
  EXPECT_EQ(text(about("podgroup", "g"), "taints"),
            "2 nodes of 2 refused by plugin predicates for 1 pod: node(s) had untolerated taint "
            "{gpu: only}");
  group(
      "{name: h, minMember: 1, pods: 1, each: {cpu: 1, spec: {nodeSelector: {zone: a}}}, phase: "
      "Inqueue}");
  Explanation made = about("podgroup", "h");
  EXPECT_EQ(made.find("affinity")->facts.at("nodes").to_number<int>(), 2);
  EXPECT_EQ(text(made, "affinity"),
            "2 nodes of 2 refused by plugin predicates for 1 pod: node(s) didn't match Pod's node "
            "affinity/selector (it asks for zone=a)");
  EXPECT_EQ(made.to_text(),
            "podgroup default/h: Inqueue\n0 of 1 pods are placed, at least 1 is needed\n\n- " +
                text(made, "affinity") +
                "\n  What helps: label nodes to match, or relax the pod's rules\n");
}

TEST_F(ExplainTest, NodesThatAreNotWellOrCordoned) {
  node(
      "{name: n1, cpu: 4, memory: 8Gi, taints: [{key: node.kubernetes.io/not-ready, effect: "
      "NoSchedule}]}");
  group("{name: g, minMember: 1, pods: 1, each: {cpu: 1}, phase: Inqueue}");
  EXPECT_EQ(about("podgroup", "g").find("taints")->advice,
            "bring the node back (kubectl describe node NODE): until then Kubernetes taints it");
  node("{name: n1, cpu: 4, memory: 8Gi, unschedulable: true}");
  EXPECT_EQ(about("podgroup", "g").find("nodes-refused")->advice,
            "let pods onto the nodes again: kubectl uncordon NODE");
}

TEST_F(ExplainTest, AGroupWithoutPodsSaysSo) {
  node("{name: n1, cpu: 4, memory: 8Gi}");
  group("{name: g, minMember: 3, minResources: {cpu: 9}, phase: Pending}");
  EXPECT_TRUE(about("podgroup", "g")
                  .summary.starts_with("no pods exist yet, at least 3 are needed; it needs 9 cpu"));
}

TEST_F(ExplainTest, BehindTheHeadOfAFifoQueueAndBehindALimit) {
  node("{name: n1, cpu: 4, memory: 8Gi}");
  queue("{name: line, annotations: {hekla.io/dequeue-strategy: fifo}}");
  group("{name: big, queue: line, minMember: 5, pods: 5, each: {cpu: 1}, phase: Inqueue}");
  group("{name: small, queue: line, minMember: 1, pods: 1, each: {cpu: 1}, phase: Inqueue}");
  EXPECT_EQ(text(about("podgroup", "small"), "behind-fifo-head"),
            "it is not tried: queue line is fifo and default/big is ahead");
  queue("{name: one, annotations: {hekla.io/max-running-jobs: \"1\"}}");
  group("{name: a, queue: one, minMember: 1, phase: Running}");
  pod("{name: a-0, group: a, cpu: 1, node: n1, phase: Running}");
  group("{name: b, queue: one, minMember: 1, pods: 1, each: {cpu: 1}}");
  EXPECT_EQ(text(about("podgroup", "b"), "queue-job-limit"),
            "it is not tried: queue one runs at most 1 jobs at a time");
}

TEST_F(ExplainTest, ReasonsDoNotDependOnNames) {
  node("{name: n1, cpu: 4, memory: 8Gi}");
  queue("{name: fifo-not, annotations: {hekla.io/max-running-jobs: \"1\"}}");
  group("{name: a, queue: fifo-not, minMember: 1, phase: Running}");
  pod("{name: a-0, group: a, cpu: 1, node: n1, phase: Running}");
  group("{name: b, queue: fifo-not, minMember: 1, pods: 1, each: {cpu: 1}}");
  Explanation limit = about("podgroup", "b");
  EXPECT_NE(limit.find("queue-job-limit"), nullptr) << limit.to_text();
  EXPECT_EQ(limit.find("behind-fifo-head"), nullptr);
  world.configuration =
      R"({actions: "enqueue, allocate", tiers: [{plugins: [{name: gang}, {name: predicates},
    {name: network-topology-aware}]}]})";
  group(
      "{name: near, minMember: 2, pods: 2, each: {cpu: 1}, phase: Inqueue, networkTopology: {mode: "
      "hard, "
      "highestTierName: rack}}");
  Explanation tier = about("podgroup", "near");
  EXPECT_EQ(text(tier, "network-topology"),
            "it is not tried: highestTierName rack is the tier name of no HyperNode");
  EXPECT_EQ(tier.find("queue-job-limit"), nullptr);
}

TEST_F(ExplainTest, AdmissionCountsGuaranteesPromisesAndTheQueuesAbove) {
  node("{name: n1, cpu: 8, memory: 8Gi}");
  queue("{name: safe, guarantee: {cpu: 3}}");
  group("{name: let-in, minMember: 1, minResources: {cpu: 2}, phase: Inqueue}");
  group("{name: g, minMember: 1, minResources: {cpu: 4}, phase: Pending}");
  world.configuration =
      R"({actions: "enqueue, allocate", tiers: [{plugins: [{name: gang}, {name: predicates},
    {name: proportion}]}]})";
  EXPECT_EQ(text(about("podgroup", "g"), "queue-over-capability"),
            "queue default may hold 5 cpu, 8Gi memory, holds nothing, has promised 2 cpu to groups "
            "that were let in, "
            "and this group needs 4 cpu: 1 cpu too much, so it is not let in (queue resource quota "
            "insufficient: "
            "insufficient cpu)");
  world.configuration =
      R"({actions: "enqueue, allocate", tiers: [{plugins: [{name: gang}, {name: predicates},
    {name: capacity, enableHierarchy: true}]}]})";
  queue("{name: team, parent: root, capability: {cpu: 3, memory: 8Gi}}");
  queue("{name: leaf, parent: team, capability: {cpu: 3, memory: 8Gi}}");
  queue("{name: twig, parent: team}");
  group("{name: other, queue: twig, minMember: 1, minResources: {cpu: 2}, phase: Running}");
  pod("{name: other-0, group: other, cpu: 2, node: n1, phase: Running}");
  group("{name: h, queue: leaf, minMember: 1, minResources: {cpu: 2}, phase: Pending}");
  EXPECT_EQ(text(about("podgroup", "h"), "queue-over-capability"),
            "queue team, above leaf, may hold 3 cpu, 8Gi memory, holds 2 cpu, and this group needs "
            "2 cpu: 1 cpu too "
            "much, so it is not let in (queue resource quota insufficient: insufficient cpu)");
}

TEST_F(ExplainTest, AShareShowsTheResourceThatIsShort) {
  node("{name: n1, cpu: 8, memory: 8Gi, resources: {nvidia.com/gpu: 8}}");
  queue("{name: q, capability: {cpu: 8, memory: 8Gi, nvidia.com/gpu: 4}}");
  group("{name: held, queue: q, minMember: 1, phase: Running}");
  pod("{name: held-0, group: held, cpu: 1, resources: {nvidia.com/gpu: 4}, node: n1, phase: "
      "Running}");
  group(
      "{name: g, queue: q, minMember: 1, pods: 1, each: {cpu: 1, resources: {nvidia.com/gpu: 1}}, "
      "phase: Inqueue}");
  EXPECT_EQ(text(about("podgroup", "g"), "queue-share"),
            "its queue q holds 1 cpu, 4 nvidia.com/gpu and deserves 2 cpu, 4 nvidia.com/gpu by its "
            "weight 1 among "
            "the queues that have jobs: a pod with 1 cpu, 1 nvidia.com/gpu would exceed that by 1 "
            "nvidia.com/gpu");
  world.configuration =
      R"({actions: "enqueue, allocate", tiers: [{plugins: [{name: gang}, {name: predicates},
    {name: capacity}]}]})";
  EXPECT_EQ(text(about("podgroup", "g"), "queue-share"),
            "its queue q holds 1 cpu, 4 nvidia.com/gpu and may hold 8 cpu, 4 nvidia.com/gpu: a pod "
            "with 1 cpu, "
            "1 nvidia.com/gpu would exceed that by 1 nvidia.com/gpu");
}

TEST_F(ExplainTest, VolumesAndDevicesOfSinglePods) {
  node("{name: n1, cpu: 4, memory: 8Gi}");
  object(
      R"({kind: PersistentVolumeClaim, apiVersion: v1, metadata: {name: data, namespace: default},
    spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}})");
  group(R"({name: g, minMember: 2, phase: Inqueue})");
  pod("{name: g-0, group: g, cpu: 1, spec: {volumes: [{name: v, persistentVolumeClaim: {claimName: "
      "data}}]}}");
  pod("{name: g-1, group: g, cpu: 1}");
  EXPECT_EQ(text(about("podgroup", "g"), "nodes-refused"),
            "1 node of 1 refused by plugin predicates for 1 pod: plugin VolumeBinding "
            "pre-predicates failed pod "
            "has unbound immediate PersistentVolumeClaims");
}

TEST_F(ExplainTest, NoHypernodeTakesTheWholeGang) {
  for (const char* name : {"n1", "n2", "n3", "n4"})
    node("{name: " + std::string(name) + ", cpu: 2, memory: 8Gi}");
  for (const char* rack : {"a", "b"})
    add(shorthand::hyper_node(Bench::yaml("{name: " + std::string(rack) + ", tier: 1, nodes: " +
                                          (*rack == 'a' ? "[n1, n2]" : "[n3, n4]") + "}")),
        "HyperNode", "topology.volcano.sh/v1alpha1");
  world.configuration =
      R"({actions: "enqueue, allocate", tiers: [{plugins: [{name: gang}, {name: predicates},
    {name: network-topology-aware}]}]})";
  group("{name: in, minMember: 1, phase: Running}");
  pod("{name: in-0, group: in, cpu: 2, node: n1, phase: Running}");
  group(
      "{name: g, minMember: 5, pods: 5, each: {cpu: 1}, phase: Inqueue, networkTopology: {mode: "
      "hard, "
      "highestTierAllowed: 1}}");
  EXPECT_EQ(text(about("podgroup", "g"), "network-topology"),
            "its 5 pods must sit in one hypernode of tier 1 or below: none of 2 has room for them "
            "even empty, the "
            "largest has for 4");
  EXPECT_EQ(about("podgroup", "g").find("network-topology")->advice,
            "allow a higher tier, or lower minAvailable or the requests");
  pod("{name: in-1, group: in, cpu: 2, node: n3, phase: Running}");
  group(
      "{name: h, minMember: 3, pods: 3, each: {cpu: 1}, phase: Inqueue, networkTopology: {mode: "
      "hard, "
      "highestTierAllowed: 1}}");
  EXPECT_EQ(text(about("podgroup", "h"), "network-topology"),
            "its 3 pods must sit in one hypernode of tier 1 or below: none of 2 has room for them "
            "now; a has for 2");
}

TEST_F(ExplainTest, QuotaAndPriorityClassKeepPodsFromBeingMade) {
  node("{name: n1, cpu: 4, memory: 8Gi}");
  object(
      "{kind: ResourceQuota, metadata: {name: q, namespace: default}, spec: {hard: {requests.cpu: "
      "2}}, status: {used: {requests.cpu: \"1\"}}}");
  group(
      "{name: g, minMember: 2, minResources: {cpu: 2, requests.cpu: 2}, phase: Inqueue, "
      "priorityClassName: urgent}");
  Explanation made = about("podgroup", "g");
  EXPECT_EQ(text(made, "quota"),
            "ResourceQuota default/q allows 2 requests.cpu, 1 are used, and this group needs 2");
  EXPECT_EQ(
      text(made, "priority-class-missing"),
      "no PriorityClass with name urgent exists: pods that name it are refused by the API, and "
      "the group has the priority 0");
  EXPECT_NE(made.find("pods-missing"), nullptr);
}

TEST_F(ExplainTest, NodeLost) {
  node("{name: n1, cpu: 4, memory: 8Gi}");
  json::Value dead = shorthand::node(Bench::yaml("{name: n2, cpu: 4, memory: 8Gi}"));
  json::at_path(dead, {"status", "conditions"}) =
      json::Array{json::Object{{"type", "Ready"}, {"status", "Unknown"}, {"message", "silent"}}};
  add(dead, "Node");
  group("{name: g, minMember: 2, phase: Running}");
  pod("{name: g-0, group: g, cpu: 1, node: n2, phase: Running}");
  pod("{name: g-1, group: g, cpu: 1, node: gone, phase: Running}");
  Explanation made = about("podgroup", "g");
  ASSERT_EQ(made.findings.size(), 2u) << made.to_text();
  EXPECT_EQ(made.findings[0].text,
            "1 of its pods stand on node gone, which does not exist any more");
  EXPECT_EQ(made.findings[1].text, "1 of its pods stand on node n2, which is not ready (silent)");
}

TEST_F(ExplainTest, AJobNobodyEnds) {
  node("{name: n1, cpu: 4, memory: 8Gi}");
  object(R"({apiVersion: batch.volcano.sh/v1alpha1, kind: Job,
    metadata: {name: tf, namespace: default, uid: u1}, status: {state: {phase: Running}},
    spec: {minAvailable: 2, tasks: [
      {name: ps, replicas: 1, template: {}},
      {name: chief, replicas: 1, template: {}, policies: [{event: PodFailed, action: RestartJob}]}]}})");
  group("{name: tf-u1, minMember: 2, phase: Running}");
  for (const char* text :
       {"{name: tf-ps-0, group: tf-u1, role: ps, node: n1, phase: Running, cpu: 1, annotations: "
        "{volcano.sh/job-name: tf}}",
        "{name: tf-chief-0, group: tf-u1, role: chief, node: n1, phase: Succeeded, cpu: 1, "
        "annotations: {volcano.sh/job-name: tf}}"})
    pod(text);
  Explanation made = about("job", "tf");
  ASSERT_NE(made.find("no-complete-policy"), nullptr) << made.to_text();
  EXPECT_EQ(made.find("no-complete-policy")->advice,
            "give task chief the policy {event: TaskCompleted, action: CompleteJob}");
  EXPECT_EQ(made.state, "Running");
}

TEST_F(ExplainTest, PodsBeyondTheMinimumWaitForAReasonToo) {
  node("{name: n1, cpu: 8, memory: 32Gi}");
  queue("{name: q}");
  group("{name: e, queue: q, minMember: 1, phase: Running}");
  pod("{name: e-0, group: e, cpu: 8, node: n1, phase: Running}");
  pod("{name: e-1, group: e, cpu: 8}");
  pod("{name: e-2, group: e, cpu: 8}");
  Explanation made = about("pod", "e-2");
  EXPECT_EQ(made.summary,
            "it is a member of PodGroup default/e; 1 of 3 pods are placed, at least 1 is needed: "
            "the gang is "
            "complete; 2 more pods wait: its queue q holds 8 cpu and deserves 8 cpu by its weight "
            "1 among the queues "
            "that have jobs: a pod with 8 cpu would exceed that by 8 cpu");
  EXPECT_EQ(text(made, "not-enough-room"),
            "it needs 8 cpu for 1 pod at once; the nodes that would take it have 32Gi memory free: "
            "8 cpu short");
  std::erase_if(world.queues, [](const model::Queue& one) { return one.metadata.name == "q"; });
  EXPECT_NE(about("pod", "e-1").find("queue-missing"), nullptr);
  EXPECT_NE(about("podgroup", "e").find("queue-missing"), nullptr);
}

TEST_F(ExplainTest, PodsThatNameWhatDoesNotExist) {
  node("{name: n1, cpu: 8, memory: 32Gi}");
  pod("{name: a, cpu: 1, annotations: {scheduling.volcano.sh/queue-name: nosuch}}");
  EXPECT_EQ(about("pod", "a").summary,
            "its annotation scheduling.volcano.sh/queue-name names queue nosuch, which does not "
            "exist, so no PodGroup "
            "can be made for it");
  pod("{name: b, cpu: 1, group: podgroup-b, annotations: {scheduling.volcano.sh/queue-name: "
      "nosuch}}");
  EXPECT_NE(about("pod", "b").find("queue-missing"), nullptr);
  pod("{name: c, cpu: 1, group: none}");
  EXPECT_EQ(text(about("pod", "c"), "group-missing"),
            "its annotation scheduling.k8s.io/group-name names PodGroup default/none, which does "
            "not exist, so the "
            "scheduler leaves it out");
  pod("{name: d, cpu: 1}");
  EXPECT_NE(about("pod", "d").find("no-group"), nullptr);
  pod("{name: e, cpu: 1, node: gone, phase: Running}");
  EXPECT_EQ(text(about("pod", "e"), "node-lost"),
            "it was placed on node gone, which does not exist any more");
}

TEST_F(ExplainTest, AnUnsoundTreeOfQueues) {
  node("{name: n1, cpu: 8, memory: 32Gi}");
  world.configuration =
      R"({actions: "enqueue, allocate", tiers: [{plugins: [{name: gang}, {name: predicates},
    {name: capacity, enableHierarchy: true}]}]})";
  queue("{name: a, parent: b}");
  queue("{name: b, parent: a}");
  group("{name: g, minMember: 1, pods: 1, each: {cpu: 1}, phase: Inqueue}");
  const std::string unsound =
      "the tree of queues is not sound, and the capacity plugin schedules nothing: queue ";
  EXPECT_EQ(text(about("podgroup", "g"), "queue-tree"), unsound + "a: its parents form a cycle");
  world.queues.pop_back();
  world.queues.pop_back();
  queue("{name: child, parent: default}");
  EXPECT_EQ(text(about("podgroup", "g"), "queue-tree"),
            unsound + "default: it has jobs and child queues");
}

TEST_F(ExplainTest, NobodyIsAdvisedToRaiseACapabilityThereIsNot) {
  node("{name: n1, cpu: 8, memory: 32Gi}");
  queue("{name: line, annotations: {hekla.io/dequeue-strategy: fifo}}");
  group("{name: in, queue: line, minMember: 1, minResources: {cpu: 6}, phase: Running}");
  pod("{name: in-0, group: in, cpu: 6, node: n1, phase: Running}");
  group("{name: head, queue: line, minMember: 1, minResources: {cpu: 4}, phase: Pending}");
  world.configuration =
      R"({actions: "enqueue, allocate", tiers: [{plugins: [{name: gang}, {name: predicates},
    {name: proportion}]}]})";
  Explanation made = about("podgroup", "head");
  ASSERT_NE(made.find("queue-over-capability"), nullptr) << made.to_text();
  EXPECT_EQ(made.find("queue-over-capability")->advice,
            "wait until jobs of the queue end, or add nodes: the queue has no capability of its "
            "own, its limit is the "
            "cluster");
}

TEST_F(ExplainTest, AnAmountBeyondAllMeasureIsTooBig) {
  node("{name: n1, cpu: 8, memory: 32Gi}");
  group("{name: g, minMember: 1, pods: 1, each: {memory: 9223372036854775807}, phase: Inqueue}");
  Explanation made = about("podgroup", "g");
  EXPECT_EQ(
      text(made, "pod-too-big"),
      "a pod asks for 9223372036854775807 memory, more than the largest node has (32Gi memory)");
  EXPECT_EQ(made.find("missing-resource"), nullptr);
}

TEST_F(ExplainTest, TasksThatDependOnEachOtherWithinAGang) {
  node("{name: n1, cpu: 8, memory: 32Gi}");
  object(R"({apiVersion: batch.volcano.sh/v1alpha1, kind: Job,
    metadata: {name: tf, namespace: default, uid: u1}, status: {state: {phase: Pending}},
    spec: {minAvailable: 5, tasks: [
      {name: ps, replicas: 2, minAvailable: 2, template: {}},
      {name: worker, replicas: 3, minAvailable: 3, template: {}, dependsOn: {name: [ps]}}]}})");
  group("{name: tf-u1, minMember: 5, phase: Inqueue}");
  pod("{name: tf-ps-0, group: tf-u1, role: ps, cpu: 1}");
  pod("{name: tf-ps-1, group: tf-u1, role: ps, cpu: 1}");
  Explanation made = about("job", "tf");
  EXPECT_EQ(text(made, "depends-on"),
            "task worker depends on ps: its pods are not made before those run, and those do not "
            "start before the gang "
            "has its 5 pods: they wait for each other for ever");
  EXPECT_EQ(made.find("depends-on")->advice, "set the job's minAvailable to 2 or less");
  EXPECT_EQ(made.find("pods-missing"), nullptr);
}

TEST_F(ExplainTest, QueuesShowTheirLineAndWhatFitsSaysSo) {
  node("{name: n1, cpu: 4, memory: 8Gi}");
  group("{name: g, minMember: 1, pods: 1, each: {cpu: 1}, phase: Inqueue}");
  EXPECT_NE(about("podgroup", "g").find("placeable"), nullptr);
  group("{name: huge, minMember: 9, pods: 9, each: {cpu: 1}, phase: Inqueue}");
  Explanation made = about("queue", "default");
  EXPECT_NE(made.to_text().find("default/huge waits: it needs 9 cpu"), std::string::npos)
      << made.to_text();
  EXPECT_FALSE(explain(world, "job", "default", "none"));
  EXPECT_FALSE(explain(world, "cheese", "default", "g"));
  EXPECT_EQ(json::string_at(made.to_json(), {"kind"}), "queue");
}

TEST_F(ExplainTest, TrainingJobsByTheirGroup) {
  node("{name: n1, cpu: 4, memory: 8Gi}");
  object(R"({apiVersion: kubeflow.org/v1, kind: TFJob,
            metadata: {name: mnist, namespace: default, uid: u1},
            spec: {}, status: {conditions: [{type: Created, status: "True"}]}})");
  json::Value own = shorthand::group(
      Bench::yaml("{name: mnist, minMember: 2, minResources: {cpu: 8}, phase: Pending}"), 1);
  json::at_path(own, {"metadata", "ownerReferences"}) = Bench::yaml(
      "[{apiVersion: kubeflow.org/v1, kind: TFJob, name: mnist, uid: u1, controller: true}]");
  add(own, "PodGroup");
  Explanation made = about("tfjob", "mnist");
  EXPECT_EQ(made.state, "Created");
  EXPECT_EQ(made.summary.substr(0, 44), "no pods exist yet, at least 2 are needed; it");
  EXPECT_FALSE(explain(world, "pytorchjob", "default", "mnist"));
}

TEST_F(ExplainTest, TrainingJobsWithoutAGroup) {
  node("{name: n1, cpu: 4, memory: 8Gi}");
  object(R"({apiVersion: kubeflow.org/v1, kind: JAXJob, spec: {runPolicy: {suspend: true}},
            metadata: {name: still, namespace: default, uid: u1}})");
  EXPECT_EQ(text(about("jaxjob", "still"), "suspended"),
            "it is suspended: it has no pods until spec.runPolicy.suspend is false");
  object(R"({apiVersion: kubeflow.org/v1, kind: JAXJob, metadata: {name: lost, namespace: default,
            uid: u2}})");
  EXPECT_EQ(text(about("jaxjob", "lost"), "no-pods"),
            "it has neither a PodGroup nor pods: no controller has begun with it");
  object(R"({apiVersion: kubeflow.org/v1, kind: MPIJob, metadata: {name: bad, namespace: default,
            uid: u3}})");
  object(R"({apiVersion: v1, kind: Event, metadata: {name: e, namespace: default},
            involvedObject: {kind: MPIJob, name: bad}, reason: MPIJobFailedValidation,
            message: MPIJob failed validation because x})");
  EXPECT_EQ(text(about("mpijob", "bad"), "invalid-job"),
            "it was not begun: MPIJob failed validation because x");
  object(R"({apiVersion: trainer.kubeflow.org/v1alpha1, kind: TrainJob, metadata: {name: over,
            namespace: default, uid: u4}, status: {conditions: [{type: Complete, status: "True",
            reason: JobsCompleted, message: all done}]}})");
  EXPECT_EQ(about("trainjob", "over").summary, "the job is over: JobsCompleted, all done");
  object(R"({apiVersion: kubeflow.org/v1, kind: TFJob, metadata: {name: far, namespace: default,
            uid: u5}, spec: {runPolicy: {managedBy: kueue.x-k8s.io/multikueue}}})");
  EXPECT_EQ(text(about("tfjob", "far"), "managed-elsewhere"),
            "its managedBy is kueue.x-k8s.io/multikueue: it is left to that");
}

}  // namespace
}  // namespace hekla::scheduler
