#include "controllers/workload/deployment.h"

#include "controllers/workload/fake_cluster_test.h"

namespace hekla::controllers {
namespace {

namespace resources = kube::resources;

std::string web(int replicas, const std::string& image, const std::string& more = "") {
  return "metadata: {name: web}\n"
         "spec:\n"
         "  replicas: " +
         std::to_string(replicas) +
         "\n  selector: {matchLabels: {app: web}}\n"
         "  template: {metadata: {labels: {app: web}}, spec: {containers: [{name: main, image: " +
         image + "}]}}\n" + more;
}

class DeploymentTest : public WorkloadsTest {
 protected:
  std::string set_of(const std::string& image) {
    for (const json::Value* set : api_.list(resources::replica_sets)) {
      const json::Array* containers =
          json::array_at(*set, {"spec", "template", "spec", "containers"});
      if (json::string_at((*containers)[0], {"image"}) == image)
        return std::string(json::string_at(*set, {"metadata", "name"}));
    }
    return "";
  }
  std::int64_t asked_of(const std::string& image) {
    return json::int_at(object(resources::replica_sets, set_of(image)), {"spec", "replicas"});
  }
  std::string revision_of(const std::string& image) {
    return std::string(
        json::string_at(object(resources::replica_sets, set_of(image)),
                        {"metadata", "annotations", "deployment.kubernetes.io/revision"}));
  }
};

TEST_F(DeploymentTest, MakesASetAndItsPods) {
  apply(resources::deployments, web(3, "a:1"));
  std::string set = set_of("a:1");
  ASSERT_FALSE(set.empty());
  EXPECT_TRUE(has_event("ScalingReplicaSet", "Scaled up replica set " + set + " from 0 to 3",
                        "deployment-controller"));
  EXPECT_EQ(pod_names().size(), 3u);
  EXPECT_EQ(condition(resources::deployments, "web", "Available"),
            "False MinimumReplicasUnavailable");
  EXPECT_EQ(status_of(resources::deployments, "web", "unavailableReplicas"), 3);
  run_nodes();
  EXPECT_EQ(status_of(resources::deployments, "web", "availableReplicas"), 3);
  EXPECT_EQ(status_of(resources::deployments, "web", "updatedReplicas"), 3);
  EXPECT_EQ(status_of(resources::deployments, "web", "unavailableReplicas"), 0);
  EXPECT_EQ(condition(resources::deployments, "web", "Available"), "True MinimumReplicasAvailable");
  EXPECT_EQ(condition(resources::deployments, "web", "Progressing"), "True NewReplicaSetAvailable");
  EXPECT_EQ(revision_of("a:1"), "1");
  EXPECT_EQ(json::string_at(object(resources::deployments, "web"),
                            {"metadata", "annotations", "deployment.kubernetes.io/revision"}),
            "1");
}

TEST_F(DeploymentTest, RollsOverWithinItsLimits) {
  apply(resources::deployments,
        web(4, "a:1", "  strategy: {rollingUpdate: {maxSurge: 1, maxUnavailable: 1}}\n"));
  run_nodes();
  apply(resources::deployments, web(4, "a:2"));
  for (int step = 0; step < 50; ++step) {
    std::int64_t available = status_of(resources::deployments, "web", "availableReplicas");
    EXPECT_GE(available, 3);
    EXPECT_LE(asked_of("a:1") + asked_of("a:2"), 5);
    if (!node_step()) break;
  }
  EXPECT_EQ(asked_of("a:1"), 0);
  EXPECT_EQ(asked_of("a:2"), 4);
  EXPECT_EQ(pod_names().size(), 4u);
  EXPECT_EQ(revision_of("a:2"), "2");
  // Going back takes the old set again, as the newest revision.
  apply(resources::deployments, web(4, "a:1"));
  run_nodes();
  EXPECT_EQ(asked_of("a:1"), 4);
  EXPECT_EQ(revision_of("a:1"), "3");
  EXPECT_EQ(
      json::string_at(object(resources::replica_sets, set_of("a:1")),
                      {"metadata", "annotations", "deployment.kubernetes.io/revision-history"}),
      "1");
  EXPECT_EQ(json::string_at(object(resources::deployments, "web"),
                            {"metadata", "annotations", "deployment.kubernetes.io/revision"}),
            "3");
}

TEST_F(DeploymentTest, RecreateWaitsForTheOldPods) {
  apply(resources::deployments, web(2, "a:1", "  strategy: {type: Recreate}\n"));
  run_nodes();
  apply(resources::deployments, web(2, "a:2"));
  EXPECT_EQ(asked_of("a:1"), 0);
  EXPECT_EQ(set_of("a:2"), "");
  run_nodes();
  EXPECT_EQ(asked_of("a:2"), 2);
  EXPECT_EQ(condition(resources::deployments, "web", "Progressing"), "True NewReplicaSetAvailable");
}

TEST_F(DeploymentTest, PausedScalesButDoesNotRoll) {
  apply(resources::deployments, web(2, "a:1"));
  run_nodes();
  apply(resources::deployments, web(4, "a:2", "  paused: true\n"));
  EXPECT_EQ(set_of("a:2"), "");
  EXPECT_EQ(asked_of("a:1"), 4);
  EXPECT_EQ(condition(resources::deployments, "web", "Progressing"), "Unknown DeploymentPaused");
  apply(resources::deployments, web(4, "a:2", "  paused: false\n"));
  run_nodes();
  EXPECT_EQ(asked_of("a:2"), 4);
  EXPECT_EQ(asked_of("a:1"), 0);
}

TEST_F(DeploymentTest, SaysWhenItStandsStill) {
  apply(resources::deployments, web(1, "a:1", "  progressDeadlineSeconds: 10\n"));
  advance(std::chrono::seconds(15));
  EXPECT_EQ(condition(resources::deployments, "web", "Progressing"),
            "False ProgressDeadlineExceeded");
}

TEST_F(DeploymentTest, SharesOutAScaleInTheMiddle) {
  apply(resources::deployments,
        web(10, "a:1", "  strategy: {rollingUpdate: {maxSurge: 3, maxUnavailable: 2}}\n"));
  run_nodes();
  apply(resources::deployments, web(10, "a:2"));
  ASSERT_EQ(asked_of("a:1"), 8);
  ASSERT_EQ(asked_of("a:2"), 5);
  apply(resources::deployments, web(15, "a:2"));
  EXPECT_EQ(asked_of("a:1"), 11);
  EXPECT_EQ(asked_of("a:2"), 7);
}

TEST_F(DeploymentTest, KeepsAsMuchHistoryAsAsked) {
  apply(resources::deployments, web(1, "a:1", "  revisionHistoryLimit: 1\n"));
  run_nodes();
  for (const char* image : {"a:2", "a:3", "a:4"}) {
    apply(resources::deployments, web(1, image));
    run_nodes();
  }
  EXPECT_EQ(set_of("a:1"), "");
  EXPECT_EQ(set_of("a:2"), "");
  EXPECT_FALSE(set_of("a:3").empty());
  EXPECT_FALSE(set_of("a:4").empty());
}

TEST_F(DeploymentTest, ReplicaSetAdoptsReleasesAndReplaces) {
  apply(resources::pods, "metadata: {name: stray, labels: {app: solo}}\nspec: {}");
  apply(resources::replica_sets,
        "metadata: {name: solo}\n"
        "spec: {replicas: 2, selector: {matchLabels: {app: solo}},\n"
        "  template: {metadata: {labels: {app: solo}}, spec: {containers: [{name: main}]}}}");
  EXPECT_EQ(pod_names().size(), 2u);
  EXPECT_EQ(
      json::array_at(object(resources::pods, "stray"), {"metadata", "ownerReferences"})->size(),
      1u);
  apply(resources::pods, "metadata: {name: stray, labels: {app: other}}");
  EXPECT_EQ(pod_names().size(), 3u);
  EXPECT_TRUE(
      json::array_at(object(resources::pods, "stray"), {"metadata", "ownerReferences"})->empty());
  run_nodes();
  EXPECT_EQ(status_of(resources::replica_sets, "solo", "readyReplicas"), 2);
  for (const std::string& name : pod_names())
    if (name != "stray") {
      set_phase(name, "Failed", 1);
      break;
    }
  EXPECT_EQ(status_of(resources::replica_sets, "solo", "replicas"), 2);
  EXPECT_EQ(pod_names().size(), 4u);
}

TEST_F(DeploymentTest, TellsOfRefusedPods) {
  api_.on_write = [](const kube::Write& write) -> std::optional<Error> {
    if (write.resource == resources::pods && write.verb == kube::Write::Verb::create)
      return Error{Code::forbidden, "exceeded quota"};
    return std::nullopt;
  };
  apply(resources::deployments, web(2, "a:1"));
  advance(std::chrono::seconds(1));
  EXPECT_EQ(condition(resources::deployments, "web", "ReplicaFailure"), "True FailedCreate");
  EXPECT_TRUE(has_event("FailedCreate", "Error creating: exceeded quota"));
  api_.on_write = nullptr;
  advance(std::chrono::seconds(60));
  EXPECT_EQ(pod_names().size(), 2u);
  EXPECT_EQ(condition(resources::deployments, "web", "ReplicaFailure"), "");
}

}  // namespace
}  // namespace hekla::controllers
