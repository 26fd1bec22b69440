#include "model/meta.h"

namespace hekla::model {
namespace {

const std::string& lookup(const std::map<std::string, std::string>& map, const std::string& key) {
  static const std::string none;
  const auto found = map.find(key);
  return found == map.end() ? none : found->second;
}

// The wire members in the order they are written; `each` is called with (name, member).
template <class Meta, class Each>
void for_each_meta_member(Meta& meta, Each&& each) {
  each("name", meta.name);
  each("generateName", meta.generateName);
  each("namespace", meta.ns);
  each("uid", meta.uid);
  each("resourceVersion", meta.resourceVersion);
  each("generation", meta.generation);
  each("creationTimestamp", meta.creationTimestamp);
  each("deletionTimestamp", meta.deletionTimestamp);
  each("deletionGracePeriodSeconds", meta.deletionGracePeriodSeconds);
  each("labels", meta.labels);
  each("annotations", meta.annotations);
  each("ownerReferences", meta.ownerReferences);
  each("finalizers", meta.finalizers);
}

}  // namespace

const std::string& ObjectMeta::label(const std::string& key) const { return lookup(labels, key); }

const std::string& ObjectMeta::annotation(const std::string& key) const {
  return lookup(annotations, key);
}

const OwnerReference* ObjectMeta::controller() const {
  for (const OwnerReference& owner : ownerReferences)
    if (owner.controller.value_or(false)) return &owner;
  return nullptr;
}

// Members come as the text has them: looking each up by name would read the text, with all its
// managedFields, thirteen times.
Result<ObjectMeta> ObjectMeta::from_node(const json::Node& node) {
  ObjectMeta meta;
  if (!node.is_object()) return json::detail::wrong_kind("object", node);
  Result<void> done;
  node.for_each_member([&](std::string_view key, const json::Node& value) {
    for_each_meta_member(meta, [&](std::string_view name, auto& member) {
      if (name != key) return;
      done = json::decode_into(value, member);
      if (!done) done = json::detail::within("." + std::string(name), std::move(done).error());
    });
    return done.has_value();
  });
  if (!done) return std::unexpected(std::move(done).error());
  return meta;
}

json::Value ObjectMeta::to_json() const {
  json::Object object;
  for_each_meta_member(*this, [&](std::string_view name, const auto& member) {
    json::encode_member(object, name, member);
  });
  return object;
}

OwnerReference controller_reference(const std::string& api_version, const std::string& kind,
                                    const ObjectMeta& meta) {
  return {.apiVersion = api_version,
          .kind = kind,
          .name = meta.name,
          .uid = meta.uid,
          .controller = true,
          .blockOwnerDeletion = true};
}

}  // namespace hekla::model

JSON_CODEC_DEFINE(hekla::model::Time);
JSON_CODEC_DEFINE(hekla::model::MicroTime);
JSON_CODEC_DEFINE(hekla::model::OwnerReference);
JSON_CODEC_DEFINE(hekla::model::ObjectMeta);
JSON_CODEC_DEFINE(std::vector<hekla::model::OwnerReference>);
