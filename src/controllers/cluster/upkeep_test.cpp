// Quotas, disruption budgets, storage in use, nodes and autoscalers, on a fake API in simulated
// time.
#include "controllers/cluster/cluster_fixture_test.h"
#include "controllers/cluster/quota_status.h"
#include "controllers/cluster_controllers.h"
#include "controllers/workload/autoscale.h"

namespace hekla::controllers {
namespace {

namespace resources = kube::resources;

class QuotaStatusTest : public ClusterTest {
 protected:
  QuotaStatusTest()
      : discovery_({resources::pods, resources::config_maps, resources::resource_quotas}),
        quotas_(client_, discovery_) {
    quotas_.start();
    settle();
  }
  std::string used() const {
    return at(resources::resource_quotas, {"default", "q"}, {"status", "used"});
  }

  FixedDiscovery discovery_;
  QuotaStatus quotas_;
};

TEST_F(QuotaStatusTest, CountsWhatIsThereAndAgainWhenTheSpecChanges) {
  create(resources::pods,
         "{metadata: {name: a}, spec: {containers: [{name: c, resources: {requests: {cpu: 1}}}]}}");
  create(resources::pods, "{metadata: {name: over}, status: {phase: Succeeded}}");
  create(resources::pods, "{metadata: {name: b, namespace: other}}");
  create(resources::resource_quotas,
         "{metadata: {name: q}, spec: {hard: {pods: 5, cpu: 4, count/pods: 9}}}");
  EXPECT_EQ(used(), R"({"count/pods":"2","cpu":"1","pods":"1"})");
  EXPECT_EQ(at(resources::resource_quotas, {"default", "q"}, {"status", "hard"}),
            R"({"count/pods":"9","cpu":"4","pods":"5"})");
  patch(resources::resource_quotas, {"default", "q"}, "{spec: {hard: {cpu: null, configmaps: 3}}}");
  EXPECT_EQ(used(), R"({"count/pods":"2","pods":"1","configmaps":"0"})");
}

TEST_F(QuotaStatusTest, CountsAgainAfterFiveMinutesAndWhenSomethingWasChargedMeanwhile) {
  create(resources::resource_quotas, "{metadata: {name: q}, spec: {hard: {configmaps: 5}}}");
  EXPECT_EQ(used(), R"({"configmaps":"0"})");
  create(resources::config_maps, "{metadata: {name: m}}");  // past the server's own bookkeeping
  EXPECT_EQ(used(), R"({"configmaps":"0"})");
  int races = 1;
  api_.on_write = [&](const kube::Write& write) -> std::optional<Error> {
    if (write.resource == resources::resource_quotas && races-- > 0)
      return Error{Code::conflict, "somebody was faster"};
    return std::nullopt;
  };
  advance(std::chrono::minutes(6));
  EXPECT_EQ(used(), R"({"configmaps":"1"})");
}

class UpkeepTest : public ClusterTest {
 protected:
  UpkeepTest() : controllers_(client_, {.look_after_nodes = true}) {
    controllers_.start();
    settle();
  }
  void node(const std::string& name, const std::string& ready = "True") {
    create(resources::nodes, "{metadata: {name: " + name +
                                 "}, spec: {}, status: {conditions: [{type: Ready, "
                                 "status: '" +
                                 ready + "', lastHeartbeatTime: '2026-01-01T00:00:00Z'}]}}");
  }
  void running(const std::string& name, const std::string& more = "",
               const std::string& spec = "") {
    create(resources::pods,
           "{metadata: {name: " + name + ", labels: {app: a}" + more + "}, spec: {nodeName: n1" +
               spec + "}, status: {phase: Running, conditions: [{type: Ready, status: 'True'}]}}");
  }
  std::string taints() const { return at(resources::nodes, {"", "n1"}, {"spec", "taints"}); }
  void beat() {
    patch(resources::leases, {"kube-node-lease", "n1"},
          "{spec: {renewTime: 't" + std::to_string(++beats_) + "'}}");
  }
  std::string budget(std::string_view member) const {
    return at(resources::pod_disruption_budgets, {"default", "b"}, {"status", member});
  }

