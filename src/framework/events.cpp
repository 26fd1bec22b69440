#include "framework/events.h"

#include <array>

namespace hekla::framework {
namespace {

std::string lower(std::string text) {
  for (char& c : text)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return text;
}

// One pass: a name or an error that contains braces is not filled in again.
std::string fill(const std::string& text, const WordValues& values) {
  const std::array<std::pair<std::string_view, std::string>, 8> words = {{
      {"{name}", values.name},
      {"{kind}", values.kind},
      {"{lower-kind}", lower(values.kind)},
      {"{owner}", values.owner},
      {"{owner-kind}", values.owner_kind},
      {"{namespace}", values.ns},
      {"{error}", values.error},
      {"{reason}", values.reason},
  }};
  std::string filled;
  for (std::size_t at = 0; at < text.size();) {
    bool found = false;
    if (text[at] == '{')
      for (const auto& [word, value] : words) {
        if (text.compare(at, word.size(), word) != 0) continue;
        filled += value;
        at += word.size();
        found = true;
        break;
      }
    if (!found) filled += text[at++];
  }
  return filled;
}

}  // namespace

EventText filled(const EventText& text, const WordValues& values) {
  return {text.type, fill(text.reason, values), fill(text.message, values)};
}

}  // namespace hekla::framework
