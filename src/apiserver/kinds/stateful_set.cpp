#include "apiserver/kinds/stateful_set.h"

#include "apiserver/kinds/builtin.h"
#include "apiserver/kinds/cells.h"
#include "apiserver/kinds/defaults.h"
#include "apiserver/kinds/volume_rules.h"
#include "apiserver/kinds/workload_rules.h"

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

std::vector<Cause> validate_stateful_set(const json::Value& object) {
  Rules rules;
  Field spec = Field(object, "")["spec"];
  Field policy = spec["podManagementPolicy"];
  if (rules.need_text(policy) && policy.text() != "OrderedReady" && policy.text() != "Parallel")
    rules.invalid(policy, "must be 'OrderedReady' or 'Parallel'");
  Field strategy = spec["updateStrategy"];
  if (strategy["type"].text().empty())
    rules.required(strategy);
  else if (strategy["type"].text() != "RollingUpdate" && strategy["type"].text() != "OnDelete")
    rules.invalid(strategy, "must be 'RollingUpdate' or 'OnDelete'");
  rules.not_negative(strategy["rollingUpdate"]["partition"]);
  rules.one_of(spec["persistentVolumeClaimRetentionPolicy"]["whenDeleted"], {"Delete", "Retain"});
  rules.one_of(spec["persistentVolumeClaimRetentionPolicy"]["whenScaled"], {"Delete", "Retain"});
  rules.not_negative(spec["replicas"]);
  rules.not_negative(spec["minReadySeconds"]);
  rules.not_negative(spec["ordinals"]["start"]);
  validate_selector_and_template(spec, "statefulset", rules);
  // Claims become volumes of the pods: the template may mount them without naming them itself.
  json::Value pod_template = spec["template"].value();
  if (pod_template.is_object()) {
    json::Value& volumes = json::at_path(pod_template, {"spec", "volumes"});
    if (!volumes.is_array()) volumes = json::Array();
    for (const json::Value& claim : spec["volumeClaimTemplates"].items())
      volumes.get_array().push_back(json::Object{
          {"name", json::string_at(claim, {"metadata", "name"})}, {"emptyDir", json::Object()}});
  }
  validate_always_template(Field(pod_template, spec.path() + ".template"), "StatefulSet", rules);
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

}  // namespace

Kind stateful_set_kind() {
  Kind kind = builtin_kind("apps", "v1", "statefulsets", "StatefulSet", "io.k8s.api.apps.v1");
  kind.short_names = {"sts"};
  kind.categories = {"all"};
  kind.has_status = true;
  kind.has_generation = true;
  kind.name_rule = NameRule::label;
  kind.columns = columns({"Ready", "Age", "Containers*", "Images*"});
  kind.cells = [](const json::Value& object, WallTime now) {
    json::Array cells{
        json::Value(std::to_string(json::int_at(object, {"status", "readyReplicas"})) + "/" +
                    std::to_string(json::int_at(object, {"spec", "replicas"}))),
        json::Value(age(object, now))};
    append_template_cells(object, cells, false);
    return cells;
  };
  kind.set_defaults = default_stateful_set;
  kind.validate = validate_stateful_set;
  kind.validate_update = validate_changed_stateful_set;
  return kind;
}

}  // namespace hekla::apiserver
