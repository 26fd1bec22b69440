#include "agent/image/recipe.h"

#include <glob.h>
#include <unistd.h>

#include <filesystem>
#include <sstream>

#include "agent/gpu/gpu_driver.h"
#include "agent/image/registry/manifest.h"
#include "agent/os/files.h"
#include "base/digest.h"
#include "base/disk.h"

namespace hekla::agent {
namespace {

namespace fs = std::filesystem;
constexpr std::size_t kHashDigits = 8;
constexpr const char* kPython = "/usr/bin/python3";
constexpr std::string_view kDockerfile = "/Dockerfile";

bool belongs_to(const RecipeFile& file, std::string_view recipe) {
  return file.path.starts_with(recipe) && file.path.substr(recipe.size()).starts_with('/');
}

void read_comment(const std::string& line, Recipe& recipe) {
  const std::size_t colon = line.find(": ");
  if (!line.starts_with("# ") || colon == std::string::npos) return;
  const std::string key = line.substr(2, colon - 2), value = line.substr(colon + 2);
  if (key == "about") recipe.about = value;
  if (key == "download") recipe.download = value;
  if (key == "disk") recipe.disk = value;
  if (key == "takes") recipe.takes = value;
  if (key != "needs") return;
  std::istringstream words(value);
  Recipe::Need need;
  words >> need.package;
  for (std::string file; words >> file;) need.files.push_back(file);
  recipe.needs.push_back(std::move(need));
}

Recipe read_recipe(std::string_view name, std::string_view dockerfile) {
  Recipe recipe;
  recipe.name = name;
  std::istringstream lines{std::string(dockerfile)};
  for (std::string line; std::getline(lines, line) && line.starts_with('#');)
    read_comment(line, recipe);
  return recipe;
}

// "glibc 2.36" without its first word.
std::string glibc_version() {
  char text[64] = "";
  ::confstr(_CS_GNU_LIBC_VERSION, text, sizeof text);
  const std::string_view all = text;
  return std::string(all.substr(all.find(' ') + 1));
}

bool is_there(const std::string& pattern) {
  glob_t found{};
  const bool there = ::glob(pattern.c_str(), 0, nullptr, &found) == 0;
  ::globfree(&found);
  return there;
}

}  // namespace

std::string Recipe::cost() const {
  return "downloads about " + download + ", " + disk + " on disk, about " + takes;
}

std::vector<Recipe> all_recipes() {
  std::vector<Recipe> out;
  for (const RecipeFile& file : recipe_files())
    if (file.path.ends_with(kDockerfile))
      out.push_back(
          read_recipe(file.path.substr(0, file.path.size() - kDockerfile.size()), file.content));
  return out;
}

Result<Recipe> find_recipe(std::string_view name) {
  std::string known;
  for (Recipe& recipe : all_recipes()) {
    if (recipe.name == name) return std::move(recipe);
    known += (known.empty() ? "" : ", ") + recipe.name;
  }
  return fail(Code::not_found,
              "there is no recipe \"" + std::string(name) + "\"; there are " + known);
}

std::vector<std::string> default_image_map() {
  std::vector<std::string> out;
  for (const RecipeFile& file : recipe_files()) {
    if (file.path != "map.conf") continue;
    std::istringstream lines{std::string(file.content)};
    for (std::string line; std::getline(lines, line);)
      if (!line.empty() && !line.starts_with('#')) out.push_back(line);
  }
  return out;
}

std::string recipe_device() { return find_gpus().cards.empty() ? "cpu" : "gpu"; }

std::string machine_key() {
  std::error_code error;
  std::string python = fs::read_symlink(kPython, error).filename().string();
  if (error || !python.starts_with("python")) python = "python-none";
  return "py" + python.substr(6) + "-glibc" + glibc_version() + "-" + this_platform().architecture +
         "-" + recipe_device();
}

ImageReference recipe_reference(const Recipe& recipe) {
  Digest digest;
  for (const RecipeFile& file : recipe_files())
    if (belongs_to(file, recipe.name)) {
      digest.add(file.path);
      digest.add(file.content);
    }
  return {"hekla.io", recipe.name, machine_key() + "-" + digest.finish_hex().substr(0, kHashDigits),
          ""};
}

std::vector<std::string> missing_packages(const Recipe& recipe) {
  std::vector<std::string> out;
  for (const Recipe::Need& need : recipe.needs) {
    bool there = false;
    for (const std::string& file : need.files) there = there || is_there(file);
    if (!there) out.push_back(need.package);
  }
  return out;
}

Result<void> lay_out_recipe(const Recipe& recipe, const std::string& directory) {
  for (const RecipeFile& file : recipe_files()) {
    if (!belongs_to(file, recipe.name)) continue;
    const fs::path place = fs::path(directory) / file.path.substr(recipe.name.size() + 1);
    TRY(make_directories(place.parent_path(), 0755));
    TRY(write_file_atomically(place, std::string(file.content), 0644));
  }
  return {};
}

}  // namespace hekla::agent
