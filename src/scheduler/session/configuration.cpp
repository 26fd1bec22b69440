#include "scheduler/session/configuration.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>

#include "json/parse.h"
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
constexpr std::array<std::string_view, 3> kSilentSwitches{
    "enabledClusterOrder", "enableTargetJob", "enableReservedNodes"};

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

bool known_action(std::string_view name) {
  auto all = all_actions();
  return std::any_of(all.begin(), all.end(), [&](const ActionInfo* a) { return a->name == name; });
}

Result<void> add_actions(const json::Value& document, Configuration& out) {
  const json::Value* actions = json::find(document, "actions");
  if (actions == nullptr || !actions->is_string())
    return fail(Code::invalid, "scheduler configuration: actions must be a string");
  std::string_view rest = json::sv(actions->get_string());
  while (!rest.empty()) {
    std::size_t comma = rest.find(',');
    std::string_view name = rest.substr(0, comma);
    rest = comma == std::string_view::npos ? std::string_view() : rest.substr(comma + 1);
    while (!name.empty() && name.front() == ' ') name.remove_prefix(1);
    while (!name.empty() && name.back() == ' ') name.remove_suffix(1);
    if (!known_action(name))
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
    if (!known_action(name))
      out.warnings.push_back(place + ": there is no action " + name + " to take these arguments");
    const json::Value* arguments = json::find(one, "arguments");
    if (arguments != nullptr && !arguments->is_object() && !arguments->is_null())
      return misfit(place + ".arguments", "an object", *arguments);
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

Result<Configuration> parse_configuration(std::string_view text) {
  std::vector<json::YamlDocument> documents = TRY(json::parse_yaml(text));
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
  return object_.is_object() ? json::find(object_, key) : nullptr;
}

double Arguments::number(std::string_view key, double otherwise) const {
  const json::Value* value = find(key);
  if (value == nullptr) return otherwise;
  if (value->is_string()) {
    std::string_view text = json::sv(value->get_string());
    double parsed = 0;
    auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), parsed);
    return error == std::errc() && end == text.data() + text.size() ? parsed : otherwise;
  }
  boost::json::error_code error;
  double parsed = value->to_number<double>(error);
  return error ? otherwise : parsed;
}

std::int64_t Arguments::integer(std::string_view key, std::int64_t otherwise) const {
  double value = number(key, static_cast<double>(otherwise));
  return static_cast<std::int64_t>(value);
}

bool Arguments::boolean(std::string_view key, bool otherwise) const {
  const json::Value* value = find(key);
  return value == nullptr ? otherwise : truth(*value, otherwise);
}

std::string Arguments::text(std::string_view key, std::string_view otherwise) const {
  const json::Value* value = find(key);
  if (value == nullptr || !value->is_string()) return std::string(otherwise);
  return std::string(json::sv(value->get_string()));
}

}  // namespace hekla::scheduler
