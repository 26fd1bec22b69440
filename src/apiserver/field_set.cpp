#include "apiserver/field_set.h"

#include <algorithm>

namespace hekla::apiserver {

namespace {

const Schema kAnything{};

// Whether the value is what Go starts with: a list it starts with is null, an empty one was written.
bool is_zero(const json::Value& value) {
  switch (value.kind()) {
    case json::Kind::null: return true;
    case json::Kind::bool_: return !value.get_bool();
    case json::Kind::int64: return value.get_int64() == 0;
    case json::Kind::uint64: return value.get_uint64() == 0;
    case json::Kind::double_: return value.get_double() == 0;
    case json::Kind::string: return value.get_string().empty();
    case json::Kind::array: return false;
    case json::Kind::object: return value.get_object().empty();
  }
  return false;
}

// Null is a side that is not there.
class Comparer {
 public:
  static void compare(const Schema& schema, const json::Value* before, const json::Value* after,
                      FieldComparison& out) {
    const bool leaf = !descend(schema, before, after, out);
    if (!before) {
      out.added.self = true;
    } else if (!after) {
      out.removed.self = true;
    } else if (leaf && !json::equal(*before, *after)) {
      out.modified.self = true;
    }
  }

 private:
  static const json::Object* object_of(const json::Value* value) { return value ? value->if_object() : nullptr; }
  static const json::Array* array_of(const json::Value* value) { return value ? value->if_array() : nullptr; }

  // False when the node is a leaf: a scalar, something atomic, or empty on both sides.
  static bool descend(const Schema& schema, const json::Value* before, const json::Value* after,
                      FieldComparison& out) {
    if (!schema.atomic_map) {
      const json::Object *a = object_of(before), *b = object_of(after);
      if ((a && !a->empty()) || (b && !b->empty())) return members(schema, a, b, out), true;
    }
    if (schema.list_type != Schema::ListType::atomic) {
      const json::Array *a = array_of(before), *b = array_of(after);
      if ((a && !a->empty()) || (b && !b->empty())) return items(schema, a, b, out), true;
    }
    return false;
  }

  static void members(const Schema& schema, const json::Object* a, const json::Object* b, FieldComparison& out) {
    auto schema_of = [&](std::string_view key) -> const Schema& {
      auto found = schema.properties.find(key);
      if (found != schema.properties.end()) return *found->second;
      return schema.additional ? *schema.additional : kAnything;
    };
    if (b) {
      for (const auto& member : *b)
        child_of(schema_of(member.key()), [&] { return "f:" + std::string(member.key()); },
                 a ? json::find(*a, member.key()) : nullptr, &member.value(), out);
    }
    if (a) {
      for (const auto& member : *a)
        if (!b || !b->contains(member.key()))
          child_of(schema_of(member.key()), [&] { return "f:" + std::string(member.key()); }, &member.value(),
                   nullptr, out);
    }
  }

  static void items(const Schema& schema, const json::Array* a, const json::Array* b, FieldComparison& out) {
    const Schema& child = schema.items ? *schema.items : kAnything;
    std::map<std::string, std::pair<const json::Value*, const json::Value*>> pairs;
    if (a)
      for (const json::Value& item : *a) pairs[list_element(schema, item)].first = &item;
    if (b)
      for (const json::Value& item : *b) pairs[list_element(schema, item)].second = &item;
    for (const auto& [element, pair] : pairs)
      child_of(child, [&] { return element; }, pair.first, pair.second, out);
  }

  template <class Element>
  static void child_of(const Schema& schema, Element element, const json::Value* before, const json::Value* after,
                       FieldComparison& out) {
    FieldComparison child;
    compare(schema, before, after, child);
    if (!child.added.empty()) out.added.children.emplace(element(), std::move(child.added));
    if (!child.modified.empty()) out.modified.children.emplace(element(), std::move(child.modified));
    if (!child.removed.empty()) out.removed.children.emplace(element(), std::move(child.removed));
  }
};

// `zero`: where the object begins Go has its zero value here, so that only something else counts as written.
class Created {
 public:
  explicit Created(bool zero_based) : zero_based_(zero_based) {}

  void visit(const Schema& schema, bool zero, const json::Value& value, FieldSet& out) const {
    const bool leaf = !descend(schema, zero, value, out);
    out.self = !zero || (leaf && !is_zero(value));
  }

