// Unknown members, pruning and defaulting. One walk serves the first two: it reports what the
// schema does not know, removes it, or both.
#include "apiserver/schema/schema.h"

#include <algorithm>

#include "apiserver/text/path_step.h"

namespace hekla::apiserver {
namespace {

bool is_meta_field(std::string_view name) {
  return name == "apiVersion" || name == "kind" || name == "metadata";
}

const Schema* member_schema(const Schema& schema, std::string_view name) {
  if (auto found = schema.properties.find(name); found != schema.properties.end())
    return found->second.get();
  return schema.additional.get();
}

// A hostile object may have a million of them, each with a long path.
constexpr std::size_t kMaxUnknownFields = 100;

// V is json::Value, and unknown members are removed, or const json::Value, and they are only
// collected.
template <class V>
struct UnknownWalk {
  std::vector<std::string>* found = nullptr;
  std::string path;

  static constexpr bool kRemoves = !std::is_const_v<V>;
  std::string* tracked() { return found == nullptr ? nullptr : &path; }

  void visit(const Schema* schema, V& value, bool root) {
    // `preserving` leaves unknown members of this level alone, yet looks into the known ones.
    bool preserving = schema != nullptr && schema->preserve_unknown;
    if (value.is_array()) {
      if (preserving && schema->items == nullptr) return;
      const Schema* items = schema == nullptr ? nullptr : schema->items.get();
      auto& array = value.get_array();
      for (std::size_t i = 0; i < array.size(); ++i) {
        PathStep step(tracked(), i);
        visit(items, array[i], false);
      }
    } else if (value.is_object()) {
      visit_members(schema, value.get_object(), root, preserving);
    }
  }

  template <class O>
  void visit_members(const Schema* schema, O& object, bool root, bool preserving) {
    const bool resource = root || (schema != nullptr && schema->embedded_resource);
    const auto is_unknown = [&](auto& pair) {
      const Schema* member = schema == nullptr ? nullptr : member_schema(*schema, pair.key());
      if (member == nullptr && (preserving || (resource && is_meta_field(pair.key()))))
        return false;
      const bool told = member == nullptr && found != nullptr && found->size() < kMaxUnknownFields;
      if (member == nullptr && !told) return true;
      PathStep step(tracked(), pair.key());
      if (told)
        found->push_back(path);
      else
        visit(member, pair.value(), false);
      return told;
    };
    if constexpr (kRemoves)
      json::erase_if(object, is_unknown);
    else
      for (auto& pair : object) is_unknown(pair);
  }
};

void drop_forbidden_nulls(const Schema& schema, json::Value& value) {
  if (value.is_object()) {
    json::erase_if(value.get_object(), [&](auto& pair) {
      const Schema* member = member_schema(schema, pair.key());
      if (member == nullptr || !member->go_type.empty()) return false;
      if (pair.value().is_null() && !member->nullable && !member->default_value) return true;
      drop_forbidden_nulls(*member, pair.value());
      return false;
    });
  } else if (value.is_array() && schema.items != nullptr) {
    for (json::Value& item : value.get_array()) drop_forbidden_nulls(*schema.items, item);
  }
}

bool replaceable_null(const Schema& schema, const json::Value& value) {
  return value.is_null() && !schema.nullable && schema.default_value.has_value();
}

void fill(const Schema& schema, json::Value& value) {
  if (value.is_object()) {
    json::Object& object = value.get_object();
    for (const auto& [name, member] : schema.properties) {
      if (!member->default_value) continue;
      auto found = object.find(name);
      if (found == object.end())
        object.emplace(name, *member->default_value);
      else if (replaceable_null(*member, found->value()))
        found->value() = *member->default_value;
    }
    for (auto& member : object) {
      const Schema* inner = member_schema(schema, member.key());
      if (inner == nullptr || !inner->go_type.empty()) continue;
      if (replaceable_null(*inner, member.value())) member.value() = *inner->default_value;
      fill(*inner, member.value());
    }
  } else if (value.is_array() && schema.items != nullptr) {
    for (json::Value& item : value.get_array()) {
      if (replaceable_null(*schema.items, item)) item = *schema.items->default_value;
      fill(*schema.items, item);
    }
  }
}

}  // namespace

std::vector<std::string> unknown_fields(const Schema& schema, const json::Value& value) {
  std::vector<std::string> found;
  UnknownWalk<const json::Value>{&found, {}}.visit(&schema, value, true);
  // Built-in kinds report in the order of the text, custom ones sorted.
  if (schema.go_type.empty()) std::sort(found.begin(), found.end());
  return found;
}

void prune(const Schema& schema, json::Value& value) {
  UnknownWalk<json::Value>{}.visit(&schema, value, true);
}

void apply_defaults(const Schema& schema, json::Value& value) {
  drop_forbidden_nulls(schema, value);
  fill(schema, value);
}

}  // namespace hekla::apiserver
