// How the files of this directory describe their kinds. Each exports one add_*_kinds; builtin.cpp
// calls them all.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "apiserver/kind.h"

namespace hekla::apiserver {

using Kinds = std::vector<KindPtr>;

// A namespaced kind with its schema, names and buckets filled in. Changes go through the setters'
// names in Kind itself.
Kind builtin_kind(std::string_view group, std::string_view version, std::string_view plural,
                  std::string_view kind, std::string_view go_package);
Kind cluster_kind(std::string_view group, std::string_view version, std::string_view plural,
                  std::string_view kind, std::string_view go_package);
void add(Kinds& kinds, Kind kind);

// Columns from "Ready", "IP*" (only with -o wide) and "Desired:integer".
std::vector<Column> columns(std::initializer_list<std::string_view> names);

// A selectable field that is a string, bool or number at the path.
FieldOfObject field_at(std::vector<std::string> path);

// Packages of the Go types, for builtin_kind.
inline constexpr std::string_view kCorePackage = "io.k8s.api.core.v1";

void add_core_config_kinds(Kinds& kinds);
void add_core_controller_kinds(Kinds& kinds);
void add_core_endpoint_kinds(Kinds& kinds);
void add_core_event_kinds(Kinds& kinds);
void add_core_namespace_kinds(Kinds& kinds);
void add_core_node_kinds(Kinds& kinds);
void add_core_pod_kinds(Kinds& kinds);
void add_core_service_kinds(Kinds& kinds);
void add_core_volume_kinds(Kinds& kinds);
void add_admissionregistration_kinds(Kinds& kinds);
void add_admission_policy_kinds(Kinds& kinds);
void add_apiextensions_kinds(Kinds& kinds);
void add_apps_kinds(Kinds& kinds);
void add_autoscaling_kinds(Kinds& kinds);
void add_batch_kinds(Kinds& kinds);
void add_coordination_kinds(Kinds& kinds);
void add_flowcontrol_kinds(Kinds& kinds);
void add_networking_kinds(Kinds& kinds);
void add_policy_kinds(Kinds& kinds);
void add_rbac_kinds(Kinds& kinds);
void add_resource_kinds(Kinds& kinds);
void add_scheduling_kinds(Kinds& kinds);
void add_storage_kinds(Kinds& kinds);

}  // namespace hekla::apiserver
