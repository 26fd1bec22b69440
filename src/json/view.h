// A parsed document that is read in place: simdjson's tape without the tree. Decoding a struct from
// it skips building and destroying a Value per member, which is most of the cost of decode_text.
#pragma once

#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "json/value.h"

namespace hekla::json {

// One value of a Document; three pointers, cheap to copy. Valid as long as its Document.
//
// The tape is a sequence of words: the kind in the upper 8 bits, below it an offset into the
// strings, or the index behind the end of an array or object (32 bits) and its size (24 bits,
// saturating). A number's word is followed by its value.
class View {
 public:
  View(const std::uint64_t* at, const std::uint64_t* tape, const std::uint8_t* strings)
      : at_(at), tape_(tape), strings_(strings) {}

  bool is_null() const { return tag() == 'n'; }
  bool is_bool() const { return tag() == 't' || tag() == 'f'; }
  bool is_int64() const { return tag() == 'l'; }
  bool is_uint64() const { return tag() == 'u'; }
  bool is_double() const { return tag() == 'd'; }
  bool is_string() const { return tag() == '"'; }
  bool is_array() const { return tag() == '['; }
  bool is_object() const { return tag() == '{'; }

  // Only for a value of the kind asked for.
  bool get_bool() const { return tag() == 't'; }
  std::int64_t get_int64() const { return number<std::int64_t>(); }
  std::uint64_t get_uint64() const { return number<std::uint64_t>(); }
  double get_double() const { return number<double>(); }
  std::string_view get_string() const {
    const std::uint8_t* from = strings_ + (*at_ & kPayload);
    std::uint32_t size = 0;
    std::memcpy(&size, from, sizeof size);
    return {reinterpret_cast<const char*>(from + sizeof size), size};
  }
  // Of an array or object; at most 2^24-1.
  std::size_t size() const { return *at_ >> 32 & 0xffffff; }

  // function(View) -> bool, false to stop.
  template <class Function>
  void for_each_element(Function&& function) const {
    const std::uint64_t* end = behind(at_) - 1;
    for (const std::uint64_t* at = at_ + 1; at < end; at = behind(at))
      if (!function(View(at, tape_, strings_))) return;
  }
  // function(std::string_view, View) -> bool, false to stop. A repeated member comes repeatedly.
  template <class Function>
  void for_each_member(Function&& function) const {
    const std::uint64_t* end = behind(at_) - 1;
    for (const std::uint64_t* at = at_ + 1; at < end; at = behind(at + 1))
      if (!function(View(at, tape_, strings_).get_string(), View(at + 1, tape_, strings_))) return;
  }
  // The last member of this name, as Go has it.
  std::optional<View> find(std::string_view name) const;

 private:
  static constexpr std::uint64_t kPayload = 0x00ffffffffffffff;

  char tag() const { return static_cast<char>(*at_ >> 56); }
  template <class Number>
  Number number() const {
    Number value;
    std::memcpy(&value, at_ + 1, sizeof value);
    return value;
  }
  const std::uint64_t* behind(const std::uint64_t* at) const {
    switch (static_cast<char>(*at >> 56)) {
      case '[':
      case '{':
        return tape_ + static_cast<std::uint32_t>(*at);
      case 'l':
      case 'u':
      case 'd':
        return at + 2;
      default:
        return at + 1;
    }
  }

  const std::uint64_t* at_;
  const std::uint64_t* tape_;
  const std::uint8_t* strings_;
};

// A parsed text; independent of the text once made. Each borrows one of its thread's parsers and
// must end on the thread that made it.
class Document {
 public:
  static Result<Document> parse(std::string_view text);
  Document(Document&&) noexcept;
  Document& operator=(Document&&) noexcept;
  ~Document();

  View root() const;

 private:
  struct Parser;
  explicit Document(std::unique_ptr<Parser> parser);
  std::unique_ptr<Parser> parser_;
};

// Builds the tree. Fails when it is nested deeper than 256; `duplicates` as in parse().
Result<Value> to_value(const View& view, boost::json::storage_ptr storage = {},
                       std::vector<std::string>* duplicates = nullptr);

}  // namespace hekla::json
