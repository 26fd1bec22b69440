// Requirements on labels: node selector terms, and with the same operators selectors over pods.
#pragma once

#include <cstdint>
#include <vector>

#include "model/selector.h"
#include "scheduler/cluster/ids.h"
#include "scheduler/cluster/node.h"

namespace hekla::scheduler {

class Names;

struct NodeRequirement {
  NameId key;
  model::Selector::Op op = model::Selector::Op::in;
  std::vector<NameId> values;
  std::int64_t bound = 0;   // for greater and less
  bool unreadable = false;  // a bound that is not a number, an unknown operator: never holds
};

// Whether it holds for this value of the label; invalid: the label is absent.
bool holds(const NodeRequirement& requirement, NameId value, const Names& names);

// All requirements must hold; a term without any matches no node, as in Kubernetes.
struct NodeTerm {
  std::vector<NodeRequirement> labels;
  std::vector<NodeRequirement> fields;  // metadata.name
};

bool matches(const NodeTerm& term, const Node& node, const Names& names);

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

}  // namespace hekla::scheduler