 private:
  bool descend(const Schema& schema, bool zero, const json::Value& value, FieldSet& out) const {
    if (const json::Object* object = value.if_object(); object && !schema.atomic_map && !object->empty()) {
      for (const auto& member : *object) {
        auto found = schema.properties.find(member.key());
        const bool known = found != schema.properties.end();
        const Schema& child = known ? *found->second : schema.additional ? *schema.additional : kAnything;
        std::string element;
        element.reserve(member.key().size() + 2);
        element.append("f:").append(member.key());
        add(child, zero && zero_based_ && known && child.always, member.value(), std::move(element), out);
      }
      return true;
    }
    const json::Array* array = value.if_array();
    if (!array || array->empty() || schema.list_type == Schema::ListType::atomic) return false;
    for (const json::Value& item : *array) {
      std::string element = list_element(schema, item);
      out.children.erase(element);  // of two with one key the last counts
      add(schema.items ? *schema.items : kAnything, false, item, std::move(element), out);
    }
    return true;
  }

  void add(const Schema& schema, bool zero, const json::Value& value, std::string element, FieldSet& out) const {
    auto at = out.children.try_emplace(std::move(element)).first;
    visit(schema, zero, value, at->second);
    if (at->second.empty()) out.children.erase(at);
  }

  bool zero_based_;
};

void write_fields(const FieldSet& set, json::Object& out) {
  out.reserve(set.children.size() + 1);
  if (set.self && !set.children.empty()) out["."].emplace_object();
  for (const auto& [element, child] : set.children) write_fields(child, out[element].emplace_object());
}

std::string printable(const std::string& element) {
  if (element.starts_with("f:")) return "." + element.substr(2);
  std::string_view inner = std::string_view(element).substr(2);
  if (element.starts_with("k:") && inner.size() > 2) {
    // {"name":"c"} is shown as [name="c"].
    std::string text = "[";
    bool quoted = false, key = true;
    for (char c : inner.substr(1, inner.size() - 2)) {
      if (c == '"') quoted = !quoted;
      if (c == '"' && key) continue;
      if (c == ':' && !quoted && key) {
        text += '=';
        key = false;
        continue;
      }
      if (c == ',' && !quoted) key = true;
      text += c;
    }
    return text + "]";
  }
  return "[" + (element.starts_with("v:") ? "=" + std::string(inner) : std::string(inner)) + "]";
}

}  // namespace

void FieldSet::unite(const FieldSet& other) {
  self |= other.self;
  for (const auto& [element, child] : other.children) children[element].unite(child);
}

void FieldSet::subtract(const FieldSet& other) {
  if (other.self) self = false;
  for (const auto& [element, child] : other.children) {
    auto found = children.find(element);
    if (found == children.end()) continue;
    found->second.subtract(child);
    if (found->second.empty()) children.erase(found);
  }
}

FieldSet FieldSet::intersect(const FieldSet& other) const {
  FieldSet both;
  both.self = self && other.self;
  for (const auto& [element, child] : children) {
    auto found = other.children.find(element);
    if (found == other.children.end()) continue;
    if (FieldSet inner = child.intersect(found->second); !inner.empty())
      both.children.emplace(element, std::move(inner));
  }
  return both;
}

FieldSet FieldSet::from_fields_v1(const json::Value& fields) {
  FieldSet set;
  if (!fields.is_object()) return set;
  const json::Object& object = fields.get_object();
  set.self = object.empty() || object.contains(".");
  for (const auto& member : object)
    if (member.key() != ".")
      set.children.emplace(std::string(member.key()), from_fields_v1(member.value()));
  return set;
}

json::Value FieldSet::to_fields_v1(json::Storage storage) const {
  json::Value fields(std::move(storage));
  write_fields(*this, fields.emplace_object());
  return fields;
}

void FieldSet::append_paths(const std::string& prefix, std::vector<std::string>& out) const {
  if (self) out.push_back(prefix);
  for (const auto& [element, child] : children) child.append_paths(prefix + printable(element), out);
}

FieldComparison compare_fields(const Schema& schema, const json::Value& before, const json::Value& after) {
  FieldComparison out;
  Comparer::compare(schema, &before, &after, out);
  return out;
}

FieldSet created_fields(const Schema& schema, const json::Value& object, bool custom) {
  FieldSet out;
  Created(!custom).visit(schema, true, object, out);
  return out;
}

std::string list_element(const Schema& list, const json::Value& item) {
  if (list.list_type == Schema::ListType::map) {
    std::vector<std::string> keys = list.list_map_keys;
    std::sort(keys.begin(), keys.end());
    json::Object key;
    for (const std::string& name : keys) {
      if (const json::Value* value = json::find(item, name)) {
        key.emplace(name, *value);
      } else if (list.items) {
        auto property = list.items->properties.find(name);
        if (property != list.items->properties.end() && property->second->default_value)
          key.emplace(name, *property->second->default_value);
        else if (name == "protocol")  // the one key that built-in kinds default in code
          key.emplace(name, "TCP");
      }
    }
    return "k:" + json::serialize(json::Value(std::move(key)));
  }
  return "v:" + json::serialize(item);
}

}  // namespace hekla::apiserver
