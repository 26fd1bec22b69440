// Claims of ephemeral volumes, on a fake API in simulated time.
#include "controllers/cluster/ephemeral_volumes.h"

#include "controllers/cluster/cluster_fixture_test.h"
#include "controllers/cluster_controllers.h"

namespace hekla::controllers {
namespace {

namespace resources = kube::resources;

class EphemeralVolumesTest : public ClusterTest {
 protected:
  EphemeralVolumesTest() : controllers_(client_, {.look_after_nodes = false}) {
    controllers_.start();
    settle();
  }
  void pod(const std::string& more = "") {
    create(
        resources::pods,
        "{metadata: {name: p}, spec: {volumes: [{name: plain, emptyDir: {}}, {name: v, ephemeral: "
        "{volumeClaimTemplate: {metadata: {labels: {team: a}, annotations: {note: x}}, spec: "
        "{accessModes: "
        "[ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}}}]}, status: {phase: Pending" +
            more + "}}");
  }
  std::string claim(std::initializer_list<std::string_view> path) {
    return at(resources::persistent_volume_claims, {"default", "p-v"}, path);
  }

  ClusterControllers controllers_;
};

TEST_F(EphemeralVolumesTest, TemplatesBecomeClaimsOfTheirPod) {
  pod();
  ASSERT_TRUE(has(resources::persistent_volume_claims, {"default", "p-v"}));
  EXPECT_EQ(api_.list(resources::persistent_volume_claims).size(), 1u);
  EXPECT_EQ(claim({"metadata", "labels"}), R"({"team":"a"})");
  EXPECT_EQ(claim({"metadata", "annotations"}), R"({"note":"x"})");
  EXPECT_EQ(claim({"spec"}),
            R"({"accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"1Gi"}}})");
  const std::string owners = claim({"metadata", "ownerReferences"});
  for (const char* part : {R"("kind":"Pod")", R"("name":"p")", R"("uid":"u-pods-p")",
                           R"("controller":true)", R"("blockOwnerDeletion":true)"})
    EXPECT_NE(owners.find(part), std::string::npos) << part << " in " << owners;
}

TEST_F(EphemeralVolumesTest, SomebodyElsesClaimIsLeftAlone) {
  create(resources::persistent_volume_claims,
         "{metadata: {name: p-v}, spec: {accessModes: [ReadWriteMany]}}");
  pod();
  EXPECT_TRUE(has_event(
      "Warning FailedBinding: ephemeral volume v: PVC default/p-v was not created for pod "
      "default/p (pod is not owner)"));
  EXPECT_EQ(claim({"spec"}), R"({"accessModes":["ReadWriteMany"]})");
  remove(resources::persistent_volume_claims, {"default", "p-v"});
  EXPECT_NE(claim({"metadata", "ownerReferences"}).find("u-pods-p"), std::string::npos)
      << "the name is free now";
}

TEST_F(EphemeralVolumesTest, ARefusedClaimIsSaidAndTriedAgain) {
  bool full = true;
  api_.on_write = [&](const kube::Write& write) -> std::optional<Error> {
    if (!full || write.resource.plural != "persistentvolumeclaims") return std::nullopt;
    return Error{Code::forbidden, "exceeded quota: q"};
  };
  pod();
  EXPECT_TRUE(
      has_event("Warning FailedBinding: ephemeral volume v: create PVC p-v: exceeded quota: q"));
  full = false;
  simulation_.run_for(std::chrono::minutes(1));
  EXPECT_TRUE(has(resources::persistent_volume_claims, {"default", "p-v"}));
}

TEST_F(EphemeralVolumesTest, AnEndedPodGetsNone) {
  pod(", phase: Succeeded");
  EXPECT_FALSE(has(resources::persistent_volume_claims, {"default", "p-v"}));
}

}  // namespace
}  // namespace hekla::controllers
