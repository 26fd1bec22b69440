#include "agent/pod/pod_shortage.h"

#include <gtest/gtest.h>

#include "json/codec.h"

namespace hekla::agent {
namespace {

model::PodSpec asking(const std::string& requests) {
  return json::decode_text<model::PodSpec>(
             R"({"containers":[{"name":"c","resources":{"requests":)" + requests + "}}]}")
      .value();
}

std::string lacks(const std::string& requests,
                  const std::vector<const model::PodSpec*>& others = {}) {
  static const auto node = json::decode_text<model::ResourceList>(
                               R"({"cpu":"2","memory":"1Gi","ephemeral-storage":"10Gi","pods":"2",)"
                               R"("nvidia.com/gpu":"1"})")
                               .value();
  auto found = find_shortage(asking(requests), others, node);
  return found ? found->text() : "";
}

TEST(PodShortage, WhatFitsIsTaken) {
  const model::PodSpec half = asking(R"({"cpu":"1","memory":"512Mi","nvidia.com/gpu":"0"})");
  EXPECT_EQ(lacks(R"({"cpu":"2","memory":"1Gi","nvidia.com/gpu":"1"})"), "");
  EXPECT_EQ(lacks(R"({"cpu":"1","memory":"512Mi"})", {&half}), "");
}

TEST(PodShortage, SaysWhatIsLackingInTheKubeletsWords) {
  const model::PodSpec half = asking(R"({"cpu":"1","memory":"512Mi"})");
  EXPECT_EQ(lacks(R"({"cpu":"500"})"),
            "Node didn't have enough resource: cpu, requested: 500000, used: 0, capacity: 2000");
  EXPECT_EQ(lacks(R"({"cpu":"1001m"})", {&half}),
            "Node didn't have enough resource: cpu, requested: 1001, used: 1000, capacity: 2000");
  EXPECT_EQ(lacks(R"({"memory":"513Mi"})", {&half}),
            "Node didn't have enough resource: memory, requested: 537919488, used: 536870912, "
            "capacity: 1073741824");
  EXPECT_EQ(lacks(R"({"nvidia.com/gpu":"2"})"),
            "Node didn't have enough resource: nvidia.com/gpu, requested: 2, used: 0, capacity: 1");
  EXPECT_EQ(
      lacks(R"({"hugepages-2Mi":"2Mi"})"),
      "Node didn't have enough resource: hugepages-2Mi, requested: 2097152, used: 0, capacity: 0");
}

TEST(PodShortage, PodsAreCounted) {
  const model::PodSpec none = asking("{}");
  EXPECT_EQ(lacks("{}", {&none}), "");
  EXPECT_EQ(lacks("{}", {&none, &none}),
            "Node didn't have enough resource: pods, requested: 1, used: 2, capacity: 2");
}

TEST(PodShortage, WhatOthersTakeDoesNotMatterToWhoAsksForNothing) {
  const model::PodSpec too_much = asking(R"({"cpu":"3"})");
  EXPECT_EQ(lacks(R"({"memory":"1Mi"})", {&too_much}), "");
}

TEST(PodShortage, UnknownExtendedResourcesAreNotTheNodesToRefuse) {
  EXPECT_EQ(lacks(R"({"example.com/licence":"1"})"), "");
}

}  // namespace
}  // namespace hekla::agent
