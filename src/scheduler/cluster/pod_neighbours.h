// What a pod asks about other pods (pod affinity, anti-affinity, topology spread), read from its
// spec into terms.
#pragma once

#include <string>
#include <vector>

#include "model/core.h"
#include "scheduler/cluster/names.h"
#include "scheduler/cluster/pod_terms.h"

namespace hekla::scheduler {

struct PodNeighbours {
  struct Weighted {
    TermSpec term;
    std::int32_t weight = 0;
  };
  struct Spread {
    TermSpec term;
    ClassTerms::Spread how;
  };
  std::vector<TermSpec> affinity;
  bool affinity_self = false;
  std::vector<TermSpec> anti;
  std::vector<Weighted> preferred, drawn;
  std::vector<Spread> spread;
  // Pods with equal texts ask for the same.
  std::string text;
};

LabelPairs label_pairs(const std::map<std::string, std::string>& labels, Names& names);

// Empty for a pod that asks nothing. `terms` is asked for matches with the pod's own labels only.
PodNeighbours neighbours_of(const model::Pod& pod, const LabelPairs& labels, Names& names,
                            const PodTerms& terms);

// One requirement {key, operator, values} of a selector.
NodeRequirement make_requirement(const json::Value& expression, Names& names);
NodeTerm make_node_term(const json::Value& value, Names& names);

}  // namespace hekla::scheduler
