// apps/v1 StatefulSet.
#include <set>

#include "apiserver/kinds/builtin.h"
#include "apiserver/kinds/cells.h"
#include "apiserver/kinds/defaults.h"
#include "apiserver/kinds/rules/volume_rules.h"
#include "apiserver/kinds/rules/workload_rules.h"

namespace hekla::apiserver {
namespace {

void default_stateful_set(json::Value& object) {
  json::Object& spec = object_in_place(object.get_object(), "spec");
  default_template_in(spec);
  set_default(spec, "podManagementPolicy", "OrderedReady");
  json::Object& strategy = object_in_place(spec, "updateStrategy");
  set_default(strategy, "type", "RollingUpdate");
  if (json::sv(strategy["type"].as_string()) == "RollingUpdate")
    set_default(object_in_place(strategy, "rollingUpdate"), "partition", 0);
  json::Object& retention = object_in_place(spec, "persistentVolumeClaimRetentionPolicy");
  set_default(retention, "whenDeleted", "Retain");
  set_default(retention, "whenScaled", "Retain");
  set_default(spec, "replicas", 1);
  set_default(spec, "revisionHistoryLimit", 10);
  for (json::Value& claim : list_in(spec, "volumeClaimTemplates")) {
    if (!claim.is_object()) continue;
    set_default(claim.get_object(), "apiVersion", "v1");
    set_default(claim.get_object(), "kind", "PersistentVolumeClaim");
    default_claim_spec(object_in_place(claim.get_object(), "spec"));
    set_default(object_in_place(claim.get_object(), "status"), "phase", "Pending");
  }
}

// The template with what the controller puts in the place of its own: claims become volumes (which
// the template may mount without naming them itself), and names come from the set.
json::Value as_pods_have_it(const Field& spec) {
  json::Value pod_template = spec["template"].value();
  if (!pod_template.is_object()) return pod_template;
  json::Object& pod = object_in_place(pod_template.get_object(), "spec");
  pod.erase("hostname");
  pod.erase("subdomain");
  std::set<std::string_view> claimed;
  json::Array volumes;
  for (const json::Value& claim : spec["volumeClaimTemplates"].items()) {
    const std::string_view name = json::string_at(claim, {"metadata", "name"});
    if (claimed.insert(name).second)
      volumes.push_back(json::Object{{"name", name}, {"emptyDir", json::Object()}});
  }
  for (const json::Value& volume : spec["template"]["spec"]["volumes"].items())
    if (!claimed.contains(json::string_at(volume, {"name"}))) volumes.push_back(volume);
  pod["volumes"] = std::move(volumes);
  return pod_template;
}

std::vector<Cause> validate_stateful_set(const json::Value& object) {
  Rules rules;
  Field spec = Field(object, "")["spec"];
  Field policy = spec["podManagementPolicy"];
  if (rules.need_text(policy) && policy.text() != "OrderedReady" && policy.text() != "Parallel")
    rules.invalid(policy, "must be 'OrderedReady' or 'Parallel'");
  Field strategy = spec["updateStrategy"];
  if (strategy["type"].text().empty())
    rules.required(strategy);
  else if (strategy["type"].text() == "OnDelete" && strategy["rollingUpdate"].present())
    rules.invalid(strategy["rollingUpdate"], "only allowed for updateStrategy 'RollingUpdate'");
  else if (strategy["type"].text() != "RollingUpdate" && strategy["type"].text() != "OnDelete")
    rules.invalid(strategy, "must be 'RollingUpdate' or 'OnDelete'");
  else
    rules.not_negative(strategy["rollingUpdate"]["partition"]);
  rules.one_of(spec["persistentVolumeClaimRetentionPolicy"]["whenDeleted"], {"Retain", "Delete"});
  rules.one_of(spec["persistentVolumeClaimRetentionPolicy"]["whenScaled"], {"Retain", "Delete"});
  rules.not_negative(spec["replicas"]);
  rules.not_negative(spec["minReadySeconds"]);
  rules.not_negative(spec["ordinals"]["start"]);
  validate_selector_and_template(spec, "statefulset", rules);
  const json::Value pod_template = as_pods_have_it(spec);
  validate_always_template(Field(pod_template, spec.path() + ".template"), "StatefulSet", rules);
  return std::move(rules.causes);
}

// Neither can change afterwards.
std::vector<Cause> validate_new_stateful_set(const json::Value& object) {
  Rules rules;
  Field spec = Field(object, "")["spec"];
  for (std::size_t i = 0; i < spec["volumeClaimTemplates"].items().size(); ++i)
    validate_claim_spec(spec["volumeClaimTemplates"].at(i)["spec"], rules);
  if (!spec["serviceName"].text().empty()) rules.dns_label(spec["serviceName"]);
  return std::move(rules.causes);
}

std::vector<Cause> validate_changed_stateful_set(const json::Value& object,
                                                 const json::Value& old) {
  Rules rules;
  Field now = Field(object, "")["spec"], before = Field(old, "")["spec"];
  json::Value a = now.value(), b = before.value();
  if (!a.is_object() || !b.is_object()) return {};
  for (json::Value* side : {&a, &b})
    for (std::string_view member :
         {"replicas", "ordinals", "template", "updateStrategy", "revisionHistoryLimit",
          "persistentVolumeClaimRetentionPolicy", "minReadySeconds"})
      side->get_object().erase(member);
  if (!json::equal(a, b))
    rules.forbidden(
        now,
        "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', "
        "'updateStrategy', 'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and "
        "'minReadySeconds' are forbidden");
  return std::move(rules.causes);
}

void add_stateful_set_kinds(Kinds& kinds) {
  Kind kind = builtin_kind("apps", "v1", "statefulsets", "StatefulSet", "io.k8s.api.apps.v1");
  kind.short_names = {"sts"};
  kind.categories = {"all"};
  make_scalable(kind);
  kind.traits.has_status = true;
  kind.traits.has_generation = true;
  kind.traits.name_rule = NameRule::label;
  kind.printing.columns = columns({"Ready", "Age", "Containers*", "Images*"});
  kind.printing.cells = [](const json::Value& object, WallTime now) {
    json::Array cells{
        json::Value(std::to_string(json::int_at(object, {"status", "readyReplicas"})) + "/" +
                    std::to_string(json::int_at(object, {"spec", "replicas"}))),
        json::Value(age(object, now))};
    append_template_cells(object, cells, false);
    return cells;
  };
  kind.rules.set_defaults = default_stateful_set;
  kind.rules.validate = validate_stateful_set;
  kind.rules.validate_create = validate_new_stateful_set;
  kind.rules.validate_update = validate_changed_stateful_set;
  add(kinds, std::move(kind));
}

}  // namespace

extern const KindGroup kinds_stateful_set;
const KindGroup kinds_stateful_set{add_stateful_set_kinds};

}  // namespace hekla::apiserver
