#include "scheduler/session/configuration.h"

#include <algorithm>
#include <array>
#include <charconv>

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

// Upstream spells some of these "enable" and some "enabled". Switches of hooks this scheduler does
// not ask yet are read and have no effect.
constexpr std::array<Switch, 14> kSwitches{{
    {"enableJobOrder", {Hook::job_order}},
    {"enableTaskOrder", {Hook::task_order}},
    {"enableQueueOrder", {Hook::queue_order}},
    {"enablePredicate", {Hook::predicate}},
    {"enableNodeOrder", {Hook::node_order}},
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

bool truth(const json::Value& value, bool otherwise) {
  if (value.is_bool()) return value.get_bool();
  if (value.is_string()) {
    std::string_view text = json::sv(value.get_string());
    if (text == "true" || text == "True" || text == "1" || text == "t") return true;
    if (text == "false" || text == "False" || text == "0" || text == "f") return false;
  }
  return otherwise;
}

bool known_plugin(std::string_view name) {
  auto all = all_plugins();
  return std::any_of(all.begin(), all.end(), [&](const PluginInfo* p) { return p->name == name; });
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

Result<PluginOption> read_plugin(const json::Value& value) {
  if (!value.is_object())
    return fail(Code::invalid, "scheduler configuration: a plugin must be an object with a name");
  PluginOption option;
  option.name = std::string(json::string_at(value, {"name"}));
  if (option.name.empty())
    return fail(Code::invalid, "scheduler configuration: a plugin has no name");
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

Result<Tier> read_tier(const json::Value& value, Configuration& out) {
  Tier tier;
  const json::Array* plugins = json::array_at(value, {"plugins"});
  bool hierarchical_drf = false, proportion = false;
  for (std::size_t i = 0; plugins != nullptr && i < plugins->size(); ++i) {
    PluginOption option = TRY(read_plugin((*plugins)[i]));
    hierarchical_drf |= option.name == "drf" && option.hierarchy;
    proportion |= option.name == "proportion";
    if (known_plugin(option.name))
      tier.plugins.push_back(std::move(option));
    else
      out.unknown_plugins.push_back(option.name);
  }
  if (hierarchical_drf && proportion)
    return fail(Code::invalid, "proportion and drf with hierarchy enabled conflicts");
  return tier;
}

}  // namespace

std::string_view helm_default_configuration() { return kHelmDefault; }

bool Configuration::has_action(std::string_view name) const {
  return std::find(actions.begin(), actions.end(), name) != actions.end();
}

Result<Configuration> parse_configuration(std::string_view text) {
  std::vector<json::YamlDocument> documents = TRY(json::parse_yaml(text));
  if (documents.size() != 1 || !documents.front().value.is_object())
    return fail(Code::invalid, "scheduler configuration: expected one YAML object");
  const json::Value& document = documents.front().value;
  Configuration out;
  TRY(add_actions(document, out));
  if (const json::Array* tiers = json::array_at(document, {"tiers"}))
    for (const json::Value& tier : *tiers) out.tiers.push_back(TRY(read_tier(tier, out)));
  if (const json::Array* configurations = json::array_at(document, {"configurations"})) {
    for (const json::Value& one : *configurations) {
      const json::Value* arguments = json::find(one, "arguments");
      out.action_arguments[std::string(json::string_at(one, {"name"}))] =
          Arguments(arguments == nullptr ? json::Value() : *arguments);
    }
  }
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
