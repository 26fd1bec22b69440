// PodDefaults: putting what they bring into a pod, and what stands against it.
#pragma once

#include <vector>

#include "base/result.h"
#include "kube/admission.h"

namespace hekla::admission {

extern const kube::Resource pod_defaults;

// PodDefaults whose selector picks the pod, in order of their names.
Result<std::vector<kube::SharedValue>> chosen_defaults(const std::vector<kube::SharedValue>& all,
                                                       const json::Value& pod);

// Puts all of them into the pod. An error names every member that two of them, or one and the pod,
// want differently; the pod is then as good as lost.
Result<void> apply_defaults(const std::vector<kube::SharedValue>& chosen, json::Value& pod);

}  // namespace hekla::admission
