// The shape of an object: one tree for built-in kinds (from the committed schema facts) and for
// custom resources (from the CRD's OpenAPI schema). It drives unknown-field detection, pruning,
// defaulting, type checks, strategic merge, server-side apply and the published OpenAPI.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "apiserver/schema/properties.h"
#include "base/result.h"
#include "cel/type.h"
#include "json/value.h"

namespace hekla::cel {
class Pattern;  // cel/pattern.h
}

namespace hekla::apiserver {

struct SchemaRules;  // schema/rules.h

struct Schema : cel::Shape {
  enum class Type : std::uint8_t {
    any,
    object,
    array,
    string,
    integer,
    number,
    boolean,
    int_or_string
  };
  enum class ListType : std::uint8_t { atomic, set, map };

  Type type = Type::any;
  std::string format;  // int32, int64, byte, date-time, quantity, micro-time ...
  SchemaProperties properties;
  SchemaPtr additional;  // the values of a map
  SchemaPtr items;
  bool preserve_unknown = false;
  bool embedded_resource = false;
  bool nullable = false;
  ListType list_type = ListType::atomic;
  std::vector<std::string> list_map_keys;
  bool atomic_map = false;
  // Strategic merge patch: "merge", "merge,retainKeys", "replace" or empty, and the key of merged
  // lists.
  std::string patch_strategy, patch_merge_key;
  std::string description;

  // Validation, mostly from CRDs.
  std::vector<std::string> required;
  std::optional<json::Value> default_value;
  std::vector<json::Value> enumeration;
  std::string pattern;
  std::shared_ptr<const cel::Pattern>
      compiled_pattern;  // made with the schema, so that no write compiles
  std::optional<double> minimum, maximum;
  bool exclusive_minimum = false, exclusive_maximum = false;
  std::optional<double> multiple_of;
  std::optional<std::uint64_t> min_length, max_length, min_items, max_items, min_properties,
      max_properties;
  std::vector<SchemaPtr> all_of, any_of, one_of;
  SchemaPtr negation;
  json::Value validations;             // x-kubernetes-validations as written
  std::shared_ptr<SchemaRules> rules;  // compiled once the whole schema stands; null without any

  // Built-in kinds only: how Go and protobuf carry the field that has this schema.
  bool pointer = false;  // a set zero value is kept
  bool omit_empty = true;
  bool always = false;  // Go writes the field even when nobody set it: structs, times, no omitempty
  std::vector<std::string> always_members;  // of a struct: the names of such fields
  std::uint32_t protobuf_number = 0;
  std::string protobuf_wire;  // varint, bytes, fixed64 ...
  std::string
      go_type;  // "io.k8s.api.core.v1.PodSpec": names the OpenAPI definition; empty for scalars
  std::string
      go_name;  // "v1.ResourceList": how Go prints a named string, list or map type; else empty

  // As CEL sees it.
  cel::Type cel_type() const override;
  Reading reading() const override;
  const cel::Shape* member(std::string_view name) const override;
  const cel::Shape* element() const override { return items.get(); }
  bool has_fields() const override { return !properties.empty(); }
  std::optional<cel::Type> field(std::string_view name) const override;
};

// A custom resource's schema; 422-style errors name the offending path (structural schema rules).
Result<SchemaPtr> schema_from_openapi(const json::Value& open_api_v3_schema);

// Paths of members the schema does not know, as strict decoding prints them: spec.foo,
// spec.tasks[0].bar.
std::vector<std::string> unknown_fields(const Schema& schema, const json::Value& value);
// Removes them. Metadata, apiVersion and kind at the root always stay.
void prune(const Schema& schema, json::Value& value);
// Fills absent members from `default_value`, recursively; null where null is not allowed counts as
// absent.
void apply_defaults(const Schema& schema, json::Value& value);
// Every violation, in upstream's words ("spec.s: Unsupported value: ..."). What is the same in
// `old` is not held against an update.
std::vector<Cause> validate_value(const Schema& schema, const json::Value& value,
                                  const std::string& path = {}, const json::Value* old = nullptr);
// Typed decoding errors of built-in kinds (a string where an integer belongs); the first one found.
// Upstream decodes what strategic patches make with another decoder, which has words of its own.
enum class GoDecoder { json, unstructured };
Result<void> check_types(const Schema& schema, const json::Value& value,
                         GoDecoder decoder = GoDecoder::json);
// Drops what Go's omitempty would not have written (empty labels, null creationTimestamp ...) and
// writes quantities in canonical form. Built-in kinds only.
void normalize(const Schema& schema, json::Value& value);
// Adds what Go writes of a struct although nobody set it: `status: {}`, `eventTime: null`,
// `replicas: 0`. Built-in kinds only, once defaults are in: they look for what is absent.
void fill_zeros(const Schema& schema, json::Value& value);
// Go's value for a null where a list or a map has no way to leave something out; null where it
// stays one.
json::Value zero_value(const Schema& schema);
// Kubernetes' strategic merge, with all its directives. `schema` is the object's own.
Result<void> strategic_merge(const Schema& schema, json::Value& target, const json::Value& patch);

}  // namespace hekla::apiserver
