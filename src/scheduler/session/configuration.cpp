#include "scheduler/session/configuration.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>

#include "json/parse.h"
#include "model/time.h"
#include "scheduler/session/action.h"
#include "scheduler/session/plugin.h"

namespace hekla::scheduler {

namespace {

constexpr std::string_view kHelmDefault = R"(actions: "enqueue, allocate, backfill"
tiers:
- plugins:
  - name: priority
  - name: gang
    enablePreemptable: false
  - name: conformance
- plugins:
  - name: overcommit
  - name: drf
    enablePreemptable: false
  - name: predicates
  - name: proportion
  - name: nodeorder
  - name: binpack
)";

struct Switch {
  std::string_view key;
  std::array<Hook, 2> hooks;
  std::size_t count = 1;
};

// Upstream spells some of these "enable" and some "enabled".
constexpr std::array<Switch, 21> kSwitches{{
    {"enableJobOrder", {Hook::job_order}},
    {"enableTaskOrder", {Hook::task_order}},
    {"enableQueueOrder", {Hook::queue_order}},
    {"enablePredicate", {Hook::predicate, Hook::task_predicate}, 2},
    {"enableNodeOrder", {Hook::node_order, Hook::batch_node_order}, 2},
    {"enableBestNode", {Hook::best_node}},
    {"enabledVictim", {Hook::victim_tasks, Hook::victim_filter}, 2},
    {"enabledHyperNodeOrder", {Hook::hyper_node_order}},
    {"enabledHyperNodeGradient", {Hook::hyper_node_gradient}},
    {"enabledSubJobReady", {Hook::sub_job_ready}},
    {"enabledSubJobPipelined", {Hook::sub_job_pipelined}},
    {"enabledSubJobOrder", {Hook::sub_job_order}},
    {"enableJobReady", {Hook::job_ready}},
    {"enableJobPipelined", {Hook::job_pipelined}},
    {"enableJobStarving", {Hook::job_starving}},
    {"enableJobEnqueued", {Hook::job_enqueueable, Hook::job_enqueued}, 2},
    {"enabledOverused", {Hook::overused}},
    {"enabledAllocatable", {Hook::allocatable}},
    {"enablePreemptive", {Hook::preemptive}},
    {"enablePreemptable", {Hook::preemptable}},
    {"enableReclaimable", {Hook::reclaimable}},
}};

// Switches of questions that upstream asks and this scheduler does not: read and without effect.
constexpr std::array<std::string_view, 3> kSilentSwitches{"enabledClusterOrder", "enableTargetJob",
                                                          "enableReservedNodes"};

std::optional<bool> read_bool(const json::Value& value) {
  if (value.is_bool()) return value.get_bool();
  if (value.is_string()) {
    std::string_view text = json::sv(value.get_string());
    if (text == "true" || text == "True" || text == "1" || text == "t") return true;
    if (text == "false" || text == "False" || text == "0" || text == "f") return false;
  }
  return std::nullopt;
}

bool truth(const json::Value& value, bool otherwise) {
  return read_bool(value).value_or(otherwise);
}

std::unexpected<Error> misfit(const std::string& place, std::string_view wanted,
                              const json::Value& have) {
  return fail(Code::invalid, "scheduler configuration: " + place + " must be " +
                                 std::string(wanted) + ", not " + json::serialize(have));
}

bool is_switch(std::string_view key) {
  return key == "enableHierarchy" ||
         std::any_of(kSwitches.begin(), kSwitches.end(),
                     [&](const Switch& one) { return one.key == key; }) ||
         std::find(kSilentSwitches.begin(), kSilentSwitches.end(), key) != kSilentSwitches.end();
}

// A member that must be a list if it is there at all.
Result<const json::Array*> list_member(const json::Value& object, const std::string& key,
                                       const std::string& place) {
  const json::Value* value = json::find(object, key);
  if (value == nullptr || value->is_null()) return nullptr;
  if (!value->is_array()) return misfit(place, "a list", *value);
  return &value->get_array();
}

const PluginInfo* plugin_named(std::string_view name) {
  auto all = all_plugins();
  auto found =
      std::find_if(all.begin(), all.end(), [&](const PluginInfo* p) { return p->name == name; });
  return found == all.end() ? nullptr : *found;
}

const ActionInfo* action_named(std::string_view name) {
  auto all = all_actions();
  auto found =
      std::find_if(all.begin(), all.end(), [&](const ActionInfo* a) { return a->name == name; });
  return found == all.end() ? nullptr : *found;
}

// An action reads its arguments when it runs: what it looks for stands in its description.
ArgumentUse use_of(const ActionInfo& action) {
  ArgumentUse out;
  for (std::string_view rest = action.arguments; !rest.empty();) {
    std::size_t space = std::min(rest.find(' '), rest.size());
    out.names.emplace(rest.substr(0, space));
    rest.remove_prefix(std::min(space + 1, rest.size()));
  }
  return out;
}

Result<void> add_actions(const json::Value& document, Configuration& out) {
  const json::Value* actions = json::find(document, "actions");
  if (actions == nullptr || !actions->is_string())
    return fail(Code::invalid, "scheduler configuration: actions must be a string");
  std::string_view rest = json::sv(actions->get_string());
  if (rest.find_first_not_of(' ') == std::string_view::npos)
    return fail(Code::invalid,
                "scheduler configuration: actions is empty: nothing would ever be scheduled");
  while (!rest.empty()) {
    std::size_t comma = rest.find(',');
    std::string_view name = rest.substr(0, comma);
    rest = comma == std::string_view::npos ? std::string_view() : rest.substr(comma + 1);
    while (!name.empty() && name.front() == ' ') name.remove_prefix(1);
    while (!name.empty() && name.back() == ' ') name.remove_suffix(1);
    if (action_named(name) == nullptr)
      return fail(Code::invalid, "failed to find Action " + std::string(name) + ", ignore it");
    out.actions.emplace_back(name);
  }
  return {};
}

// Every member of a plugin is a switch, or its name and arguments.
Result<void> check_plugin(const json::Value& value, const std::string& place, Configuration& out) {
  for (const auto& member : value.get_object()) {
    std::string key(member.key());
    if (key == "name") continue;
    if (key == "arguments") {
      if (!member.value().is_object() && !member.value().is_null())
        return misfit(place + ".arguments", "an object", member.value());
    } else if (!is_switch(key)) {
      out.warnings.push_back(place + ": " + key + " is no switch of a plugin and has no effect");
    } else if (!read_bool(member.value())) {
      return misfit(place + "." + key, "true or false", member.value());
    }
  }
  return {};
}

Result<PluginOption> read_plugin(const json::Value& value, const std::string& place,
                                 Configuration& out) {
  if (!value.is_object()) return misfit(place, "an object with a name", value);
  PluginOption option;
  option.name = std::string(json::string_at(value, {"name"}));
  if (option.name.empty())
    return fail(Code::invalid, "scheduler configuration: " + place + " has no name");
  TRY(check_plugin(value, place + " (" + option.name + ")", out));
  for (const Switch& one : kSwitches) {
    const json::Value* given = json::find(value, one.key);
    if (given == nullptr || truth(*given, true)) continue;
    for (std::size_t i = 0; i < one.count; ++i) option.enabled.reset(index_of(one.hooks[i]));
  }
  if (const json::Value* given = json::find(value, "enableHierarchy"))
    option.hierarchy = truth(*given, false);
  if (const json::Value* arguments = json::find(value, "arguments"))
    option.arguments = Arguments(*arguments);
  return option;
}

// A plugin reads its arguments when it is made, so that one is made and thrown away.
void add_complaints(const PluginInfo& info, PluginOption option, const std::string& place,
                    Configuration& out) {
  auto use = std::make_shared<ArgumentUse>();
  option.arguments.note_use(use);
  info.make(option);
  for (const std::string& one : use->complaints(option.arguments.all()))
    out.warnings.push_back(place + ": " + one);
}

Result<Tier> read_tier(const json::Value& value, const std::string& place, Configuration& out) {
  Tier tier;
  if (!value.is_object()) return misfit(place, "an object with plugins", value);
  const json::Array* plugins = TRY(list_member(value, "plugins", place + ".plugins"));
  bool hierarchical_drf = false, proportion = false;
  for (std::size_t i = 0; plugins != nullptr && i < plugins->size(); ++i) {
    std::string where = place + ".plugins[" + std::to_string(i) + "]";
    PluginOption option = TRY(read_plugin((*plugins)[i], where, out));
    hierarchical_drf |= option.name == "drf" && option.hierarchy;
    proportion |= option.name == "proportion";
    const PluginInfo* info = plugin_named(option.name);
    if (info == nullptr) {
      out.unknown_plugins.push_back(option.name);
      continue;
    }
    if (info->check != nullptr)
      if (Result<void> checked = info->check(option); !checked)
        return fail(Code::invalid,
                    "scheduler configuration: " + where + ": " + checked.error().message);
    add_complaints(*info, option, where + " (" + option.name + ")", out);
    tier.plugins.push_back(std::move(option));
  }
  if (hierarchical_drf && proportion)
    return fail(Code::invalid, "proportion and drf with hierarchy enabled conflicts");
  return tier;
}

Result<void> add_action_arguments(const json::Value& document, Configuration& out) {
  const json::Array* configurations =
      TRY(list_member(document, "configurations", "configurations"));
  for (std::size_t i = 0; configurations != nullptr && i < configurations->size(); ++i) {
    const json::Value& one = (*configurations)[i];
    std::string place = "configurations[" + std::to_string(i) + "]";
    if (!one.is_object()) return misfit(place, "an object with a name and arguments", one);
    std::string name(json::string_at(one, {"name"}));
    if (name.empty())
      return fail(Code::invalid, "scheduler configuration: " + place + " has no name");
    const ActionInfo* action = action_named(name);
    if (action == nullptr)
      out.warnings.push_back(place + ": there is no action " + name + " to take these arguments");
    const json::Value* arguments = json::find(one, "arguments");
    if (arguments != nullptr && !arguments->is_object() && !arguments->is_null())
      return misfit(place + ".arguments", "an object", *arguments);
    if (action != nullptr && arguments != nullptr)
      for (const std::string& one : use_of(*action).complaints(*arguments))
        out.warnings.push_back(place + " (" + name + "): " + one);
    out.action_arguments[name] = Arguments(arguments == nullptr ? json::Value() : *arguments);
  }
  return {};
}

}  // namespace

