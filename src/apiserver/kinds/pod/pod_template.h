// Core validation of a pod template by itself, for whoever admits kinds that carry one. Stands with
// the PodTemplate kind in kinds/core_pod.cpp.
#pragma once

#include <string>
#include <vector>

#include "json/value.h"

namespace hekla::apiserver {

// Complaints of Kubernetes about the template once its defaults are in:
// "template.spec.containers: Required value". Types are taken for granted. May be called on any
// thread.
std::vector<std::string> pod_template_errors(json::Value pod_template);

}  // namespace hekla::apiserver
