// The recipes that come with this program (images/ of its sources): Dockerfiles on `host` for the
// environments that tutorials' images bring. A recipe is built on first use, by `hekla image
// build`, as the image hekla.io/NAME. Its tag says what the layer depends on beside the recipe: the
// machine's Python, C library, architecture and whether it has a GPU; when one of them changes, the
// next start builds anew.
//
// A recipe's Dockerfile begins with comments that are read here:
//   # about: what is in it
//   # download: 280 MB      # disk: 1.6 GB      # takes: 2 minutes
//   # needs: PACKAGE FILE [FILE...]   Debian's package, there if any of the files (* allowed) is
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "agent/image/registry/reference.h"
#include "base/result.h"

namespace hekla::agent {

struct RecipeFile {
  std::string_view path, content;  // "tensorflow/Dockerfile"
};
// Generated from images/.
std::span<const RecipeFile> recipe_files();

struct Recipe {
  struct Need {
    std::string package;
    std::vector<std::string> files;
  };
  std::string name, about, download, disk, takes;
  std::vector<Need> needs;

  // For people who wait: "downloads about 280 MB, 1.6 GB on disk, about 2 minutes".
  std::string cost() const;
};
std::vector<Recipe> all_recipes();
// `not_found` names those that there are.
Result<Recipe> find_recipe(std::string_view name);

// The lines of images/map.conf: which image names stand for which recipe unless somebody says
// otherwise.
std::vector<std::string> default_image_map();

// The parts of this machine that layers upon its file system depend on:
// py3.11-glibc2.36-amd64-cpu.
std::string machine_key();
// hekla.io/NAME with the tag that the recipe has on this machine at present.
ImageReference recipe_reference(const Recipe& recipe);
// "gpu" or "cpu": the build argument DEVICE.
std::string recipe_device();

// Debian's packages that the recipe needs and this machine lacks.
std::vector<std::string> missing_packages(const Recipe& recipe);
// Writes the recipe's files into a directory, for a build.
Result<void> lay_out_recipe(const Recipe& recipe, const std::string& directory);

}  // namespace hekla::agent