std::string_view helm_default_configuration() { return kHelmDefault; }

bool Configuration::has_action(std::string_view name) const {
  return std::find(actions.begin(), actions.end(), name) != actions.end();
}

bool Configuration::has_plugin(std::string_view name) const {
  return std::any_of(tiers.begin(), tiers.end(), [&](const Tier& tier) {
    return std::any_of(tier.plugins.begin(), tier.plugins.end(),
                       [&](const PluginOption& plugin) { return plugin.name == name; });
  });
}

bool Configuration::has_hierarchy(std::string_view name) const {
  return std::any_of(tiers.begin(), tiers.end(), [&](const Tier& tier) {
    return std::any_of(tier.plugins.begin(), tier.plugins.end(), [&](const PluginOption& plugin) {
      return plugin.name == name && plugin.hierarchy;
    });
  });
}

Result<Configuration> parse_configuration(std::string_view text) {
  std::vector<json::YamlDocument> documents = TRY(json::parse_yaml(text));
  if (documents.empty()) return fail(Code::invalid, "scheduler configuration: the text is empty");
  if (documents.size() != 1 || !documents.front().value.is_object())
    return fail(Code::invalid, "scheduler configuration: expected one YAML object");
  const json::Value& document = documents.front().value;
  Configuration out;
  TRY(add_actions(document, out));
  const json::Array* tiers = TRY(list_member(document, "tiers", "tiers"));
  for (std::size_t i = 0; tiers != nullptr && i < tiers->size(); ++i)
    out.tiers.push_back(TRY(read_tier((*tiers)[i], "tiers[" + std::to_string(i) + "]", out)));
  TRY(add_action_arguments(document, out));
  for (const auto& member : document.get_object())
    if (std::string_view key = member.key();
        key != "actions" && key != "tiers" && key != "configurations" && key != "metrics")
      out.warnings.push_back(std::string(key) + " is no member of a configuration");
  if (const json::Value* metrics = json::find(document, "metrics")) out.metrics = *metrics;
  return out;
}

