#include "json/raw.h"

#include <algorithm>

#include "base/check.h"

namespace hekla::json {
namespace {

std::size_t behind_string(std::string_view text, std::size_t quote) {
  for (std::size_t at = text.find('"', quote + 1);; at = text.find('"', at + 1)) {
    CHECK(at != std::string_view::npos, "a string ends");
    std::size_t escapes = at;
    while (text[escapes - 1] == '\\') --escapes;
    if ((at - escapes) % 2 == 0) return at + 1;
  }
}

std::size_t behind_value(std::string_view text, std::size_t at) {
  for (int depth = 0; at < text.size();) {
    switch (text[at]) {
      case '"':
        at = behind_string(text, at);
        break;
      case '{':
      case '[':
        ++depth;
        ++at;
        continue;
      case '}':
      case ']':
        --depth;
        ++at;
        break;
      case ',':
      case ':':
        ++at;
        continue;
      default:  // a number, true, false or null
        at = std::min(text.find_first_of(",}]", at), text.size());
    }
    if (depth == 0) return at;
  }
  return at;
}

}  // namespace

std::vector<RawMember> raw_members(std::string_view object) {
  CHECK(object.size() >= 2 && object.front() == '{' && object.back() == '}', "an object");
  std::vector<RawMember> members;
  for (std::size_t at = 1; at < object.size() - 1;
       ++at) {  // from a key to the comma behind its value
    const std::size_t colon = behind_string(object, at), end = behind_value(object, colon + 1);
    members.push_back(
        {object.substr(at + 1, colon - at - 2), object.substr(colon + 1, end - colon - 1)});
    at = end;
  }
  return members;
}

}  // namespace hekla::json
