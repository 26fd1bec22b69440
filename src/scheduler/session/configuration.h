// The scheduler's configuration file: Volcano's, to the letter of its keys.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "json/value.h"
#include "scheduler/session/hooks.h"

namespace hekla::scheduler {

// The arguments of a plugin or an action. Numbers and booleans may be given as strings, as upstream
// tolerates; a value that cannot be read is the default.
class Arguments {
 public:
  Arguments() = default;
  explicit Arguments(json::Value object) : object_(std::move(object)) {}
  double number(std::string_view key, double otherwise) const;
  std::int64_t integer(std::string_view key, std::int64_t otherwise) const;
  bool boolean(std::string_view key, bool otherwise) const;
  std::string text(std::string_view key, std::string_view otherwise = {}) const;
  const json::Value& object() const { return object_; }

 private:
  const json::Value* find(std::string_view key) const;
  json::Value object_;
};

struct PluginOption {
  std::string name;
  Hooks enabled = Hooks().set();
  bool hierarchy = false;
  Arguments arguments;
};

struct Tier {
  std::vector<PluginOption> plugins;
};

struct Configuration {
  std::vector<std::string> actions;
  std::vector<Tier> tiers;
  std::map<std::string, Arguments> action_arguments;
  json::Value metrics;
  // Plugins that do not exist: logged and skipped, not an error.
  std::vector<std::string> unknown_plugins;
  // Members nobody reads (a misspelt switch, arguments for an action that is not there), each with
  // its place: harmless, but hardly meant.
  std::vector<std::string> warnings;

  bool has_action(std::string_view name) const;
  bool has_plugin(std::string_view name) const;
};

// Fails on text that is not YAML, on members of the wrong type, on an unknown action, and on plugins
// that exclude each other; the message names the place.
Result<Configuration> parse_configuration(std::string_view text);

// What the Helm chart installs, and what runs until a valid file is loaded.
std::string_view helm_default_configuration();

}  // namespace hekla::scheduler
