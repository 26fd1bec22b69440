// Resource claims and the pods they are for, on a fake API in simulated time.
#include "controllers/cluster/resource_claims.h"

#include "controllers/cluster/cluster_fixture_test.h"
#include "controllers/cluster_controllers.h"

namespace hekla::controllers {
namespace {

namespace resources = kube::resources;
using claim_resources::resource_claim_templates;
using claim_resources::resource_claims;

class ResourceClaimsTest : public ClusterTest {
 protected:
  ResourceClaimsTest() : controllers_(client_, {.look_after_nodes = false}) {
    controllers_.start();
    settle();
  }
  void make_template() {
    create(resource_claim_templates,
           "{metadata: {name: t}, spec: {metadata: {labels: {team: a}, annotations: {note: x}}, "
           "spec: {devices: "
           "{requests: [{name: r, exactly: {deviceClassName: gpu}}]}}}}");
  }
  void pod(const std::string& name, const std::string& claim, const std::string& more = "") {
    create(resources::pods, "{metadata: {name: " + name +
                                "}, spec: {resourceClaims: [{name: gpu, " + claim + "}]" + more +
                                "}, status: {phase: Pending}}");
  }
  // As the scheduler leaves it.
  void allocated(const std::string& name, const std::string& users) {
    create(
        resource_claims,
        "{metadata: {name: " + name +
            ", finalizers: [other/one, resource.kubernetes.io/delete-protection]}, "
            "spec: {}, status: {allocation: {devices: {results: [{device: d}]}}, reservedFor: [" +
            users + "]}}");
  }
  static std::string user(const std::string& pod, const std::string& uid = {}) {
    return "{resource: pods, name: " + pod + ", uid: " + (uid.empty() ? "u-pods-" + pod : uid) +
           "}";
  }
  std::string claim_of(const std::string& pod) const {
    const json::Value* object = api_.find(resources::pods, {"default", pod});
    const json::Array* told =
        object ? json::array_at(*object, {"status", "resourceClaimStatuses"}) : nullptr;
    return told ? std::string(json::string_at((*told)[0], {"resourceClaimName"})) : "";
  }
  std::string users(const std::string& claim) const {
    return at(resource_claims, {"default", claim}, {"status", "reservedFor"});
  }
  std::string allocation(const std::string& claim) const {
    return at(resource_claims, {"default", claim}, {"status", "allocation"});
  }
  std::string finalizers(const std::string& claim) const {
    return at(resource_claims, {"default", claim}, {"metadata", "finalizers"});
  }
  void finish(const std::string& pod) {
    patch(resources::pods, {"default", pod}, "{status: {phase: Succeeded}}", "status");
  }

