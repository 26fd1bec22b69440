// Image names that stand for this machine's own file system or for a recipe (recipe.h), and what
// they bring along as an image would:
//
//   volcanosh/* = host, files=DIR:/var/tf_dist_mnist, workdir=/app, venv=/opt/tf, env=MODE=fast
//   my/train:* = pytorch, workdir=/src
//   tensorflow/* = registry
//
// A mapping is a pattern, a target and any of these parts, separated by commas (\, is a comma that
// is meant). The target is `host`, the name of a recipe (without files, venv and conda), or
// `registry` (without any), which leaves an image to its registry:
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
  bool program = false;  // with this program at model::kProgramPath
  std::string recipe;    // an image by this recipe, with what `config` says, in place of the host
  bool registry = false;

  bool is_host() const { return recipe.empty() && !registry; }
};

class ImageMap {
 public:
  // Each entry is a mapping as above, or the name of a file with one on each line (`#` begins a
  // comment there, and relative directories are those beside the file). The first pattern that
  // matches decides; the image named `host` is always the host, and that named `hekla`
  // (model/program_image.h) the host with this program.
  static Result<ImageMap> parse(const std::vector<std::string>& entries);
  // Null when nothing is said about the image.
  const HostImageSpec* find(std::string_view image) const;
  bool is_host(std::string_view image) const {
    const HostImageSpec* found = find(image);
    return found && found->is_host();
  }

 private:
  struct Mapping {
    std::string pattern;  // `*` stands for any characters, also none
    HostImageSpec spec;
  };
  std::vector<Mapping> mappings_;
};

}  // namespace hekla::agent
