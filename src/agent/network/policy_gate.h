// Holds pods back until the network policies that select them are in force.
#pragma once

#include "base/done.h"
#include "model/core.h"

namespace hekla::agent {

class PolicyGate {
 public:
  virtual ~PolicyGate() = default;
  // Calls back when the policies that select the pod hold for its address; at once when none does.
  virtual void await(const model::Pod& pod, Done<void> done) = 0;
};

}  // namespace hekla::agent
