#include "json/go_text.h"

#include <algorithm>
#include <map>

namespace hekla::json {

Value sorted(const Value& value) {
  if (const Array* array = value.if_array()) {
    Array items;
    for (const Value& item : *array) items.push_back(sorted(item));
    return items;
  }
  if (!value.is_object()) return value;
  std::map<std::string_view, const Value*> members;
  for (const auto& member : value.get_object()) members.emplace(member.key(), &member.value());
  Object out;
  for (const auto& [name, member] : members) out.emplace(name, sorted(*member));
  return out;
}

std::string go_text(const Value& value) {
  // The last two are line ends to JavaScript.
  static constexpr std::pair<std::string_view, std::string_view> kEscaped[]{{"<", "\\u003c"},
                                                                            {">", "\\u003e"},
                                                                            {"&", "\\u0026"},
                                                                            {"\u2028", "\\u2028"},
                                                                            {"\u2029", "\\u2029"}};
  const std::string plain = json::serialize(sorted(value));
  std::string out;
  out.reserve(plain.size());
  for (std::string_view rest = plain; !rest.empty();) {
    const auto* one = std::ranges::find_if(
        kEscaped, [&](const auto& pair) { return rest.starts_with(pair.first); });
    const bool found = one != std::end(kEscaped);
    out += found ? one->second : rest.substr(0, 1);
    rest.remove_prefix(found ? one->first.size() : 1);
  }
  return out;
}

std::string go_print(const Value& value) {
  if (value.is_null()) return "<nil>";
  if (value.is_string()) return std::string(sv(value.get_string()));
  std::string out;
  if (const Array* array = value.if_array()) {
    for (const Value& item : *array) out += (out.empty() ? "" : " ") + go_print(item);
    return "[" + out + "]";
  }
  if (!value.is_object()) return json::serialize(value);
  const Value ordered = sorted(value);
  for (const auto& member : ordered.get_object())
    out += (out.empty() ? "" : " ") + std::string(member.key()) + ":" + go_print(member.value());
  return "map[" + out + "]";
}

std::string go_quote(std::string_view text) {
  static constexpr char kHex[] = "0123456789abcdef";
  std::string out = "\"";
  for (char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    switch (c) {
      case '"':
        out += "\\\"";
        break;
      case '\\':
        out += "\\\\";
        break;
      case '\n':
        out += "\\n";
        break;
      case '\r':
        out += "\\r";
        break;
      case '\t':
        out += "\\t";
        break;
      default:
        if (byte < 0x20 || byte == 0x7f) {
          out += "\\x";
          out += kHex[byte >> 4];
          out += kHex[byte & 15];
        } else {
          out += c;
        }
    }
  }
  return out + "\"";
}

}  // namespace hekla::json
