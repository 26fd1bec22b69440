// Decoding errors in Go's words, and what omitempty leaves.
#include <gtest/gtest.h>

#include "apiserver/schema/facts.h"
#include "json/parse.h"

namespace hekla::apiserver {
namespace {

std::string type_error(const char* type, const char* text, GoDecoder decoder = GoDecoder::json) {
  auto value = json::parse(text);
  Result<void> checked = check_types(*builtin_type(type), *value, decoder);
  return checked ? "" : checked.error().message;
}

TEST(CheckTypes, MessagesAreGos) {
  const char* const deployment = "io.k8s.api.apps.v1.Deployment";
  const char* const pod = "io.k8s.api.core.v1.Pod";
  EXPECT_EQ(type_error(deployment, R"({"spec":{"replicas":"x"}})"),
            "json: cannot unmarshal string into Go struct field DeploymentSpec.spec.replicas of "
            "type int32");
  EXPECT_EQ(type_error(deployment, R"({"spec":"x"})"),
            "json: cannot unmarshal string into Go struct field Deployment.spec of type "
            "v1.DeploymentSpec");
  EXPECT_EQ(type_error(pod, R"({"spec":{"containers":{}}})"),
            "json: cannot unmarshal object into Go struct field PodSpec.spec.containers of type "
            "[]v1.Container");
  EXPECT_EQ(type_error(pod, R"({"metadata":{"labels":{"a":1}}})"),
            "json: cannot unmarshal number into Go struct field ObjectMeta.metadata.labels of type "
            "string");
  EXPECT_EQ(type_error(pod, R"({"spec":{"containers":[{"ports":[{"containerPort":"80"}]}]}})"),
            "json: cannot unmarshal string into Go struct field "
            "ContainerPort.spec.containers.ports.containerPort of type int32");
  EXPECT_EQ(type_error(deployment, R"({"spec":{"replicas":1.5}})"),
            "json: cannot unmarshal number 1.5 into Go struct field DeploymentSpec.spec.replicas "
            "of type int32");
  EXPECT_EQ(type_error(deployment, R"({"spec":{"replicas":3000000000}})"),
            "json: cannot unmarshal number 3000000000 into Go struct field "
            "DeploymentSpec.spec.replicas of type int32");
  EXPECT_EQ(type_error(pod, R"({"spec":{"containers":[{"resources":{"limits":{"cpu":"abc"}}}]}})"),
            "quantities must match the regular expression "
            "'^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'");
  EXPECT_EQ(type_error("io.k8s.api.core.v1.Secret", R"({"data":{"a":"!!"}})"),
            "illegal base64 data at input byte 0");
  EXPECT_EQ(type_error(pod, R"({"metadata":{"creationTimestamp":"x"}})"),
            R"(parsing time "x" as "2006-01-02T15:04:05Z07:00": cannot parse "x" as "2006")");
}

TEST(CheckTypes, StrategicPatchesAreDecodedInOtherWords) {
  const auto error = [](const char* type, const char* text) {
    return type_error(type, text, GoDecoder::unstructured);
  };
  const char* const pod = "io.k8s.api.core.v1.Pod";
  EXPECT_EQ(error(pod, R"({"metadata":{"labels":"x"}})"), "cannot restore map from string");
  EXPECT_EQ(error(pod, R"({"spec":7})"), "cannot restore struct from: int64");
  EXPECT_EQ(error(pod, R"({"spec":{"containers":{}}})"), "cannot restore slice from map");
  EXPECT_EQ(error(pod, R"({"metadata":{"labels":{"a":1}}})"), "cannot convert int64 to string");
  EXPECT_EQ(error(pod, R"({"metadata":{"labels":{"a":true}}})"), "unrecognized type: string");
  EXPECT_EQ(error(pod, R"({"spec":{"priority":"x"}})"), "unrecognized type: int32");
  EXPECT_EQ(error(pod, R"({"spec":{"priority":1.5}})"), "cannot convert float64 to int32");
  EXPECT_EQ(error(pod, R"({"spec":{"hostNetwork":"x"}})"), "unrecognized type: bool");
  EXPECT_EQ(error(pod, R"({"metadata":{"creationTimestamp":5}})"),
            "json: cannot unmarshal number into Go value of type string");
  EXPECT_EQ(error("io.k8s.api.core.v1.Secret", R"({"data":{"a":[]}})"),
            "cannot restore slice from slice");
  EXPECT_EQ(error("io.k8s.api.core.v1.Secret", R"({"data":{"a":"!!"}})"),
            "error decoding from json: illegal base64 data at input byte 0");
}

TEST(CheckTypes, AcceptsWhatGoAccepts) {
  EXPECT_EQ(
      type_error("io.k8s.api.core.v1.Pod",
                 R"({"metadata":{"creationTimestamp":null,"labels":null},)"
                 R"("spec":{"containers":[{"resources":{"limits":{"cpu":1}}}]},"status":{}})"),
      "");
  EXPECT_EQ(type_error("io.k8s.api.core.v1.Service",
                       R"({"spec":{"ports":[{"targetPort":"http"},{"targetPort":80}]}})"),
            "");
}

TEST(CheckTypes, LooksAtTheMetadataOfCustomResources) {
  auto schema = schema_from_openapi(
      *json::parse(R"({"type":"object","properties":{"spec":{"type":"object"}}})"));
  ASSERT_TRUE(schema.has_value());
  Result<void> checked =
      check_types(**schema, *json::parse(R"({"metadata":{"labels":{"a":1}},"spec":"free"})"));
  EXPECT_FALSE(checked.has_value());
}

TEST(Normalize, DropsWhatOmitemptyDropsAndKeepsPointers) {
  auto value = *json::parse(
      R"({"metadata":{"labels":{},"creationTimestamp":null,"generation":0,"finalizers":[]},)"
      R"("spec":{"replicas":0,"minReadySeconds":0,"paused":false,)"
      R"("template":{"spec":{"securityContext":{},"volumes":[{"name":"v","emptyDir":{}}],)"
      R"("containers":[{"name":"c","args":[],"resources":{"limits":{"cpu":"1000m",)"
      R"("memory":"1024Mi"},"requests":{"cpu":0.5}}}]}}},"status":{}})");
  normalize(*builtin_type("io.k8s.api.apps.v1.Deployment"), value);
  EXPECT_TRUE(json::equal(
      value,
      *json::parse(
          R"({"metadata":{},"spec":{"replicas":0,"template":{"spec":{"securityContext":{},)"
          R"("volumes":[{"name":"v","emptyDir":{}}],"containers":[{"name":"c",)"
          R"("resources":{"limits":{"cpu":"1","memory":"1Gi"},"requests":{"cpu":"500m"}}}]}}},)"
          R"("status":{}})")))
      << json::serialize(value);
}

TEST(Normalize, WritesTimesInUtc) {
  auto value = *json::parse(R"({"spec":{"renewTime":"2024-01-01T10:00:00.123456789+02:00"}})");
  normalize(*builtin_type("io.k8s.api.coordination.v1.Lease"), value);
  EXPECT_EQ(json::serialize(value), R"({"spec":{"renewTime":"2024-01-01T08:00:00.123456Z"}})");
}

TEST(Normalize, MapValuesAndFreeJsonStay) {
  auto value = *json::parse(R"({"data":{"a":""}})");
  normalize(*builtin_type("io.k8s.api.core.v1.ConfigMap"), value);
  EXPECT_EQ(json::serialize(value), R"({"data":{"a":""}})");
  auto revision = *json::parse(R"({"data":{"spec":{"x":null,"y":[]}},"revision":0})");
  normalize(*builtin_type("io.k8s.api.apps.v1.ControllerRevision"), revision);
  EXPECT_EQ(json::serialize(revision), R"({"data":{"spec":{"x":null,"y":[]}},"revision":0})");
}

}  // namespace
}  // namespace hekla::apiserver
