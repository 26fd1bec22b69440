#include "controllers/workload/stateful_set.h"

#include "controllers/workload/fake_cluster_test.h"

namespace hekla::controllers {
namespace {

namespace resources = kube::resources;
using Names = std::vector<std::string>;

std::string db(int replicas, const std::string& image, const std::string& more = "") {
  return "metadata: {name: db}\n"
         "spec:\n"
         "  replicas: " +
         std::to_string(replicas) +
         "\n  serviceName: db\n"
         "  selector: {matchLabels: {app: db}}\n"
         "  template: {metadata: {labels: {app: db}}, spec: {containers: [{name: main, image: " +
         image + "}]}}\n" + more;
}

class StatefulSetTest : public WorkloadsTest {
 protected:
  std::string image_of(const std::string& pod) {
    const json::Array* containers =
        json::array_at(object(resources::pods, pod), {"spec", "containers"});
    return std::string(json::string_at((*containers)[0], {"image"}));
  }
  std::string status_text(std::string_view member) {
    return std::string(json::string_at(object(resources::stateful_sets, "db"), {"status", member}));
  }
};

TEST(OrdinalTest, OnlyOwnNamesCount) {
  EXPECT_EQ(ordinal_of("db", "db-12"), 12);
  EXPECT_EQ(ordinal_of("db", "db-x"), -1);
  EXPECT_EQ(ordinal_of("db", "db-01"), -1);
  EXPECT_EQ(ordinal_of("db", "dbx-1"), -1);
}

TEST_F(StatefulSetTest, StartsAndStopsInOrder) {
  apply(resources::stateful_sets, db(3, "a:1"));
  EXPECT_EQ(pod_names(), Names{"db-0"});
  set_phase("db-0", "Running");
  EXPECT_EQ(pod_names(), (Names{"db-0", "db-1"}));
  run_nodes();
  EXPECT_EQ(pod_names(), (Names{"db-0", "db-1", "db-2"}));
  const json::Value& pod = object(resources::pods, "db-1");
  EXPECT_EQ(json::string_at(pod, {"spec", "hostname"}), "db-1");
  EXPECT_EQ(json::string_at(pod, {"spec", "subdomain"}), "db");
  EXPECT_EQ(json::string_at(pod, {"metadata", "labels", "apps.kubernetes.io/pod-index"}), "1");
  EXPECT_EQ(status_of(resources::stateful_sets, "db", "readyReplicas"), 3);
  EXPECT_EQ(status_text("currentRevision"), status_text("updateRevision"));
  EXPECT_TRUE(has_event("SuccessfulCreate", "create Pod db-0 in StatefulSet db successful"));
  apply(resources::stateful_sets, db(1, "a:1"));
  node_step();
  EXPECT_EQ(pod_names().back(), "db-1");
  run_nodes();
  EXPECT_EQ(pod_names(), Names{"db-0"});
}

TEST_F(StatefulSetTest, ParallelDoesNotWait) {
  apply(resources::stateful_sets, db(3, "a:1", "  podManagementPolicy: Parallel\n"));
  EXPECT_EQ(pod_names().size(), 3u);
  apply(resources::stateful_sets, db(0, "a:1"));
  run_nodes();
  EXPECT_TRUE(pod_names().empty());
}

TEST_F(StatefulSetTest, UpdatesFromTheTopDownToThePartition) {
  apply(resources::stateful_sets, db(3, "a:1"));
  run_nodes();
  apply(resources::stateful_sets,
        db(3, "a:2", "  updateStrategy: {rollingUpdate: {partition: 1}}\n"));
  run_nodes();
  EXPECT_EQ(image_of("db-0"), "a:1");
  EXPECT_EQ(image_of("db-1"), "a:2");
  EXPECT_EQ(image_of("db-2"), "a:2");
  EXPECT_EQ(status_of(resources::stateful_sets, "db", "updatedReplicas"), 2);
  EXPECT_NE(status_text("currentRevision"), status_text("updateRevision"));
  // What is below the partition comes back as it was.
  ASSERT_TRUE(api_.remove(resources::pods, {"default", "db-0"}));
  settle();
  run_nodes();
  EXPECT_EQ(image_of("db-0"), "a:1");
  apply(resources::stateful_sets,
        db(3, "a:2", "  updateStrategy: {rollingUpdate: {partition: 0}}\n"));
  run_nodes();
  EXPECT_EQ(image_of("db-0"), "a:2");
  EXPECT_EQ(status_text("currentRevision"), status_text("updateRevision"));
  EXPECT_EQ(api_.list(workload_resources::controller_revisions).size(), 2u);
}

TEST_F(StatefulSetTest, ClaimsFollowTheirPolicy) {
  apply(resources::stateful_sets,
        db(2, "a:1",
           "  volumeClaimTemplates: [{metadata: {name: data}, spec: {resources: {}}}]\n"
           "  persistentVolumeClaimRetentionPolicy: {whenScaled: Delete, whenDeleted: Retain}\n"));
  run_nodes();
  EXPECT_TRUE(api_.find(resources::persistent_volume_claims, {"default", "data-db-0"}));
  const json::Array* volumes = json::array_at(object(resources::pods, "db-1"), {"spec", "volumes"});
  ASSERT_TRUE(volumes);
  EXPECT_EQ(json::string_at((*volumes)[0], {"persistentVolumeClaim", "claimName"}), "data-db-1");
  apply(resources::stateful_sets, db(1, "a:1"));
  run_nodes();
  EXPECT_FALSE(api_.find(resources::persistent_volume_claims, {"default", "data-db-1"}));
  EXPECT_TRUE(api_.find(resources::persistent_volume_claims, {"default", "data-db-0"}));
}

}  // namespace
}  // namespace hekla::controllers
