// Schemas as OpenAPI objects. Built-in struct types become named definitions that refer to each
// other; the schema of a custom resource is written out in one piece.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "apiserver/object/kind.h"
#include "json/value.h"

namespace hekla::apiserver {

enum class OpenApiVersion { v2, v3 };

class OpenApiSchemas {
 public:
  explicit OpenApiSchemas(OpenApiVersion version) : version_(version) {}

  // Defines the kind and its list; returns the name of the kind's definition.
  std::string add_kind(const Kind& kind);
  std::string list_name(const Kind& kind) const;
  // Defines a built-in type and all it refers to; returns {"$ref": ...} to it.
  json::Object reference(std::string_view go_type);
  // The same for a kind that is sent to a subresource ("policy", "v1", "Eviction"); returns its
  // name, or an empty one when it is not described.
  std::string add_sent(const kube::Resource& kind);

  // Defines what has no Go struct; returns the reference.
  json::Object named(std::string_view name, json::Object definition);

  // By name; call once, at the end.
  json::Object take_definitions();

 private:
  json::Object ref(std::string_view name) const;
  // `text` describes what has no description of its own.
  json::Object field(const Schema& schema, bool builtin, std::string_view text = {});
  json::Object body(const Schema& schema, bool builtin);
  void add_validation(const Schema& schema, json::Object& out);
  void add_extensions(const Schema& schema, bool builtin, json::Object& out) const;
  void define(const std::string& name, const Schema& schema);

  OpenApiVersion version_;
  std::map<std::string, json::Object> definitions_;
};

// {"group": ..., "kind": ..., "version": ...}
json::Object group_version_kind(const kube::Resource& resource, const std::string& kind);

}  // namespace hekla::apiserver
