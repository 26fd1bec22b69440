// HyperNodes from node labels: what the labels of a topology's levels have in common stands
// together. Configured as Volcano's controllers are: source `label` under networkTopologyDiscovery
// in volcano-controller.conf.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "json/value.h"

namespace hekla::controllers {

// Labels of each kind of topology, the level nearest to the nodes first.
using TopologyLabels = std::map<std::string, std::vector<std::string>>;

// Empty when discovery by label is not configured or not enabled. Complaints are about parts that
// are left out.
Result<TopologyLabels> parse_topology_labels(std::string_view text,
                                             std::vector<std::string>& complaints);

// The HyperNodes by name, as they should be. A node without the label of a level belongs to no
// HyperNode of that level or one above it. Volcano gives them random names; here a name follows
// from the label, so that no restart makes another.
std::map<std::string, json::Value> hyper_nodes_by_label(
    const TopologyLabels& topologies,
    const std::map<std::string, std::map<std::string, std::string>>& node_labels);

}  // namespace hekla::controllers
