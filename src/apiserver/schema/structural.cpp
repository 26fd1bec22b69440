// Structural schema rules, with upstream's texts. Each schema node is either a structural one (it
// has a type and shape) or one nested in a logical junctor, where only value validations may stand.
#include "apiserver/schema/structural.h"

#include <algorithm>
#include <array>

#include "apiserver/text/field_error.h"
#include "cel/pattern.h"

namespace hekla::apiserver {
namespace {

enum class Level { root, item, field };

bool has(const json::Value& schema, std::string_view member) {
  const json::Value* found = json::find(schema, member);
  return found != nullptr && !found->is_null();
}

bool flag(const json::Value& schema, std::string_view member) {
  return json::bool_at(schema, {member});
}

std::string_view type_of(const json::Value& schema) { return json::string_at(schema, {"type"}); }

// anyOf: [{type: integer}, {type: string}]
bool is_int_or_string_any_of(const json::Value& schema) {
  const json::Array* any = json::array_at(schema, {"anyOf"});
  if (any == nullptr || any->size() != 2) return false;
  static constexpr std::array<std::string_view, 2> kTypes{"integer", "string"};
  for (std::size_t i = 0; i < 2; ++i) {
    const json::Value& one = (*any)[i];
    if (!one.is_object() || one.get_object().size() != 1 || type_of(one) != kTypes[i]) return false;
  }
  return true;
}

class StructuralRules {
 public:
  std::vector<Cause> causes;

  void structural(const json::Value& schema, Level level, const std::string& path) {
    unsupported_keywords(schema, path);
    shape(schema, level, path);
    type_rules(schema, level, path);
    list_and_map_types(schema, path);
    extension_rules(schema, path);
    bool first_all_of = false;
    if (const json::Array* all = json::array_at(schema, {"allOf"}); all != nullptr && !all->empty())
      first_all_of = is_int_or_string_any_of((*all)[0]);
    value_validation(schema, is_int_or_string_any_of(schema), first_all_of, schema, path);
    metadata_rules(schema, level, path);
  }

 private:
  static std::string child(const std::string& path, std::string_view member) {
    return path.empty() ? std::string(member) : path + "." + std::string(member);
  }
  static std::string key(const std::string& path, std::string_view group, std::string_view name) {
    return child(path, group) + "[" + std::string(name) + "]";
  }

  void unsupported_keywords(const json::Value& schema, const std::string& path) {
    for (std::string_view word :
         {"id", "additionalItems", "patternProperties", "definitions", "dependencies", "$ref"})
      if (has(schema, word))
        causes.push_back(
            forbidden_value(child(path, word), std::string(word) + " is not supported"));
    if (type_of(schema) == "null")
      causes.push_back(forbidden_value(
          child(path, "type"), "type cannot be set to null, use nullable as an alternative"));
    if (json::array_at(schema, {"items"}) != nullptr)
      causes.push_back(
          forbidden_value(child(path, "items"), "items must be a schema object and not an array"));
    if (flag(schema, "uniqueItems"))
      causes.push_back(forbidden_value(
          child(path, "uniqueItems"),
          "uniqueItems cannot be set to true since the runtime complexity becomes quadratic"));
    const json::Object* properties = json::object_at(schema, {"properties"});
    const json::Value* additional = json::find(schema, "additionalProperties");
    if (properties != nullptr && !properties->empty() && additional != nullptr &&
        (additional->is_object() || (additional->is_bool() && !additional->get_bool())))
      causes.push_back(forbidden_value(child(path, "additionalProperties"),
                                       "additionalProperties and properties are mutual exclusive"));
    if (const json::Value* keep = json::find(schema, "x-kubernetes-preserve-unknown-fields");
        keep != nullptr && keep->is_bool() && !keep->get_bool())
      causes.push_back(invalid_value(child(path, "x-kubernetes-preserve-unknown-fields"), *keep,
                                     "must be true or undefined"));
  }

