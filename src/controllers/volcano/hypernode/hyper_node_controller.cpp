#include "controllers/volcano/hypernode/hyper_node_controller.h"

#include <ranges>

#include "base/log.h"
#include "cel/pattern.h"
#include "controllers/volcano/hypernode/label_discovery.h"
#include "model/selector.h"

namespace hekla::controllers {
namespace {

const kube::Key kConfiguration{"volcano-system", "volcano-controller-configmap"};
const kube::Key kDiscovery{"", "by label"};  // the one key of the loop that discovers
constexpr const char* kSource = "volcano.sh/network-topology-source";

using NodeLabels = std::map<std::string, std::map<std::string, std::string>>;

template <class Names, class Name>
void each_by_name(const json::Value& selector, const Names& names, Name found) {
  std::string exact(json::string_at(selector, {"exactMatch", "name"}));
  std::string text(json::string_at(selector, {"regexMatch", "pattern"}));
  // A pattern that cannot be read matches nothing; admission refuses it.
  std::shared_ptr<const cel::Pattern> pattern;
  if (!text.empty()) pattern = cel::Pattern::compile(text).value_or(nullptr);
  for (const std::string& name : names)
    if ((!exact.empty() && name == exact) || (pattern && pattern->matches(name))) found(name);
}

struct Walk {
  const std::function<HyperNodeRef(const std::string&)>& hyper_node;
  const NodeLabels& labels;
  const std::vector<std::string>& hyper_node_names;
  std::set<std::string> seen, found;

  void visit(const std::string& name) {
    if (!seen.insert(name).second) return;
    HyperNodeRef hyper = hyper_node(name);
    if (!hyper) return;
    for (const model::HyperNodeMember& member : hyper->spec.members) {
      if (member.type == "HyperNode") {
        each_by_name(member.selector, hyper_node_names,
                     [&](const std::string& below) { visit(below); });
        continue;
      }
      each_by_name(member.selector, labels | std::views::keys,
                   [&](const std::string& node) { found.insert(node); });
      const json::Value* by_label = json::find(member.selector, "labelMatch");
      if (!by_label) continue;
      Result<model::Selector> selector = model::Selector::from_label_selector(*by_label);
      if (!selector || selector->empty()) continue;
      for (const auto& [node, of_node] : labels)
        if (selector->matches(of_node)) found.insert(node);
    }
  }
};

}  // namespace

std::set<std::string> nodes_below(const std::string& name,
                                  const std::function<HyperNodeRef(const std::string&)>& hyper_node,
                                  const NodeLabels& node_labels,
                                  const std::vector<std::string>& hyper_node_names) {
  Walk walk{hyper_node, node_labels, hyper_node_names, {}, {}};
  walk.visit(name);
  return std::move(walk.found);
}

HyperNodeController::HyperNodeController(kube::Client& client)
    : hyper_nodes_(client, kube::resources::hyper_nodes),
      nodes_(client, kube::resources::nodes),
      configurations_(client, kube::resources::config_maps,
                      {kConfiguration.ns, "", "metadata.name=" + kConfiguration.name}),
      loop_(
          client, {.name = "hyperNode-controller"},
          [this](const kube::Key& key, WallTime) { return reconcile(key); },
          [this](const kube::Write& write, const kube::ObjectPtr& result) {
            hyper_nodes_.overlay(write, result);
          }),
      discovery_(
          client, {.name = "hyperNode-discovery"},
          [this](const kube::Key&, WallTime) { return discover(); },
          [this](const kube::Write& write, const kube::ObjectPtr& result) {
            hyper_nodes_.overlay(write, result);
          }) {
  configurations_.on_change([this](const auto&, const auto&) { discovery_.add(kDiscovery); });
  hyper_nodes_.on_change([this](const auto& before, const auto& after) {
    if (!before || !after || before->metadata.generation != after->metadata.generation)
      look_at_all();
  });
  nodes_.on_change([this](const auto& before, const auto& after) {
    if (before && after && before->metadata.labels == after->metadata.labels) return;
    node_labels_.reset();
    look_at_all();
  });
  auto enable = [this] {
    if (!hyper_nodes_.synced() || !nodes_.synced()) return;
    loop_.enable();
    if (configurations_.synced()) discovery_.enable();
  };
  hyper_nodes_.on_settled(enable);
  nodes_.on_settled(enable);
  configurations_.on_settled(enable);
}

void HyperNodeController::start() {
  hyper_nodes_.start();
  nodes_.start();
  configurations_.start();
}

void HyperNodeController::look_at_all() {
  hyper_nodes_.for_each([this](const auto& one) { loop_.add(kube::Key{"", one->metadata.name}); });
  discovery_.add(kDiscovery);
}

const NodeLabels& HyperNodeController::node_labels() {
  if (!node_labels_) {
    node_labels_.emplace();
    nodes_.for_each(
        [&](const auto& node) { (*node_labels_)[node->metadata.name] = node->metadata.labels; });
  }
  return *node_labels_;
}

// Only what discovery has made is changed or removed, and nothing while it is not configured.
kube::Round HyperNodeController::discover() {
  kube::Round round;
  auto configuration = configurations_.get(kConfiguration);
  if (!configuration) return round;
  auto text = configuration->data.find("volcano-controller.conf");
  if (text == configuration->data.end()) return round;
  std::vector<std::string> complaints;
  Result<TopologyLabels> topologies = parse_topology_labels(text->second, complaints);
  if (!topologies) complaints.push_back(topologies.error().message);
  for (const std::string& complaint : complaints)
    log_warn("hyperNode-discovery", "part of volcano-controller.conf is ignored",
             {{"reason", complaint}});
  if (!topologies || topologies->empty()) return round;
  std::map<std::string, json::Value> wanted = hyper_nodes_by_label(*topologies, node_labels());
  hyper_nodes_.for_each([&](const auto& one) {
    if (one->metadata.label(kSource) != "label") return;
    kube::Key key{"", one->metadata.name};
    auto found = wanted.find(key.name);
    if (found == wanted.end()) {
      if (!one->metadata.deletionTimestamp)
        round.writes.push_back(remove(kube::resources::hyper_nodes, key, one->metadata.uid));
      return;
    }
    const json::Value& spec = *json::find(found->second, "spec");
    if (!json::equal(json::encode(one->spec.members), *json::find(spec, "members")))
      round.writes.push_back(
          merge_patch(kube::resources::hyper_nodes, key, json::Object{{"spec", spec}}));
    wanted.erase(found);
  });
  for (auto& [name, object] : wanted)
    round.writes.push_back(create(kube::resources::hyper_nodes, "", std::move(object)));
  return round;
}

kube::Round HyperNodeController::reconcile(const kube::Key& key) {
  kube::Round round;
  HyperNodeRef hyper = hyper_nodes_.get(key);
  if (!hyper || hyper->metadata.deletionTimestamp) return round;
  std::vector<std::string> names;
  hyper_nodes_.for_each([&](const auto& one) { names.push_back(one->metadata.name); });
  std::int64_t count = static_cast<std::int64_t>(
      nodes_below(
          key.name,
          [this](const std::string& name) { return hyper_nodes_.get(kube::Key{"", name}); },
          node_labels(), names)
          .size());
  if (hyper->status.nodeCount == count) return round;
  round.writes.push_back(merge_patch(kube::resources::hyper_nodes, key,
                                     json::Object{{"status", json::Object{{"nodeCount", count}}}},
                                     "status"));
  return round;
}

}  // namespace hekla::controllers
