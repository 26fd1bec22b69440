#include "cli/command.h"

#include <gtest/gtest.h>

#include <set>
#include <sstream>

#include "base/disk.h"
#include "cli/verb.h"

namespace hekla::cli {
namespace {

struct Values {
  std::string name, kind;
  std::vector<std::string> files, what;
  int count = 1;
  std::int64_t big = 0;
  bool on = false, off = true, anonymous = true;
};

class CommandLine : public testing::Test {
 protected:
  Command tree() {
    Command show{
        .name = "show",
        .summary = "show it",
        .flags =
            {
                Flag("what", values.what, "names"),
                Flag("-n,--name", values.name, "its name"),
                Flag("-f,--file", values.files, "files"),
                Flag("--list", values.files, "the same").split_at(','),
                Flag("--count", values.count, "how many").with(between(1, 9)),
                Flag("--big", values.big, "a number"),
                Flag("--on", values.on, "a switch"),
                Flag::switch_off("--no-off", values.off, "another"),
                Flag::yes_or_no("--anonymous", values.anonymous, "truth"),
                Flag("--kind", values.kind, "a kind")
                    .with({"",
                           [](std::string& text) {
                             text += "s";
                             return text == "boxes" ? std::string("no boxes") : "";
                           }}),
                Flag::call(
                    "--called", [this](const std::string& text) { called += text; }, ""),
            },
        .run = [] { return 7; },
    };
    Command root{.name = "program", .summary = "all"};
    root.commands.push_back(std::move(show));
    return root;
  }
  int parse(std::vector<std::string> arguments) {
    testing::internal::CaptureStderr();
    const int code = run_command_line(tree(), std::move(arguments));
    complaint = testing::internal::GetCapturedStderr();
    return code;
  }

  Values values;
  std::string called, complaint;
};

TEST_F(CommandLine, FlagsSetTheirVariables) {
  EXPECT_EQ(parse({"show", "a", "--name=x", "-f", "one", "b", "-f", "two", "--count", "+9", "--big",
                   "-5000000000", "--on", "--no-off", "--anonymous=false", "--kind", "fox",
                   "--called", "c"}),
            7);
  EXPECT_EQ(values.what, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(values.files, (std::vector<std::string>{"one", "two"}));
  EXPECT_EQ(values.name, "x");
  EXPECT_EQ(values.count, 9);
  EXPECT_EQ(values.big, -5000000000);
  EXPECT_TRUE(values.on);
  EXPECT_FALSE(values.off);
  EXPECT_FALSE(values.anonymous);
  EXPECT_EQ(values.kind, "foxs");
  EXPECT_EQ(called, "c");
}

TEST_F(CommandLine, SwitchesTakeTruthValuesAndListsAreSplit) {
  values.on = true;
  EXPECT_EQ(parse({"show", "--on=false", "--no-off=false", "--list", "a,b"}), 7);
  EXPECT_FALSE(values.on);
  EXPECT_TRUE(values.off);
  EXPECT_EQ(values.files, (std::vector<std::string>{"a", "b"}));
}

TEST_F(CommandLine, MistakesAreAnswered) {
  EXPECT_EQ(parse({"show", "--count", "10"}), kUsage);
  EXPECT_EQ(complaint, "hekla: --count: Value 10 not in range [1 - 9] (see program show --help)\n");
  EXPECT_EQ(parse({"show", "--big", "much"}), kUsage);
  EXPECT_EQ(complaint, "hekla: Could not convert: --big = much (see program show --help)\n");
  EXPECT_EQ(parse({"show", "--kind", "boxe"}), kUsage);
  EXPECT_EQ(complaint, "hekla: --kind: no boxes (see program show --help)\n");
  EXPECT_EQ(parse({"show", "--nam", "x"}), kUsage);
  EXPECT_EQ(complaint,
            "hekla: unknown flag --nam, did you mean --name? (see program show --help)\n");
  EXPECT_EQ(parse({"--name", "x", "show"}), kUsage);
  EXPECT_EQ(complaint,
            "hekla: --name stands after the command: program show --name (see program show "
            "--help)\n");
  EXPECT_EQ(parse({"shw"}), kUsage);
  EXPECT_EQ(complaint,
            "hekla: there is no command \"shw\", did you mean show? (see program --help)\n");
  // Alone it is a question: the help answers it.
  EXPECT_EQ(parse({}), kUsage);
  EXPECT_NE(complaint.find("show                        show it\n"), std::string::npos)
      << complaint;
}

// The commands in the first column of README's table: "| `hekla get`, `apply` | ...".
std::set<std::string> commands_of_readme() {
  std::set<std::string> names;
  std::istringstream lines(read_file("README.md").value());
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("| `hekla ")) continue;
    const std::string cell = line.substr(2, line.find(" | ") - 2);
    for (std::size_t at = 0; (at = cell.find('`', at)) != std::string::npos;) {
      const std::size_t end = cell.find('`', at + 1);
      std::string code = cell.substr(at + 1, end - at - 1);
      if (code.starts_with("hekla ")) code.erase(0, 6);
      names.insert(code.substr(0, code.find(' ')));
      at = end + 1;
    }
  }
  return names;
}

TEST(Readme, NamesEveryCommand) {
  const Context context;
  std::set<std::string> names;
  for (const Command& command : all_commands(context).commands)
    if (!command.hidden) names.insert(command.name);
  EXPECT_EQ(commands_of_readme(), names);
}

// Written anew by `hekla flags > docs/flags.md`.
TEST(FlagsDocument, IsUpToDate) {
  const Context context;
  EXPECT_EQ(read_file("docs/flags.md").value(), flags_document(all_commands(context)));
}

TEST(FlagsDocument, HasLinesOf120Columns) {
  const Context context;
  const std::string text = flags_document(all_commands(context));
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = text.find('\n', begin);
    EXPECT_LE(end - begin, 120u) << text.substr(begin, end - begin);
    begin = end + 1;
  }
}

}  // namespace
}  // namespace hekla::cli
