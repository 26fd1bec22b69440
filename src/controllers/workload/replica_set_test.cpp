#include "controllers/workload/replica_set.h"

#include "controllers/workload/fake_cluster_test.h"

namespace hekla::controllers {
namespace {

const kube::Resource& controllers_resource = workload_resources::replication_controllers;

std::string counted(int replicas) {
  return "metadata: {name: web}\n"
         "spec:\n"
         "  replicas: " +
         std::to_string(replicas) +
         "\n"
         "  selector: {app: web}\n"
         "  template: {metadata: {labels: {app: web, tier: x}}, spec: {containers: [{name: main, "
         "image: a}]}}\n";
}

class ReplicationControllerTest : public WorkloadsTest {
 protected:
  const json::Value& only_owner(const std::string& pod) {
    const json::Array* owners =
        json::array_at(object(kube::resources::pods, pod), {"metadata", "ownerReferences"});
    static const json::Value none;
    EXPECT_TRUE(owners && owners->size() == 1) << pod;
    return owners && owners->size() == 1 ? (*owners)[0] : none;
  }
};

TEST_F(ReplicationControllerTest, KeepsTheNumberOfPods) {
  apply(controllers_resource, counted(3));
  ASSERT_EQ(pod_names().size(), 3u);
  const json::Value& owner = only_owner(pod_names()[0]);
  EXPECT_EQ(json::string_at(owner, {"apiVersion"}), "v1");
  EXPECT_EQ(json::string_at(owner, {"kind"}), "ReplicationController");
  run_nodes();
  for (const char* member :
       {"replicas", "readyReplicas", "availableReplicas", "fullyLabeledReplicas"})
    EXPECT_EQ(status_of(controllers_resource, "web", member), 3) << member;
  apply(controllers_resource, counted(1));
  run_nodes();
  EXPECT_EQ(pod_names().size(), 1u);
  EXPECT_EQ(status_of(controllers_resource, "web", "replicas"), 1);
}

TEST_F(ReplicationControllerTest, AdoptsWhatMatchesAndLetsGoWhatNoLongerDoes) {
  apply(kube::resources::pods,
        "metadata: {name: orphan, labels: {app: web}}\nspec: {containers: [{name: main, image: "
        "a}]}\n");
  apply(controllers_resource, counted(1));
  ASSERT_EQ(pod_names(), std::vector<std::string>{"orphan"});
  EXPECT_EQ(json::string_at(only_owner("orphan"), {"name"}), "web");
  apply(kube::resources::pods, "metadata: {name: orphan, labels: {app: other}}\n");
  EXPECT_EQ(pod_names().size(), 2u);
  EXPECT_TRUE(
      json::array_at(object(kube::resources::pods, "orphan"), {"metadata", "ownerReferences"})
          ->empty());
}

}  // namespace
}  // namespace hekla::controllers
