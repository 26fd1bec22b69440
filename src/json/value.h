// The JSON value everybody edits: Boost.JSON under our name, so that the library has one owner.
// Objects keep insertion order. Numbers are int64, uint64 or double and stay exact.
#pragma once

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/string.hpp>
#include <boost/json/value.hpp>
#include <string>
#include <string_view>

#include "base/result.h"

namespace hekla::json {

using Value = boost::json::value;
using Object = boost::json::object;
using Array = boost::json::array;
using String = boost::json::string;
using Kind = boost::json::kind;

inline std::string_view sv(const String& text) { return {text.data(), text.size()}; }

// Compact text. Numbers as Go prints them: a double without a fraction has none ("1"), exponents
// only below 1e-6 and from 1e21 on; what JSON cannot say (NaN, infinities) becomes null.
std::string serialize(const Value& value);
// Appends to `out`, so that a list is put together without intermediate strings.
void serialize_to(const Value& value, std::string& out);
// A string with its quotes.
void append_quoted(std::string_view text, std::string& out);
// The shortest text that reads back as the same double, in Go's notation.
void append_double(double number, std::string& out);
// Indented, as curl users of the API expect; kubectl's own -o json has an indent of four.
std::string serialize_pretty(const Value& value, int indent = 2);

// Reads never throw and never create: a missing member, or one of another kind, is null or empty.
const Value* find(const Value& value, std::string_view member);
const Value* find(const Object& object, std::string_view member);
// find_path(v, {"metadata", "labels"}) descends objects only.
const Value* find_path(const Value& value, std::initializer_list<std::string_view> members);
std::string_view string_at(const Value& value, std::initializer_list<std::string_view> members);
std::string text_at(const Value& value,
                    std::initializer_list<std::string_view> members);  // a copy of it
std::int64_t int_at(const Value& value, std::initializer_list<std::string_view> members,
                    std::int64_t otherwise = 0);
bool bool_at(const Value& value, std::initializer_list<std::string_view> members,
             bool otherwise = false);
const Array* array_at(const Value& value, std::initializer_list<std::string_view> members);
const Object* object_at(const Value& value, std::initializer_list<std::string_view> members);

// Makes the objects on the way as needed and returns the member to assign to. Whatever stands in
// the The member, made (as null) when missing. Only making one moves the others; Object's
// operator[] makes room for a new member before it looks, and so moves them in either case.
Value& member_of(Object& object, std::string_view name);
// way and is not an object is replaced.
Value& at_path(Value& value, std::initializer_list<std::string_view> members);

// Taking a member out so that the others keep their order walks over all of them: minutes, for
// every member of an object of megabytes. In larger objects than this the last one takes its place.
inline constexpr std::size_t kOrderedErase = 64;
void erase_member(Object& object, Object::iterator at);

// Removes the members `drop(pair)` is true for; the others keep their order. Each is asked about
// once, in order.
template <class Drop>
void erase_if(Object& object, Drop drop) {
  auto at = object.begin();
  if (object.size() <= kOrderedErase) {
    while (at != object.end()) at = drop(*at) ? object.stable_erase(at) : at + 1;
    return;
  }
  while (at != object.end() && !drop(*at)) ++at;
  if (at == object.end()) return;
  Object kept(object.storage());
  kept.reserve(object.size() - 1);
  for (auto it = object.begin(); it != object.end(); ++it)
    if (it < at || (it > at && !drop(*it))) kept.emplace(it->key(), std::move(it->value()));
  object = std::move(kept);
}
template <class Drop>
void erase_if(Array& array, Drop drop) {
  array.erase(std::remove_if(array.begin(), array.end(), drop), array.end());
}

// Structural equality; object members in any order, 1 == 1.0 as in JSON Schema.
bool equal(const Value& a, const Value& b);

// The depth to which documents are read. Whoever builds a value that is to be read again keeps to
// it.
inline constexpr std::size_t kMaxDepth = 256;
bool deeper_than(const Value& value, std::size_t limit);

}  // namespace hekla::json
