// Pods that filters and scores cannot tell apart are one class, across jobs: nodes are filtered and
// scored once per class, not once per pod.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "model/selector.h"
#include "scheduler/cluster/ids.h"
#include "scheduler/cluster/node.h"

namespace hekla::scheduler {

struct NodeRequirement {
  NameId key;
  model::Selector::Op op = model::Selector::Op::in;
  std::vector<NameId> values;
  std::int64_t bound = 0;   // for greater and less
  bool unreadable = false;  // a bound that is not a number, an unknown operator: never holds
};

// All requirements must hold; a term without any matches no node, as in Kubernetes.
struct NodeTerm {
  std::vector<NodeRequirement> labels;
  std::vector<NodeRequirement> fields;  // metadata.name
};

struct PreferredTerm {
  std::int64_t weight = 0;
  NodeTerm term;
};

struct PodToleration {
  NameId key;  // invalid: any key
  NameId value;
  bool exists = false;
  Effect effect = Effect::any;

  bool tolerates(const Taint& taint) const {
    if (effect != Effect::any && effect != taint.effect) return false;
    if (key.valid() && key != taint.key) return false;
    return exists || value == taint.value;
  }
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
  // A resource the table of dimensions has no room for: no node can offer it.
  std::string untracked_resource;

  // Two classes are equal exactly if their keys are.
  std::string key;
  std::uint32_t users = 0;
  std::uint64_t serial = 0;  // changes when the slot is given to another class

  bool tolerates(const Taint& taint) const {
    for (const PodToleration& toleration : tolerations)
      if (toleration.tolerates(taint)) return true;
    return false;
  }
};

class Names;
bool matches(const NodeTerm& term, const Node& node, const Names& names);
// nodeSelector and required node affinity together.
bool matches_node(const PodClass& pods, const Node& node, const Names& names);

}  // namespace hekla::scheduler
