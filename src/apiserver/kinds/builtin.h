// How the files of groups/ describe their kinds.
#pragma once

#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "apiserver/object/kind.h"

namespace hekla::apiserver {

using Kinds = std::vector<KindPtr>;

// All of them, made once.
const Kinds& builtin_kinds();

// A namespaced kind with its schema, names and buckets filled in. Changes go through the setters'
// names in Kind itself.
Kind builtin_kind(std::string_view group, std::string_view version, std::string_view plural,
                  std::string_view kind, std::string_view go_package);
Kind cluster_kind(std::string_view group, std::string_view version, std::string_view plural,
                  std::string_view kind, std::string_view go_package);
void add(Kinds& kinds, Kind kind);
// Replicas can be set through the scale subresource.
void make_scalable(Kind& kind);
// Requests of any kind, carried on to what the object stands for.
Subresource proxy_subresource(std::string_view options_kind);

// Columns from "Ready", "IP*" (only with -o wide) and "Desired:integer".
std::vector<Column> columns(std::initializer_list<std::string_view> names);

// A selectable field that is a string, bool or number at the path.
FieldOfObject field_at(std::vector<std::string> path);

// Packages of the Go types, for builtin_kind.
inline constexpr std::string_view kCorePackage = "io.k8s.api.core.v1";

// The kinds of one file of groups/, which exports it as kinds_<file>.
struct KindGroup {
  void (*add)(Kinds& kinds);
};
// All of them; the table is generated from the file names.
std::span<const KindGroup* const> kind_groups();

}  // namespace hekla::apiserver
