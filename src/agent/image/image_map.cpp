#include "agent/image/image_map.h"

namespace hekla::agent {

bool matches_glob(std::string_view pattern, std::string_view text) {
  // Greedy with one point of return: the last star takes one character more each time.
  std::size_t p = 0, t = 0;
  std::size_t star = std::string_view::npos, resume = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      resume = t;
    } else if (p < pattern.size() && pattern[p] == text[t]) {
      ++p;
      ++t;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      t = ++resume;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

Result<ImageMap> ImageMap::parse(const std::vector<std::string>& entries) {
  ImageMap map;
  for (const std::string& entry : entries) {
    std::size_t split = entry.rfind('=');
    if (split == std::string::npos || split == 0)
      return fail(Code::bad_request, "image map \"" + entry + "\": expected PATTERN=host");
    std::string target = entry.substr(split + 1);
    if (target != "host")
      return fail(Code::bad_request, "image map \"" + entry + "\": the only target is \"host\"");
    map.mappings_.push_back({entry.substr(0, split), std::move(target)});
  }
  return map;
}

bool ImageMap::is_host(std::string_view image) const {
  if (image == "host") return true;
  for (const ImageMapping& mapping : mappings_)
    if (matches_glob(mapping.pattern, image)) return true;
  return false;
}

}  // namespace hekla::agent
