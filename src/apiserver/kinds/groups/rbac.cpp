// rbac.authorization.k8s.io/v1.
#include "apiserver/kinds/builtin.h"
#include "apiserver/kinds/cells.h"
#include "apiserver/kinds/defaults.h"
#include "apiserver/kinds/rules/rules.h"

namespace hekla::apiserver {
namespace {

constexpr std::string_view kGroup = "rbac.authorization.k8s.io";
constexpr std::string_view kPackage = "io.k8s.api.rbac.v1";

// The names of one kind of subject; service accounts as namespace/name.
std::string subjects_cell(const json::Value& binding, std::string_view kind) {
  std::vector<std::string> names;
  if (const json::Array* subjects = json::array_at(binding, {"subjects"}))
    for (const json::Value& subject : *subjects) {
      if (json::string_at(subject, {"kind"}) != kind) continue;
      std::string name(json::string_at(subject, {"name"}));
      if (kind == "ServiceAccount")
        name = std::string(json::string_at(subject, {"namespace"})) + "/" + name;
      names.push_back(std::move(name));
    }
  return join(names, ", ");
}

std::vector<Cause> validate_role(const json::Value& object, bool cluster) {
  Rules rules;
  Field list = Field(object, "")["rules"];
  for (std::size_t i = 0; i < list.items().size(); ++i) {
    Field rule = list.at(i);
    if (rule["verbs"].items().empty())
      rules.required(rule["verbs"], "verbs must contain at least one value");
    if (!rule["nonResourceURLs"].items().empty()) {
      if (!cluster)
        rules.invalid(rule["nonResourceURLs"],
                      "namespaced rules cannot apply to non-resource URLs");
      if (!rule["apiGroups"].items().empty() || !rule["resources"].items().empty() ||
          !rule["resourceNames"].items().empty())
        rules.invalid(rule["nonResourceURLs"],
                      "rules cannot apply to both regular resources and non-resource URLs");
      continue;
    }
    if (rule["apiGroups"].items().empty())
      rules.required(rule["apiGroups"], "resource rules must supply at least one api group");
    if (rule["resources"].items().empty())
      rules.required(rule["resources"], "resource rules must supply at least one resource");
  }
  if (const Field aggregation = Field(object, "")["aggregationRule"];
      cluster && aggregation.present()) {
    const Field selectors = aggregation["clusterRoleSelectors"];
    if (selectors.items().empty())
      rules.required(selectors,
                     "at least one clusterRoleSelector required if aggregationRule is non-nil");
    for (std::size_t i = 0; i < selectors.items().size(); ++i) rules.selector(selectors.at(i));
  }
  return std::move(rules.causes);
}

// A service account without namespace is one of the binding's own.
void validate_subject(const Field& subject, bool cluster, Rules& rules) {
  rules.need_text(subject["name"]);
  std::string_view kind = subject["kind"].text(), group = subject["apiGroup"].text();
  if (kind == "ServiceAccount") {
    if (!subject["name"].text().empty()) rules.dns_subdomain(subject["name"]);
    if (!group.empty()) rules.unsupported(subject["apiGroup"], {""});
    if (cluster) rules.need_text(subject["namespace"]);
  } else if (kind == "User" || kind == "Group") {
    if (group != kGroup) rules.unsupported(subject["apiGroup"], {std::string(kGroup)});
  } else {
    rules.unsupported(subject["kind"], {"ServiceAccount", "User", "Group"});
  }
}

std::vector<Cause> validate_binding(const json::Value& object, bool cluster) {
  Rules rules;
  Field binding(object, ""), role = binding["roleRef"];
  if (role["apiGroup"].text() != kGroup) rules.unsupported(role["apiGroup"], {std::string(kGroup)});
  std::vector<std::string> supported{"ClusterRole"};
  if (!cluster) supported.insert(supported.begin(), "Role");
  bool known = role["kind"].text() == "ClusterRole" || (!cluster && role["kind"].text() == "Role");
  if (!known) rules.unsupported(role["kind"], supported);
  if (rules.need_text(role["name"])) rules.path_segment(role["name"]);
  for (std::size_t i = 0; i < binding["subjects"].items().size(); ++i)
    validate_subject(binding["subjects"].at(i), cluster, rules);
  return std::move(rules.causes);
}

void default_binding(json::Value& object) {
  json::Object& role = object_in_place(object.get_object(), "roleRef");
  set_default(role, "apiGroup", json::Value(kGroup));
  for (json::Value& subject : list_in(object.get_object(), "subjects")) {
    if (!subject.is_object()) continue;
    std::string_view kind = json::string_at(subject, {"kind"});
    if (kind == "User" || kind == "Group")
      set_default(subject.get_object(), "apiGroup", json::Value(kGroup));
  }
}

void add_role(Kinds& kinds, bool cluster) {
  Kind kind = cluster ? cluster_kind(kGroup, "v1", "clusterroles", "ClusterRole", kPackage)
                      : builtin_kind(kGroup, "v1", "roles", "Role", kPackage);
  kind.traits.create_on_update = true;
  kind.rules.validate = [cluster](const json::Value& object) {
    return validate_role(object, cluster);
  };
  add(kinds, std::move(kind));
}

void add_binding(Kinds& kinds, bool cluster) {
  Kind kind =
      cluster ? cluster_kind(kGroup, "v1", "clusterrolebindings", "ClusterRoleBinding", kPackage)
              : builtin_kind(kGroup, "v1", "rolebindings", "RoleBinding", kPackage);
  kind.traits.create_on_update = true;
  kind.printing.columns = columns({"Role", "Age", "Users*", "Groups*", "ServiceAccounts*"});
  kind.printing.cells = [](const json::Value& object, WallTime now) -> json::Array {
    return {json::Value(std::string(json::string_at(object, {"roleRef", "kind"})) + "/" +
                        std::string(json::string_at(object, {"roleRef", "name"}))),
            json::Value(age(object, now)), json::Value(subjects_cell(object, "User")),
            json::Value(subjects_cell(object, "Group")),
            json::Value(subjects_cell(object, "ServiceAccount"))};
  };
  kind.rules.set_defaults = default_binding;
  kind.rules.validate = [cluster](const json::Value& object) {
    return validate_binding(object, cluster);
  };
  kind.rules.validate_update = [](const json::Value& object, const json::Value& old) {
    Rules rules;
    Field now = Field(object, "")["roleRef"];
    if (!same(now, Field(old, "")["roleRef"])) rules.invalid(now, "cannot change roleRef");
    return std::move(rules.causes);
  };
  add(kinds, std::move(kind));
}

void add_rbac_kinds(Kinds& kinds) {
  for (bool cluster : {true, false}) {
    add_binding(kinds, cluster);
    add_role(kinds, cluster);
  }
}

}  // namespace

extern const KindGroup kinds_rbac;
const KindGroup kinds_rbac{add_rbac_kinds};

}  // namespace hekla::apiserver
