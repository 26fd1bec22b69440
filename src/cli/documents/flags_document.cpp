// docs/flags.md from the tree of commands.
#include <map>

#include "cli/command.h"

namespace hekla::cli {
namespace {

constexpr std::size_t kColumns = 120;

// `text` in lines of at most kColumns, the first after `begin`, the others indented as far.
std::string wrapped(const std::string& begin, const std::string& text) {
  std::string out = begin;
  std::size_t column = begin.size();
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find(' ', at), text.size());
    if (column > begin.size() && column + 1 + (end - at) > kColumns) {
      out += "\n" + std::string(begin.size(), ' ');
      column = begin.size();
    } else if (column > begin.size()) {
      out += ' ';
      ++column;
    }
    out += text.substr(at, end - at);
    column += end - at;
    at = end + 1;
  }
  return out + "\n";
}

std::string values_of(const Flag& flag) {
  if (flag.takes == Flag::Takes::nothing) return "";
  std::string text = " " + flag.type;
  if (!flag.rules.empty() && !flag.rules.front().text.empty())
    text = flag.rules.front().text.starts_with('{') ? " " + flag.rules.front().text
                                                    : text + " " + flag.rules.front().text;
  return text + (flag.takes == Flag::Takes::values ? " ..." : "");
}

std::string described(const Flag& flag) {
  std::string names;
  for (const std::string& name : flag.all_names()) names += (names.empty() ? "" : ", ") + name;
  std::string text = "`" + names + values_of(flag) + "`: " + flag.help;
  if (flag.required) return text + " (must be given)";
  const std::string usual = flag.shown_default();
  return usual.empty() ? text : text + " [" + usual + "]";
}

// A row for each flag, except that those of a group are only named.
std::string described(const std::vector<Flag>& flags) {
  std::string out;
  std::map<std::string, std::string> groups;
  for (const Flag& flag : flags) {
    if (flag.hidden) continue;
    if (flag.group.empty()) {
      out += wrapped("- ", described(flag));
      continue;
    }
    std::string& names = groups[flag.group];
    names += (names.empty() ? "`" : ", `") + flag.long_name() + "`";
  }
  for (const auto& [title, names] : groups) out += wrapped("- ", title + ": " + names);
  return out;
}

void describe(const Command& command, const std::string& path, std::string& out) {
  if (command.run) {
    out += "\n## " + path + "\n\n" + wrapped("", command.summary);
    if (!command.flags.empty()) out += "\n" + described(command.flags);
  }
  for (const Command& below : command.commands)
    if (!below.hidden) describe(below, path + " " + below.name, out);
}

}  // namespace

std::string flags_document(const Command& root) {
  std::string out =
      "# Every command and its flags\n\n"
      "Made from the tables in `src/cli` by `hekla flags > docs/flags.md`; `cli_test` compares "
      "it.\n";
  describe(root, root.name, out);
  return out;
}

}  // namespace hekla::cli
