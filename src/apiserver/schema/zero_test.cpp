#include <gtest/gtest.h>

#include "apiserver/schema/facts.h"
#include "json/parse.h"

namespace hekla::apiserver {
namespace {

std::string filled(std::string_view type, std::string_view text) {
  json::Value value = json::parse(text).value();
  fill_zeros(*builtin_type(type), value);
  return json::serialize(value);
}

TEST(FillZeros, WritesWhatGoWritesUnasked) {
  EXPECT_EQ(filled("io.k8s.api.core.v1.ResourceQuota", R"({"metadata":{"name":"q"}})"),
            R"({"metadata":{"name":"q"},"spec":{},"status":{}})");
  EXPECT_EQ(filled("io.k8s.api.autoscaling.v2.HorizontalPodAutoscalerStatus", "{}"),
            R"({"currentMetrics":null,"desiredReplicas":0})");
  EXPECT_EQ(filled("io.k8s.api.core.v1.NodeDaemonEndpoints", "{}"),
            R"({"kubeletEndpoint":{"Port":0}})");
}

TEST(FillZeros, TimesAreNullUnlessGoOmitsZeros) {
  EXPECT_EQ(
      filled("io.k8s.api.core.v1.Event",
             R"({"metadata":{},"involvedObject":{},"lastTimestamp":"2024-01-01T00:00:00Z"})"),
      R"({"metadata":{},"involvedObject":{},"lastTimestamp":"2024-01-01T00:00:00Z",)"
      R"("eventTime":null,"firstTimestamp":null,"reportingComponent":"","reportingInstance":"",)"
      R"("source":{}})");
}

TEST(FillZeros, ReachesListsAndStructsInside) {
  EXPECT_EQ(
      filled("io.k8s.api.core.v1.PodTemplateSpec", R"({"spec":{"containers":[{"name":"c"}]}})"),
      R"({"spec":{"containers":[{"name":"c","resources":{}}]},"metadata":{}})");
}

TEST(FillZeros, WhatIsThereStays) {
  constexpr std::string_view kStatus = R"({"attached":true})";
  EXPECT_EQ(filled("io.k8s.api.storage.v1.VolumeAttachmentStatus", kStatus), kStatus);
}

}  // namespace
}  // namespace hekla::apiserver
