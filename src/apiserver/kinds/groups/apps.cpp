// apps/v1: Deployment, ReplicaSet, DaemonSet, ControllerRevision. StatefulSet has its own file.
#include <charconv>

#include "apiserver/kinds/builtin.h"
#include "apiserver/kinds/cells.h"
#include "apiserver/kinds/defaults.h"
#include "apiserver/kinds/rules/workload_rules.h"
#include "model/gives_way.h"

namespace hekla::apiserver {
namespace {

constexpr std::string_view kAppsPackage = "io.k8s.api.apps.v1";

bool is_zero(const Field& count) {
  if (!count.present()) return true;
  std::string text = scalar_text(count.value());
  return text == "0" || text == "0%";
}

void default_rolling_update(json::Object& strategy, json::Value surge, json::Value unavailable) {
  json::Value* type = strategy.if_contains("type");
  if (type == nullptr || !type->is_string() || json::sv(type->get_string()) != "RollingUpdate")
    return;
  json::Object& rolling = object_in_place(strategy, "rollingUpdate");
  set_default(rolling, "maxUnavailable", std::move(unavailable));
  set_default(rolling, "maxSurge", std::move(surge));
}

void default_deployment(json::Value& object) {
  json::Object& spec = object_in_place(object.get_object(), "spec");
  default_template_in(spec);
  set_default(spec, "replicas", 1);
  json::Object& strategy = object_in_place(spec, "strategy");
  set_default(strategy, "type", "RollingUpdate");
  default_rolling_update(strategy, json::Value("25%"), json::Value("25%"));
  set_default(spec, "revisionHistoryLimit", 10);
  set_default(spec, "progressDeadlineSeconds", 600);
}

std::vector<Cause> validate_deployment(const json::Value& object) {
  Rules rules;
  Field spec = Field(object, "")["spec"];
  rules.not_negative(spec["replicas"]);
  validate_selector_and_template(spec, "deployment", rules);
  validate_always_template(spec["template"], "ReplicaSet", rules);
  Field strategy = spec["strategy"], rolling = strategy["rollingUpdate"];
  if (strategy["type"].text() == "Recreate") {
    if (rolling.present())
      rules.forbidden(rolling, "may not be specified when strategy `type` is 'Recreate'");
  } else if (strategy["type"].text() == "RollingUpdate") {
    bool good = rules.count_or_percent(rolling["maxUnavailable"]);
    good = rules.count_or_percent(rolling["maxSurge"], true) && good;
    if (good && is_zero(rolling["maxUnavailable"]) && is_zero(rolling["maxSurge"]))
      rules.invalid(rolling["maxUnavailable"], "may not be 0 when `maxSurge` is 0");
  } else {
    rules.unsupported(strategy["type"], {"Recreate", "RollingUpdate"});
  }
  rules.not_negative(spec["minReadySeconds"]);
  rules.not_negative(spec["revisionHistoryLimit"]);
  if (Field deadline = spec["progressDeadlineSeconds"]; deadline.present()) {
    rules.not_negative(deadline);
    if (deadline.number() <= spec["minReadySeconds"].number())
      rules.invalid(deadline, "must be greater than minReadySeconds");
  }
  return std::move(rules.causes);
}

std::vector<Cause> validate_replica_set(const json::Value& object) {
  Rules rules;
  Field spec = Field(object, "")["spec"];
  rules.not_negative(spec["replicas"]);
  rules.not_negative(spec["minReadySeconds"]);
  validate_selector_and_template(spec, "deployment", rules);
  validate_always_template(spec["template"], "ReplicaSet", rules);
  return std::move(rules.causes);
}

std::vector<Cause> validate_daemon_set(const json::Value& object) {
  Rules rules;
  Field spec = Field(object, "")["spec"];
  validate_selector_and_template(spec, "daemonset", rules);
  validate_always_template(spec["template"], "DaemonSet", rules);
  rules.not_negative(spec["minReadySeconds"]);
  rules.not_negative(spec["revisionHistoryLimit"]);
  Field strategy = spec["updateStrategy"], rolling = strategy["rollingUpdate"];
  rules.one_of(strategy["type"], {"RollingUpdate", "OnDelete"}, true);
  if (strategy["type"].text() != "RollingUpdate") return std::move(rules.causes);
  rules.count_or_percent(rolling["maxUnavailable"]);
  rules.count_or_percent(rolling["maxSurge"]);
  bool surge = !is_zero(rolling["maxSurge"]), unavailable = !is_zero(rolling["maxUnavailable"]);
  if (surge && unavailable)
    rules.invalid(rolling["maxSurge"], "may not be set when maxUnavailable is non-zero");
  else if (!surge && !unavailable)
    rules.required(rolling["maxUnavailable"], "cannot be 0 when maxSurge is 0");
  return std::move(rules.causes);
}

std::vector<Cause> selector_stays(const json::Value& object, const json::Value& old) {
  Rules rules;
  const bool gives_way = json::string_at(old, {"kind"}) == "Deployment" &&
                         json::find_path(old, {"metadata", "annotations", model::kGivesWay});
  if (!gives_way)
    rules.immutable(Field(object, "")["spec"]["selector"], Field(old, "")["spec"]["selector"]);
  return std::move(rules.causes);
}

Kind workload(std::string_view plural, std::string_view kind, std::string_view short_name) {
  Kind out = builtin_kind("apps", "v1", plural, kind, kAppsPackage);
  out.short_names = {std::string(short_name)};
  out.categories = {"all"};
  out.traits.has_status = true;
  out.traits.has_generation = true;
  out.rules.validate_update = selector_stays;
  return out;
}

// The annotation by which old controllers count templates; upstream still writes it.
constexpr std::string_view kTemplateGeneration = "deprecated.daemonset.template.generation";

void count_templates(json::Value& object, const json::Value& old, const WriteContext&) {
  const json::Object* before = json::object_at(old, {"metadata", "annotations"});
  const json::Value* counted = before ? json::find(*before, kTemplateGeneration) : nullptr;
  std::int64_t count = 1;
  if (counted && counted->is_string()) {
    std::string_view text = json::sv(counted->get_string());
    std::from_chars(text.data(), text.data() + text.size(), count);
  }
  if (!same(Field(object, "")["spec"]["template"], Field(old, "")["spec"]["template"])) ++count;
  json::at_path(object, {"metadata", "annotations", kTemplateGeneration}) = std::to_string(count);
}

Kind deployment_kind() {
  Kind kind = workload("deployments", "Deployment", "deploy");
  kind.traits.generation_metadata = "annotations";
  make_scalable(kind);
  kind.traits.status_keeps = {"labels"};
  kind.printing.columns =
      columns({"Ready", "Up-to-date", "Available", "Age", "Containers*", "Images*", "Selector*"});
  kind.printing.cells = [](const json::Value& object, WallTime now) {
    json::Array cells{
        json::Value(std::to_string(json::int_at(object, {"status", "readyReplicas"})) + "/" +
                    std::to_string(json::int_at(object, {"spec", "replicas"}))),
        json::int_at(object, {"status", "updatedReplicas"}),
        json::int_at(object, {"status", "availableReplicas"}), json::Value(age(object, now))};
    append_template_cells(object, cells);
    return cells;
  };
  kind.rules.set_defaults = default_deployment;
  kind.rules.validate = validate_deployment;
  return kind;
}

Kind replica_set_kind() {
  Kind kind = workload("replicasets", "ReplicaSet", "rs");
  make_scalable(kind);
  kind.printing.columns = columns({"Desired:integer", "Current:integer", "Ready:integer", "Age",
                                   "Containers*", "Images*", "Selector*"});
  kind.printing.cells = [](const json::Value& object, WallTime now) {
    json::Array cells{
        json::int_at(object, {"spec", "replicas"}), json::int_at(object, {"status", "replicas"}),
        json::int_at(object, {"status", "readyReplicas"}), json::Value(age(object, now))};
    append_template_cells(object, cells);
    return cells;
  };
  kind.rules.set_defaults = [](json::Value& object) {
    json::Object& spec = object_in_place(object.get_object(), "spec");
    default_template_in(spec);
    set_default(spec, "replicas", 1);
  };
  kind.rules.validate = validate_replica_set;
  return kind;
}

Kind daemon_set_kind() {
  Kind kind = workload("daemonsets", "DaemonSet", "ds");
  kind.printing.columns =
      columns({"Desired:integer", "Current:integer", "Ready:integer", "Up-to-date:integer",
               "Available:integer", "Node Selector", "Age", "Containers*", "Images*", "Selector*"});
  kind.printing.cells = [](const json::Value& object, WallTime now) {
    const auto status = [&](std::string_view member) {
      return json::int_at(object, {"status", member});
    };
    json::Array cells{status("desiredNumberScheduled"),
                      status("currentNumberScheduled"),
                      status("numberReady"),
                      status("updatedNumberScheduled"),
                      status("numberAvailable"),
                      json::Value(labels_text(
                          json::find_path(object, {"spec", "template", "spec", "nodeSelector"}))),
                      json::Value(age(object, now))};
    append_template_cells(object, cells);
    return cells;
  };
  kind.rules.set_defaults = [](json::Value& object) {
    json::Object& spec = object_in_place(object.get_object(), "spec");
    default_template_in(spec);
    json::Object& strategy = object_in_place(spec, "updateStrategy");
    set_default(strategy, "type", "RollingUpdate");
    default_rolling_update(strategy, json::Value(0), json::Value(1));
    set_default(spec, "revisionHistoryLimit", 10);
    json::Object& metadata = object_in_place(object.get_object(), "metadata");
    set_default(object_in_place(metadata, "annotations"), kTemplateGeneration, "1");
  };
  kind.rules.prepare_update = count_templates;
  kind.rules.validate = validate_daemon_set;
  return kind;
}

std::string controller_cell(const json::Value& object) {
  const json::Array* owners = json::array_at(object, {"metadata", "ownerReferences"});
  if (owners != nullptr)
    for (const json::Value& owner : *owners) {
      if (!json::bool_at(owner, {"controller"})) continue;
      std::string kind(json::string_at(owner, {"kind"}));
      std::string_view version = json::string_at(owner, {"apiVersion"});
      if (std::size_t slash = version.find('/'); slash != std::string_view::npos)
        kind += "." + std::string(version.substr(0, slash));
      for (char& c : kind) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
      return kind + "/" + std::string(json::string_at(owner, {"name"}));
    }
  return "<none>";
}

Kind controller_revision_kind() {
  Kind kind = builtin_kind("apps", "v1", "controllerrevisions", "ControllerRevision", kAppsPackage);
  kind.printing.columns = columns({"Controller", "Revision", "Age"});
  kind.printing.cells = [](const json::Value& object, WallTime now) -> json::Array {
    return {json::Value(controller_cell(object)), json::int_at(object, {"revision"}),
            json::Value(age(object, now))};
  };
  kind.rules.validate = [](const json::Value& object) {
    Rules rules;
    Field revision(object, "");
    if (!revision["data"].present()) rules.required(revision["data"], "data is mandatory");
    rules.not_negative(revision["revision"]);
    return std::move(rules.causes);
  };
  kind.rules.validate_update = [](const json::Value& object, const json::Value& old) {
    Rules rules;
    rules.immutable(Field(object, "")["data"], Field(old, "")["data"]);
    return std::move(rules.causes);
  };
  return kind;
}

void add_apps_kinds(Kinds& kinds) {
  add(kinds, controller_revision_kind());
  add(kinds, daemon_set_kind());
  add(kinds, deployment_kind());
  add(kinds, replica_set_kind());
}

}  // namespace

extern const KindGroup kinds_apps;
const KindGroup kinds_apps{add_apps_kinds};

}  // namespace hekla::apiserver
