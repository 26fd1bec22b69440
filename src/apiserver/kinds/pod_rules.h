// The rules every pod and every pod template of a built-in kind shares. Templates inside custom
// resources are none of these: their CRD speaks for them.
#pragma once

#include "apiserver/kinds/rules.h"
#include "json/value.h"

namespace hekla::apiserver {

// `spec` is a PodSpec. Pods get what templates do not: service links and host ports of the host
// network.
void default_pod_spec(json::Value& spec, bool is_pod);
void default_pod_template(json::Value& pod_template);

// Guaranteed, Burstable or BestEffort.
std::string qos_class(const json::Value& spec);

void validate_pod_spec(const Field& spec, bool is_pod, Rules& rules);
void validate_container_resources(const Field& resources, Rules& rules);
void validate_volumes(const Field& volumes, std::set<std::string>& names, Rules& rules);
void validate_tolerations(const Field& tolerations, Rules& rules);
void validate_affinity(const Field& affinity, Rules& rules);
void validate_spread(const Field& constraints, Rules& rules);
void validate_node_selector(const Field& selector, Rules& rules);
// A template's labels and spec.
void validate_pod_template(const Field& pod_template, Rules& rules);
// What a live pod's spec may change to.
void validate_pod_update(const json::Value& pod, const json::Value& old, Rules& rules);

json::Array pod_cells(const json::Value& pod, WallTime now);

}  // namespace hekla::apiserver
