// Structs to and from JSON, driven by Boost.Describe: struct Foo {...}; BOOST_DESCRIBE_STRUCT(Foo, (), (a, b)).
//
// decode: unknown members are ignored, missing ones and null leave the member's default; a member of
// the wrong kind is an error naming its path. encode: members that equal Go's zero value (empty string, 0,
// false, empty list or map, nullopt, null Value) are left out, like `omitempty`; a std::optional that holds
// a zero is kept, like a Go pointer. Supported: bool, ints, double, std::string, Value, std::optional,
// std::vector, std::map<std::string, T>, described structs, and any type with
//   static Result<T> from_json(const Value&);  Value to_json() const;
#pragma once

#include <boost/describe.hpp>
#include <boost/json/monotonic_resource.hpp>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "json/parse.h"
#include "json/value.h"

namespace hekla::json {

template <class T>
Result<void> decode_into(const Value& value, T& out, const std::string& path);
template <class T>
Value encode(const T& value);
template <class T>
bool is_zero(const T& value);

namespace detail {

template <class T>
struct IsOptional : std::false_type {};
template <class T>
struct IsOptional<std::optional<T>> : std::true_type {};
template <class T>
struct IsVector : std::false_type {};
template <class T>
struct IsVector<std::vector<T>> : std::true_type {};
template <class T>
struct IsMap : std::false_type {};
template <class T>
struct IsMap<std::map<std::string, T>> : std::true_type {};

template <class T>
concept HasCodec = requires(const Value& value, const T& object) {
  { T::from_json(value) } -> std::same_as<Result<T>>;
  { object.to_json() } -> std::same_as<Value>;
};
template <class T>
concept Described = boost::describe::has_describe_members<T>::value;

// "path: expected integer, got string".
std::unexpected<Error> wrong_kind(const std::string& path, std::string_view wanted, const Value& got);
// Paths grow from the inside out and begin with the separator of their first step: within(".spec",
// ".replicas: expected ...") joins, rooted() drops the first separator.
std::unexpected<Error> within(std::string_view path, Error error);
Error rooted(Error error);

}  // namespace detail

template <class T>
Result<T> decode(const Value& value) {
  T out{};
  if (Result<void> done = decode_into(value, out, ""); !done)
    return std::unexpected(detail::rooted(std::move(done).error()));
  return out;
}

// Decodes straight from text. The intermediate value lives on the stack where it fits.
template <class T>
Result<T> decode_text(std::string_view text) {
  unsigned char buffer[16384];
  boost::json::monotonic_resource scratch(buffer, sizeof buffer);
  const Value value = TRY(json::parse(text, &scratch));
  return decode<T>(value);
}

template <class T>
Result<void> decode_into(const Value& value, T& out, const std::string& path) {
  if constexpr (std::is_same_v<T, Value>) {
    out = value;
    return {};
  } else {
    if (value.is_null()) return {};
    if constexpr (std::is_same_v<T, bool>) {
      if (!value.is_bool()) return detail::wrong_kind(path, "boolean", value);
      out = value.get_bool();
    } else if constexpr (std::is_integral_v<T>) {
      boost::json::error_code error;
      T number = value.to_number<T>(error);
      if (error) return detail::wrong_kind(path, "integer", value);
      out = number;
    } else if constexpr (std::is_floating_point_v<T>) {
      boost::json::error_code error;
      T number = value.to_number<T>(error);
      if (error) return detail::wrong_kind(path, "number", value);
      out = number;
    } else if constexpr (std::is_same_v<T, std::string>) {
      if (!value.is_string()) return detail::wrong_kind(path, "string", value);
      out.assign(sv(value.get_string()));
    } else if constexpr (detail::HasCodec<T>) {
      Result<T> decoded = T::from_json(value);
      if (!decoded) return detail::within(path, std::move(decoded).error());
      out = std::move(*decoded);
    } else if constexpr (detail::IsOptional<T>::value) {
      typename T::value_type inner{};
      TRY(decode_into(value, inner, path));
      out = std::move(inner);
    } else if constexpr (detail::IsVector<T>::value) {
      if (!value.is_array()) return detail::wrong_kind(path, "array", value);
      const Array& array = value.get_array();
      out.clear();
      out.reserve(array.size());
      for (std::size_t i = 0; i < array.size(); ++i) {
        typename T::value_type element{};
        if (Result<void> done = decode_into(array[i], element, ""); !done)
          return detail::within(path + "[" + std::to_string(i) + "]", std::move(done).error());
        out.push_back(std::move(element));
      }
    } else if constexpr (detail::IsMap<T>::value) {
      if (!value.is_object()) return detail::wrong_kind(path, "object", value);
      out.clear();
      for (const auto& member : value.get_object()) {
        typename T::mapped_type element{};
        std::string key(member.key());
        if (Result<void> done = decode_into(member.value(), element, ""); !done)
          return detail::within(path + "." + key, std::move(done).error());
        out.emplace(std::move(key), std::move(element));
      }
    } else {
      static_assert(detail::Described<T>, "describe the struct or give it from_json/to_json");
      if (!value.is_object()) return detail::wrong_kind(path, "object", value);
      const Object& object = value.get_object();
      Result<void> done;
      using Members = boost::describe::describe_members<T, boost::describe::mod_any_access |
                                                               boost::describe::mod_inherited>;
      boost::mp11::mp_for_each<Members>([&](auto member) {
        if (!done) return;
        auto found = object.find(member.name);
        if (found == object.end()) return;
        done = decode_into(found->value(), out.*member.pointer, "");
        if (!done) done = detail::within(path + "." + member.name, std::move(done).error());
      });
      return done;
    }
    return {};
  }
}

template <class T>
bool is_zero(const T& value) {
  if constexpr (std::is_same_v<T, Value>) {
    return value.is_null();
  } else if constexpr (std::is_arithmetic_v<T>) {
    return value == T{};
  } else if constexpr (std::is_same_v<T, std::string> || detail::IsVector<T>::value ||
                       detail::IsMap<T>::value) {
    return value.empty();
  } else if constexpr (detail::IsOptional<T>::value) {
    return !value.has_value();
  } else if constexpr (detail::HasCodec<T>) {
    return value.to_json().is_null();
  } else {
    return false;  // Go's omitempty keeps structs
  }
}

template <class T>
Value encode(const T& value) {
  if constexpr (std::is_same_v<T, Value>) {
    return value;
  } else if constexpr (std::is_same_v<T, bool>) {
    return Value(value);
  } else if constexpr (std::is_integral_v<T>) {
    if constexpr (std::is_signed_v<T>)
      return Value(static_cast<std::int64_t>(value));
    else
      return Value(static_cast<std::uint64_t>(value));
  } else if constexpr (std::is_floating_point_v<T>) {
    return Value(static_cast<double>(value));
  } else if constexpr (std::is_same_v<T, std::string>) {
    return Value(std::string_view(value));
  } else if constexpr (detail::HasCodec<T>) {
    return value.to_json();
  } else if constexpr (detail::IsOptional<T>::value) {
    return value ? encode(*value) : Value(nullptr);
  } else if constexpr (detail::IsVector<T>::value) {
    Array array;
    array.reserve(value.size());
    for (const auto& element : value) array.push_back(encode(element));
    return array;
  } else if constexpr (detail::IsMap<T>::value) {
    Object object;
    for (const auto& [key, element] : value) object.emplace(key, encode(element));
    return object;
  } else {
    static_assert(detail::Described<T>, "describe the struct or give it from_json/to_json");
    Object object;
    using Members = boost::describe::describe_members<T, boost::describe::mod_any_access |
                                                             boost::describe::mod_inherited>;
    boost::mp11::mp_for_each<Members>([&](auto member) {
      const auto& field = value.*member.pointer;
      if (!is_zero(field)) object.emplace(member.name, encode(field));
    });
    return object;
  }
}

// For codecs written by hand: one member, with decode's and encode's treatment of what is missing.
template <class T>
Result<void> decode_member(const Object& object, std::string_view name, T& out) {
  const auto found = object.find(name);
  if (found == object.end()) return {};
  if (Result<void> done = decode_into(found->value(), out, ""); !done)
    return detail::within("." + std::string(name), std::move(done).error());
  return {};
}

template <class T>
void encode_member(Object& object, std::string_view name, const T& value) {
  if (!is_zero(value)) object.emplace(name, encode(value));
}

}  // namespace hekla::json
