#include "cli/pipelines/pipeline_file.h"

#include <unistd.h>

#include <filesystem>

#include "base/command.h"
#include "base/disk.h"
#include "json/parse.h"

namespace hekla::cli {
namespace {

constexpr std::chrono::minutes kPatience{5};
// Found without importing it, which takes a second.
constexpr const char* kVersion =
    "import sys\n"
    "try:\n"
    "    from importlib.metadata import version, PackageNotFoundError\n"
    "except ImportError:\n"
    "    sys.exit('this Python is too old')\n"
    "try:\n"
    "    print(version('kfp'))\n"
    "except PackageNotFoundError:\n"
    "    print('none')\n";

Result<std::string> kfp_version(const PipelineFile& file) {
  Result<CommandOutcome> asked = run_command({file.python, "-c", kVersion}, {}, kPatience);
  if (!asked && asked.error().code == Code::not_found)
    return fail(Code::not_found, "there is no " + file.python + " to compile " + file.path +
                                     " with: name one that has kfp, --python VENV/bin/python");
  std::string version = TRY(std::move(asked)).output;
  while (version.ends_with('\n')) version.pop_back();
  if (version != "none") return version;
  return fail(Code::not_found,
              file.path + " needs the kfp SDK to be compiled, and " + file.python +
                  " has none: install it (python3 -m venv ~/kfp && ~/kfp/bin/pip install kfp) and "
                  "name that Python: --python ~/kfp/bin/python; or give a compiled YAML file");
}

Result<std::string> compile(const PipelineFile& file) {
  const std::string version = TRY(kfp_version(file));
  std::string place = std::filesystem::temp_directory_path().string() + "/hekla-pipeline-XXXXXX";
  if (::mkdtemp(place.data()) == nullptr)
    return fail(Code::internal, "a directory for the compiled pipeline cannot be made");
  const std::string out = place + "/pipeline.yaml";
  std::vector<std::string> argv = {file.python, "-m"};
  if (version.starts_with("1."))
    argv.insert(argv.end(), {"kfp.compiler.main", "--py", file.path, "--output", out});
  else
    argv.insert(argv.end(), {"kfp", "dsl", "compile", "--py", file.path, "--output", out});
  if (!file.function.empty()) argv.insert(argv.end(), {"--function", file.function});
  Result<CommandOutcome> ended = run_command(argv, {}, kPatience);
  Result<std::string> package = ended ? read_file(out) : std::unexpected(ended.error());
  std::error_code ignored;
  std::filesystem::remove_all(place, ignored);
  if (ended && ended->exit_code != 0)
    return fail(Code::bad_request, "kfp " + version + " could not compile " + file.path +
                                       " (exit code " + std::to_string(ended->exit_code) + ")");
  return package;
}

}  // namespace

Result<std::string> read_pipeline_file(const PipelineFile& file) {
  if (!file.path.ends_with(".py")) return read_file(file.path);
  if (::access(file.path.c_str(), R_OK) != 0) return read_file(file.path);  // its words
  return compile(file);
}

std::string package_name(const std::string& package) {
  auto documents = json::parse_yaml(package);
  if (!documents) return {};
  for (const json::YamlDocument& document : *documents) {
    if (std::string name = json::text_at(document.value, {"pipelineInfo", "name"}); !name.empty())
      return name;
    if (json::string_at(document.value, {"kind"}) != "Workflow") continue;
    std::string name = json::text_at(document.value, {"metadata", "name"});
    if (name.empty()) name = json::text_at(document.value, {"metadata", "generateName"});
    while (name.ends_with('-')) name.pop_back();
    return name;
  }
  return {};
}

}  // namespace hekla::cli
