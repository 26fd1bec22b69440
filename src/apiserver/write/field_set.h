// Sets of fields of an object, as FieldsV1 writes them: a tree of path elements ("f:spec",
// k:{"name":"c"}, v:"x"), in which a node may itself be a member (".").
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "apiserver/schema/schema.h"
#include "json/arena.h"
#include "json/value.h"

namespace hekla::apiserver {

struct FieldSet;

// The steps down from a node, in their order. A set is made and taken apart again with nearly every
// write: sorted in one piece of memory it costs half of what a std::map does.
class FieldSteps {
 public:
  using value_type = std::pair<std::string, FieldSet>;
  using iterator = std::vector<value_type>::iterator;
  using const_iterator = std::vector<value_type>::const_iterator;

  // Defined where a set is whole: the type of a step asks whether it can be made and destroyed.
  FieldSteps();
  FieldSteps(const FieldSteps&);
  FieldSteps(FieldSteps&&) noexcept;
  FieldSteps& operator=(const FieldSteps&);
  FieldSteps& operator=(FieldSteps&&) noexcept;
  ~FieldSteps();

  iterator begin();
  iterator end();
  const_iterator begin() const;
  const_iterator end() const;
  std::size_t size() const;
  bool empty() const;
  void reserve(std::size_t steps);
  iterator find(std::string_view element);
  const_iterator find(std::string_view element) const;
  bool contains(std::string_view element) const;
  // A field that is there stays.
  iterator try_emplace(std::string element);
  void emplace(std::string element, FieldSet child);
  FieldSet& operator[](const std::string& element);
  // For many at a time: settle() puts what was appended into its order, and nothing is looked for
  // before. Of two with one name the first stays.
  void append(std::string element, FieldSet child);
  void settle();
  iterator erase(iterator at);
  void erase(std::string_view element);
  template <class Predicate>
  void erase_if(Predicate predicate);
  bool operator==(const FieldSteps&) const;

 private:
  iterator place_of(std::string_view element);
  std::vector<value_type> steps_;
};

struct FieldSet {
  bool self = false;  // this node is a member, not only the way to others
  FieldSteps children;

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

inline FieldSteps::FieldSteps() = default;
inline FieldSteps::FieldSteps(const FieldSteps&) = default;
inline FieldSteps::FieldSteps(FieldSteps&&) noexcept = default;
inline FieldSteps& FieldSteps::operator=(const FieldSteps&) = default;
inline FieldSteps& FieldSteps::operator=(FieldSteps&&) noexcept = default;
inline FieldSteps::~FieldSteps() = default;
inline FieldSteps::iterator FieldSteps::begin() { return steps_.begin(); }
inline FieldSteps::iterator FieldSteps::end() { return steps_.end(); }
inline FieldSteps::const_iterator FieldSteps::begin() const { return steps_.begin(); }
inline FieldSteps::const_iterator FieldSteps::end() const { return steps_.end(); }
inline std::size_t FieldSteps::size() const { return steps_.size(); }
inline bool FieldSteps::empty() const { return steps_.empty(); }
inline bool FieldSteps::contains(std::string_view element) const { return find(element) != end(); }
template <class Predicate>
void FieldSteps::erase_if(Predicate predicate) {
  std::erase_if(steps_, predicate);
}

struct FieldComparison {
  FieldSet added, modified, removed;
};

// The fields that changed from `before` to `after`.
FieldComparison compare_fields(const Schema& schema, const json::Value& before,
                               const json::Value& after);

// The fields that the maker of an object has written. A built-in kind begins as Go's zero value, in
// which structs and fields without omitempty already exist; a custom one is empty. The answer is
// FieldsV1.
json::Value created_fields(const Schema& schema, const json::Value& object, bool custom,
                           json::Storage storage);

// The path element of an item of a list that is a map or a set.
std::string list_element(const Schema& list, const json::Value& item);
// A step of a field set in a path that people read: `.name`, `[name="c"]`, `[="x"]`.
std::string printable(const std::string& element);

}  // namespace hekla::apiserver
