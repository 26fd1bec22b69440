// resource-strategy-fit: per resource, prefers full nodes (MostAllocated) or empty ones
// (LeastAllocated). Score = sum of the resources' parts / sum of their weights * 100 * weight, over
// the resources a pod asks for. Arguments: resourceStrategyFitWeight (10); resources, a map of name
// to {type, weight} (cpu and memory LeastAllocated with weight 1; a name may end in '*', the
// longest prefix wins). Pods may bring their own in the annotations
// volcano.sh/resource-strategy-scoring-type and volcano.sh/resource-strategy-weight (JSON: resource
// to weight).
//
// sra {enable, resources "a,b", weight, resourceWeight {a: 1}}: pods that do not ask for a scarce
// resource stay off the nodes that have it. proportional {enable, resources "gpu",
// resourceProportion {gpu.cpu: 4, gpu.memory: 8}}: such pods must leave so many cores and gigabytes
// per idle unit of the scarce resource.
#include <array>
#include <boost/unordered/unordered_flat_map.hpp>
#include <charconv>
#include <map>

#include "json/parse.h"
#include "scheduler/session/session.h"

namespace hekla::scheduler {

namespace {

double number_of(const json::Value* value, double otherwise) {
  if (value == nullptr) return otherwise;
  if (value->is_number()) return value->to_number<double>();
  if (!value->is_string()) return otherwise;
  std::string_view text = json::sv(value->get_string());
  double out = otherwise;
  std::from_chars(text.data(), text.data() + text.size(), out);
  return out;
}

bool is_enabled(const json::Value& part) {
  const json::Value* given = json::find(part, "enable");
  if (given == nullptr) return false;
  if (given->is_bool()) return given->get_bool();
  return given->is_string() && json::sv(given->get_string()) == "true";
}

std::vector<std::string> split_names(std::string_view list) {
  std::vector<std::string> out;
  for (std::size_t begin = 0; begin < list.size();) {
    std::size_t comma = std::min(list.find(',', begin), list.size());
    std::string name(list.substr(begin, comma - begin));
    std::erase(name, ' ');
    if (!name.empty()) out.push_back(std::move(name));
    begin = comma + 1;
  }
  return out;
}

class ResourceStrategyFit final : public Plugin {
 public:
  explicit ResourceStrategyFit(const Arguments& arguments)
      : weight_(arguments.number("resourceStrategyFitWeight", 10)) {
    if (const json::Object* given = arguments.object("resources"))
      for (const auto& member : *given)
        rules_.push_back({std::string(member.key()),
                          json::string_at(member.value(), {"type"}) == "MostAllocated",
                          number_of(json::find(member.value(), "weight"), 1)});
    if (rules_.empty()) rules_ = {{"cpu", false, 1}, {"memory", false, 1}};
    read_scarce(arguments);
  }
  Hooks hooks() const override {
    Hooks hooks = hooks_of({Hook::node_order});
    if (!proportions_.empty()) hooks.set(index_of(Hook::predicate));
    return hooks;
  }
  void open(Session& session) override {
    session_ = &session;
    const Dimensions& dimensions = session.cluster().dimensions();
    for (std::size_t d = 0; d < dimensions.size(); ++d)
      by_dim_[d] = rule_for(dimensions.name(static_cast<Dim>(d)));
    for (Proportion& one : proportions_) {
      one.dim = dimensions.find(one.resource);
      one.reason =
          session.reasons().intern("proportional of resource " + one.resource + " check failed");
    }
    scarce_dims_.clear();
    for (const auto& [name, weight] : scarce_)
      scarce_dims_.emplace_back(dimensions.find(name), weight);
    if (dimensions_ == dimensions.size()) return;
    dimensions_ = dimensions.size();
    own_.clear();
  }

  void score(const PodClass& pods, std::span<const NodeId> nodes,
             std::span<double> scores) override {
    const Own& own = own_of(pods);
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      const Node& node = session_->cluster().at(nodes[i]);
      if (weight_ != 0) scores[i] += weight_ * 100 * fit(pods, node, own);
      if (scarce_weight_ != 0) scores[i] += scarce_weight_ * 100 * frugality(pods, node);
    }
  }

  void filter(const PodClass& pods, std::span<const NodeId> nodes,
              std::span<ReasonId> reasons) override {
    for (const Proportion& one : proportions_) {
      const std::optional<Dim>& scarce = one.dim;
      if (!scarce || pods.request[*scarce] > 0) continue;
      for (std::size_t i = 0; i < nodes.size(); ++i) {
        const Node& node = session_->cluster().at(nodes[i]);
        auto units = static_cast<double>(node.idle[*scarce]) / 1000;
        auto cpu = static_cast<double>(node.idle[kCpu] - pods.request[kCpu]) / 1000;
        auto memory = static_cast<double>(node.idle[kMemory] - pods.request[kMemory]) / 1e9;
        if (reasons[i] == kFeasible && units > 0 &&
            (cpu < units * one.cpu || memory < units * one.memory))
          reasons[i] = one.reason;
      }
    }
  }

