// A flag of a command as a row of a table: its names, its help, the variable it sets and the values
// that are right. Parsing, --help, docs/flags.md, completion and the arguments of a second process
// all come from these rows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "model/quantity.h"

namespace hekla::cli {

// A condition on the values of a flag.
struct ValueRule {
  std::string text;  // for the help: "{debug,info}", "INT in [1 - 1000]"
  // May change the value to what is meant; returns what is wrong with it, empty when it is right.
  std::function<std::string(std::string&)> check;
};
ValueRule one_of(std::vector<std::string> values);
ValueRule between(std::int64_t low, std::int64_t high);
ValueRule at_least(std::int64_t low);
ValueRule existing_file();

// The shells' completion offers these for a value: files, or names that the cluster knows.
enum class Names : std::uint8_t { files, objects, jobs, jobs_and_pods, namespaces, queues };

struct Flag {
  // "-n,--namespace" with dashes; a name without is an argument that is told by its place. The
  // variable, which must outlive the parse, holds the default.
  Flag(std::string names, std::string& value, std::string help);
  Flag(std::string names, int& value, std::string help);
  Flag(std::string names, std::int64_t& value, std::string help);
  Flag(std::string names, std::uint64_t& value, std::string help);
  Flag(std::string names, std::uint16_t& value, std::string help);
  Flag(std::string names, model::ResourceList& value, std::string help);        // "cpu=32,pods=110"
  Flag(std::string names, std::vector<std::string>& values, std::string help);  // repeatable
  Flag(std::string names, bool& value, std::string help);  // a switch, also "--name=false"

  static Flag switch_off(std::string names, bool& value, std::string help);
  static Flag yes_or_no(std::string names, bool& value, std::string help);  // takes true or false
  static Flag seconds(std::string names, Nanos& value, std::string help);
  // `take` is called for each value, or for each switch: for effects that are no variable.
  static Flag call(std::string names, std::function<void(const std::string&)> take,
                   std::string help);
  static Flag call_switch(std::string names, std::function<void()> take, std::string help);

  Flag&& with(ValueRule rule) &&;
  Flag&& split_at(char one) &&;              // one text may hold several values
  Flag&& in_group(std::string title) &&;     // of the help, which only names them
  Flag&& with_default(std::string text) &&;  // for the help, where it depends on the machine
  Flag&& from_environment(std::string variable) &&;  // where it is not given
  Flag&& value_optional() &&;
  Flag&& must_be_given() &&;
  Flag&& not_in_help() &&;
  Flag&& completed_with(Names names) &&;
  Flag&& needed_to_stop() &&;  // decides whose pods there are, so `hekla down` repeats it

  bool is_positional() const { return !names.starts_with('-'); }
  std::string long_name() const;  // "--namespace"
  std::vector<std::string> all_names() const;
  std::string shown_default() const;  // for the help; empty: nothing worth showing

  enum class Takes : std::uint8_t { nothing, perhaps_a_value, a_value, values };
  std::string names, help, type = "TEXT", group, default_text, environment;
  Takes takes = Takes::a_value;
  Names completes = Names::files;
  char delimiter = 0;
  bool required = false, hidden = false, stops = false;
  std::vector<ValueRule> rules;
  // False when the texts are not of the type. A switch gets "true" or "false".
  std::function<bool(const std::vector<std::string>&)> set;
  std::function<std::vector<std::string>()> get;  // what set() would have to be given
};

// The arguments that give another process the values of `flags`, without those that are usual.
// Both tables are made by the same function.
std::vector<std::string> arguments_of(const std::vector<Flag>& flags,
                                      const std::vector<Flag>& usual);

void append(std::vector<Flag>& flags, std::vector<Flag> more);

Result<model::ResourceList> parse_resource_list(const std::string& text);

}  // namespace hekla::cli
