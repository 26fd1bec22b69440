// The rules every pod and every pod template of a built-in kind shares. Templates inside custom
// resources are none of these: their CRD speaks for them.
#pragma once

#include "apiserver/kinds/rules/rules.h"
#include "json/value.h"

namespace hekla::apiserver {

// `spec` is a PodSpec. Pods get what templates do not: service links and host ports of the host
// network.
void default_pod_spec(json::Value& spec, bool is_pod);
void default_pod_template(json::Value& pod_template);

void validate_pod_spec(const Field& spec, bool is_pod, Rules& rules);
void validate_container_resources(const Field& resources, Rules& rules);
void validate_pod_resources(const Field& spec, Rules& rules);
void validate_volumes(const Field& volumes, std::set<std::string>& names, Rules& rules);
void validate_mounts(const Field& container, const std::set<std::string>& volumes, Rules& rules);
// A relative path that does not lead out; complaints are about `at`.
void validate_descending_path(const Field& at, std::string_view path, Rules& rules);
// fieldRef and resourceFieldRef of a variable or of a volume's file.
void validate_field_reference(const Field& reference, bool file, Rules& rules);
void validate_resource_reference(const Field& reference, bool file, Rules& rules);
void validate_container_security(const Field& security, Rules& rules);
void validate_pod_security(const Field& spec, Rules& rules);
void validate_tolerations(const Field& tolerations, Rules& rules);
void validate_affinity(const Field& affinity, Rules& rules);
void validate_spread(const Field& constraints, Rules& rules);
void validate_node_selector(const Field& selector, Rules& rules);
// A template's labels and spec.
void validate_pod_template(const Field& pod_template, Rules& rules);
// The changes that a live pod's spec allows.
void validate_pod_update(const json::Value& pod, const json::Value& old, Rules& rules);

json::Array pod_cells(const json::Value& pod, WallTime now);

}  // namespace hekla::apiserver