  void shape(const json::Value& schema, Level level, const std::string& path) {
    const json::Value* items = json::find(schema, "items");
    if (type_of(schema) == "array" && items == nullptr)
      causes.push_back(required_value(child(path, "items"), "must be specified"));
    if (items != nullptr && items->is_object())
      structural(*items, Level::item, child(path, "items"));
    if (const json::Object* properties = json::object_at(schema, {"properties"}))
      for (const auto& property : *properties) {
        bool root_metadata = level == Level::root && property.key() == "metadata";
        if (!root_metadata)
          structural(property.value(), Level::field, key(path, "properties", property.key()));
      }
    const json::Value* additional = json::find(schema, "additionalProperties");
    if (additional == nullptr || additional->is_null()) return;
    if (level == Level::root)
      causes.push_back(
          forbidden_value(child(path, "additionalProperties"), "must not be used at the root"));
    if (flag(schema, "x-kubernetes-embedded-resource"))
      causes.push_back(
          forbidden_value(child(path, "additionalProperties"),
                          "must not be used if x-kubernetes-embedded-resource is set"));
    if (additional->is_object())
      structural(*additional, Level::field, child(path, "additionalProperties"));
  }

  void type_rules(const json::Value& schema, Level level, const std::string& path) {
    std::string_view type = type_of(schema);
    std::string where = child(path, "type");
    bool embedded = flag(schema, "x-kubernetes-embedded-resource");
    if (embedded && type != "object") {
      std::string detail = "must be object if x-kubernetes-embedded-resource is true";
      causes.push_back(type.empty() ? required_value(where, detail)
                                    : invalid_value(where, json::Value(type), detail));
    } else if (type.empty() && !flag(schema, "x-kubernetes-int-or-string") &&
               !flag(schema, "x-kubernetes-preserve-unknown-fields")) {
      causes.push_back(required_value(
          where, level == Level::root   ? "must not be empty at the root"
                 : level == Level::item ? "must not be empty for specified array items"
                                        : "must not be empty for specified object fields"));
    }
    static constexpr std::array<std::string_view, 6> kTypes{"array",  "boolean", "integer",
                                                            "number", "object",  "string"};
    if (!type.empty() && type != "null" &&
        std::find(kTypes.begin(), kTypes.end(), type) == kTypes.end())
      causes.push_back(unsupported_value(where, json::Value(type), {kTypes.begin(), kTypes.end()}));
    if (level == Level::root && !type.empty() && type != "object")
      causes.push_back(invalid_value(where, json::Value(type), "must be object at the root"));
    if (level == Level::root && flag(schema, "nullable"))
      causes.push_back(
          forbidden_value(child(path, "nullable"), "nullable cannot be true at the root"));
    const json::Object* properties = json::object_at(schema, {"properties"});
    if (embedded && !flag(schema, "x-kubernetes-preserve-unknown-fields") &&
        (properties == nullptr || properties->empty()))
      causes.push_back(required_value(child(path, "properties"),
                                      "must not be empty if x-kubernetes-embedded-resource is true "
                                      "without x-kubernetes-preserve-unknown-fields"));
  }

  void must_be(const json::Value& schema, std::string_view type, std::string_view extension,
               const std::string& path) {
    if (type_of(schema) == type) return;
    std::string detail =
        "must be " + std::string(type) + " if " + std::string(extension) + " is specified";
    causes.push_back(type_of(schema).empty() ? required_value(child(path, "type"), detail)
                                             : invalid_value(child(path, "type"),
                                                             json::Value(type_of(schema)), detail));
  }

  void list_and_map_types(const json::Value& schema, const std::string& path) {
    if (has(schema, "x-kubernetes-map-type")) {
      std::string_view kind = json::string_at(schema, {"x-kubernetes-map-type"});
      must_be(schema, "object", "x-kubernetes-map-type", path);
      if (kind != "atomic" && kind != "granular")
        causes.push_back(unsupported_value(child(path, "x-kubernetes-map-type"), json::Value(kind),
                                           {"atomic", "granular"}));
    }
    const json::Array* keys = json::array_at(schema, {"x-kubernetes-list-map-keys"});
    std::string_view kind = json::string_at(schema, {"x-kubernetes-list-type"});
    if (has(schema, "x-kubernetes-list-type")) {
      must_be(schema, "array", "x-kubernetes-list-type", path);
      if (kind != "atomic" && kind != "set" && kind != "map")
        causes.push_back(unsupported_value(child(path, "x-kubernetes-list-type"), json::Value(kind),
                                           {"atomic", "set", "map"}));
    }
    if (keys != nullptr && !keys->empty() && kind != "map")
      causes.push_back(
          kind.empty() ? required_value(child(path, "x-kubernetes-list-type"),
                                        "must be map if x-kubernetes-list-map-keys is non-empty")
                       : invalid_value(child(path, "x-kubernetes-list-type"), json::Value(kind),
                                       "must be map if x-kubernetes-list-map-keys is non-empty"));
    if (kind == "map") list_map_rules(schema, keys, path);
  }