const json::Value* Arguments::find(std::string_view key) const {
  if (use_) use_->names.emplace(key);
  const json::Value* found = object_.is_object() ? json::find(object_, key) : nullptr;
  return found == nullptr || found->is_null() ? nullptr : found;
}

void Arguments::complain(std::string_view key, std::string_view wanted) const {
  if (!use_) return;
  const json::Value* given = json::find(object_, key);
  use_->problems.push_back(std::string(key) + " must be " + std::string(wanted) + ", not " +
                           (given == nullptr ? "absent" : json::serialize(*given)) +
                           "; the default is used");
}

double Arguments::number(std::string_view key, double otherwise) const {
  const json::Value* value = find(key);
  if (value == nullptr) return otherwise;
  if (value->is_string()) {
    std::string_view text = json::sv(value->get_string());
    double parsed = 0;
    auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), parsed);
    if (error == std::errc() && end == text.data() + text.size()) return parsed;
  } else if (value->is_number()) {
    return value->to_number<double>();
  }
  complain(key, "a number");
  return otherwise;
}

std::int64_t Arguments::integer(std::string_view key, std::int64_t otherwise) const {
  double value = number(key, static_cast<double>(otherwise));
  return static_cast<std::int64_t>(value);
}

bool Arguments::boolean(std::string_view key, bool otherwise) const {
  const json::Value* value = find(key);
  if (value == nullptr) return otherwise;
  std::optional<bool> read = read_bool(*value);
  if (!read) complain(key, "true or false");
  return read.value_or(otherwise);
}

