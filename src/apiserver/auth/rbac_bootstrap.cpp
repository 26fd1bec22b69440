#include "apiserver/auth/rbac_bootstrap.h"

#include <algorithm>
#include <string>

#include "apiserver/auth/rbac_rules.h"
#include "base/check.h"

namespace hekla::apiserver {

extern const std::string_view kBootstrapRolesText;  // generated from api/builtin/roles.txt

namespace {

constexpr std::string_view kRbacVersion = "rbac.authorization.k8s.io/v1";
constexpr std::string_view kRbacApi = "rbac.authorization.k8s.io";
constexpr std::string_view kAutoUpdate = "rbac.authorization.kubernetes.io/autoupdate";

std::vector<std::string_view> split_text(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (!text.empty()) {
    std::size_t end = text.find(separator);
    if (end != 0) parts.push_back(text.substr(0, end));
    text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
  }
  return parts;
}

json::Array text_array(std::string_view list) {
  json::Array out;
  for (std::string_view one : split_text(list, ',')) out.emplace_back(one == "core" ? "" : one);
  return out;
}

std::string full_label(std::string_view name) {
  return name.find('/') == std::string_view::npos ? std::string(kRbacApi) + "/" + std::string(name)
                                                  : std::string(name);
}

// "namespace/name" or "name".
json::Object bootstrap_metadata(std::string_view name) {
  json::Object metadata;
  if (std::size_t slash = name.find('/'); slash != std::string_view::npos) {
    metadata.emplace("namespace", name.substr(0, slash));
    name = name.substr(slash + 1);
  }
  metadata.emplace("name", name);
  metadata.emplace("annotations", json::Object{{kAutoUpdate, "true"}});
  metadata.emplace("labels", json::Object{{"kubernetes.io/bootstrapping", "rbac-defaults"}});
  return metadata;
}

json::Value role_object(const std::vector<std::string_view>& words) {
  const bool cluster = words[0] == "clusterrole";
  json::Value role = json::Object{{"apiVersion", kRbacVersion},
                                  {"kind", cluster ? "ClusterRole" : "Role"},
                                  {"metadata", bootstrap_metadata(words[1])}};
  json::Array selectors;
  for (std::size_t i = 2; i < words.size(); ++i) {
    const std::string label = full_label(words[i].substr(words[i].find('=') + 1));
    if (words[i].starts_with("from="))
      selectors.push_back(json::Object{{"matchLabels", json::Object{{label, "true"}}}});
    else
      json::at_path(role, {"metadata", "labels", label}) = "true";
  }
  if (!selectors.empty())
    role.get_object()["aggregationRule"] =
        json::Object{{"clusterRoleSelectors", std::move(selectors)}};
  role.get_object()["rules"] = json::Array();
  return role;
}

json::Value rule_object(const std::vector<std::string_view>& words) {
  json::Object rule{{"verbs", text_array(words[0])}};
  if (words[1] == "url") {
    rule.emplace("nonResourceURLs", text_array(words[2]));
    return rule;
  }
  rule.emplace("apiGroups", text_array(words[1]));
  rule.emplace("resources", text_array(words[2]));
  if (words.size() > 3) rule.emplace("resourceNames", text_array(words[3]));
  return rule;
}

json::Value subject_object(std::string_view word) {
  const std::size_t equals = word.find('=');
  const std::string_view kind = word.substr(0, equals), name = word.substr(equals + 1);
  if (kind != "ServiceAccount")
    return json::Object{{"apiGroup", kRbacApi}, {"kind", kind}, {"name", name}};
  const std::size_t slash = name.find('/');
  return json::Object{
      {"kind", kind}, {"name", name.substr(slash + 1)}, {"namespace", name.substr(0, slash)}};
}

json::Value binding_object(const std::vector<std::string_view>& words) {
  const bool cluster = words[0] == "clusterrolebinding";
  std::string_view role_kind = "ClusterRole", role_name = words[2];
  if (std::size_t slash = role_name.find('/'); !cluster && slash != std::string_view::npos) {
    role_kind = role_name.substr(0, slash);
    role_name = role_name.substr(slash + 1);
  }
  json::Value binding = json::Object{
      {"apiVersion", kRbacVersion},
      {"kind", cluster ? "ClusterRoleBinding" : "RoleBinding"},
      {"metadata", bootstrap_metadata(words[1])},
      {"roleRef", json::Object{{"apiGroup", kRbacApi}, {"kind", role_kind}, {"name", role_name}}}};
  json::Array subjects;
  for (std::size_t i = 3; i < words.size(); ++i) subjects.push_back(subject_object(words[i]));
  if (!subjects.empty()) binding.get_object()["subjects"] = std::move(subjects);
  return binding;
}

bool contains_value(const json::Array& list, const json::Value& wanted) {
  return std::any_of(list.begin(), list.end(),
                     [&](const json::Value& one) { return json::equal(one, wanted); });
}

// Rules and subjects that stand there already stay.
void add_members(json::Value& to, const json::Value& from, std::string_view member) {
  const json::Object* wanted = json::object_at(from, {"metadata", member});
  if (!wanted) return;
  for (const auto& one : *wanted) {
    json::Value& there = json::at_path(to, {"metadata", member, std::string_view(one.key())});
    if (there.is_null()) there = one.value();
  }
}

void add_elements(json::Value& to, const json::Value& from,
                  std::initializer_list<std::string_view> path) {
  const json::Array* wanted = json::array_at(from, path);
  if (!wanted) return;
  json::Value& list = json::at_path(to, path);
  if (!list.is_array()) list.emplace_array();
  for (const json::Value& one : *wanted)
    if (!contains_value(list.get_array(), one)) list.get_array().push_back(one);
}

void repair_role(json::Value& role, const json::Value& ours) {
  if (!json::find(ours, "aggregationRule")) {
    role.get_object().erase("aggregationRule");
    json::Value& rules = role.get_object()["rules"];
    if (!rules.is_array()) rules.emplace_array();
    for (const PolicyRule& rule : missing_rules(parse_policy_rules(role), parse_policy_rules(ours)))
      rules.get_array().push_back(policy_rule_value(rule));
  } else {
    add_elements(role, ours, {"aggregationRule", "clusterRoleSelectors"});
  }
}

}  // namespace

std::optional<RbacRepair> repaired_rbac(const json::Value& stored, const json::Value& ours) {
  if (json::string_at(stored, {"metadata", "annotations", kAutoUpdate}) == "false")
    return std::nullopt;
  const json::Value* role = json::find(ours, "roleRef");
  const json::Value* stored_role = json::find(stored, "roleRef");
  if (role && (!stored_role || !json::equal(*role, *stored_role))) return RbacRepair{ours, true};
  json::Value object = stored;
  add_members(object, ours, "labels");
  add_members(object, ours, "annotations");
  if (role)
    add_elements(object, ours, {"subjects"});
  else
    repair_role(object, ours);
  if (json::equal(object, stored)) return std::nullopt;
  return RbacRepair{std::move(object), false};
}

Result<std::vector<json::Value>> parse_bootstrap_roles(std::string_view text) {
  std::vector<json::Value> objects;
  int number = 0;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
    ++number;
    if (line.empty() || line.starts_with('#')) continue;
    const std::vector<std::string_view> words = split_text(line, ' ');
    const bool rule = line.starts_with(' ');
    const bool role = !rule && words.size() >= 2 && words[0].ends_with("role");
    const bool binding = !rule && words.size() >= 3 && words[0].ends_with("rolebinding");
    const bool rule_of_role = rule && words.size() >= 3 && words.size() <= 4 && !objects.empty() &&
                              json::array_at(objects.back(), {"rules"});
    if (role)
      objects.push_back(role_object(words));
    else if (binding)
      objects.push_back(binding_object(words));
    else if (rule_of_role)
      objects.back().at("rules").get_array().push_back(rule_object(words));
    else
      return fail(Code::invalid,
                  "line " + std::to_string(number) + ": not a role, a rule of one or a binding");
  }
  return objects;
}

std::vector<json::Value> bootstrap_roles() {
  Result<std::vector<json::Value>> objects = parse_bootstrap_roles(kBootstrapRolesText);
  CHECK(objects.has_value(), "api/builtin/roles.txt does not parse");
  return std::move(*objects);
}

}  // namespace hekla::apiserver
