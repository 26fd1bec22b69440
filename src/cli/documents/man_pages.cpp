// Manual pages from the tree of commands: hekla.1, and hekla-VERB.1 with the commands below it.
#include "base/build_info.h"
#include "cli/command.h"

namespace hekla::cli {
namespace {

// Text as roff takes it: a line never begins with a control character, and dashes can be copied.
std::string roff(const std::string& text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if ((i == 0 || text[i - 1] == '\n') && (c == '.' || c == '\'')) out += "\\&";
    if (c == '\\')
      out += "\\e";
    else if (c == '-')
      out += "\\-";
    else
      out += c;
  }
  return out;
}

std::string section(const std::string& title) { return ".SH " + title + "\n"; }

std::string heading(const std::string& name, const std::string& summary) {
  std::string title = name;
  for (char& c : title) c = static_cast<char>(c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c);
  return ".TH " + roff(title) + " 1 \"\" \"hekla " + build_info().version + "\" \"Hekla\"\n" +
         section("NAME") + roff(name) + " \\- " + roff(summary) + "\n";
}

std::string values_of(const Flag& flag) {
  if (flag.takes == Flag::Takes::nothing) return "";
  return " \\fI" + roff(flag.type) + "\\fR" + (flag.takes == Flag::Takes::values ? " ..." : "");
}

std::string described(const Flag& flag) {
  std::string names;
  for (const std::string& name : flag.all_names())
    names += (names.empty() ? "\\fB" : ", \\fB") + roff(name) + "\\fR";
  std::string text = ".TP\n" + names + values_of(flag) + "\n" + roff(flag.help);
  if (flag.required) text += " (must be given)";
  if (const std::string usual = flag.shown_default(); !usual.empty())
    text += " [" + roff(usual) + "]";
  return text + "\n";
}

std::string synopsis(const Command& command, const std::string& path) {
  std::string text = "\\fB" + roff(path) + "\\fR";
  if (!command.commands.empty()) return text + " \\fICOMMAND\\fR [\\fIflags\\fR]\n";
  for (const Flag& flag : command.flags)
    if (flag.is_positional() && !flag.hidden)
      text += (flag.required ? " \\fI" : " [\\fI") + roff(flag.names) +
              (flag.required ? "\\fR" : "\\fR]") + (flag.takes == Flag::Takes::values ? "..." : "");
  return text + " [\\fIflags\\fR]\n";
}

std::string flags_of(const Command& command) {
  std::string out, folded;
  for (const Flag& flag : command.flags) {
    if (flag.hidden) continue;
    if (flag.group.empty())
      out += described(flag);
    else
      folded = flag.group;
  }
  if (!folded.empty()) out += ".PP\n" + roff(folded) + ": see \\fBhekla\\-up\\fR(1).\n";
  return out;
}

// The footer keeps its lines.
std::string footer_of(const Command& command) {
  if (command.footer.empty()) return {};
  return ".PP\n.nf\n" + roff(command.footer) + "\n.fi\n";
}

void describe_below(const Command& command, const std::string& path, std::string& out) {
  for (const Command& below : command.commands) {
    if (below.hidden) continue;
    const std::string name = path + " " + below.name;
    out += ".SS " + roff(name) + "\n" + roff(below.summary) + "\n.PP\n" + synopsis(below, name) +
           flags_of(below) + footer_of(below);
    describe_below(below, name, out);
  }
}

std::string page_of(const Command& command, const std::string& root) {
  const std::string path = root + " " + command.name;
  std::string out = heading(root + "-" + command.name, command.summary) + section("SYNOPSIS") +
                    synopsis(command, path);
  const std::string flags = flags_of(command);
  if (!flags.empty()) out += section("FLAGS") + flags;
  if (!command.commands.empty()) {
    out += section("COMMANDS");
    describe_below(command, path, out);
  }
  if (!command.footer.empty()) out += section("NOTES") + footer_of(command);
  return out + section("SEE ALSO") + "\\fB" + roff(root) + "\\fR(1)\n";
}

std::string root_page(const Command& root) {
  std::string out =
      heading(root.name, root.summary) + section("SYNOPSIS") + synopsis(root, root.name);
  std::string group;
  for (const Command& command : root.commands) {
    if (command.hidden) continue;
    if (command.group != group) out += section("\"" + roff(command.group) + "\"");
    group = command.group;
    out += ".TP\n\\fB" + roff(root.name + "-" + command.name) + "\\fR(1)\n" +
           roff(command.summary) + "\n";
  }
  return out + section("NOTES") + footer_of(root);
}

}  // namespace

std::vector<ManPage> man_pages(const Command& root) {
  std::vector<ManPage> pages{{root.name + ".1", root_page(root)}};
  for (const Command& command : root.commands)
    if (!command.hidden)
      pages.push_back({root.name + "-" + command.name + ".1", page_of(command, root.name)});
  return pages;
}

}  // namespace hekla::cli
