#include "apiserver/write/field_set.h"

#include <algorithm>

namespace hekla::apiserver {

namespace {

const Schema kAnything{};

// Whether the value is what Go starts with: a list it starts with is null, an empty one was
// written.
bool is_zero(const json::Value& value) {
  switch (value.kind()) {
    case json::Kind::null:
      return true;
    case json::Kind::bool_:
      return !value.get_bool();
    case json::Kind::int64:
      return value.get_int64() == 0;
    case json::Kind::uint64:
      return value.get_uint64() == 0;
    case json::Kind::double_:
      return value.get_double() == 0;
    case json::Kind::string:
      return value.get_string().empty();
    case json::Kind::array:
      return false;
    case json::Kind::object:
      return value.get_object().empty();
  }
  return false;
}

// Null is a side that is not there.
class Comparer {
 public:
  static void compare(const Schema& schema, const json::Value* before, const json::Value* after,
                      FieldComparison& out) {
    const bool leaf = !descend(schema, before, after, out);
    for (FieldSet* one : {&out.added, &out.modified, &out.removed}) one->children.settle();
    if (!before) {
      out.added.self = true;
    } else if (!after) {
      out.removed.self = true;
    } else if (leaf && !json::equal(*before, *after)) {
      out.modified.self = true;
    }
  }

 private:
  static const json::Object* object_of(const json::Value* value) {
    return value ? value->if_object() : nullptr;
  }
  static const json::Array* array_of(const json::Value* value) {
    return value ? value->if_array() : nullptr;
  }

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

  static void members(const Schema& schema, const json::Object* a, const json::Object* b,
                      FieldComparison& out) {
    auto schema_of = [&](std::string_view key) -> const Schema& {
      auto found = schema.properties.find(key);
      if (found != schema.properties.end()) return *found->second;
      return schema.additional ? *schema.additional : kAnything;
    };
    if (b) {
      for (const auto& member : *b)
        child_of(
            schema_of(member.key()), [&] { return "f:" + std::string(member.key()); },
            a ? json::find(*a, member.key()) : nullptr, &member.value(), out);
    }
    if (a) {
      for (const auto& member : *a)
        if (!b || !b->contains(member.key()))
          child_of(
              schema_of(member.key()), [&] { return "f:" + std::string(member.key()); },
              &member.value(), nullptr, out);
    }
  }

  static void items(const Schema& schema, const json::Array* a, const json::Array* b,
                    FieldComparison& out) {
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
  static void child_of(const Schema& schema, Element element, const json::Value* before,
                       const json::Value* after, FieldComparison& out) {
    // Most of an object stays as it is: that is soon seen, and then there is nothing to take apart.
    if (before && after && json::equal(*before, *after)) return;
    FieldComparison child;
    compare(schema, before, after, child);
    if (!child.added.empty()) out.added.children.append(element(), std::move(child.added));
    if (!child.modified.empty()) out.modified.children.append(element(), std::move(child.modified));
    if (!child.removed.empty()) out.removed.children.append(element(), std::move(child.removed));
  }
};

// Writes FieldsV1 as it goes: a FieldSet would be made and taken apart again for every new object.
// `zero`: where the object begins Go has its zero value here, so that only something else counts as
// written.
class Created {
 public:
  Created(bool zero_based, json::Storage storage)
      : zero_based_(zero_based), storage_(std::move(storage)) {}

  // False when nothing was written, neither the value itself nor anything in it.
  bool visit(const Schema& schema, bool zero, const json::Value& value, json::Object& out) const {
    const json::Object* object = schema.atomic_map ? nullptr : value.if_object();
    const json::Array* array =
        schema.list_type == Schema::ListType::atomic ? nullptr : value.if_array();
    if (!(object && !object->empty()) && !(array && !array->empty()))
      return !zero || !is_zero(value);
    out.reserve((object ? object->size() : array->size()) + 1);
    if (!zero) out.emplace(".", json::Object(storage_));
    if (object)
      members(schema, zero, *object, out);
    else
      items(schema, *array, out);
    if (!zero && out.size() == 1)
      out.clear();  // a node with nothing below it is written without the dot
    return !zero || !out.empty();
  }

 private:
  void members(const Schema& schema, bool zero, const json::Object& object,
               json::Object& out) const {
    std::vector<std::pair<std::string_view, const json::Value*>> sorted;
    sorted.reserve(object.size());
    for (const auto& member : object) sorted.emplace_back(member.key(), &member.value());
    std::ranges::sort(sorted, {}, &std::pair<std::string_view, const json::Value*>::first);
    std::string element = "f:";
    for (const auto& [key, value] : sorted) {
      auto found = schema.properties.find(key);
      const bool known = found != schema.properties.end();
      const Schema& child = known               ? *found->second
                            : schema.additional ? *schema.additional
                                                : kAnything;
      element.resize(2);
      element.append(key);
      add(child, zero && zero_based_ && known && child.always, *value, element, out);
    }
  }

  void items(const Schema& schema, const json::Array& array, json::Object& out) const {
    std::vector<std::pair<std::string, const json::Value*>> sorted;
    sorted.reserve(array.size());
    for (const json::Value& item : array) sorted.emplace_back(list_element(schema, item), &item);
    std::ranges::stable_sort(sorted, {}, &std::pair<std::string, const json::Value*>::first);
    for (std::size_t i = 0; i < sorted.size(); ++i) {
      // Of two with one key the last counts.
      if (i + 1 < sorted.size() && sorted[i + 1].first == sorted[i].first) continue;
      add(schema.items ? *schema.items : kAnything, false, *sorted[i].second, sorted[i].first, out);
    }
  }

