// Sets of fields of an object, as FieldsV1 writes them: a tree of path elements ("f:spec",
// k:{"name":"c"}, v:"x"), in which a node may itself be a member (".").
#pragma once

#include <map>
#include <string>
#include <vector>

#include "apiserver/schema.h"
#include "json/arena.h"
#include "json/value.h"

namespace hekla::apiserver {

struct FieldSet {
  bool self = false;  // this node is a member, not only the way to others
  std::map<std::string, FieldSet> children;

  bool empty() const { return !self && children.empty(); }
  void unite(const FieldSet& other);
  void subtract(const FieldSet& other);
  FieldSet intersect(const FieldSet& other) const;
  bool operator==(const FieldSet&) const = default;

  static FieldSet from_fields_v1(const json::Value& fields);
  json::Value to_fields_v1(json::Storage storage = {}) const;
  // ".spec.replicas", `.spec.containers[name="c"].image`: the members, as conflicts print them.
  void append_paths(const std::string& prefix, std::vector<std::string>& out) const;
};

struct FieldComparison {
  FieldSet added, modified, removed;
};

// What changed from `before` to `after`.
FieldComparison compare_fields(const Schema& schema, const json::Value& before, const json::Value& after);

// What whoever makes the object has written. A built-in kind begins as Go's zero value, in which structs and fields
// without omitempty already exist; a custom one is empty.
FieldSet created_fields(const Schema& schema, const json::Value& object, bool custom);

// The path element of an item of a list that is a map or a set.
std::string list_element(const Schema& list, const json::Value& item);

}  // namespace hekla::apiserver
