// COPY and ADD: which files of a context or another root go where in an image's root. Blocks.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "agent/image/build/dockerfile.h"
#include "agent/image/layer_pack.h"
#include "base/result.h"

namespace hekla::agent {

struct CopyRequest {
  std::string from;             // the root that sources are looked for in
  const DockerIgnore* ignored;  // of the context; null for another image's root
  std::vector<std::string> sources;
  std::vector<HereDocument> documents;
  std::string destination;  // absolute in the image; a slash at the end means a directory
  PackedLook look;
  bool unpack = false;    // ADD unpacks archives
  std::string temporary;  // a file for the archive in between
};

// Into the image whose root is mounted at `root`; no link of either leads out of it.
Result<void> copy_into(const CopyRequest& request, const std::string& root);

}  // namespace hekla::agent
