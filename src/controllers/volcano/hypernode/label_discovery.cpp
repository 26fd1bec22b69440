#include "controllers/volcano/hypernode/label_discovery.h"

#include <set>

#include "base/crypto.h"
#include "json/parse.h"
#include "kube/client.h"

namespace hekla::controllers {
namespace {

constexpr std::size_t kTypeNameMax = 20;

std::string lower_case(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
  return out;
}

// The levels as configured go from the top down and end with the nodes' own label.
std::vector<std::string> levels_of(const json::Value& configured) {
  std::vector<std::string> levels;
  if (configured.is_array())
    for (const json::Value& one : configured.get_array())
      levels.emplace_back(json::string_at(one, {"nodeLabel"}));
  if (!levels.empty()) levels.pop_back();
  return {levels.rbegin(), levels.rend()};
}

void add_types(const json::Value& source, TopologyLabels& topologies,
               std::vector<std::string>& complaints) {
  const json::Object* types = json::object_at(source, {"config", "networkTopologyTypes"});
  if (!types) return complaints.push_back("source label has no networkTopologyTypes");
  for (const auto& member : *types) {
    std::string name(member.key());
    std::vector<std::string> levels = levels_of(member.value());
    std::set<std::string> distinct(levels.begin(), levels.end());
    if (name.size() > kTypeNameMax)
      complaints.push_back("topology type " + name + " has more than 20 characters");
    else if (distinct.size() != levels.size() || distinct.contains(""))
      complaints.push_back("topology type " + name + " has empty or duplicate labels");
    else
      topologies[name] = std::move(levels);
  }
}

struct Found {
  std::size_t tier;
  std::string label, value;
  std::set<std::string> members;
};

std::string hyper_node_name(const std::string& type, std::size_t tier, const std::string& label,
                            const std::string& value) {
  return "hypernode-" + lower_case(type) + "-tier" + std::to_string(tier) + "-" +
         sha256_hex(label + "=" + value).substr(0, 5);
}

json::Value object_of(const std::string& name, const Found& found) {
  json::Array members;
  for (const std::string& member : found.members)
    members.push_back(
        json::Object{{"type", found.tier == 1 ? "Node" : "HyperNode"},
                     {"selector", json::Object{{"exactMatch", json::Object{{"name", member}}}}}});
  return json::Object{
      {"apiVersion", kube::resources::hyper_nodes.api_version()},
      {"kind", kube::resources::hyper_nodes.kind},
      {"metadata",
       json::Object{{"name", name},
                    {"labels", json::Object{{"volcano.sh/network-topology-source", "label"},
                                            {found.label, found.value}}}}},
      {"spec",
       json::Object{
           {"tier", found.tier}, {"tierName", found.label}, {"members", std::move(members)}}}};
}

}  // namespace

Result<TopologyLabels> parse_topology_labels(std::string_view text,
                                             std::vector<std::string>& complaints) {
  TopologyLabels topologies;
  for (const json::YamlDocument& document : TRY(json::parse_yaml(text))) {
    const json::Array* sources = json::array_at(document.value, {"networkTopologyDiscovery"});
    if (!sources) continue;
    for (const json::Value& source : *sources) {
      if (!json::bool_at(source, {"enabled"})) continue;
      std::string kind(json::string_at(source, {"source"}));
      if (kind == "label")
        add_types(source, topologies, complaints);
      else
        complaints.push_back("source " + kind + " is not supported");
    }
  }
  return topologies;
}

std::map<std::string, json::Value> hyper_nodes_by_label(
    const TopologyLabels& topologies,
    const std::map<std::string, std::map<std::string, std::string>>& node_labels) {
  std::map<std::string, Found> all;
  for (const auto& [type, levels] : topologies)
    for (const auto& [node, labels] : node_labels) {
      std::string member = node;
      for (std::size_t i = 0; i < levels.size(); ++i) {
        auto value = labels.find(levels[i]);
        if (value == labels.end()) break;
        std::string name = hyper_node_name(type, i + 1, levels[i], value->second);
        Found& found =
            all.try_emplace(name, Found{i + 1, levels[i], value->second, {}}).first->second;
        found.members.insert(member);
        member = name;
      }
    }
  std::map<std::string, json::Value> objects;
  for (const auto& [name, found] : all) objects[name] = object_of(name, found);
  return objects;
}

}  // namespace hekla::controllers
