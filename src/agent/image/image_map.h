// Which image names stand for this machine's own file system, and what they bring along as an image
// would:
//
//   volcanosh/* = host, files=DIR:/var/tf_dist_mnist, workdir=/app, venv=/opt/tf, env=MODE=fast
//
// A mapping is a pattern, `host` and any of these parts, separated by commas (\, is a comma that is
// meant):
//   files=DIR:/PATH    DIR is laid over /PATH; repeatable
//   venv=DIR           a Python virtual environment: first in PATH, VIRTUAL_ENV set
//   conda=DIR          a conda prefix: first in PATH, CONDA_PREFIX set
//   workdir=/PATH      the working directory
//   entrypoint=TEXT    a JSON array of words, or a line for /bin/sh -c
//   cmd=TEXT           the same
//   env=NAME=VALUE     repeatable
//   user=NAME          or uid, with :group or :gid
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "agent/image/registry/manifest.h"
#include "base/result.h"

namespace hekla::agent {

// A directory of this machine, laid over one of the root's; what a pod writes there stays in the
// pod.
struct LaidDirectory {
  std::string source, destination;
  bool merged = true;  // with what the root has there
  bool operator==(const LaidDirectory&) const = default;
};

struct HostImageSpec {
  std::vector<LaidDirectory> files;
  ImageConfig config;
};

class ImageMap {
 public:
  // Each entry is a mapping as above, or the name of a file with one on each line (`#` begins a
  // comment there, and relative directories are those beside the file). The first pattern that
  // matches decides; the image named `host` is always the host.
  static Result<ImageMap> parse(const std::vector<std::string>& entries);
  // Null when the image is one of a registry.
  const HostImageSpec* find(std::string_view image) const;
  bool is_host(std::string_view image) const { return find(image) != nullptr; }

 private:
  struct Mapping {
    std::string pattern;  // `*` stands for any characters, also none
    HostImageSpec spec;
  };
  std::vector<Mapping> mappings_;
};

}  // namespace hekla::agent
