// Admission of pods that a part of this process realises ("stand-ins"): they are marked, cost
// nothing and go to the process's own node. Only this step sets the mark; users' are dropped.
#pragma once

#include <atomic>
#include <memory>
#include <string>

#include "kube/admission.h"
#include "main/standin/component_table.h"

namespace hekla {

// The node that stand-ins are shown on; empty until it is known, and then the scheduler chooses.
// Thread-safe.
class StandInNode {
 public:
  void set(std::string name) { name_.store(std::make_shared<const std::string>(std::move(name))); }
  std::string get() const {
    std::shared_ptr<const std::string> name = name_.load();
    return name ? *name : std::string();
  }

 private:
  std::atomic<std::shared_ptr<const std::string>> name_;
};

// Both outlive the step.
kube::AdmissionStep standin_step(const ComponentTable& table, const StandInNode& node);

}  // namespace hekla