 private:
  struct Rule {
    std::string name;
    bool most = false;
    double weight = 1;
  };
  struct Proportion {
    std::string resource;
    double cpu = 0, memory = 0;  // cores and gigabytes per unit
    ReasonId reason = 0;
    std::optional<Dim> dim{};
  };
  struct Own {
    bool given = false, most = false;
    std::array<double, kMaxDimensions> weights{};
  };

  void read_scarce(const Arguments& arguments) {
    if (const json::Value* part = arguments.find("sra"); part && is_enabled(*part)) {
      scarce_weight_ = number_of(json::find(*part, "weight"), 1);
      for (const std::string& name : split_names(json::string_at(*part, {"resources"})))
        scarce_.emplace_back(name, number_of(json::find_path(*part, {"resourceWeight", name}), 1));
    }
    if (const json::Value* part = arguments.find("proportional"); part && is_enabled(*part))
      for (const std::string& name : split_names(json::string_at(*part, {"resources"})))
        proportions_.push_back(
            {name,
             number_of(json::find_path(*part, {"resourceProportion", name + ".cpu"}), 1),
             number_of(json::find_path(*part, {"resourceProportion", name + ".memory"}), 1),
             0,
             {}});
  }

  // The rule of the very name, else the one with the longest prefix; null if none.
  const Rule* rule_for(const std::string& name) const {
    const Rule* best = nullptr;
    for (const Rule& rule : rules_) {
      if (rule.name == name) return &rule;
      std::string_view prefix = rule.name;
      if (!prefix.ends_with('*')) continue;
      prefix.remove_suffix(1);
      if (name.starts_with(prefix) && (best == nullptr || rule.name.size() > best->name.size()))
        best = &rule;
    }
    return best;
  }

  // Read once per class.
  const Own& own_of(const PodClass& pods) {
    static const Own kNone;
    if (pods.annotations.empty()) return kNone;
    auto [known, fresh] = own_.try_emplace(pods.serial);
    if (fresh) known->second = read_own(pods);
    return known->second;
  }
  Own read_own(const PodClass& pods) const {
    Own own;
    std::string_view type = pods.annotation("volcano.sh/resource-strategy-scoring-type");
    std::string_view weights = pods.annotation("volcano.sh/resource-strategy-weight");
    if (type.empty() || weights.empty()) return own;
    Result<json::Value> parsed = json::parse(weights);
    if (!parsed || !parsed->is_object()) return own;
    own.given = true;
    own.most = type == "MostAllocated";
    for (const auto& member : parsed->get_object())
      if (std::optional<Dim> dim = session_->cluster().dimensions().find(member.key()))
        own.weights[*dim] = number_of(&member.value(), 1);
    return own;
  }

  double fit(const PodClass& pods, const Node& node, const Own& own) const {
    double sum = 0, weights = 0;
    for (std::uint32_t mask = pods.request.present & ~(1u << kPods); mask != 0; mask &= mask - 1) {
      auto d = static_cast<Dim>(std::countr_zero(mask));
      const Rule* rule = by_dim_[d];
      if (pods.request[d] == 0) continue;
      double weight = own.given ? own.weights[d] : rule != nullptr ? rule->weight : 0;
      if (weight == 0) continue;
      bool most = own.given ? own.most : rule->most;
      auto capacity = static_cast<double>(node.shape.allocatable[d]);
      auto after = static_cast<double>(node.used[d] + pods.request[d]);
      weights += weight;
      if (capacity == 0 || after > capacity) continue;
      sum += weight * (most ? after : capacity - after) / capacity;
    }
    return weights == 0 ? 0 : sum / weights;
  }

  double frugality(const PodClass& pods, const Node& node) const {
    double present = 0, all = 0;
    for (const auto& [dim, weight] : scarce_dims_) {
      if (dim && pods.request[*dim] > 0) return 0;
      all += weight;
      if (dim && node.shape.allocatable[*dim] > 0) present += weight;
    }
    return all == 0 ? 0 : 1 - present / all;
  }

  const Session* session_ = nullptr;
  double weight_, scarce_weight_ = 0;
  std::vector<Rule> rules_;
  std::vector<std::pair<std::string, double>> scarce_;
  std::vector<std::pair<std::optional<Dim>, double>> scarce_dims_;
  boost::unordered_flat_map<std::uint64_t, Own> own_;  // by the classes' serials
  std::size_t dimensions_ = 0;
  std::vector<Proportion> proportions_;
  std::array<const Rule*, kMaxDimensions> by_dim_{};
};

}  // namespace

extern const PluginInfo plugin_resource_strategy_fit;
const PluginInfo plugin_resource_strategy_fit{
    "resource-strategy-fit", "full or empty nodes first, resource by resource",
    "resourceStrategyFitWeight (10), resources (cpu and memory LeastAllocated), sra, proportional",
    [](const PluginOption& option) -> std::unique_ptr<Plugin> {
      return std::make_unique<ResourceStrategyFit>(option.arguments);
    }};

}  // namespace hekla::scheduler
