// Whether the node has what a pod asks for: the part of the kubelet's admission
// (lifecycle/predicate.go of 1.34) that counts. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "model/core.h"

namespace hekla::agent {

// Amounts of cpu are thousandths.
struct PodShortage {
  std::string resource;
  std::int64_t requested = 0, used = 0, capacity = 0;

  std::string text() const;  // in the kubelet's words
};

// The first that `others`, which are here, leave too little of. As in the kubelet, extended
// resources that the node knows nothing of are not the node's to refuse.
std::optional<PodShortage> find_shortage(const model::PodSpec& pod,
                                         const std::vector<const model::PodSpec*>& others,
                                         const model::ResourceList& allocatable);

}  // namespace hekla::agent
