// Filling in what a client left out.
#pragma once

#include <span>
#include <string_view>

#include "json/value.h"

namespace hekla::apiserver {

// Sets the member unless it is there; an empty string or null counts as absent, zero and false do
// not.
inline void set_default(json::Object& object, std::string_view member, json::Value value) {
  json::Value* found = object.if_contains(member);
  if (found == nullptr)
    object.emplace(member, std::move(value));
  else if (found->is_null() || (found->is_string() && found->get_string().empty()))
    *found = std::move(value);
}

// The elements of the list at the member; none when there is no list.
inline std::span<json::Value> list_in(json::Object& object, std::string_view member) {
  json::Value* found = object.if_contains(member);
  if (found == nullptr || !found->is_array()) return {};
  return {found->get_array().data(), found->get_array().size()};
}

// The object at the member; made when missing, which moves the other members.
inline json::Object& object_in_place(json::Object& object, std::string_view member) {
  json::Value& value = json::member_of(object, member);
  if (!value.is_object()) value = json::Object();
  return value.get_object();
}

}  // namespace hekla::apiserver
