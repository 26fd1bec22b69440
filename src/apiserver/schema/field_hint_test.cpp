#include "apiserver/schema/field_hint.h"

#include <gtest/gtest.h>

#include "json/parse.h"

namespace hekla::apiserver {
namespace {

TEST(FieldHint, NamesTheNearestFieldOfTheSameLevel) {
  SchemaPtr schema = *schema_from_openapi(*json::parse(
      R"({"type":"object","properties":{"spec":{"type":"object","properties":{)"
      R"("minAvailable":{"type":"integer"},"minSuccess":{"type":"integer"},"queue":{"type":"string"},)"
      R"("tasks":{"type":"array","items":{"type":"object","properties":{)"
      R"("replicas":{"type":"integer"},"name":{"type":"string"}}}},)"
      R"("plugins":{"type":"object","additionalProperties":{"type":"object","properties":{)"
      R"("port":{"type":"integer"}}}}}}}})"));
  EXPECT_EQ(field_hint(*schema, "spec.minAvailble"), ", did you mean \"minAvailable\"?");
  EXPECT_EQ(field_hint(*schema, "spec.minavailable"), ", did you mean \"minAvailable\"?");
  EXPECT_EQ(field_hint(*schema, "spec.queeu"), ", did you mean \"queue\"?");
  EXPECT_EQ(field_hint(*schema, "spec.tasks[12].replica"), ", did you mean \"replicas\"?");
  EXPECT_EQ(field_hint(*schema, "spec.plugins.svc.prot"), ", did you mean \"port\"?");
  EXPECT_EQ(field_hint(*schema, "spec.tasks[0].colour"), "");
  EXPECT_EQ(field_hint(*schema, "spec.nowhere.name"), "");
  EXPECT_EQ(field_hint(*schema, "spce"), ", did you mean \"spec\"?");
}

TEST(FieldHint, IsForThePlatformsKinds) {
  EXPECT_TRUE(is_platform_group("batch.volcano.sh"));
  EXPECT_TRUE(is_platform_group("kubeflow.org"));
  EXPECT_TRUE(is_platform_group("pipelines.kubeflow.org"));
  EXPECT_FALSE(is_platform_group("volcano.sh.example.com"));
  EXPECT_FALSE(is_platform_group(""));
}

}  // namespace
}  // namespace hekla::apiserver
