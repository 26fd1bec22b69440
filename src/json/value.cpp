#include "json/value.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

namespace hekla::json {
namespace {

// For each byte: 0 = itself, 'u' = \u00xx, anything else = the letter after the backslash.
constexpr std::array<char, 256> kEscapes = [] {
  std::array<char, 256> table{};
  for (int c = 0; c < 0x20; ++c) table[static_cast<std::size_t>(c)] = 'u';
  table['\b'] = 'b';
  table['\f'] = 'f';
  table['\n'] = 'n';
  table['\r'] = 'r';
  table['\t'] = 't';
  table['"'] = '"';
  table['\\'] = '\\';
  return table;
}();

// Whether one of eight bytes is below 0x20, a quote or a backslash; rarely also when none is but
// one is above 0x7f.
bool may_need_escape(std::uint64_t bytes) {
  constexpr std::uint64_t kOnes = 0x0101010101010101, kHigh = 0x8080808080808080;
  const std::uint64_t quote = bytes ^ (kOnes * '"'), backslash = bytes ^ (kOnes * '\\');
  return (((bytes - kOnes * 0x20) | (quote - kOnes) | (backslash - kOnes)) & kHigh) != 0;
}

// The first byte from `at` on that cannot stand for itself.
std::size_t plain_bytes(std::string_view text, std::size_t at) {
  while (at < text.size()) {
    std::size_t end = std::min(at + 8, text.size());
    if (end == at + 8) {
      std::uint64_t bytes;
      std::memcpy(&bytes, text.data() + at, 8);
      if (!may_need_escape(bytes)) {
        at = end;
        continue;
      }
    }
    for (; at < end; ++at)
      if (kEscapes[static_cast<unsigned char>(text[at])] != 0) return at;
  }
  return text.size();
}

// Nearly every string is written with its quotes in one step.
void append_plain(std::string_view text, std::string& out) {
  const std::size_t at = out.size(), size = at + text.size() + 2;
  // Not by the size it is given back: libstdc++ 12 says how much there is room for.
  out.resize_and_overwrite(size, [&](char* bytes, std::size_t) {
    bytes[at] = '"';
    std::memcpy(bytes + at + 1, text.data(), text.size());
    bytes[size - 1] = '"';
    return size;
  });
}

template <class Integer>
void append_integer(Integer number, std::string& out) {
  char digits[24];
  const auto end = std::to_chars(digits, digits + sizeof digits, number).ptr;
  out.append(digits, end);
}

// True when `value` was a scalar and has been written.
bool append_scalar(const Value& value, std::string& out) {
  switch (value.kind()) {
    case Kind::null:
      out += "null";
      return true;
    case Kind::bool_:
      out += value.get_bool() ? "true" : "false";
      return true;
    case Kind::int64:
      append_integer(value.get_int64(), out);
      return true;
    case Kind::uint64:
      append_integer(value.get_uint64(), out);
      return true;
    case Kind::double_:
      append_double(value.get_double(), out);
      return true;
    case Kind::string:
      append_quoted(sv(value.get_string()), out);
      return true;
    case Kind::array:
    case Kind::object:
      return false;
  }
  return false;
}

void new_line(std::string& out, int indent, int depth) {
  out.push_back('\n');
  out.append(static_cast<std::size_t>(indent * depth), ' ');
}

void append_pretty(const Value& value, int indent, int depth, std::string& out) {
  if (append_scalar(value, out)) return;
  if (const Array* array = value.if_array()) {
    out.push_back('[');
    for (std::size_t i = 0; i < array->size(); ++i) {
      if (i > 0) out.push_back(',');
      new_line(out, indent, depth + 1);
      append_pretty((*array)[i], indent, depth + 1, out);
    }
    if (!array->empty()) new_line(out, indent, depth);
    out.push_back(']');
    return;
  }
  const Object& object = value.get_object();
  out.push_back('{');
  bool first = true;
  for (const auto& member : object) {
    if (!first) out.push_back(',');
    first = false;
    new_line(out, indent, depth + 1);
    append_quoted(member.key(), out);
    out += ": ";
    append_pretty(member.value(), indent, depth + 1, out);
  }
  if (!object.empty()) new_line(out, indent, depth);
  out.push_back('}');
}

bool is_number(const Value& value) {
  return value.is_int64() || value.is_uint64() || value.is_double();
}

// Exact: an int64 is not converted to a double unless the double is integral and in range.
bool numbers_equal(const Value& a, const Value& b) {
  if (a.is_double() && b.is_double()) return a.get_double() == b.get_double();
  if (a.is_double()) return numbers_equal(b, a);
  if (b.is_double()) {
    const double d = b.get_double();
    if (d != std::floor(d)) return false;
    if (a.is_uint64() && d >= 0 && d < 0x1p64)
      return a.get_uint64() == static_cast<std::uint64_t>(d);
    return a.is_int64() && d >= -0x1p63 && d < 0x1p63 &&
           a.get_int64() == static_cast<std::int64_t>(d);
  }
  if (a.is_int64() == b.is_int64())
    return a.is_int64() ? a.get_int64() == b.get_int64() : a.get_uint64() == b.get_uint64();
  const std::int64_t i = a.is_int64() ? a.get_int64() : b.get_int64();
  const std::uint64_t u = a.is_uint64() ? a.get_uint64() : b.get_uint64();
  return i >= 0 && static_cast<std::uint64_t>(i) == u;
}

}  // namespace

void append_quoted(std::string_view text, std::string& out) {
  static constexpr char kHex[] = "0123456789abcdef";
  std::size_t i = plain_bytes(text, 0);
  if (i == text.size()) return append_plain(text, out);
  out.push_back('"');
  std::size_t run = 0;  // start of the bytes not yet written
  for (; i < text.size(); i = plain_bytes(text, i + 1)) {
    const auto byte = static_cast<unsigned char>(text[i]);
    const char escape = kEscapes[byte];
    out.append(text, run, i - run);
    run = i + 1;
    out.push_back('\\');
    out.push_back(escape);
    if (escape == 'u') {
      out += "00";
      out.push_back(kHex[byte >> 4]);
      out.push_back(kHex[byte & 15]);
    }
  }
  out.append(text, run, text.size() - run);
  out.push_back('"');
}

void append_double(double number, std::string& out) {
  if (!std::isfinite(number) || number == 0) {
    out += number == 0 ? "0" : "null";  // "-0" would read back as the integer 0
    return;
  }
  char text[64];
  const double magnitude = std::fabs(number);
  const bool scientific = magnitude < 1e-6 || magnitude >= 1e21;
  const auto format = scientific ? std::chars_format::scientific : std::chars_format::fixed;
  const auto end = std::to_chars(text, text + sizeof text, number, format).ptr;
  std::string_view written(text, static_cast<std::size_t>(end - text));
  // C++ writes at least two exponent digits, Go's JSON strips the leading zero of e-09.
  const std::size_t size = written.size();
  if (scientific && size >= 4 && written[size - 4] == 'e' && written[size - 2] == '0') {
    out.append(written.substr(0, size - 2));
    out.push_back(written.back());
    return;
  }
  out.append(written);
}

void serialize_to(const Value& value, std::string& out) {
  if (append_scalar(value, out)) return;
  if (const Array* array = value.if_array()) {
    out.push_back('[');
    for (std::size_t i = 0; i < array->size(); ++i) {
      if (i > 0) out.push_back(',');
      serialize_to((*array)[i], out);
    }
    out.push_back(']');
    return;
  }
  out.push_back('{');
  bool first = true;
  for (const auto& member : value.get_object()) {
    if (!first) out.push_back(',');
    first = false;
    append_quoted(member.key(), out);
    out.push_back(':');
    serialize_to(member.value(), out);
  }
  out.push_back('}');
}

std::string serialize(const Value& value) {
  std::string out;
  serialize_to(value, out);
  return out;
}

std::string serialize_pretty(const Value& value, int indent) {
  std::string out;
  append_pretty(value, indent, 0, out);
  return out;
}

const Value* find(const Object& object, std::string_view member) {
  const auto found = object.find(member);
  return found == object.end() ? nullptr : &found->value();
}

const Value* find(const Value& value, std::string_view member) {
  const Object* object = value.if_object();
  return object == nullptr ? nullptr : find(*object, member);
}

const Value* find_path(const Value& value, std::initializer_list<std::string_view> members) {
  const Value* at = &value;
  for (std::string_view member : members) {
    at = find(*at, member);
    if (at == nullptr) return nullptr;
  }
  return at;
}

std::string_view string_at(const Value& value, std::initializer_list<std::string_view> members) {
  const Value* found = find_path(value, members);
  const String* text = found == nullptr ? nullptr : found->if_string();
  return text == nullptr ? std::string_view{} : sv(*text);
}

std::string text_at(const Value& value, std::initializer_list<std::string_view> members) {
  return std::string(string_at(value, members));
}

std::int64_t int_at(const Value& value, std::initializer_list<std::string_view> members,
                    std::int64_t otherwise) {
  const Value* found = find_path(value, members);
  if (found == nullptr) return otherwise;
  boost::json::error_code error;
  const auto number = found->to_number<std::int64_t>(error);
  return error ? otherwise : number;
}

bool bool_at(const Value& value, std::initializer_list<std::string_view> members, bool otherwise) {
  const Value* found = find_path(value, members);
  const bool* truth = found == nullptr ? nullptr : found->if_bool();
  return truth == nullptr ? otherwise : *truth;
}

const Array* array_at(const Value& value, std::initializer_list<std::string_view> members) {
  const Value* found = find_path(value, members);
  return found == nullptr ? nullptr : found->if_array();
}

const Object* object_at(const Value& value, std::initializer_list<std::string_view> members) {
  const Value* found = find_path(value, members);
  return found == nullptr ? nullptr : found->if_object();
}

Value& member_of(Object& object, std::string_view name) {
  Value* found = object.if_contains(name);
  return found ? *found : object[name];
}

Value& at_path(Value& value, std::initializer_list<std::string_view> members) {
  Value* at = &value;
  for (std::string_view member : members) {
    if (!at->is_object()) at->emplace_object();
    at = &member_of(at->get_object(), member);
  }
  return *at;
}

bool deeper_than(const Value& value, std::size_t limit) {
  if (const Array* array = value.if_array()) {
    if (limit == 0) return true;
    for (const Value& element : *array)
      if (deeper_than(element, limit - 1)) return true;
  } else if (const Object* object = value.if_object()) {
    if (limit == 0) return true;
    for (const auto& member : *object)
      if (deeper_than(member.value(), limit - 1)) return true;
  }
  return false;
}

bool equal(const Value& a, const Value& b) {
  if (is_number(a) && is_number(b)) return numbers_equal(a, b);
  if (a.kind() != b.kind()) return false;
  switch (a.kind()) {
    case Kind::bool_:
      return a.get_bool() == b.get_bool();
    case Kind::string:
      return a.get_string() == b.get_string();
    case Kind::array: {
      const Array &x = a.get_array(), &y = b.get_array();
      if (x.size() != y.size()) return false;
      for (std::size_t i = 0; i < x.size(); ++i)
        if (!equal(x[i], y[i])) return false;
      return true;
    }
    case Kind::object: {
      const Object &x = a.get_object(), &y = b.get_object();
      if (x.size() != y.size()) return false;
      auto beside = y.begin();  // what is compared mostly has the same order
      for (const auto& member : x) {
        const Value* other =
            beside->key() == member.key() ? &beside->value() : find(y, member.key());
        if (other == nullptr || !equal(member.value(), *other)) return false;
        ++beside;
      }
      return true;
    }
    default:
      return true;  // null; numbers were compared above
  }
}

void erase_member(Object& object, Object::iterator at) {
  if (object.size() <= kOrderedErase)
    object.stable_erase(at);
  else
    object.erase(at);
}

}  // namespace hekla::json
