#include "apiserver/kinds/builtin.h"

#include <algorithm>
#include <cctype>

#include "apiserver/kinds/rules/status_rules.h"
#include "apiserver/kinds/rules/warnings.h"
#include "apiserver/schema/facts.h"
#include "base/check.h"

namespace hekla::apiserver {

Kind builtin_kind(std::string_view group, std::string_view version, std::string_view plural,
                  std::string_view kind, std::string_view go_package) {
  Kind out;
  out.resource = {std::string(group), std::string(version), std::string(plural), std::string(kind),
                  true};
  out.singular = kind;
  std::transform(out.singular.begin(), out.singular.end(), out.singular.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  out.list_kind = out.resource.kind + "List";
  out.schema = builtin_type(std::string(go_package) + "." + out.resource.kind);
  out.traits.has_generation = false;
  if (group == "rbac.authorization.k8s.io" || group == "apiregistration.k8s.io")
    out.traits.name_rule = NameRule::path_segment;
  out.storage.bucket =
      group.empty() ? out.resource.plural : out.resource.plural + "." + out.resource.group;
  out.storage.version = out.resource.api_version();
  return out;
}

Kind cluster_kind(std::string_view group, std::string_view version, std::string_view plural,
                  std::string_view kind, std::string_view go_package) {
  Kind out = builtin_kind(group, version, plural, kind, go_package);
  out.resource.namespaced = false;
  return out;
}

void add(Kinds& kinds, Kind kind) {
  CHECK(kind.schema && !kind.storage.bucket.empty(), kind.resource.kind);
  CHECK(kind.printing.columns.empty() == !kind.printing.cells, kind.resource.kind);
  CHECK(kind.traits.generation_metadata.empty() || kind.traits.has_generation, kind.resource.kind);
  kind.rules.warnings = warnings_of(kind.resource);
  kind.rules.validate_status = validate_status;
  kinds.push_back(std::make_shared<const Kind>(std::move(kind)));
}

void make_scalable(Kind& kind) {
  kind.scale.spec_path = ".spec.replicas";
  kind.scale.status_path = ".status.replicas";
}

Subresource proxy_subresource(std::string_view options_kind) {
  return {.name = "proxy",
          .group = "",
          .version = "v1",
          .kind = std::string(options_kind),
          .verbs = {"create", "delete", "get", "patch", "update"},
          .form = Subresource::Form::proxy};
}

std::vector<Column> columns(std::initializer_list<std::string_view> names) {
  std::vector<Column> out;
  for (std::string_view name : names) {
    Column column;
    if (name.ends_with('*')) {
      column.priority = 1;
      name.remove_suffix(1);
    }
    if (std::size_t colon = name.find(':'); colon != std::string_view::npos) {
      column.type = name.substr(colon + 1);
      name = name.substr(0, colon);
    }
    column.name = name;
    if (name == "Name") column.format = "name";
    out.push_back(std::move(column));
  }
  return out;
}

FieldOfObject field_at(std::vector<std::string> path) {
  return [path = std::move(path)](const json::Node& object) -> std::string {
    std::optional<json::Node> found = object;
    for (const std::string& member : path) {
      if (!found->is_object()) return {};
      found = found->find(member);
      if (!found) return {};
    }
    if (found->is_string()) return std::string(found->get_string());
    return found->is_null() ? std::string() : json::serialize(found->to_value().value_or(nullptr));
  };
}

const Kinds& builtin_kinds() {
  static const Kinds all = [] {
    Kinds kinds;
    for (const KindGroup* group : kind_groups()) group->add(kinds);
    return kinds;
  }();
  return all;
}

}  // namespace hekla::apiserver
