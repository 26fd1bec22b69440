// The published documents, read the way kubectl reads them.
#include "apiserver/discovery/openapi.h"
#include "apiserver/kinds/builtin.h"
#include "apiserver/kinds/unstored.h"

#include <gtest/gtest.h>

#include "apiserver/object/subresources.h"
#include "apiserver/read/protobuf_wire.h"
#include "json/parse.h"

namespace hekla::apiserver {
namespace {

KindPtr job_kind() {
  auto schema = schema_from_openapi(*json::parse(
      R"({"type":"object","description":"a job","properties":{"spec":{"type":"object",)"
      R"("required":["tasks"],"properties":{"minAvailable":{"type":"integer",)"
      R"("format":"int32","minimum":1,"default":1,"description":"how many"},)"
      R"("port":{"x-kubernetes-int-or-string":true,"anyOf":[{"type":"integer"},)"
      R"({"type":"string"}]},"tasks":{"type":"array","x-kubernetes-list-type":"map",)"
      R"("x-kubernetes-list-map-keys":["name"],"items":{"type":"object","required":["name"],)"
      R"("properties":{"name":{"type":"string","enum":["a","b"]}}}},)"
      R"("free":{"x-kubernetes-preserve-unknown-fields":true,"nullable":true}}}}})"));
  auto kind = std::make_shared<Kind>();
  kind->resource = {"batch.volcano.sh", "v1alpha1", "jobs", "Job", true};
  kind->list_kind = "JobList";
  kind->custom = true;
  kind->traits.has_status = true;
  kind->schema = schema ? *schema : nullptr;
  return kind;
}

json::Value v3(const std::string& group, const std::string& version) {
  std::vector<KindPtr> kinds = builtin_kinds();
  kinds.push_back(job_kind());
  return *json::parse(openapi_v3_document(group, version, kinds));
}

const json::Value* at(const json::Value& value, std::initializer_list<std::string_view> path) {
  return json::find_path(value, path);
}

std::vector<std::string> keys(const json::Value* object) {
  std::vector<std::string> out;
  if (object != nullptr && object->is_object())
    for (const auto& member : object->get_object()) out.emplace_back(member.key());
  return out;
}

bool has_parameter(const json::Value& operation, std::string_view name) {
  if (const json::Array* list = json::array_at(operation, {"parameters"}))
    for (const json::Value& one : *list)
      if (json::string_at(one, {"name"}) == name) return true;
  return false;
}

// Every $ref must lead somewhere.
void expect_references(const json::Value& value, const json::Value& definitions,
                       std::string_view prefix) {
  if (value.is_object()) {
    for (const auto& member : value.get_object()) {
      if (member.key() == "$ref" && member.value().is_string()) {
        std::string_view target = json::sv(member.value().get_string());
        ASSERT_TRUE(target.starts_with(prefix)) << target;
        EXPECT_NE(json::find(definitions, target.substr(prefix.size())), nullptr) << target;
      }
      expect_references(member.value(), definitions, prefix);
    }
  } else if (value.is_array()) {
    for (const json::Value& item : value.get_array()) expect_references(item, definitions, prefix);
  }
}

TEST(OpenApiV3, OnlyBuiltInKindsOfferStrategicMerge) {
  json::Value apps = v3("apps", "v1"), volcano = v3("batch.volcano.sh", "v1alpha1");
  const json::Value* built_in =
      at(apps, {"paths", "/apis/apps/v1/namespaces/{namespace}/deployments/{name}", "patch"});
  const json::Value* custom =
      at(volcano,
         {"paths", "/apis/batch.volcano.sh/v1alpha1/namespaces/{namespace}/jobs/{name}", "patch"});
  ASSERT_NE(built_in, nullptr);
  ASSERT_NE(custom, nullptr);
  EXPECT_EQ(keys(at(*built_in, {"requestBody", "content"})),
            (std::vector<std::string>{"application/apply-patch+yaml", "application/json-patch+json",
                                      "application/merge-patch+json",
                                      "application/strategic-merge-patch+json"}));
  EXPECT_EQ(keys(at(*custom, {"requestBody", "content"})),
            (std::vector<std::string>{"application/apply-patch+yaml", "application/json-patch+json",
                                      "application/merge-patch+json"}));
}

TEST(OpenApiV3, WritesOfferFieldValidationAndNameTheirKind) {
  json::Value core = v3("", "v1");
  const std::string item = "/api/v1/namespaces/{namespace}/pods/{name}";
  for (std::string_view method : {"patch", "put"}) {
    const json::Value* operation = at(core, {"paths", item, method});
    ASSERT_NE(operation, nullptr);
    EXPECT_TRUE(has_parameter(*operation, "fieldValidation"));
    EXPECT_EQ(json::serialize(*at(*operation, {"x-kubernetes-group-version-kind"})),
              R"({"group":"","kind":"Pod","version":"v1"})");
  }
  const json::Value* create = at(core, {"paths", "/api/v1/namespaces/{namespace}/pods", "post"});
  ASSERT_NE(create, nullptr);
  EXPECT_TRUE(has_parameter(*create, "fieldValidation"));
  EXPECT_NE(at(core, {"paths", "/api/v1/pods", "get"}), nullptr);
  EXPECT_NE(at(core, {"paths", "/api/v1/namespaces/{name}", "patch"}), nullptr);
  EXPECT_NE(at(core, {"paths", item + "/status", "patch"}), nullptr);
  EXPECT_EQ(json::string_at(core, {"paths", item, "get", "operationId"}),
            "readCoreV1NamespacedPod");
}

TEST(OpenApiV3, SubresourcesAndReviewsAreDescribed) {
  json::Value core = v3("", "v1"), apps = v3("apps", "v1");
  const std::string pod = "/api/v1/namespaces/{namespace}/pods/{name}";
  const json::Value* evict = at(core, {"paths", pod + "/eviction", "post"});
  ASSERT_NE(evict, nullptr);
  EXPECT_EQ(json::string_at(*evict, {"operationId"}), "createCoreV1NamespacedPodEviction");
  EXPECT_EQ(json::serialize(*at(*evict, {"x-kubernetes-group-version-kind"})),
            R"({"group":"policy","kind":"Eviction","version":"v1"})");
  EXPECT_NE(at(core, {"components", "schemas", "io.k8s.api.policy.v1.Eviction", "properties"}),
            nullptr);
  for (const char* sub : {"/binding", "/ephemeralcontainers", "/exec", "/attach", "/log",
                          "/portforward", "/proxy", "/resize", "/status"})
    EXPECT_NE(at(core, {"paths", pod + sub}), nullptr) << sub;
  const json::Value* exec = at(core, {"paths", pod + "/exec", "post"});
  ASSERT_NE(exec, nullptr);
  EXPECT_EQ(json::string_at(*exec, {"operationId"}), "connectCoreV1PostNamespacedPodExec");
  EXPECT_EQ(json::string_at(*exec, {"x-kubernetes-action"}), "connect");
  EXPECT_TRUE(has_parameter(*exec, "command"));
  EXPECT_EQ(json::find(*exec, "requestBody"), nullptr);
  const json::Value* log = at(core, {"paths", pod + "/log", "get"});
  ASSERT_NE(log, nullptr);
  EXPECT_TRUE(has_parameter(*log, "tailLines"));
  EXPECT_NE(at(*log, {"responses", "200", "content", "text/plain"}), nullptr);
  EXPECT_NE(
      at(core, {"paths", "/api/v1/namespaces/{namespace}/serviceaccounts/{name}/token", "post"}),
      nullptr);
  const json::Value* scale =
      at(apps, {"paths", "/apis/apps/v1/namespaces/{namespace}/deployments/{name}/scale", "get"});
  ASSERT_NE(scale, nullptr);
  EXPECT_EQ(json::string_at(*scale, {"x-kubernetes-group-version-kind", "kind"}), "Scale");
  json::Value reviews =
      *json::parse(openapi_v3_document("authorization.k8s.io", "v1", virtual_kinds()));
  EXPECT_EQ(keys(at(reviews, {"paths", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"})),
            (std::vector<std::string>{"post", "parameters"}));
  EXPECT_NE(at(reviews,
               {"paths",
                "/apis/authorization.k8s.io/v1/namespaces/{namespace}/localsubjectaccessreviews"}),
            nullptr);
  EXPECT_NE(
      at(reviews, {"components", "schemas", "io.k8s.api.authorization.v1.SelfSubjectAccessReview",
                   "x-kubernetes-group-version-kind"}),
      nullptr);
  for (const json::Value* document : {&core, &apps, &reviews})
    expect_references(*document, *at(*document, {"components", "schemas"}),
                      "#/components/schemas/");
}

TEST(OpenApiV3, MergeKeysAndListTypesAreExtensions) {
  json::Value core = v3("", "v1");
  const json::Value* containers =
      at(core, {"components", "schemas", "io.k8s.api.core.v1.PodSpec", "properties", "containers"});
  ASSERT_NE(containers, nullptr);
  EXPECT_EQ(json::string_at(*containers, {"x-kubernetes-patch-strategy"}), "merge");
  EXPECT_EQ(json::string_at(*containers, {"x-kubernetes-patch-merge-key"}), "name");
  EXPECT_EQ(json::string_at(*containers, {"x-kubernetes-list-type"}), "map");
  EXPECT_EQ(json::string_at(*containers, {"items", "$ref"}),
            "#/components/schemas/io.k8s.api.core.v1.Container");
  EXPECT_EQ(json::serialize(*at(core, {"components", "schemas", "io.k8s.api.core.v1.PodSpec",
                                       "properties", "restartPolicy", "enum"})),
            R"(["Always","Never","OnFailure"])")
      << "sorted";
  const json::Value* pod = at(core, {"components", "schemas", "io.k8s.api.core.v1.Pod"});
  EXPECT_EQ(json::serialize(*at(*pod, {"x-kubernetes-group-version-kind"})),
            R"([{"group":"","kind":"Pod","version":"v1"}])");
  EXPECT_EQ(json::serialize(
                *at(core, {"components", "schemas", "io.k8s.api.core.v1.PodSpec", "required"})),
            R"(["containers"])");
}

TEST(OpenApiV3, ACustomResourceIsWrittenOut) {
  json::Value document = v3("batch.volcano.sh", "v1alpha1");
  const json::Value* job = at(document, {"components", "schemas", "sh.volcano.batch.v1alpha1.Job"});
  ASSERT_NE(job, nullptr);
  EXPECT_EQ(json::string_at(*job, {"description"}), "a job");
  const json::Value* spec = at(*job, {"properties", "spec"});
  ASSERT_NE(spec, nullptr);
  EXPECT_TRUE(json::equal(
      *at(*spec, {"properties", "minAvailable"}),
      *json::parse(
          R"({"type":"integer","format":"int32","minimum":1,"default":1,"description":"how many"})")));
  EXPECT_TRUE(json::equal(
      *at(*spec, {"properties", "tasks"}),
      *json::parse(
          R"({"type":"array","x-kubernetes-list-type":"map",)"
          R"("x-kubernetes-list-map-keys":["name"],"items":{"type":"object","required":["name"],)"
          R"("properties":{"name":{"type":"string","enum":["a","b"]}}}})")));
  EXPECT_TRUE(json::bool_at(*spec, {"properties", "free", "x-kubernetes-preserve-unknown-fields"}));
  EXPECT_TRUE(json::bool_at(*spec, {"properties", "port", "x-kubernetes-int-or-string"}));
  // Members that every kind has are explained.
  const json::Value* metadata = at(*job, {"properties", "metadata"});
  EXPECT_EQ(json::string_at(json::array_at(*metadata, {"allOf"})->front(), {"$ref"}),
            "#/components/schemas/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta");
  EXPECT_NE(json::string_at(*metadata, {"description"}), "");
  EXPECT_NE(json::string_at(*job, {"properties", "apiVersion", "description"}), "");
  const json::Value* object_meta = at(
      document,
      {"components", "schemas", "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta", "properties"});
  for (const auto& member : object_meta->get_object())
    EXPECT_NE(json::string_at(member.value(), {"description"}), "") << member.key();
  EXPECT_NE(at(document, {"components", "schemas", "sh.volcano.batch.v1alpha1.JobList"}), nullptr);
  EXPECT_EQ(json::string_at(document,
                            {"paths", "/apis/batch.volcano.sh/v1alpha1/namespaces/{namespace}/jobs",
                             "post", "operationId"}),
            "createBatchVolcanoShV1alpha1NamespacedJob");
}

// In v2 a kind that takes anything has no properties at all: kubectl would hold people to those it
// finds.
TEST(OpenApi, AKindThatKeepsUnknownFieldsIsABareObjectInV2) {
  auto kind = std::make_shared<Kind>(*job_kind());
  kind->schema = *schema_from_openapi(*json::parse(
      R"({"type":"object","description":"d","x-kubernetes-preserve-unknown-fields":true,)"
      R"("properties":{"spec":{"type":"object"}}})"));
  const std::vector<KindPtr> kinds{kind};
  json::Value v2 = openapi_v2_document(kinds, "v1.34.1");
  EXPECT_EQ(json::serialize(*at(v2, {"definitions", "sh.volcano.batch.v1alpha1.Job"})),
            R"({"type":"object","x-kubernetes-group-version-kind":[{"group":"batch.volcano.sh",)"
            R"("kind":"Job","version":"v1alpha1"}]})");
  json::Value v3 = *json::parse(openapi_v3_document("batch.volcano.sh", "v1alpha1", kinds));
  const json::Value* job = at(v3, {"components", "schemas", "sh.volcano.batch.v1alpha1.Job"});
  EXPECT_TRUE(json::bool_at(*job, {"x-kubernetes-preserve-unknown-fields"}));
  EXPECT_NE(at(*job, {"properties", "spec"}), nullptr);
}

TEST(OpenApiV3, EveryReferenceResolvesInEveryDocument) {
  std::set<std::pair<std::string, std::string>> versions{{"batch.volcano.sh", "v1alpha1"}};
  for (const KindPtr& kind : builtin_kinds())
    versions.emplace(kind->resource.group, kind->resource.version);
  for (const auto& [group, version] : versions) {
    json::Value document = v3(group, version);
    const json::Value* schemas = at(document, {"components", "schemas"});
    ASSERT_NE(schemas, nullptr);
    expect_references(document, *schemas, "#/components/schemas/");
  }
}

TEST(OpenApiV3, IndexAndHash) {
  EXPECT_EQ(openapi_v3_path("", "v1"), "api/v1");
  EXPECT_EQ(openapi_v3_path("apps", "v1"), "apis/apps/v1");
  EXPECT_EQ(openapi_v3_index({{"api/v1", "ABC"}}),
            R"({"paths":{"api/v1":{"serverRelativeURL":"/openapi/v3/api/v1?hash=ABC"}}})");
  EXPECT_EQ(openapi_hash("a"), openapi_hash("a"));
  EXPECT_NE(openapi_hash("a"), openapi_hash("b"));
}

TEST(OpenApiV2, DocumentAndReferences) {
  std::vector<KindPtr> kinds = builtin_kinds();
  kinds.push_back(job_kind());
  json::Value document = openapi_v2_document(kinds, "v1.34.1");
  EXPECT_EQ(json::string_at(document, {"swagger"}), "2.0");
  expect_references(document, *json::find(document, "definitions"), "#/definitions/");
  const json::Value* job = at(document, {"definitions", "sh.volcano.batch.v1alpha1.Job"});
  ASSERT_NE(job, nullptr);
  EXPECT_EQ(at(*job, {"properties", "spec", "properties", "port", "anyOf"}), nullptr);
  EXPECT_EQ(at(*job, {"properties", "spec", "properties", "free", "nullable"}), nullptr);
  const json::Value* patch =
      at(document,
         {"paths", "/apis/batch.volcano.sh/v1alpha1/namespaces/{namespace}/jobs/{name}", "patch"});
  ASSERT_NE(patch, nullptr);
  EXPECT_TRUE(has_parameter(*patch, "dryRun"));
  EXPECT_EQ(json::array_at(*patch, {"consumes"})->size(), 3u);
}

// Walks a message by field numbers: {9, 1} is the first definitions entry of a document.
std::string_view message_at(std::string_view message,
                            std::initializer_list<std::uint32_t> numbers) {
  for (std::uint32_t number : numbers) {
    std::string_view found;
    for (protobuf::Reader reader(message); !reader.done();) {
      auto field = reader.next();
      if (!field) return {};
      if (field->number == number) {
        found = field->bytes;
        break;
      }
    }
    message = found;
  }
  return message;
}

TEST(OpenApiV2, ProtobufHoldsWhatTheJsonHolds) {
  std::vector<KindPtr> kinds{job_kind()};
  json::Value document = openapi_v2_document(kinds, "v1.34.1");
  std::string bytes = openapi_v2_protobuf(document);
  EXPECT_EQ(message_at(bytes, {1}), "2.0");
  EXPECT_EQ(message_at(bytes, {2, 2}), "v1.34.1");
  // Document.paths.path[0].name and Document.definitions.additional_properties[0].name
  EXPECT_EQ(message_at(bytes, {8, 2, 1}), keys(json::find(document, "paths"))[0]);
  EXPECT_EQ(message_at(bytes, {9, 1, 1}), keys(json::find(document, "definitions"))[0]);
  // PathItem.get.operation_id
  EXPECT_EQ(message_at(bytes, {8, 2, 2, 2, 5}), "listBatchVolcanoShV1alpha1JobForAllNamespaces");
  int definitions = 0;
  for (protobuf::Reader reader(message_at(bytes, {9})); !reader.done(); ++definitions)
    ASSERT_TRUE(reader.next().has_value());
  EXPECT_EQ(static_cast<std::size_t>(definitions),
            json::find(document, "definitions")->get_object().size());
}

}  // namespace
}  // namespace hekla::apiserver
