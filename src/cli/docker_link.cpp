#include "cli/docker_link.h"

#include <algorithm>
#include <array>
#include <span>
#include <string_view>

namespace hekla::cli {
namespace {

using Arguments = std::vector<std::string>;

constexpr std::array<std::string_view, 7> kAlike{"push", "login", "logout", "tag",
                                                 "save", "rmi",   "build"};
// Of `docker build`: every build here begins anew, cleans up after itself and tells its steps.
constexpr std::array<std::string_view, 4> kNeedless{"--no-cache", "--rm", "--force-rm",
                                                    "--progress"};

bool is_needless(std::string_view argument) {
  return std::ranges::find(kNeedless, argument.substr(0, argument.find('='))) != kNeedless.end();
}

// docker load -i FILE, or from standard input.
Arguments import_arguments(std::span<const std::string> rest) {
  Arguments out{"image", "import"};
  bool named = false;
  for (std::size_t i = 0; i < rest.size(); ++i) {
    if ((rest[i] == "-i" || rest[i] == "--input") && i + 1 < rest.size())
      out.push_back(rest[++i]);
    else if (rest[i].starts_with("--input="))
      out.push_back(rest[i].substr(std::string_view("--input=").size()));
    else {
      out.push_back(rest[i]);
      continue;
    }
    named = true;
  }
  if (!named) out.emplace_back("-");
  return out;
}

}  // namespace

Result<Arguments> docker_arguments(Arguments arguments) {
  // `docker image build` and `docker buildx build` are `docker build`.
  if (arguments.size() > 1 && (arguments[0] == "image" || arguments[0] == "buildx"))
    arguments.erase(arguments.begin());
  if (arguments.empty() || arguments[0] == "--help" || arguments[0] == "-h")
    return Arguments{"image", "--help"};
  const std::string command = arguments[0];
  const std::span<const std::string> rest(arguments.begin() + 1, arguments.end());
  if (command == "version" || command == "--version" || command == "-v")
    return Arguments{"version"};
  if (command == "load") return import_arguments(rest);
  Arguments out{"image", command};
  if (command == "images" || command == "ls") {
    out[1] = "list";
    out.insert(out.end(), {"-o", "docker"});
  } else if (command == "pull") {
    out.emplace_back("--skip-built-in");
  } else if (std::ranges::find(kAlike, command) == kAlike.end()) {
    return fail(Code::bad_request,
                "docker " + command +
                    ": this docker is a link to hekla, which builds, pulls, pushes, tags, saves "
                    "and loads images; containers run in pods: kubectl run, or hekla run -f FILE");
  }
  for (const std::string& argument : rest)
    if (command != "build" || !is_needless(argument)) out.push_back(argument);
  return out;
}

}  // namespace hekla::cli
