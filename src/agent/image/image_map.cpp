#include "agent/image/image_map.h"

#include <filesystem>
#include <optional>
#include <set>
#include <span>
#include <sstream>

#include "agent/image/recipe.h"
#include "agent/image/registry/reference.h"
#include "base/disk.h"
#include "json/parse.h"
#include "model/program_image.h"

namespace hekla::agent {
namespace {

namespace fs = std::filesystem;
constexpr const char* kUsualPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
constexpr const char* kParts =
    "files=DIR:/PATH, venv=DIR, conda=DIR, workdir=/PATH, entrypoint=TEXT, cmd=TEXT, "
    "env=NAME=VALUE, user=NAME";

std::string trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r");
  if (first == std::string_view::npos) return {};
  return std::string(text.substr(first, text.find_last_not_of(" \t\r") - first + 1));
}

// At commas, but not those inside a JSON array or behind a backslash.
std::vector<std::string> split_parts(std::string_view text) {
  std::vector<std::string> parts(1);
  bool quoted = false;
  int depth = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '\\' && i + 1 < text.size()) {
      if (text[i + 1] != ',' || depth > 0) parts.back() += c;
      parts.back() += text[++i];
      continue;
    }
    if (c == '"' && depth > 0) quoted = !quoted;
    if (c == '[' && !quoted && (depth > 0 || parts.back().ends_with('='))) ++depth;
    if (c == ']' && !quoted && depth > 0) --depth;
    if (c == ',' && depth == 0)
      parts.emplace_back();
    else
      parts.back() += c;
  }
  for (std::string& part : parts) part = trimmed(part);
  return parts;
}

// As in a Dockerfile: a JSON array is the words themselves, anything else a line for the shell.
Result<std::vector<std::string>> command_words(const std::string& text) {
  if (!text.starts_with('[')) return std::vector<std::string>{"/bin/sh", "-c", text};
  Result<json::Value> parsed = json::parse(text);
  std::vector<std::string> words;
  if (parsed && parsed->is_array())
    for (const json::Value& word : parsed->get_array())
      if (word.is_string()) words.emplace_back(json::sv(word.get_string()));
  if (!parsed || !parsed->is_array() || words.size() != parsed->get_array().size() || words.empty())
    return fail(Code::bad_request, "expected a JSON array of words, like [\"python3\", \"-u\"]");
  return words;
}

// The directory of the interpreter that a virtual environment was made with; empty if that is not
// said.
std::string interpreter_home(const std::string& configuration) {
  std::istringstream lines(read_file(configuration).value_or(""));
  for (std::string line; std::getline(lines, line);) {
    const std::size_t split = line.find('=');
    if (split == std::string::npos || trimmed(line.substr(0, split)) != "home") continue;
    const fs::path home = fs::path(trimmed(line.substr(split + 1))).lexically_normal();
    return home.is_absolute() ? home.string() : "";
  }
  return {};
}

Result<std::string> recipe_named(const std::string& target) {
  Result<Recipe> recipe = find_recipe(target);
  if (!recipe)
    return fail(Code::bad_request,
                "the target is \"host\", \"registry\" or a recipe: " + recipe.error().message);
  return std::move(recipe->name);
}

// One mapping while it is read: DIRs are relative to `place`.
class MappingReader {
 public:
  explicit MappingReader(fs::path place) : place_(std::move(place)) {}

  Result<HostImageSpec> read(std::span<const std::string> parts) {
    for (const std::string& part : parts) {
      Result<void> taken = take(part);
      if (!taken) return fail(Code::bad_request, "part \"" + part + "\": " + taken.error().message);
    }
    if (!bin_.empty()) {
      std::optional<std::string> path;
      std::erase_if(spec_.config.env, [&](const std::string& entry) {
        if (!entry.starts_with("PATH=")) return false;
        path = entry.substr(5);
        return true;
      });
      spec_.config.env.push_back("PATH=" + bin_ + path.value_or(kUsualPath));
    }
    return std::move(spec_);
  }

 private:
  Result<void> take(const std::string& part) {
    const std::size_t split = part.find('=');
    const std::string name = part.substr(0, split);
    const std::string value = split == std::string::npos ? "" : trimmed(part.substr(split + 1));
    if (split == std::string::npos)
      return fail(Code::bad_request, std::string("expected one of ") + kParts);
    if (value.empty()) return fail(Code::bad_request, "nothing stands behind the =");
    if (name == "files") return take_files(value);
    if (name == "venv") return take_venv(value);
    if (name == "conda") return take_prefix(value, "CONDA_PREFIX");
    if (name == "workdir") return take_working_directory(value);
    if (name == "entrypoint" || name == "cmd") {
      (name == "cmd" ? spec_.config.cmd : spec_.config.entrypoint) = TRY(command_words(value));
      return {};
    }
    if (name == "env") {
      if (value.find('=') == std::string::npos || value.starts_with('='))
        return fail(Code::bad_request, "expected env=NAME=VALUE");
      spec_.config.env.push_back(value);
      return {};
    }
    if (name == "user") {
      spec_.config.user = value;
      return {};
    }
    return fail(Code::bad_request, "\"" + name + "\" is not one of " + kParts);
  }

