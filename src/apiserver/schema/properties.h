// The members of an object's schema, by name and in its order. Every stage of a write looks up
// every member of the object here: one byte per name decides about nearly all others.
#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace hekla::apiserver {

struct Schema;
using SchemaPtr = std::shared_ptr<const Schema>;

class SchemaProperties {
 public:
  using value_type = std::pair<std::string, SchemaPtr>;
  using const_iterator = std::vector<value_type>::const_iterator;

  const_iterator begin() const { return members_.begin(); }
  const_iterator end() const { return members_.end(); }
  std::size_t size() const { return members_.size(); }
  bool empty() const { return members_.empty(); }

  const_iterator find(std::string_view name) const {
    const char tag = tag_of(name);
    for (std::size_t at = tags_.find(tag); at != std::string::npos; at = tags_.find(tag, at + 1))
      if (std::string_view(members_[at].first) == name)
        return members_.begin() + static_cast<std::ptrdiff_t>(at);
    return members_.end();
  }
  bool contains(std::string_view name) const { return find(name) != members_.end(); }

  // A member that is there stays.
  void emplace(std::string_view name, SchemaPtr schema) {
    if (!contains(name)) (*this)[name] = std::move(schema);
  }
  void insert(const_iterator from, const_iterator to) {
    for (; from != to; ++from) emplace(from->first, from->second);
  }
  void insert_or_assign(std::string_view name, SchemaPtr schema) {
    (*this)[name] = std::move(schema);
  }
  SchemaPtr& operator[](std::string_view name) {
    auto at = std::lower_bound(
        members_.begin(), members_.end(), name,
        [](const value_type& member, std::string_view other) { return member.first < other; });
    if (at != members_.end() && at->first == name) return at->second;
    tags_.insert(tags_.begin() + (at - members_.begin()), tag_of(name));
    return members_.emplace(at, std::string(name), nullptr)->second;
  }

 private:
  static char tag_of(std::string_view name) {
    if (name.empty()) return 0;
    return static_cast<char>(name.size() * 31 + static_cast<unsigned char>(name.front()) * 5u +
                             static_cast<unsigned char>(name[name.size() / 2]) * 3u +
                             static_cast<unsigned char>(name.back()));
  }

  std::vector<value_type> members_;
  std::string tags_;  // of each member, in the same order
};

}  // namespace hekla::apiserver
