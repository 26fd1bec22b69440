// Values to YAML as kubectl prints them: libyaml's emitter, of which go-yaml's is a port, fed with
// the style decisions of go-yaml v2 and its natural order of keys.
#include <yaml.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <memory>

#include "base/check.h"
#include "json/parse.h"
#include "json/yaml_scalar.h"

namespace hekla::json {
namespace {

bool is_ascii_digit(char32_t c) { return c >= U'0' && c <= U'9'; }
// Letters beyond ASCII are compared as letters too; only ordering of exotic keys depends on it.
bool is_letter(char32_t c) {
  return (c >= U'a' && c <= U'z') || (c >= U'A' && c <= U'Z') || c >= 0xaa;
}

// Decodes UTF-8; a byte that is none becomes U+FFFD, like in Go.
std::u32string runes(std::string_view text) {
  std::u32string out;
  for (std::size_t i = 0; i < text.size();) {
    const auto lead = static_cast<unsigned char>(text[i]);
    const std::size_t size = lead < 0x80   ? 1
                             : lead < 0xc2 ? 0
                             : lead < 0xe0 ? 2
                             : lead < 0xf0 ? 3
                             : lead < 0xf5 ? 4
                                           : 0;
    char32_t rune = size == 1 ? lead : lead & (0xffU >> (size + 1));
    bool valid = size > 0 && i + size <= text.size();
    for (std::size_t k = 1; valid && k < size; ++k) {
      const auto byte = static_cast<unsigned char>(text[i + k]);
      valid = (byte & 0xc0) == 0x80;
      rune = rune << 6 | (byte & 0x3f);
    }
    const bool overlong = (size == 3 && rune < 0x800) || (size == 4 && rune < 0x10000);
    const bool unassigned = (rune >= 0xd800 && rune < 0xe000) || rune > 0x10ffff;
    valid = valid && !overlong && !unassigned;
    out.push_back(valid ? rune : U'\ufffd');
    i += valid ? size : 1;
  }
  return out;
}

std::string utf8(const std::u32string& text) {
  std::string out;
  for (const char32_t rune : text) {
    if (rune < 0x80) {
      out.push_back(static_cast<char>(rune));
    } else if (rune < 0x800) {
      out.push_back(static_cast<char>(0xc0 | rune >> 6));
    } else if (rune < 0x10000) {
      out.push_back(static_cast<char>(0xe0 | rune >> 12));
    } else {
      out.push_back(static_cast<char>(0xf0 | rune >> 18));
      out.push_back(static_cast<char>(0x80 | (rune >> 12 & 0x3f)));
    }
    if (rune >= 0x800) out.push_back(static_cast<char>(0x80 | (rune >> 6 & 0x3f)));
    if (rune >= 0x80) out.push_back(static_cast<char>(0x80 | (rune & 0x3f)));
  }
  return out;
}

// The number that starts at `at`, and where it ends.
std::pair<std::uint64_t, std::size_t> number_at(const std::u32string& text, std::size_t at,
                                                std::uint64_t number) {
  constexpr std::uint64_t kEnough = UINT64_MAX / 16;  // longer numbers differ in their length
  for (; at < text.size() && is_ascii_digit(text[at]); ++at)
    number = std::min(number * 10 + (text[at] - U'0'), kEnough);
  return {number, at};
}

// go-yaml's keyList.Less for strings: digits as numbers, letters after everything else. A letter
// against a digit that continues a number ("1a", "10") is the shorter number first, as in go-yaml
// v3: v2 has no consistent order there.
bool key_less(const std::u32string& a, const std::u32string& b) {
  for (std::size_t i = 0; i < a.size() && i < b.size(); ++i) {
    if (a[i] == b[i]) continue;
    const bool a_letter = is_letter(a[i]), b_letter = is_letter(b[i]);
    if (a_letter && b_letter) return a[i] < b[i];
    if (a_letter || b_letter) {
      const bool in_number = i > 0 && is_ascii_digit(a[i - 1]);
      return in_number && is_ascii_digit(a_letter ? b[i] : a[i]) ? a_letter : b_letter;
    }
    std::uint64_t start = 0;
    if (a[i] == U'0' || b[i] == U'0') {
      for (std::size_t j = i; j-- > 0 && is_ascii_digit(a[j]);)
        if (a[j] != U'0') {
          start = 1;
          break;
        }
    }
    const auto [a_number, a_end] = number_at(a, i, start);
    const auto [b_number, b_end] = number_at(b, i, start);
    if (a_number != b_number) return a_number < b_number;
    if (a_end != b_end) return a_end < b_end;
    return a[i] < b[i];
  }
  return a.size() < b.size();
}

// As kubectl gets there: JSON text, read as YAML, then Go's strconv 'g' with the shortest
// precision.
std::string float_text(double number) {
  if (!std::isfinite(number)) return "null";
  if (number == std::floor(number) && std::fabs(number) < 0x1p63)
    return std::to_string(static_cast<std::int64_t>(number));
  char text[64];
  char* end = std::to_chars(text, text + sizeof text, number, std::chars_format::scientific).ptr;
  // The decimal exponent decides, and only the shortest digits know it.
  const char* mark = std::find(text, end, 'e') + 1;
  int exponent = 0;
  std::from_chars(*mark == '+' ? mark + 1 : mark, end, exponent);
  if (exponent >= -4 && exponent < 6)
    end = std::to_chars(text, text + sizeof text, number, std::chars_format::fixed).ptr;
  return {text, end};
}

// Sexagesimal numbers of YAML 1.1: "12:30:45" must be quoted for readers that still know them.
bool is_base60(std::string_view text) {
  // ^[-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+(?:\.[0-9_]*)?$
  std::size_t at = 0;
  const auto is_digit_at = [&](std::size_t i) {
    return i < text.size() && text[i] >= '0' && text[i] <= '9';
  };
  if (at < text.size() && (text[at] == '+' || text[at] == '-')) ++at;
  if (!is_digit_at(at)) return false;
  while (is_digit_at(at) || (at < text.size() && text[at] == '_')) ++at;
  bool any = false;
  while (at < text.size() && text[at] == ':' && is_digit_at(at + 1)) {
    at += text[at + 1] <= '5' && is_digit_at(at + 2) ? 3 : 2;
    any = true;
  }
  if (!any) return false;
  if (at < text.size() && text[at] == '.') {
    ++at;
    while (is_digit_at(at) || (at < text.size() && text[at] == '_')) ++at;
  }
  return at == text.size();
}

class YamlWriter {
 public:
  YamlWriter() {
    CHECK(yaml_emitter_initialize(&emitter_) != 0);
    yaml_emitter_set_unicode(&emitter_, 1);
    yaml_emitter_set_output(&emitter_, append, &out_);
    yaml_stream_start_event_initialize(&event_, YAML_UTF8_ENCODING);
    emit();
    yaml_document_start_event_initialize(&event_, nullptr, nullptr, nullptr, 1);
    emit();
  }
  YamlWriter(const YamlWriter&) = delete;
  YamlWriter& operator=(const YamlWriter&) = delete;
  ~YamlWriter() { yaml_emitter_delete(&emitter_); }

