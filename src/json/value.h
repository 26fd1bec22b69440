// The JSON value everybody edits: Boost.JSON under our name, so that the library has one owner.
// Objects keep insertion order. Numbers are int64, uint64 or double and stay exact.
#pragma once

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
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

// Compact text.
std::string serialize(const Value& value);
// Two-space indentation, as kubectl and curl users expect.
std::string serialize_pretty(const Value& value);

// Reads never throw and never create: a missing member, or one of another kind, is null or empty.
const Value* find(const Value& value, std::string_view member);
const Value* find(const Object& object, std::string_view member);
// find_path(v, {"metadata", "labels"}) descends objects only.
const Value* find_path(const Value& value, std::initializer_list<std::string_view> members);
std::string_view string_at(const Value& value, std::initializer_list<std::string_view> members);
std::int64_t int_at(const Value& value, std::initializer_list<std::string_view> members,
                    std::int64_t otherwise = 0);
bool bool_at(const Value& value, std::initializer_list<std::string_view> members,
             bool otherwise = false);
const Array* array_at(const Value& value, std::initializer_list<std::string_view> members);
const Object* object_at(const Value& value, std::initializer_list<std::string_view> members);

// Makes the objects on the way as needed and returns the member to assign to. Whatever stands in the
// way and is not an object is replaced.
Value& at_path(Value& value, std::initializer_list<std::string_view> members);

// Structural equality; object members in any order, 1 == 1.0 as in JSON Schema.
bool equal(const Value& a, const Value& b);

}  // namespace hekla::json
