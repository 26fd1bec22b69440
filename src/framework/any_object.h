// An object of any kind as controllers hold it: typed metadata, everything else JSON, so that what
// a user wrote is passed on as it is. All described kinds and their children share this one type;
// pods alone have a type of their own (model::Pod).
#pragma once

#include <memory>
#include <string>

#include "json/codec.h"
#include "json/value.h"
#include "kube/client.h"
#include "model/core.h"
#include "model/meta.h"

namespace hekla::framework {

struct AnyObject {
  model::ObjectMeta metadata;
  json::Value spec, status;
  // Further members of the top level: data, rules, subjects, type. Without apiVersion and kind.
  json::Object rest;

  static Result<AnyObject> from_node(const json::Node& node);
  // Without apiVersion and kind, which belong to the resource.
  json::Value to_json() const;
};

// An object of which only the metadata matters.
struct MetadataOnly {
  model::ObjectMeta metadata;
};
BOOST_DESCRIBE_STRUCT(MetadataOnly, (), (metadata))

using AnyRef = std::shared_ptr<const AnyObject>;
using PodRef = std::shared_ptr<const model::Pod>;

inline kube::Key key_of(const model::ObjectMeta& metadata) { return {metadata.ns, metadata.name}; }

}  // namespace hekla::framework
