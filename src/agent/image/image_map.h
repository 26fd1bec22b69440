// Which image names stand for what: `--image-map PATTERN=host` lets pods run on the machine's own
// file system instead of one from a registry.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace hekla::agent {

struct ImageMapping {
  std::string pattern;  // `*` stands for any characters, also none
  std::string target;   // "host"
};

class ImageMap {
 public:
  // Each entry is "PATTERN=host". The first pattern that matches decides; the image named `host` is
  // always the host.
  static Result<ImageMap> parse(const std::vector<std::string>& entries);
  bool is_host(std::string_view image) const;

 private:
  std::vector<ImageMapping> mappings_;
};

bool matches_glob(std::string_view pattern, std::string_view text);

}  // namespace hekla::agent
