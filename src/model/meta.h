// The metadata every object carries. Member names are the wire's; `ns` is its "namespace".
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "json/codec.h"
#include "model/time.h"

namespace hekla::model {

struct OwnerReference {
  std::string apiVersion, kind, name, uid;
  std::optional<bool> controller, blockOwnerDeletion;
};
BOOST_DESCRIBE_STRUCT(OwnerReference, (),
                      (apiVersion, kind, name, uid, controller, blockOwnerDeletion))

struct ObjectMeta {
  std::string name, generateName, ns, uid, resourceVersion;
  std::int64_t generation = 0;
  Time creationTimestamp, deletionTimestamp;
  std::optional<std::int64_t> deletionGracePeriodSeconds;
  std::map<std::string, std::string> labels, annotations;
  std::vector<OwnerReference> ownerReferences;
  std::vector<std::string> finalizers;

  // Empty when absent.
  const std::string& label(const std::string& key) const;
  const std::string& annotation(const std::string& key) const;
  const OwnerReference* controller() const;

  static Result<ObjectMeta> from_node(const json::Node& node);
  static Result<ObjectMeta> from_json(const json::Value& value) { return from_node(value); }
  json::Value to_json() const;
};

// The controller reference of `meta`'s object, as a dependent carries it.
OwnerReference controller_reference(const std::string& api_version, const std::string& kind,
                                    const ObjectMeta& meta);

}  // namespace hekla::model

// Compiled once, in meta.cpp.
JSON_CODEC_EXTERN(hekla::model::Time);
JSON_CODEC_EXTERN(hekla::model::MicroTime);
JSON_CODEC_EXTERN(hekla::model::OwnerReference);
JSON_CODEC_EXTERN(hekla::model::ObjectMeta);
JSON_CODEC_EXTERN(std::vector<hekla::model::OwnerReference>);