std::string Arguments::text(std::string_view key, std::string_view otherwise) const {
  const json::Value* value = find(key);
  if (value == nullptr) return std::string(otherwise);
  if (value->is_string()) return std::string(json::sv(value->get_string()));
  complain(key, "a text");
  return std::string(otherwise);
}

std::string Arguments::choice(std::string_view key,
                              std::initializer_list<std::string_view> words) const {
  std::string given = text(key);
  if (given.empty() || std::find(words.begin(), words.end(), given) != words.end()) return given;
  std::string all;
  for (std::string_view word : words) all.append(all.empty() ? "" : " or ").append(word);
  complain(key, all);
  return {};
}

Nanos Arguments::duration(std::string_view key, Nanos otherwise) const {
  const json::Value* value = find(key);
  if (value == nullptr) return otherwise;
  if (value->is_string()) {
    Result<Nanos> parsed = model::parse_go_duration(json::sv(value->get_string()));
    if (parsed && parsed->count() > 0) return *parsed;
  }
  complain(key, "a duration like 90s");
  return otherwise;
}

const json::Object* Arguments::object(std::string_view key) const {
  const json::Value* value = find(key);
  if (value == nullptr) return nullptr;
  if (value->is_object()) return &value->get_object();
  complain(key, "an object");
  return nullptr;
}

Arguments Arguments::part(std::string_view key) const {
  const json::Object* given = object(key);
  Arguments out(given == nullptr ? json::Value() : json::Value(*given));
  if (use_) out.note_use(use_->parts[std::string(key)] = std::make_shared<ArgumentUse>());
  return out;
}

const json::Array* Arguments::list(std::string_view key) const {
  const json::Value* value = find(key);
  if (value == nullptr) return nullptr;
  if (value->is_array()) return &value->get_array();
  complain(key, "a list");
  return nullptr;
}

std::vector<std::pair<std::string, std::string>> Arguments::texts_after(
    std::string_view prefix) const {
  std::vector<std::pair<std::string, std::string>> out;
  if (use_) use_->prefixes.emplace_back(prefix);
  if (!object_.is_object()) return out;
  for (const auto& member : object_.get_object()) {
    std::string_view key = member.key();
    if (!key.starts_with(prefix) || key.size() == prefix.size()) continue;
    if (member.value().is_string())
      out.emplace_back(key.substr(prefix.size()), json::sv(member.value().get_string()));
    else
      complain(key, "a text");
  }
  return out;
}

}  // namespace hekla::scheduler