  Result<std::string> directory(const std::string& text) const {
    std::error_code error;
    const fs::path path = fs::canonical(place_ / text, error);
    if (error) return fail(Code::bad_request, text + ": " + error.message());
    if (!fs::is_directory(path, error))
      return fail(Code::bad_request, text + " is not a directory");
    // These separate things in overlayfs' mount options.
    if (path.string().find_first_of(",:\\") != std::string::npos)
      return fail(Code::bad_request,
                  path.string() + " must not contain a comma, colon or backslash");
    return path.string();
  }

  Result<void> take_files(const std::string& value) {
    const std::size_t split = value.rfind(':');
    if (split == std::string::npos) return fail(Code::bad_request, "expected files=DIR:/PATH");
    const std::string destination = fs::path(value.substr(split + 1)).lexically_normal();
    if (!destination.starts_with('/'))
      return fail(Code::bad_request, "the place \"" + destination + "\" must be an absolute path");
    spec_.files.push_back({TRY(directory(value.substr(0, split))), destination, true});
    return {};
  }

  // Wherever it lies, homes and other disks too: it is shown because it was named.
  Result<void> take_prefix(const std::string& value, const char* variable) {
    const std::string prefix = TRY(directory(value));
    std::error_code error;
    if (!fs::is_directory(prefix + "/bin", error))
      return fail(Code::bad_request, prefix + " has no directory bin: it is no Python environment");
    spec_.files.push_back({prefix, prefix, false});
    spec_.config.env.push_back(variable + ("=" + prefix));
    bin_ += prefix + "/bin:";
    return {};
  }

  Result<void> take_venv(const std::string& value) {
    TRY(take_prefix(value, "VIRTUAL_ENV"));
    const std::string home = interpreter_home(spec_.files.back().source + "/pyvenv.cfg");
    std::error_code error;
    const fs::path interpreter = fs::canonical(fs::path(home) / "python3", error);
    if (home.empty() || error || home.starts_with("/usr/") ||
        interpreter.string().starts_with("/usr/"))
      return {};
    // uv, pyenv and their kind keep interpreters in homes, which pods do not see; what else lies
    // there stays hidden. The environment links to one name of the place, and libraries are looked
    // for by the real one.
    const fs::path real = interpreter.parent_path().parent_path();
    std::set<fs::path> places{real, fs::path(home).parent_path()};
    for (const fs::path& place : places)
      for (const char* part : {"bin", "lib", "lib64"})
        if (fs::is_directory(real / part, error))
          spec_.files.push_back({TRY(directory(real / part)), place / part, false});
    return {};
  }

  Result<void> take_working_directory(const std::string& value) {
    if (!value.starts_with('/')) return fail(Code::bad_request, "the path must be absolute");
    spec_.config.working_dir = value;
    return {};
  }

  fs::path place_;
  HostImageSpec spec_;
  std::string bin_;  // directories that come first in PATH, each with a colon
};

}  // namespace

Result<ImageMap> ImageMap::parse(const std::vector<std::string>& entries) {
  ImageMap map;
  auto add = [&](const std::string& entry, const fs::path& place) -> Result<void> {
    const std::size_t split = entry.find('=');
    const std::string pattern = trimmed(entry.substr(0, split));
    if (split == std::string::npos || pattern.empty())
      return fail(Code::bad_request, "expected PATTERN=host or PATTERN=RECIPE");
    const std::vector<std::string> parts = split_parts(std::string_view(entry).substr(split + 1));
    const std::string& target = parts.front();
    HostImageSpec spec = TRY(MappingReader(place).read(std::span(parts).subspan(1)));
    if (target == "registry")
      spec.registry = true;
    else if (target != "host")
      spec.recipe = TRY(recipe_named(target));
    if (spec.registry && parts.size() > 1)
      return fail(Code::bad_request, "\"registry\" takes no parts");
    if (!spec.recipe.empty() && !spec.files.empty())
      return fail(Code::bad_request, "files, venv and conda go with \"host\", not with a recipe");
    map.mappings_.push_back({pattern, std::move(spec)});
    return {};
  };
  for (const std::string& entry : entries) {
    if (entry.find('=') != std::string::npos) {
      if (Result<void> added = add(entry, ""); !added)
        return fail(Code::bad_request, "image map \"" + entry + "\": " + added.error().message);
      continue;
    }
    Result<std::string> text = read_file(entry);
    if (!text)
      return fail(Code::bad_request,
                  "image map \"" + entry +
                      "\": expected PATTERN=host, PATTERN=RECIPE or a file of such lines: " +
                      text.error().message);
    std::istringstream lines(*text);
    int number = 0;
    for (std::string line; std::getline(lines, line);) {
      ++number;
      line = trimmed(line);
      if (line.empty() || line.starts_with('#')) continue;
      if (Result<void> added = add(line, fs::path(entry).parent_path()); !added)
        return fail(Code::bad_request, "image map " + entry + ":" + std::to_string(number) + ": " +
                                           added.error().message);
    }
  }
  return map;
}

const HostImageSpec* ImageMap::find(std::string_view image) const {
  static const HostImageSpec kPlain = {},
                             kProgram{.files = {}, .config = {}, .program = true, .recipe = {}};
  if (image == model::kProgramImage) return &kProgram;
  for (const Mapping& mapping : mappings_)
    if (matches_glob(mapping.pattern, image)) return &mapping.spec;
  return image == "host" ? &kPlain : nullptr;
}

}  // namespace hekla::agent