  void list_map_rules(const json::Value& schema, const json::Array* keys, const std::string& path) {
    if (keys == nullptr || keys->empty()) {
      causes.push_back(required_value(child(path, "x-kubernetes-list-map-keys"),
                                      "must not be empty if x-kubernetes-list-type is map"));
      return;
    }
    const json::Value* items = json::find(schema, "items");
    if (items == nullptr) return;  // already reported
    if (type_of(*items) != "object")
      causes.push_back(
          invalid_value(child(path, "items.type"), json::Value(type_of(*items)),
                        "must be object if parent array's x-kubernetes-list-type is map"));
    for (std::size_t i = 0; i < keys->size(); ++i) {
      if (!(*keys)[i].is_string()) continue;
      std::string_view name = json::sv((*keys)[i].get_string());
      const json::Value* property = json::find_path(*items, {"properties", name});
      std::string where = child(path, "x-kubernetes-list-map-keys") + "[" + std::to_string(i) + "]";
      if (property == nullptr)
        causes.push_back(
            invalid_value(where, (*keys)[i], "entries must all be names of item properties"));
      else if (type_of(*property) == "array" || type_of(*property) == "object")
        causes.push_back(
            invalid_value(key(child(path, "items"), "properties", name) + ".type",
                          json::Value(type_of(*property)),
                          "must be a scalar type if parent array's x-kubernetes-list-type is map"));
    }
  }

  void extension_rules(const json::Value& schema, const std::string& path) {
    if (!flag(schema, "x-kubernetes-int-or-string")) return;
    for (std::string_view other :
         {"x-kubernetes-preserve-unknown-fields", "x-kubernetes-embedded-resource"})
      if (flag(schema, other))
        causes.push_back(invalid_value(child(path, other), json::Value(true),
                                       "must be false if x-kubernetes-int-or-string is true"));
  }

  void metadata_rules(const json::Value& schema, Level level, const std::string& path) {
    if (level != Level::root && !flag(schema, "x-kubernetes-embedded-resource")) return;
    for (std::string_view name : {"kind", "apiVersion"}) {
      const json::Value* property = json::find_path(schema, {"properties", name});
      if (property != nullptr && type_of(*property) != "string")
        causes.push_back(invalid_value(key(path, "properties", name) + ".type",
                                       json::Value(type_of(*property)), "must be string"));
    }
    const json::Value* metadata = json::find_path(schema, {"properties", "metadata"});
    if (metadata == nullptr) return;
    std::string where = key(path, "properties", "metadata");
    if (type_of(*metadata) != "object")
      causes.push_back(
          invalid_value(where + ".type", json::Value(type_of(*metadata)), "must be object"));
    if (level != Level::root || !metadata->is_object()) return;
    bool clean = true;
    for (const auto& member : metadata->get_object()) {
      if (member.key() == "type" || member.key() == "description" || member.key() == "default")
        continue;
      clean = clean && member.key() == "properties" && member.value().is_object();
      if (!clean) break;
      for (const auto& property : member.value().get_object())
        clean = clean && (property.key() == "name" || property.key() == "generateName");
    }
    if (!clean)
      causes.push_back(
          forbidden_value(where,
                          "must not specify anything other than name and generateName, "
                          "but metadata is implicitly specified"));
  }