  void add(const Schema& schema, bool zero, const json::Value& value, std::string_view element,
           json::Object& out) const {
    json::Object child(storage_);
    if (visit(schema, zero, value, child)) out.emplace(element, std::move(child));
  }

  bool zero_based_;
  json::Storage storage_;
};

void write_fields(const FieldSet& set, json::Object& out) {
  out.reserve(set.children.size() + 1);
  if (set.self && !set.children.empty()) out["."].emplace_object();
  for (const auto& [element, child] : set.children)
    write_fields(child, out[element].emplace_object());
}

}  // namespace

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

void FieldSteps::reserve(std::size_t steps) { steps_.reserve(steps); }

// Steps mostly come in their order.
FieldSteps::iterator FieldSteps::place_of(std::string_view element) {
  if (steps_.empty() || steps_.back().first < element) return steps_.end();
  return std::lower_bound(
      steps_.begin(), steps_.end(), element,
      [](const value_type& step, std::string_view other) { return step.first < other; });
}

FieldSteps::iterator FieldSteps::find(std::string_view element) {
  iterator at = place_of(element);
  return at != steps_.end() && at->first == element ? at : steps_.end();
}

FieldSteps::const_iterator FieldSteps::find(std::string_view element) const {
  const_iterator at = std::lower_bound(
      steps_.begin(), steps_.end(), element,
      [](const value_type& step, std::string_view other) { return step.first < other; });
  return at != steps_.end() && at->first == element ? at : steps_.end();
}

FieldSteps::iterator FieldSteps::try_emplace(std::string element) {
  iterator at = place_of(element);
  if (at != steps_.end() && at->first == element) return at;
  return steps_.emplace(at, std::move(element), FieldSet());
}

void FieldSteps::emplace(std::string element, FieldSet child) {
  iterator at = place_of(element);
  if (at != steps_.end() && at->first == element) return;
  steps_.emplace(at, std::move(element), std::move(child));
}

void FieldSteps::append(std::string element, FieldSet child) {
  steps_.emplace_back(std::move(element), std::move(child));
}

void FieldSteps::settle() {
  if (!std::ranges::is_sorted(steps_, {}, &value_type::first))
    std::ranges::stable_sort(steps_, {}, &value_type::first);
  const auto again = std::ranges::unique(steps_, {}, &value_type::first);
  steps_.erase(again.begin(), again.end());
}

FieldSet& FieldSteps::operator[](const std::string& element) {
  return try_emplace(element)->second;
}

FieldSteps::iterator FieldSteps::erase(iterator at) { return steps_.erase(at); }

void FieldSteps::erase(std::string_view element) {
  if (iterator at = find(element); at != steps_.end()) steps_.erase(at);
}

bool FieldSteps::operator==(const FieldSteps& other) const { return steps_ == other.steps_; }

void FieldSet::unite(const FieldSet& other) {
  self |= other.self;
  std::vector<const FieldSteps::value_type*> missing;
  for (const FieldSteps::value_type& step : other.children) {
    if (auto found = children.find(step.first); found != children.end())
      found->second.unite(step.second);
    else
      missing.push_back(&step);
  }
  for (const FieldSteps::value_type* step : missing) children.append(step->first, step->second);
  children.settle();
}

void FieldSet::subtract(const FieldSet& other) {
  if (other.self) self = false;
  bool emptied = false;
  const auto take = [&](FieldSet& from, const FieldSet& what) {
    from.subtract(what);
    emptied = emptied || from.empty();
  };
  // The smaller one is walked through: an object may have thousands of managers.
  if (children.size() < other.children.size()) {
    for (auto& [element, child] : children)
      if (auto found = other.children.find(element); found != other.children.end())
        take(child, found->second);
  } else {
    for (const auto& [element, child] : other.children)
      if (auto found = children.find(element); found != children.end()) take(found->second, child);
  }
  if (emptied)
    children.erase_if([](const FieldSteps::value_type& step) { return step.second.empty(); });
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
  set.children.reserve(object.size());
  for (const auto& member : object)
    if (member.key() != ".")
      set.children.append(std::string(member.key()), from_fields_v1(member.value()));
  set.children.settle();
  return set;
}

json::Value FieldSet::to_fields_v1(json::Storage storage) const {
  json::Value fields(std::move(storage));
  write_fields(*this, fields.emplace_object());
  return fields;
}

void FieldSet::append_paths(const std::string& prefix, std::vector<std::string>& out) const {
  if (self) out.push_back(prefix);
  for (const auto& [element, child] : children)
    child.append_paths(prefix + printable(element), out);
}

FieldComparison compare_fields(const Schema& schema, const json::Value& before,
                               const json::Value& after) {
  FieldComparison out;
  Comparer::compare(schema, &before, &after, out);
  return out;
}

json::Value created_fields(const Schema& schema, const json::Value& object, bool custom,
                           json::Storage storage) {
  json::Value fields(storage);
  Created(!custom, std::move(storage)).visit(schema, true, object, fields.emplace_object());
  return fields;
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
