#include "model/quota.h"

#include <gtest/gtest.h>

#include "json/parse.h"

namespace hekla::model {
namespace {

std::string usage(const QuotaKind& kind, const std::string& object) {
  return resource_list_text(quota_usage(kind, *json::parse(object)));
}

TEST(Quota, KnowsWhichKindANameIsAbout) {
  EXPECT_EQ(quota_kind_of("cpu"), (QuotaKind{"", "pods"}));
  EXPECT_EQ(quota_kind_of("requests.nvidia.com/gpu"), (QuotaKind{"", "pods"}));
  EXPECT_EQ(quota_kind_of("requests.ephemeral-storage"), (QuotaKind{"", "pods"}));
  EXPECT_EQ(quota_kind_of("requests.storage"), (QuotaKind{"", "persistentvolumeclaims"}));
  EXPECT_EQ(quota_kind_of("gold.storageclass.storage.k8s.io/requests.storage"),
            (QuotaKind{"", "persistentvolumeclaims"}));
  EXPECT_EQ(quota_kind_of("services.nodeports"), (QuotaKind{"", "services"}));
  EXPECT_EQ(quota_kind_of("secrets"), (QuotaKind{"", "secrets"}));
  EXPECT_EQ(quota_kind_of("count/configmaps"), (QuotaKind{"", "configmaps"}));
  EXPECT_EQ(quota_kind_of("count/jobs.batch.volcano.sh"), (QuotaKind{"batch.volcano.sh", "jobs"}));
}

TEST(Quota, PodsWeighWhatTheyAskFor) {
  const QuotaKind pods{"", "pods"};
  EXPECT_EQ(
      usage(pods, R"({"spec":{"containers":[{"name":"a","resources":{"requests":
      {"cpu":"1","nvidia.com/gpu":"2","hugepages-2Mi":"4Mi"},"limits":{"cpu":"2","memory":"1Gi"}}}],
      "initContainers":[{"name":"i","resources":{"requests":{"cpu":"3"},"limits":{"cpu":"3"}}}]}})"),
      "count/pods=1,cpu=3,hugepages-2Mi=4Mi,limits.cpu=3,limits.memory=1Gi,pods=1,requests.cpu=3,"
      "requests.hugepages-2Mi=4Mi,requests.nvidia.com/gpu=2");
  EXPECT_EQ(usage(pods, R"({"status":{"phase":"Failed"},"spec":{"containers":[{"name":"a",
      "resources":{"requests":{"cpu":"1"}}}]}})"),
            "count/pods=1");
}

TEST(Quota, OtherKindsCount) {
  EXPECT_EQ(usage({"apps", "deployments"}, "{}"), "count/deployments.apps=1");
  EXPECT_EQ(usage({"", "secrets"}, "{}"), "count/secrets=1,secrets=1");
  EXPECT_EQ(usage({"", "services"},
                  R"({"spec":{"type":"LoadBalancer","allocateLoadBalancerNodePorts":false,
      "ports":[{"port":1},{"port":2,"nodePort":30000}]}})"),
            "count/services=1,services=1,services.loadbalancers=1,services.nodeports=1");
}

TEST(Quota, TheClassOfAPodIsThatOfItsOwnResourcesFirst) {
  const auto class_of = [](const std::string& spec) { return qos_class(*json::parse(spec)); };
  const std::string guaranteed =
      R"({"limits":{"cpu":"1","memory":"1Gi"},"requests":{"cpu":"1000m","memory":"1Gi"}})";
  EXPECT_EQ(class_of(R"({"containers":[{}]})"), "BestEffort");
  EXPECT_EQ(class_of(R"({"containers":[{"resources":)" + guaranteed + "}]}"), "Guaranteed");
  EXPECT_EQ(class_of(R"({"containers":[{}],"initContainers":[{"resources":)" + guaranteed + "}]}"),
            "Burstable");
  EXPECT_EQ(class_of(R"({"resources":)" + guaranteed + R"(,"containers":[{}]})"), "Guaranteed");
  EXPECT_EQ(class_of(R"({"resources":{"requests":{"cpu":"1"}},"containers":[{"resources":)" +
                     guaranteed + "}]}"),
            "Burstable");
  EXPECT_EQ(class_of(R"({"resources":{"limits":{"memory":"1Gi"}},"containers":[{}]})"),
            "Burstable");
}

TEST(Quota, ScopesAreAboutPods) {
  json::Value quota = *json::parse(R"({"spec":{"scopes":["NotTerminating","NotBestEffort"]}})");
  json::Value busy =
      *json::parse(R"({"spec":{"containers":[{"resources":{"limits":{"memory":"1Mi"}}}]}})");
  EXPECT_TRUE(quota_selects(quota, {"", "pods"}, busy));
  EXPECT_FALSE(quota_selects(quota, {"", "pods"}, *json::parse(R"({"spec":{"containers":[{}]}})")));
  EXPECT_FALSE(quota_selects(quota, {"", "services"}, busy));
  json::Value without = *json::parse(R"({"spec":{"scopeSelector":{"matchExpressions":[
      {"scopeName":"PriorityClass","operator":"DoesNotExist"}]}}})");
  EXPECT_TRUE(quota_selects(without, {"", "pods"}, busy));
  EXPECT_FALSE(quota_selects(without, {"", "pods"},
                             *json::parse(R"({"spec":{"priorityClassName":"high"}})")));
}

}  // namespace
}  // namespace hekla::model