  std::string finish() {
    yaml_document_end_event_initialize(&event_, 1);
    emit();
    // No stream end: libyaml would mark the end of an open block scalar with "...".
    yaml_emitter_flush(&emitter_);
    return std::move(out_);
  }

  void write(const Value& value) {
    switch (value.kind()) {
      case Kind::string:
        write_string(sv(value.get_string()));
        return;
      case Kind::array:
        write_array(value.get_array());
        return;
      case Kind::object:
        write_object(value.get_object());
        return;
      case Kind::double_:
        write_plain(float_text(value.get_double()));
        return;
      default:
        write_plain(json::serialize(value));
        return;
    }
  }

 private:
  static int append(void* out, unsigned char* data, std::size_t size) {
    static_cast<std::string*>(out)->append(reinterpret_cast<const char*>(data), size);
    return 1;
  }

  void emit() {
    CHECK(yaml_emitter_emit(&emitter_, &event_) != 0, "libyaml emits what it is given");
  }

  void write_array(const Array& array) {
    yaml_sequence_start_event_initialize(&event_, nullptr, nullptr, 1, YAML_BLOCK_SEQUENCE_STYLE);
    emit();
    for (const Value& element : array) write(element);
    yaml_sequence_end_event_initialize(&event_);
    emit();
  }

  void write_object(const Object& object) {
    std::vector<std::pair<std::u32string, const Value*>> members;
    members.reserve(object.size());
    for (const auto& member : object) members.emplace_back(runes(member.key()), &member.value());
    std::ranges::sort(members,
                      [](const auto& a, const auto& b) { return key_less(a.first, b.first); });
    yaml_mapping_start_event_initialize(&event_, nullptr, nullptr, 1, YAML_BLOCK_MAPPING_STYLE);
    emit();
    for (const auto& [key, value] : members) {
      write_string(utf8(key));
      write(*value);
    }
    yaml_mapping_end_event_initialize(&event_);
    emit();
  }

  void write_string(std::string_view text) {
    const bool plain = resolve_yaml_scalar(text).tag == YamlTag::string && !is_base60(text) &&
                       !is_yaml_timestamp(text) && text != "<<";  // which would merge
    auto style = plain ? YAML_PLAIN_SCALAR_STYLE : YAML_DOUBLE_QUOTED_SCALAR_STYLE;
    if (text.find('\n') != std::string_view::npos) style = YAML_LITERAL_SCALAR_STYLE;
    write_scalar(text, style);
  }
  void write_plain(std::string_view text) { write_scalar(text, YAML_PLAIN_SCALAR_STYLE); }

  void write_scalar(std::string_view text, yaml_scalar_style_t style) {
    const auto start = [&](std::string_view valid) {
      const auto* data = reinterpret_cast<const yaml_char_t*>(valid.data());
      return yaml_scalar_event_initialize(&event_, nullptr, nullptr, data,
                                          static_cast<int>(valid.size()), 1, 1, style);
    };
    // libyaml refuses what is not UTF-8.
    if (start(text) == 0) CHECK(start(valid_utf8(text)) != 0);
    emit();
  }

  yaml_emitter_t emitter_{};
  yaml_event_t event_{};
  std::string out_;
};

}  // namespace

std::string valid_utf8(std::string_view text) { return utf8(runes(text)); }

std::string to_yaml(const Value& value) {
  YamlWriter writer;
  writer.write(value);
  return writer.finish();
}

}  // namespace hekla::json
