// v1 ReplicationController: the replica set before there were replica sets.
#include "apiserver/kinds/builtin.h"
#include "apiserver/kinds/cells.h"
#include "apiserver/kinds/defaults.h"
#include "apiserver/kinds/rules/workload_rules.h"

namespace hekla::apiserver {
namespace {

void default_controller(json::Value& object) {
  json::Object& spec = object_in_place(object.get_object(), "spec");
  default_template_in(spec);
  set_default(spec, "replicas", 1);
  const json::Value* labels = json::find_path(object, {"spec", "template", "metadata", "labels"});
  if (labels == nullptr || !labels->is_object() || labels->get_object().empty()) return;
  json::Value copy = *labels;
  if (count(object, {"spec", "selector"}) == 0) spec["selector"] = copy;
  if (count(object, {"metadata", "labels"}) == 0)
    json::at_path(object, {"metadata", "labels"}) = std::move(copy);
}

std::vector<Cause> validate_controller(const json::Value& object) {
  Rules rules;
  Field spec = Field(object, "")["spec"];
  rules.not_negative(spec["minReadySeconds"]);
  if (spec["selector"].members().empty()) rules.required(spec["selector"]);
  rules.not_negative(spec["replicas"]);
  if (!spec["template"].present()) {
    rules.required(spec["template"]);
    return std::move(rules.causes);
  }
  for (const auto& label : spec["selector"].members()) {
    Field labels = spec["template"]["metadata"]["labels"];
    if (same(labels.key(label.key()), spec["selector"].key(label.key()))) continue;
    rules.invalid(labels, "`selector` does not match template `labels`");
    break;
  }
  validate_always_template(spec["template"], "ReplicationController", rules);
  return std::move(rules.causes);
}

void add_core_controller_kinds(Kinds& kinds) {
  Kind kind =
      builtin_kind("", "v1", "replicationcontrollers", "ReplicationController", kCorePackage);
  kind.short_names = {"rc"};
  kind.categories = {"all"};
  kind.traits.has_status = true;
  kind.traits.has_generation = true;
  make_scalable(kind);
  kind.scale.plain_selector = true;
  kind.traits.orphans_by_default = true;
  kind.printing.columns = columns({"Desired:integer", "Current:integer", "Ready:integer", "Age",
                                   "Containers*", "Images*", "Selector*"});
  kind.printing.cells = [](const json::Value& object, WallTime now) {
    json::Array cells{
        json::int_at(object, {"spec", "replicas"}), json::int_at(object, {"status", "replicas"}),
        json::int_at(object, {"status", "readyReplicas"}), json::Value(age(object, now))};
    append_template_cells(object, cells, false);
    cells.emplace_back(labels_text(json::find_path(object, {"spec", "selector"})));
    return cells;
  };
  kind.selectable = {{"status.replicas", [](const json::Node& object) {
                        return std::to_string(json::int_at(object, {"status", "replicas"}));
                      }}};
  kind.rules.set_defaults = default_controller;
  kind.rules.validate = validate_controller;
  add(kinds, std::move(kind));
}

}  // namespace

extern const KindGroup kinds_core_controller;
const KindGroup kinds_core_controller{add_core_controller_kinds};

}  // namespace hekla::apiserver
