#include "apiserver/field_set.h"

#include <algorithm>

namespace hekla::apiserver {

namespace {

// One side of a comparison. Zero means "present as Go's zero value", absent means not there at all.
struct Side {
  const json::Value* value = nullptr;
  bool zero = false;
  bool present() const { return value || zero; }
};

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

class Comparer {
 public:
  explicit Comparer(bool zero_based) : zero_based_(zero_based) {}

  void compare(const Schema& schema, Side before, Side after, FieldComparison& out) const {
    if (!before.present() && !after.present()) return;
    const bool leaf = !descend(schema, before, after, out);
    if (!before.present()) {
      out.added.self = true;
    } else if (!after.present()) {
      out.removed.self = true;
    } else if (leaf && !same(before, after)) {
      out.modified.self = true;
    }
  }

 private:
  static bool same(const Side& a, const Side& b) {
    static const json::Value kNull;
    if (a.zero && b.value && is_zero(*b.value)) return true;
    return json::equal(a.value ? *a.value : kNull, b.value ? *b.value : kNull);
  }

  static const json::Object* object_of(const Side& side) {
    return side.value && side.value->is_object() ? &side.value->get_object() : nullptr;
  }
  static const json::Array* array_of(const Side& side) {
    return side.value && side.value->is_array() ? &side.value->get_array() : nullptr;
  }

  // False when the node is a leaf: a scalar, something atomic, or empty on both sides.
  bool descend(const Schema& schema, Side before, Side after, FieldComparison& out) const {
    if (!schema.atomic_map) {
      const json::Object *a = object_of(before), *b = object_of(after);
      if ((a && !a->empty()) || (b && !b->empty()))
        return members(schema, before, a, b, out), true;
    }
    if (schema.list_type != Schema::ListType::atomic) {
      const json::Array *a = array_of(before), *b = array_of(after);
      if ((a && !a->empty()) || (b && !b->empty())) return items(schema, a, b, out), true;
    }
    return false;
  }

  void members(const Schema& schema, const Side& before, const json::Object* a, const json::Object* b,
               FieldComparison& out) const {
    auto schema_of = [&](std::string_view key) -> const Schema& {
      auto found = schema.properties.find(key);
      if (found != schema.properties.end()) return *found->second;
      return schema.additional ? *schema.additional : kAnything;
    };
    if (b) {
      for (const auto& member : *b) {
        const Schema& child = schema_of(member.key());
        const json::Value* old = a ? json::find(*a, member.key()) : nullptr;
        Side left{old, false};
        if (!old && zero_based_ && before.zero && schema.properties.contains(member.key()))
          left.zero = child.always;
        child_of(child, "f:" + std::string(member.key()), left, {&member.value(), false}, out);
      }
    }
    if (a) {
      for (const auto& member : *a)
        if (!b || !b->contains(member.key()))
          child_of(schema_of(member.key()), "f:" + std::string(member.key()), {&member.value(), false},
                   {}, out);
    }
  }

  void items(const Schema& schema, const json::Array* a, const json::Array* b,
             FieldComparison& out) const {
    const Schema& child = schema.items ? *schema.items : kAnything;
    std::map<std::string, std::pair<const json::Value*, const json::Value*>> pairs;
    if (a)
      for (const json::Value& item : *a) pairs[list_element(schema, item)].first = &item;
    if (b)
      for (const json::Value& item : *b) pairs[list_element(schema, item)].second = &item;
    for (const auto& [element, pair] : pairs)
      child_of(child, element, {pair.first, false}, {pair.second, false}, out);
  }

  void child_of(const Schema& schema, std::string element, Side before, Side after,
                FieldComparison& out) const {
    FieldComparison child;
    compare(schema, before, after, child);
    if (!child.added.empty()) out.added.children.emplace(element, std::move(child.added));
    if (!child.modified.empty()) out.modified.children.emplace(element, std::move(child.modified));
    if (!child.removed.empty())
      out.removed.children.emplace(std::move(element), std::move(child.removed));
  }

  bool zero_based_;
};

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

json::Value FieldSet::to_fields_v1() const {
  json::Object object;
  object.reserve(children.size() + 1);
  if (self && !children.empty()) object.emplace(".", json::Object());
  for (const auto& [element, child] : children) object.emplace(element, child.to_fields_v1());
  return object;
}

void FieldSet::append_paths(const std::string& prefix, std::vector<std::string>& out) const {
  if (self) out.push_back(prefix);
  for (const auto& [element, child] : children) child.append_paths(prefix + printable(element), out);
}

FieldComparison compare_fields(const Schema& schema, const json::Value* before,
                               const json::Value& after, bool custom) {
  FieldComparison out;
  Comparer(!before && !custom).compare(schema, {before, !before}, {&after, false}, out);
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
