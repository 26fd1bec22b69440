// Custom resource schemas: unknown members, pruning, defaults.
#include "apiserver/schema/schema.h"

#include <gtest/gtest.h>

#include "json/parse.h"

namespace hekla::apiserver {
namespace {

json::Value parsed(std::string_view text) {
  auto value = json::parse(text);
  EXPECT_TRUE(value.has_value()) << text;
  return value ? std::move(*value) : json::Value();
}

SchemaPtr schema_of(std::string_view text) {
  auto schema = schema_from_openapi(parsed(text));
  EXPECT_TRUE(schema.has_value()) << (schema ? "" : schema.error().message);
  return schema ? *schema : std::make_shared<const Schema>();
}

const char* const kJob =
    R"({"type":"object","properties":{"spec":{"type":"object",)"
    R"("properties":{"minAvailable":{"type":"integer","format":"int32","default":1},)"
    R"("queue":{"type":"string","default":"default"},"tasks":{"type":"array",)"
    R"("items":{"type":"object","properties":{"name":{"type":"string"},)"
    R"("replicas":{"type":"integer","default":1},"note":{"type":"string","nullable":true,)"
    R"("default":"n"},"template":{"type":"object",)"
    R"("x-kubernetes-preserve-unknown-fields":true,"properties":{"spec":{"type":"object",)"
    R"("properties":{"known":{"type":"string"}}}}}}}},"plugins":{"type":"object",)"
    R"("additionalProperties":{"type":"array","items":{"type":"string"}}}}},)"
    R"("status":{"type":"object","x-kubernetes-preserve-unknown-fields":true}}})";

TEST(Schema, UnknownFieldsAreNamedByPathAndSorted) {
  SchemaPtr schema = schema_of(kJob);
  json::Value object =
      parsed(R"({"apiVersion":"a/v1","kind":"Job","metadata":{"name":"x","bad":1},"zzz":1,)"
             R"("spec":{"foo":1,"tasks":[{"name":"a"},{"bar":{"x":1}}],"plugins":{"svc":["a"]}},)"
             R"("status":{"anything":{"goes":1}}})");
  EXPECT_EQ(unknown_fields(*schema, object),
            (std::vector<std::string>{"metadata.bad", "spec.foo", "spec.tasks[1].bar", "zzz"}));
}

TEST(Schema, PruneRemovesExactlyTheUnknown) {
  SchemaPtr schema = schema_of(kJob);
  json::Value object =
      parsed(R"({"apiVersion":"a/v1","kind":"Job","metadata":{"name":"x"},"zzz":1,"spec":{"foo":1,)"
             R"("queue":"q","tasks":[{"name":"a","b":2,"template":{"free":1,"spec":{"known":"k",)"
             R"("no":1}}}]},"status":{"free":1}})");
  prune(*schema, object);
  EXPECT_EQ(json::serialize(object),
            json::serialize(parsed(
                R"({"apiVersion":"a/v1","kind":"Job","metadata":{"name":"x"},"spec":{"queue":"q",)"
                R"("tasks":[{"name":"a","template":{"free":1,"spec":{"known":"k"}}}]},)"
                R"("status":{"free":1}})")));
}

TEST(Schema, DefaultsFillAbsentMembersAndForbiddenNulls) {
  SchemaPtr schema = schema_of(kJob);
  json::Value object =
      parsed(R"({"spec":{"queue":null,"tasks":[{"note":null,"name":null},{"replicas":3}]}})");
  apply_defaults(*schema, object);
  EXPECT_TRUE(json::equal(
      object,
      parsed(R"({"spec":{"queue":"default","minAvailable":1,"tasks":[{"replicas":1,"note":null},)"
             R"({"replicas":3,"note":"n"}]}})")))
      << json::serialize(object);
}

TEST(Schema, DefaultsDoNotCreateTheirParents) {
  SchemaPtr schema = schema_of(kJob);
  json::Value object = parsed(R"({"metadata":{"name":"x"}})");
  apply_defaults(*schema, object);
  EXPECT_EQ(json::serialize(object), R"({"metadata":{"name":"x"}})");
}

TEST(Schema, EmbeddedResourcesKeepTheirOwnMetadata) {
  SchemaPtr schema = schema_of(
      R"({"type":"object","properties":{"tpl":{"type":"object",)"
      R"("x-kubernetes-embedded-resource":true,"properties":{"spec":{"type":"object"}}}}})");
  json::Value object =
      parsed(R"({"tpl":{"apiVersion":"v1","kind":"Pod","metadata":{"labels":{"a":"b"}},"spec":{},)"
             R"("no":1}})");
  prune(*schema, object);
  EXPECT_EQ(
      json::serialize(object),
      R"({"tpl":{"apiVersion":"v1","kind":"Pod","metadata":{"labels":{"a":"b"}},"spec":{}}})");
}

TEST(Schema, PreserveAtTheRootKeepsEverything) {
  SchemaPtr schema = schema_of(R"({"type":"object","x-kubernetes-preserve-unknown-fields":true})");
  json::Value object = parsed(R"({"a":{"b":[1,{"c":2}]}})");
  json::Value before = object;
  prune(*schema, object);
  EXPECT_TRUE(json::equal(object, before));
  EXPECT_TRUE(unknown_fields(*schema, object).empty());
}

}  // namespace
}  // namespace hekla::apiserver