  ClusterControllers controllers_;
  int beats_ = 0;
};

TEST_F(UpkeepTest, ASilentNodeIsUnknownTaintedAndEmptied) {
  node("n1");
  create(resources::leases,
         "{metadata: {name: n1, namespace: kube-node-lease}, spec: {renewTime: t0}}");
  EXPECT_TRUE(has_event("Normal RegisteredNode: Node n1 event: Registered Node n1 in Controller"));
  running("stays", "", ", tolerations: [{operator: Exists}]");
  running(
      "brief", "",
      ", tolerations: [{key: node.kubernetes.io/unreachable, operator: Exists, effect: NoExecute, "
      "tolerationSeconds: 300}]");
  running("goes");
  for (int i = 0; i < 6; ++i) {
    advance(std::chrono::seconds(20));
    beat();
  }
  EXPECT_EQ(taints(), "");
  advance(std::chrono::seconds(60));
  EXPECT_NE(at(resources::nodes, {"", "n1"}, {"status", "conditions"})
                .find("Kubelet stopped posting node status."),
            std::string::npos);
  EXPECT_NE(taints().find(R"({"key":"node.kubernetes.io/unreachable","effect":"NoSchedule"})"),
            std::string::npos);
  EXPECT_NE(
      taints().find(R"({"key":"node.kubernetes.io/unreachable","effect":"NoExecute","timeAdded":)"),
      std::string::npos);
  EXPECT_TRUE(has_event("Normal NodeNotReady: Node n1 status is now: NodeNotReady"));
  EXPECT_TRUE(has_event("Warning NodeNotReady: Node is not ready"));
  EXPECT_FALSE(has(resources::pods, {"default", "goes"}));
  EXPECT_TRUE(has_event("Normal TaintManagerEviction: Marking for deletion Pod default/goes"));
  EXPECT_EQ(source_of("NodeNotReady"), "node-controller");
  EXPECT_EQ(source_of("TaintManagerEviction"), "taint-eviction-controller");
  EXPECT_TRUE(has(resources::pods, {"default", "brief"}));
  EXPECT_NE(at(resources::pods, {"default", "stays"}, {"status", "conditions"})
                .find(R"("status":"False")"),
            std::string::npos);
  advance(std::chrono::minutes(6));
  EXPECT_FALSE(has(resources::pods, {"default", "brief"}));
  EXPECT_TRUE(has(resources::pods, {"default", "stays"}));
  patch(resources::nodes, {"", "n1"},
        "{status: {conditions: [{type: Ready, status: 'True', lastHeartbeatTime: "
        "'2026-01-01T00:09:00Z'}]}}",
        "status");
  EXPECT_EQ(taints(), "[]");
}

TEST_F(UpkeepTest, ConditionsAndCordonsAreTaintsForeignOnesStay) {
  node("n1");
  patch(resources::nodes, {"", "n1"},
        "{spec: {unschedulable: true, taints: [{key: mine, effect: NoSchedule, timeAdded: t}]}}");
  EXPECT_EQ(taints(), R"([{"key":"mine","effect":"NoSchedule","timeAdded":"t"},)"
                      R"({"key":"node.kubernetes.io/unschedulable","effect":"NoSchedule"}])");
  patch(resources::nodes, {"", "n1"}, "{spec: {unschedulable: false}}");
  EXPECT_EQ(taints(), R"([{"key":"mine","effect":"NoSchedule","timeAdded":"t"}])");
}

TEST_F(UpkeepTest, EvictionsAreCancelledWithTheTaint) {
  node("n1");
  running("p", "",
          ", tolerations: [{key: k, operator: Exists, effect: NoExecute, tolerationSeconds: 60}]");
  patch(resources::nodes, {"", "n1"}, "{spec: {taints: [{key: k, effect: NoExecute}]}}");
  advance(std::chrono::seconds(10));
  patch(resources::nodes, {"", "n1"}, "{spec: {taints: []}}");
  EXPECT_TRUE(has_event("Normal TaintManagerEviction: Cancelling deletion of Pod default/p"));
  EXPECT_TRUE(has(resources::pods, {"default", "p"}));
}

TEST_F(UpkeepTest, PodsOfVanishedNodesGoAfterAWhile) {
  running("p");
  advance(std::chrono::seconds(50));
  EXPECT_TRUE(has(resources::pods, {"default", "p"}));
  advance(std::chrono::seconds(40));
  EXPECT_FALSE(has(resources::pods, {"default", "p"}));
}

TEST_F(UpkeepTest, ClaimsStayWhileAPodHasThem) {
  node("n1");
  create(resources::persistent_volume_claims,
         "{metadata: {name: c, finalizers: [kubernetes.io/pvc-protection]}}");
  running("p", "", ", volumes: [{name: v, persistentVolumeClaim: {claimName: c}}]");
  remove(resources::persistent_volume_claims, {"default", "c"});
  EXPECT_TRUE(has(resources::persistent_volume_claims, {"default", "c"}));
  patch(resources::pods, {"default", "p"}, "{status: {phase: Succeeded}}", "status");
  EXPECT_FALSE(has(resources::persistent_volume_claims, {"default", "c"}));
  create(
      resources::persistent_volumes,
      "{metadata: {name: v, finalizers: [kubernetes.io/pv-protection]}, status: {phase: Bound}}");
  remove(resources::persistent_volumes, {"", "v"});
  EXPECT_TRUE(has(resources::persistent_volumes, {"", "v"}));
  patch(resources::persistent_volumes, {"", "v"}, "{status: {phase: Released}}", "status");
  EXPECT_FALSE(has(resources::persistent_volumes, {"", "v"}));
}

TEST_F(UpkeepTest, BudgetsCountHealthyPods) {
  node("n1");
  patch(resources::nodes, {"", "n1"},
        "{metadata: {labels: {hekla.io/fake-node: 'true'}}}");  // never silent
  create(resources::pod_disruption_budgets,
         "{metadata: {name: b}, spec: {minAvailable: 1, selector: {matchLabels: {app: a}}}}");
  EXPECT_EQ(budget("disruptionsAllowed"), "0");
  EXPECT_TRUE(has_event("Normal NoPods: No matching pods found"));
  running("p");
  running("q");
  EXPECT_EQ(budget("currentHealthy") + budget("desiredHealthy") + budget("expectedPods") +
                budget("disruptionsAllowed"),
            "2121");
  EXPECT_NE(budget("conditions").find(R"("status":"True","observedGeneration":1)"),
            std::string::npos);
  EXPECT_NE(budget("conditions").find("SufficientPods"), std::string::npos);
  // The server has let one go and said so; nobody has seen it going yet.
  patch(resources::pod_disruption_budgets, {"default", "b"},
        "{status: {disruptionsAllowed: 0, disruptedPods: {q: '2026-01-01T00:00:00Z'}}}", "status");
  EXPECT_EQ(budget("currentHealthy"), "1");
  EXPECT_EQ(budget("disruptionsAllowed"), "0");
  advance(std::chrono::minutes(3));  // nor did it go
  EXPECT_EQ(budget("disruptionsAllowed"), "1");
  EXPECT_EQ(budget("disruptedPods"), "{}");
}

TEST_F(UpkeepTest, BudgetsInPercentAskTheOwners) {
  create(resources::pod_disruption_budgets,
         "{metadata: {name: b}, spec: {maxUnavailable: '25%', selector: {matchLabels: {app: a}}}}");
  create(resources::pods,
         "{metadata: {name: p, labels: {app: a}, ownerReferences: [{apiVersion: "
         "batch.volcano.sh/v1alpha1, kind: Job, name: j, uid: u, controller: true}]}}");
  EXPECT_NE(
      budget("conditions").find("jobs.batch.volcano.sh does not implement the scale subresource"),
      std::string::npos);
  EXPECT_NE(budget("conditions").find("SyncFailed"), std::string::npos);
  EXPECT_EQ(budget("disruptionsAllowed"), "0");
}

TEST_F(UpkeepTest, TwoAutoscalersOfTheSamePodsDoNothing) {
  create(resources::deployments,
         "{metadata: {name: d}, spec: {replicas: 1, selector: {matchLabels: {app: a}}, template: "
         "{metadata: {labels: {app: a}}, spec: {containers: [{name: c}]}}}}");
  const kube::Resource scalers{"autoscaling", "v2", "horizontalpodautoscalers",
                               "HorizontalPodAutoscaler", true};
  for (const char* name : {"one", "two"})
    create(scalers,
           std::string("{metadata: {name: ") + name +
               "}, spec: {maxReplicas: 3, scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, "
               "name: d}, "
               "metrics: [{type: Resource, resource: {name: cpu, target: {type: Utilization, "
               "averageUtilization: 50}}}]}}");
  advance(std::chrono::seconds(31));
  const std::string why =
      "pods by selector app=a are controlled by multiple HPAs: [default/one default/two]";
  EXPECT_NE(at(scalers, {"default", "one"}, {"status", "conditions"})
                .find("\"reason\":\"AmbiguousSelector\""),
            std::string::npos)
      << at(scalers, {"default", "one"}, {"status"});
  EXPECT_TRUE(has_event("Warning AmbiguousSelector: " + why)) << ::testing::PrintToString(events());
  EXPECT_TRUE(has_event("Warning FailedComputeMetricsReplicas: " + why));
  EXPECT_EQ(source_of("AmbiguousSelector"), "horizontal-pod-autoscaler");
  EXPECT_EQ(at(scalers, {"default", "one"}, {"status", "desiredReplicas"}), "0")
      << "nothing was worked out yet";
  EXPECT_EQ(at(scalers, {"default", "one"}, {"status", "observedGeneration"}), "");
  EXPECT_EQ(at(resources::deployments, {"default", "d"}, {"spec", "replicas"}), "1");
}

class AutoscaleTest : public ::testing::Test {
 protected:
  PodRef pod(const std::string& name, int request_milli, bool ready = true) {
    model::Pod made;
    made.metadata.name = name;
    made.status.phase = "Running";
    made.status.startTime.at = now_ - std::chrono::hours(1);
    model::PodCondition condition;
    condition.type = "Ready";
    condition.status = ready ? "True" : "False";
    condition.lastTransitionTime.at = now_ - std::chrono::hours(1) + std::chrono::seconds(5);
    made.status.conditions.push_back(condition);
    model::Container container;
    container.name = "c";
    if (request_milli > 0)
      container.resources.requests["cpu"] = model::Quantity::of_milli(request_milli);
    made.spec.containers.push_back(container);
    return std::make_shared<const model::Pod>(made);
  }
  static void uses(PodUse& use, const std::string& name, int milli) {
    use[name]["c"]["cpu"] = model::Quantity::of_milli(milli);
  }
  static json::Value metric(int percent) {
    return *json::parse(
        R"({"type":"Resource","resource":{"name":"cpu","target":{"type":"Utilization",)"
        R"("averageUtilization":)" +
        std::to_string(percent) + "}}}");
  }
  WallTime now_ = WallTime(std::chrono::hours(500'000));
};

TEST_F(AutoscaleTest, FollowsUtilization) {
  struct Case {
    int use, target;
    std::int64_t replicas;
  };
  for (const Case& one : {Case{300, 50, 2}, Case{500, 50, 3}, Case{540, 50, 3}, Case{600, 50, 4},
                          Case{1000, 50, 6}}) {
    PodUse use;
    std::vector<PodRef> pods;
    for (const char* name : {"a", "b", "c"}) {
      pods.push_back(pod(name, 1000));
      uses(use, name, one.use);
    }
    Result<MetricProposal> found = evaluate_metric(metric(one.target), 3, pods, use, now_);
    ASSERT_TRUE(found) << found.error().message;
    EXPECT_EQ(found->replicas, one.replicas) << one.use;
    EXPECT_EQ(found->name, "cpu resource utilization (percentage of request)");
    EXPECT_EQ(json::int_at(found->current, {"resource", "current", "averageUtilization"}),
              one.use / 10);
  }
}

TEST_F(AutoscaleTest, WhatIsNotKnownDampens) {
  PodUse use;
  uses(use, "a", 900);
  // Up: a pod that is not ready counts as idle, so the second replica may be enough.
  EXPECT_EQ(
      evaluate_metric(metric(50), 2, {pod("a", 1000), pod("b", 1000, false)}, use, now_)->replicas,
      2);
  // Down: a pod without metrics counts as busy.
  uses(use, "a", 100);
  EXPECT_EQ(evaluate_metric(metric(50), 2, {pod("a", 1000), pod("b", 1000)}, use, now_)->replicas,
            2);
}

TEST_F(AutoscaleTest, SaysWhatIsMissing) {
  PodUse use;
  EXPECT_EQ(evaluate_metric(metric(50), 1, {pod("a", 1000)}, use, now_).error().message,
            "failed to get cpu utilization: unable to get metrics for resource cpu: no metrics "
            "returned from "
            "resource metrics API");
  uses(use, "a", 100);
  EXPECT_EQ(evaluate_metric(metric(50), 1, {pod("a", 0)}, use, now_).error().message,
            "failed to get cpu utilization: missing request for cpu in container c of Pod a");
  EXPECT_FALSE(
      evaluate_metric(*json::parse(R"({"type":"External"})"), 1, {pod("a", 0)}, use, now_));
}

TEST_F(AutoscaleTest, BoundsRatesAndWindows) {
  json::Value spec = *json::parse(R"({"minReplicas":2,"maxReplicas":10})");
  ScaleHistory history;
  MonoTime now{};
  auto decide = [&](std::int64_t current, std::int64_t proposed) {
    ScaleDecision decision = limit_scale(spec, current, proposed, history, now);
    if (decision.replicas != current) history.changes.push_back({now, decision.replicas - current});
    return std::to_string(decision.replicas) + " " + decision.limit_reason;
  };
  EXPECT_EQ(decide(3, 50), "6 ScaleUpLimit");  // twice as many at a time
  now += std::chrono::seconds(16);
  EXPECT_EQ(decide(6, 50), "10 TooManyReplicas");
  now += std::chrono::seconds(16);
  EXPECT_EQ(decide(10, 1), "10 DesiredWithinRange") << "a moment ago it was more";
  now += std::chrono::minutes(6);
  EXPECT_EQ(decide(10, 1), "2 TooFewReplicas");
  spec = *json::parse(
      R"({"minReplicas":1,"maxReplicas":10,"behavior":{"scaleDown":{"stabilizationWindowSeconds":0,
    "policies":[{"type":"Pods","value":1,"periodSeconds":60}]},"scaleUp":{"selectPolicy":"Disabled"}}})");
  now += std::chrono::minutes(10);
  EXPECT_EQ(decide(6, 1), "5 ScaleDownLimit");
  now += std::chrono::seconds(30);
  EXPECT_EQ(decide(5, 1), "5 ScaleDownLimit");
  now += std::chrono::seconds(31);
  EXPECT_EQ(decide(5, 1), "4 ScaleDownLimit");
  now += std::chrono::seconds(1);
  EXPECT_EQ(decide(4, 9), "4 ScaleUpLimit");
}

}  // namespace
}  // namespace hekla::controllers
