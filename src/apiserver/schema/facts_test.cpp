// The embedded facts: what the rest of the server relies on.
#include "apiserver/schema/facts.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace hekla::apiserver {
namespace {

const Schema& at(const Schema& schema, std::initializer_list<std::string_view> path) {
  const Schema* node = &schema;
  for (std::string_view name : path) {
    if (name == "[]")
      node = node->items.get();
    else
      node = node->properties.find(name)->second.get();
  }
  return *node;
}

TEST(SchemaFacts, TypesAreSortedSoThatLookUpWorks) {
  const auto& types = builtin_facts().types;
  EXPECT_TRUE(std::is_sorted(types.begin(), types.end(),
                             [](const TypeFact& a, const TypeFact& b) { return a.name < b.name; }));
  EXPECT_EQ(builtin_type_index("io.k8s.api.core.v1.Nope"), -1);
}

TEST(SchemaFacts, PodFieldsCarryTheirTags) {
  SchemaPtr pod = builtin_type("io.k8s.api.core.v1.Pod");
  EXPECT_EQ(pod->go_type, "io.k8s.api.core.v1.Pod");
  const Schema& containers = at(*pod, {"spec", "containers"});
  EXPECT_EQ(containers.patch_strategy, "merge");
  EXPECT_EQ(containers.patch_merge_key, "name");
  EXPECT_EQ(containers.list_type, Schema::ListType::map);
  EXPECT_EQ(containers.list_map_keys, std::vector<std::string>{"name"});
  const Schema& ports = at(containers, {"[]", "ports"});
  EXPECT_EQ(ports.list_map_keys, (std::vector<std::string>{"containerPort", "protocol"}));
  EXPECT_EQ(ports.patch_merge_key, "containerPort");
  const Schema& protocol = at(ports, {"[]", "protocol"});
  ASSERT_TRUE(protocol.default_value.has_value());
  EXPECT_EQ(*protocol.default_value, json::Value("TCP"));
  EXPECT_EQ(protocol.enumeration.size(), 3u);
  const Schema& grace = at(*pod, {"spec", "terminationGracePeriodSeconds"});
  EXPECT_TRUE(grace.pointer);
  EXPECT_TRUE(grace.omit_empty);
  EXPECT_EQ(grace.protobuf_number, 4u);
  EXPECT_EQ(grace.protobuf_wire, "varint");
  EXPECT_EQ(at(*pod, {"spec", "volumes"}).patch_strategy, "merge,retainKeys");
  // A volume's source is inlined.
  EXPECT_EQ(at(*pod, {"spec", "volumes", "[]", "emptyDir"}).go_type,
            "io.k8s.api.core.v1.EmptyDirVolumeSource");
  EXPECT_EQ(at(containers, {"[]", "resources", "limits"}).additional->format, "quantity");
}

TEST(SchemaFacts, AtomicStructsAndSets) {
  SchemaPtr pod = builtin_type("io.k8s.api.core.v1.Pod");
  EXPECT_TRUE(at(*pod, {"spec", "nodeSelector"}).atomic_map);
  EXPECT_EQ(at(*pod, {"metadata", "finalizers"}).list_type, Schema::ListType::set);
  EXPECT_EQ(at(*pod, {"metadata", "ownerReferences"}).list_map_keys,
            std::vector<std::string>{"uid"});
  SchemaPtr deployment = builtin_type("io.k8s.api.apps.v1.Deployment");
  EXPECT_TRUE(at(*deployment, {"spec", "selector"}).atomic_map);
  EXPECT_EQ(at(*deployment, {"spec", "strategy"}).patch_strategy, "retainKeys");
}

TEST(SchemaFacts, RecursiveTypesRefToThemselves) {
  SchemaPtr crd = builtin_type(
      "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.CustomResourceDefinition");
  const Schema& root = at(*crd, {"spec", "versions", "[]", "schema", "openAPIV3Schema"});
  const Schema& inner = *at(root, {"properties"}).additional;
  EXPECT_EQ(inner.go_type, root.go_type);
  EXPECT_TRUE(at(root, {"items"}).preserve_unknown);
}

TEST(SchemaFacts, RequiredFollowsTheTags) {
  SchemaPtr spec = builtin_type("io.k8s.api.apps.v1.DeploymentSpec");
  EXPECT_EQ(spec->required, (std::vector<std::string>{"selector", "template"}));
}

}  // namespace
}  // namespace hekla::apiserver
