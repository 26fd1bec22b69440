#include "launcher/preamble.h"

#include <string_view>

#include "launcher/process.h"

namespace hekla::launcher {
namespace {

constexpr std::string_view kBegin =
    "\nif ! [ -x \"$(command -v pip)\" ]; then\n    python3 -m ensurepip || python3 -m ensurepip "
    "--user || apt-get install python3-pip\nfi\n\nPIP_DISABLE_PIP_VERSION_CHECK=1 ";
constexpr std::string_view kInstall = "python3 -m pip install --quiet --no-warn-script-location ";
constexpr std::string_view kEnd = "\"$0\" \"$@\"\n";
// Needed by none of the Pythons that matter here.
constexpr std::string_view kOldPython = "typing-extensions>=3.7.4,<5; python_version<\"3.9\"";

void skip_spaces(std::string_view& text) {
  while (text.starts_with(' ')) text.remove_prefix(1);
}

// name==version and nothing else, of characters that need no quoting anywhere.
bool is_exact(std::string_view word) {
  const std::size_t at = word.find("==");
  if (at == std::string_view::npos || at == 0 || at + 2 == word.size()) return false;
  for (const char c : word) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    if (!plain && std::string_view("-_.=+").find(c) == std::string_view::npos) return false;
  }
  return true;
}

}  // namespace

std::vector<std::string> preamble_requirements(const std::vector<std::string>& argv) {
  if (argv.size() < 4 || argv[0] != "sh" || argv[1] != "-c") return {};
  std::string_view text = argv[2];
  if (!text.starts_with(kBegin)) return {};
  text.remove_prefix(kBegin.size());
  std::vector<std::string> found;
  while (true) {
    skip_spaces(text);
    if (text == kEnd) return found;
    if (!text.starts_with(kInstall)) return {};
    text.remove_prefix(kInstall.size());
    while (true) {
      skip_spaces(text);
      if (!text.starts_with('\'')) break;
      const std::size_t end = text.find('\'', 1);
      if (end == std::string_view::npos) return {};
      const std::string_view word = text.substr(1, end - 1);
      text.remove_prefix(end + 1);
      if (word == "--no-deps" || word == kOldPython) continue;
      if (!is_exact(word)) return {};
      found.emplace_back(word);
    }
    if (!text.starts_with("&& ")) return {};
    text.remove_prefix(3);
  }
}

bool are_installed(const std::vector<std::string>& requirements) {
  std::vector<std::string> argv = {
      "python3", "-c",
      "import sys\n"
      "from importlib.metadata import version\n"
      "sys.exit(0 if sys.version_info >= (3, 9) and all(version(n) == v for n, v in\n"
      "         (r.split('==', 1) for r in sys.argv[1:])) else 1)"};
  argv.insert(argv.end(), requirements.begin(), requirements.end());
  return run_quietly(argv) == 0;
}

std::vector<std::string> without_preamble(const std::vector<std::string>& argv) {
  return {argv.begin() + 3, argv.end()};
}

}  // namespace hekla::launcher