  ClusterControllers controllers_;
};

TEST_F(ResourceClaimsTest, TemplatesBecomeClaimsOfTheirPods) {
  pod("p", "resourceClaimTemplateName: t");
  EXPECT_TRUE(has_event(
      "Warning FailedResourceClaimCreation: PodResourceClaim gpu: resource claim template \"t\": "
      "resourceclaimtemplate.resource.k8s.io \"t\" not found"));
  EXPECT_EQ(claim_of("p"), "");
  make_template();
  const std::string name = claim_of("p");
  EXPECT_TRUE(name.starts_with("p-gpu-")) << name;
  EXPECT_EQ(at(resource_claims, {"default", name}, {"metadata", "annotations"}),
            R"({"note":"x","resource.kubernetes.io/pod-claim-name":"gpu"})");
  EXPECT_EQ(at(resource_claims, {"default", name}, {"metadata", "labels"}), R"({"team":"a"})");
  EXPECT_NE(at(resource_claims, {"default", name}, {"metadata", "ownerReferences"})
                .find(R"("kind":"Pod","name":"p","uid":"u-pods-p")"),
            std::string::npos);
  EXPECT_NE(at(resource_claims, {"default", name}, {"spec"}).find("deviceClassName"),
            std::string::npos);
  EXPECT_EQ(api_.list(resource_claims).size(), 1u);
  // Lost by accident, it is made again.
  remove(resource_claims, {"default", name});
  EXPECT_NE(claim_of("p"), name);
  EXPECT_TRUE(has(resource_claims, {"default", claim_of("p")}));
}

TEST_F(ResourceClaimsTest, LongNamesAreShortenedAlike) {
  make_template();
  pod(std::string(60, 'p'), "resourceClaimTemplateName: t");
  const std::string name = claim_of(std::string(60, 'p'));
  EXPECT_TRUE(name.starts_with(std::string(52, 'p') + "-gp")) << name;
}

TEST_F(ResourceClaimsTest, TheClaimOfAFinishedPodGoes) {
  make_template();
  pod("p", "resourceClaimTemplateName: t");
  const std::string name = claim_of("p");
  patch(resource_claims, {"default", name},
        "{metadata: {finalizers: [resource.kubernetes.io/delete-protection]}}");
  patch(resource_claims, {"default", name},
        "{status: {allocation: {devices: {results: [{device: d}]}}, reservedFor: [" + user("p") +
            "]}}",
        "status");
  EXPECT_NE(allocation(name), "");
  finish("p");
  EXPECT_FALSE(has(resource_claims, {"default", name}));
}

TEST_F(ResourceClaimsTest, DevicesComeBackWithTheLastUser) {
  pod("p", "resourceClaimName: c", ", nodeName: n1");
  pod("q", "resourceClaimName: c", ", nodeName: n1");
  allocated("c", user("p") + ", " + user("q"));
  finish("p");
  EXPECT_EQ(users("c"), R"([{"resource":"pods","name":"q","uid":"u-pods-q"}])");
  EXPECT_NE(allocation("c"), "");
  remove(resources::pods, {"default", "q"});
  EXPECT_EQ(users("c") + allocation("c"), "");
  EXPECT_EQ(finalizers("c"), R"(["other/one"])");
}

TEST_F(ResourceClaimsTest, AUserNobodyKnowsIsGivenTime) {
  allocated("c", user("ghost"));
  EXPECT_NE(users("c"), "");
  advance(std::chrono::seconds(2));
  EXPECT_NE(users("c"), "");
  advance(std::chrono::seconds(5));
  EXPECT_EQ(users("c") + allocation("c"), "");
  // A namesake is no user.
  pod("p", "resourceClaimName: e");
  allocated("e", user("p", "u-before"));
  EXPECT_EQ(users("e"), "");
}

TEST_F(ResourceClaimsTest, DeletedClaimsWaitForTheirUsers) {
  pod("p", "resourceClaimName: c", ", nodeName: n1");
  create(resource_claims,
         "{metadata: {name: c, finalizers: [resource.kubernetes.io/delete-protection]}, spec: {}, "
         "status: {allocation: {devices: {}}, reservedFor: [" +
             user("p") + "]}}");
  remove(resource_claims, {"default", "c"});
  EXPECT_TRUE(has(resource_claims, {"default", "c"}));
  finish("p");
  EXPECT_FALSE(has(resource_claims, {"default", "c"}));
  // Allocated and never used.
  create(resource_claims,
         "{metadata: {name: e, finalizers: [resource.kubernetes.io/delete-protection]}, spec: {}, "
         "status: {allocation: {devices: {}}}}");
  EXPECT_NE(allocation("e"), "");
  remove(resource_claims, {"default", "e"});
  EXPECT_FALSE(has(resource_claims, {"default", "e"}));
}

TEST_F(ResourceClaimsTest, PodsThatCamePastTheSchedulerAreReservedFor) {
  allocated("c", "");
  pod("p", "resourceClaimName: c", ", nodeName: n1");
  EXPECT_EQ(users("c"), R"([{"resource":"pods","name":"p","uid":"u-pods-p"}])");
}

}  // namespace
}  // namespace hekla::controllers
