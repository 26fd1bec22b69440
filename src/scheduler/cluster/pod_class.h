// Pods that filters and scores cannot tell apart are one class, across jobs: nodes are filtered and
// scored once per class, not once per pod.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "scheduler/cluster/ids.h"
#include "scheduler/cluster/node.h"
#include "scheduler/cluster/node_term.h"
#include "scheduler/cluster/pod_terms.h"

namespace hekla::scheduler {

struct PreferredTerm {
  std::int64_t weight = 0;
  NodeTerm term;
};

struct PodClass {
  Resources request;  // with pods: 1
  bool best_effort = false;
  std::int64_t nonzero_cpu = 0, nonzero_memory = 0;
  std::vector<std::pair<NameId, NameId>> node_selector;
  bool has_required_terms = false;
  std::vector<NodeTerm> required_terms;  // one must match
  std::vector<PreferredTerm> preferred_terms;
  std::vector<PodToleration> tolerations;
  std::vector<HostPort> ports;
  std::vector<NameId> images;
  std::int32_t containers = 0;
  ClassTerms terms;
  std::vector<std::pair<std::string, std::string>> annotations;  // those that plugins read
  model::ResourceList unknown;  // of the request: names that no node offers

  // Two classes are equal exactly if their keys are. The base is what the pods say themselves; the
  // rest of the key names the terms of other pods that match them.
  std::string key, base_key;
  std::uint32_t users = 0;
  std::uint64_t serial = 0;  // changes when the slot is given to another class

  // Empty when absent.
  std::string_view annotation(std::string_view name) const {
    for (const auto& [key, value] : annotations)
      if (key == name) return value;
    return {};
  }
  bool tolerates(const Taint& taint) const {
    for (const PodToleration& toleration : tolerations)
      if (toleration.tolerates(taint)) return true;
    return false;
  }
};

class Names;
// nodeSelector and required node affinity together.
bool matches_node(const PodClass& pods, const Node& node, const Names& names);

}  // namespace hekla::scheduler