  // `outside` is the structural schema around the junctors: what they name must be defined there.
  void value_validation(const json::Value& schema, bool skip_any_of, bool skip_first_all_of,
                        const json::Value& outside, const std::string& path) {
    for (std::string_view word : {"anyOf", "allOf", "oneOf"}) {
      const json::Array* list = json::array_at(schema, {word});
      if (list == nullptr || (word == "anyOf" && skip_any_of)) continue;
      for (std::size_t i = 0; i < list->size(); ++i)
        nested((*list)[i], word == "allOf" && i == 0 && skip_first_all_of, outside,
               child(path, word) + "[" + std::to_string(i) + "]");
    }
    if (const json::Value* negation = json::find(schema, "not");
        negation != nullptr && negation->is_object())
      nested(*negation, false, outside, child(path, "not"));
    std::string_view pattern = json::string_at(schema, {"pattern"});
    if (pattern.empty()) return;
    if (auto compiled = cel::Pattern::compile(pattern); !compiled)
      causes.push_back(invalid_value(
          child(path, "pattern"), json::Value(pattern),
          "must be a valid regular expression, but isn't: " + compiled.error().message));
  }

  void nested(const json::Value& schema, bool skip_any_of, const json::Value& outside,
              const std::string& path) {
    value_validation(schema, skip_any_of, false, outside, path);
    const json::Value* items = json::find(schema, "items");
    if (items != nullptr && items->is_object()) {
      const json::Value* there = json::find(outside, "items");
      if (there == nullptr)
        causes.push_back(required_value(child(completeness_path(path), "items"),
                                        "because it is defined in " + child(path, "items")));
      else
        nested(*items, false, *there, child(path, "items"));
    }
    if (const json::Object* properties = json::object_at(schema, {"properties"}))
      for (const auto& property : *properties) {
        std::string where = key(path, "properties", property.key());
        const json::Value* there = json::find_path(outside, {"properties", property.key()});
        if (property.key() == "metadata")
          causes.push_back(forbidden_value(where, "must not be specified in a nested context"));
        if (there == nullptr && property.key() != "metadata")
          causes.push_back(
              required_value(key(completeness_path(path), "properties", property.key()),
                             "because it is defined in " + where));
        else if (there != nullptr)
          nested(property.value(), false, *there, where);
      }
    forbidden_in_junctor(schema, path);
  }

  // The structural place a junctor's path speaks of: the junctor steps removed.
  static std::string completeness_path(const std::string& path) {
    std::string out;
    std::size_t at = 0;
    while (at < path.size()) {
      std::size_t end = std::min(path.find('.', at), path.size());
      std::string part = path.substr(at, end - at);
      bool junctor = part.starts_with("anyOf[") || part.starts_with("allOf[") ||
                     part.starts_with("oneOf[") || part == "not";
      if (!junctor) out += (out.empty() ? "" : ".") + part;
      at = end + 1;
    }
    return out;
  }

  void forbidden_in_junctor(const json::Value& schema, const std::string& path) {
    const auto forbid = [&](std::string_view word, std::string_view how) {
      causes.push_back(
          forbidden_value(child(path, word), "must be " + std::string(how) + " to be structural"));
    };
    for (std::string_view word : {"type", "title", "description"})
      if (!json::string_at(schema, {word}).empty()) forbid(word, "empty");
    for (std::string_view word :
         {"additionalProperties", "default", "x-kubernetes-list-type", "x-kubernetes-map-type"})
      if (has(schema, word)) forbid(word, "undefined");
    for (std::string_view word : {"nullable", "x-kubernetes-preserve-unknown-fields",
                                  "x-kubernetes-embedded-resource", "x-kubernetes-int-or-string"})
      if (flag(schema, word)) forbid(word, "false");
    for (std::string_view word : {"x-kubernetes-list-map-keys", "x-kubernetes-validations"})
      if (const json::Array* list = json::array_at(schema, {word});
          list != nullptr && !list->empty())
        forbid(word, "empty");
  }
};

}  // namespace

std::vector<Cause> structural_violations(const json::Value& open_api_v3_schema) {
  StructuralRules rules;
  rules.structural(open_api_v3_schema, Level::root, "");
  std::sort(rules.causes.begin(), rules.causes.end(), [](const Cause& a, const Cause& b) {
    return std::tie(a.field, a.message) < std::tie(b.field, b.message);
  });
  return std::move(rules.causes);
}

}  // namespace hekla::apiserver
