// The scheduler's configuration file: Volcano's, to the letter of its keys.
#pragma once

#include <initializer_list>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "json/value.h"
#include "scheduler/session/argument_use.h"
#include "scheduler/session/hooks.h"

namespace hekla::scheduler {

// The arguments of a plugin or an action. Numbers and booleans may be given as strings, as upstream
// tolerates; a value that cannot be read is the default, with a warning where the configuration is
// read.
class Arguments {
 public:
  Arguments() = default;
  explicit Arguments(json::Value object) : object_(std::move(object)) {}
  double number(std::string_view key, double otherwise) const;
  std::int64_t integer(std::string_view key, std::int64_t otherwise) const;
  bool boolean(std::string_view key, bool otherwise) const;
  std::string text(std::string_view key, std::string_view otherwise = {}) const;
  // One of the words, or empty.
  std::string choice(std::string_view key, std::initializer_list<std::string_view> words) const;
  // Above zero, as "90s".
  Nanos duration(std::string_view key, Nanos otherwise) const;
  // An argument that has members of its own; empty when absent.
  Arguments part(std::string_view key) const;
  // Nothing when absent.
  const json::Value* find(std::string_view key) const;
  const json::Object* object(std::string_view key) const;
  const json::Array* list(std::string_view key) const;
  // All texts whose names begin so, by the rest of the name.
  std::vector<std::pair<std::string, std::string>> texts_after(std::string_view prefix) const;
  // Read upstream and rightly without effect here.
  void ignore(std::string_view key) const { find(key); }
  // A value that was read and makes no sense.
  void complain(std::string_view key, std::string_view wanted) const;

  // Notes what is asked for from now on.
  void note_use(std::shared_ptr<ArgumentUse> use) { use_ = std::move(use); }
  const json::Value& all() const { return object_; }

 private:
  json::Value object_;
  std::shared_ptr<ArgumentUse> use_;
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
  // Members nobody reads (a misspelt switch or argument, arguments for an action that is not there)
  // and values that cannot be read, each with its place: the rest works, but this is hardly meant.
  std::vector<std::string> warnings;

  bool has_action(std::string_view name) const;
  bool has_plugin(std::string_view name) const;
  // The plugin is there and its enableHierarchy is on.
  bool has_hierarchy(std::string_view plugin) const;
};

// Fails on text that is not YAML, on members of the wrong type, on an unknown action, and on
// plugins that exclude each other; the message names the place.
Result<Configuration> parse_configuration(std::string_view text);

// What the Helm chart installs, and what runs until a valid file is loaded.
std::string_view helm_default_configuration();

}  // namespace hekla::scheduler
