// autoscaling/v2 and v1 HorizontalPodAutoscaler. Stored as v2; v1 shows the CPU target as a number
// of its own and carries what it has no words for in annotations.
#include "apiserver/kinds/builtin.h"
#include "apiserver/kinds/cells.h"
#include "apiserver/kinds/defaults.h"
#include "apiserver/kinds/rules.h"
#include "json/parse.h"

namespace hekla::apiserver {
namespace {

constexpr std::string_view kMetricsAnnotation = "autoscaling.alpha.kubernetes.io/metrics";
constexpr std::string_view kBehaviorAnnotation = "autoscaling.alpha.kubernetes.io/behavior";

std::string percent(const json::Value& value) { return scalar_text(value) + "%"; }

std::string at_or(const json::Value* holder, Path path, std::string_view otherwise,
                  bool is_percent = false) {
  const json::Value* found = holder == nullptr ? nullptr : json::find_path(*holder, path);
  if (found == nullptr || found->is_null()) return std::string(otherwise);
  return is_percent ? percent(*found) : scalar_text(*found);
}

std::string metric_text(const json::Value& metric, const json::Value* status) {
  std::string_view type = json::string_at(metric, {"type"});
  const std::string_view member = type == "External"            ? "external"
                                  : type == "Pods"              ? "pods"
                                  : type == "Object"            ? "object"
                                  : type == "Resource"          ? "resource"
                                  : type == "ContainerResource" ? "containerResource"
                                                                : "";
  if (member.empty()) return "<unknown type>";
  const json::Value* target = json::find_path(metric, {member, "target"});
  const json::Value* current =
      status == nullptr ? nullptr : json::find_path(*status, {member, "current"});
  bool average = target != nullptr && json::find(*target, "averageValue") != nullptr;
  if (type == "Resource" || type == "ContainerResource") {
    std::string name(json::string_at(metric, {member, "name"}));
    if (average)
      return name + ": " + at_or(current, {"averageValue"}, "<unknown>") + "/" +
             at_or(target, {"averageValue"}, "");
    return name + ": " + at_or(current, {"averageUtilization"}, "<unknown>", true) + "/" +
           at_or(target, {"averageUtilization"}, "<auto>", true);
  }
  if (type == "Pods")
    return at_or(current, {"averageValue"}, "<unknown>") + "/" +
           at_or(target, {"averageValue"}, "");
  if (average)
    return at_or(current, {"averageValue"}, "<unknown>") + "/" +
           at_or(target, {"averageValue"}, "") + " (avg)";
  return at_or(current, {"value"}, "<unknown>") + "/" + at_or(target, {"value"}, "");
}

std::string targets_cell(const json::Value& object) {
  constexpr std::size_t kShown = 2;
  const json::Array* metrics = json::array_at(object, {"spec", "metrics"});
  const json::Array* statuses = json::array_at(object, {"status", "currentMetrics"});
  if (metrics == nullptr || metrics->empty()) return "<none>";
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < metrics->size(); ++i)
    texts.push_back(metric_text(
        (*metrics)[i], statuses != nullptr && i < statuses->size() ? &(*statuses)[i] : nullptr));
  std::size_t total = texts.size();
  if (total <= kShown) return join(texts, ", ");
  texts.resize(kShown);
  return join(texts, ", ") + " + " + std::to_string(total - kShown) + " more...";
}

json::Value cpu_metric(std::int64_t utilization) {
  return json::Object{
      {"type", "Resource"},
      {"resource", json::Object{{"name", "cpu"},
                                {"target", json::Object{{"type", "Utilization"},
                                                        {"averageUtilization", utilization}}}}}};
}

bool is_cpu_utilization(const json::Value& metric) {
  return json::string_at(metric, {"type"}) == "Resource" &&
         json::string_at(metric, {"resource", "name"}) == "cpu" &&
         json::find_path(metric, {"resource", "target", "averageUtilization"}) != nullptr;
}

void default_v2(json::Value& object) {
  json::Object& spec = object_in_place(object.get_object(), "spec");
  set_default(spec, "minReplicas", 1);
  if (list_in(spec, "metrics").empty()) spec["metrics"] = json::Array{cpu_metric(80)};
}

// v1 to v2, in place.
void to_v2(json::Value& object) {
  json::Object& spec = object_in_place(object.get_object(), "spec");
  json::Array metrics;
  json::Value* annotations =
      object_in_place(object.get_object(), "metadata").if_contains("annotations");
  if (annotations != nullptr && annotations->is_object()) {
    json::Object& all = annotations->get_object();
    if (auto kept = json::parse(json::string_at(*annotations, {kMetricsAnnotation}));
        kept && kept->is_array())
      metrics = kept->get_array();
    if (auto kept = json::parse(json::string_at(*annotations, {kBehaviorAnnotation}));
        kept && kept->is_object())
      spec["behavior"] = *kept;
    all.erase(kMetricsAnnotation);
    all.erase(kBehaviorAnnotation);
  }
  json::Value holder(spec);
  if (const json::Value* target = json::find(holder, "targetCPUUtilizationPercentage");
      target != nullptr && target->is_number())
    metrics.insert(metrics.begin(), cpu_metric(target->to_number<std::int64_t>()));
  spec.erase("targetCPUUtilizationPercentage");
  if (!metrics.empty()) spec["metrics"] = std::move(metrics);
  if (json::Value* status = object.get_object().if_contains("status");
      status != nullptr && status->is_object())
    status->get_object().erase("currentCPUUtilizationPercentage");
}

void to_v1(json::Value& object) {
  json::Object& spec = object_in_place(object.get_object(), "spec");
  json::Array others;
  for (const json::Value& metric : list_in(spec, "metrics")) {
    if (is_cpu_utilization(metric) && !spec.contains("targetCPUUtilizationPercentage"))
      spec["targetCPUUtilizationPercentage"] =
          json::int_at(metric, {"resource", "target", "averageUtilization"});
    else
      others.push_back(metric);
  }
  spec.erase("metrics");
  if (!others.empty())
    json::at_path(object, {"metadata", "annotations", kMetricsAnnotation}) =
        json::serialize(others);
  if (json::Value* behavior = spec.if_contains("behavior")) {
    json::at_path(object, {"metadata", "annotations", kBehaviorAnnotation}) =
        json::serialize(*behavior);
    spec.erase("behavior");
  }
  json::Value* status = object.get_object().if_contains("status");
  if (status == nullptr || !status->is_object()) return;
  for (const json::Value& metric : list_in(status->get_object(), "currentMetrics"))
    if (const json::Value* now =
            json::find_path(metric, {"resource", "current", "averageUtilization"}))
      if (json::string_at(metric, {"resource", "name"}) == "cpu")
        status->get_object()["currentCPUUtilizationPercentage"] = json::Value(*now);
  for (std::string_view member : {"currentMetrics", "conditions"})
    status->get_object().erase(member);
}

std::vector<Cause> validate_autoscaler(const json::Value& object) {
  Rules rules;
  Field spec = Field(object, "")["spec"];
  Field low = spec["minReplicas"], high = spec["maxReplicas"];
  if (low.present() && low.number() < 1) rules.invalid(low, "must be greater than or equal to 1");
  if (high.number() < 1) rules.invalid(high, json::Value(high.number()), "must be greater than 0");
  if (low.present() && high.number() < low.number())
    rules.invalid(high, json::Value(high.number()),
                  "must be greater than or equal to `minReplicas`");
  rules.need_text(spec["scaleTargetRef"]["kind"]);
  rules.need_text(spec["scaleTargetRef"]["name"]);
  return std::move(rules.causes);
}

Kind autoscaler_kind(std::string_view version, std::string_view package) {
  Kind kind = builtin_kind("autoscaling", version, "horizontalpodautoscalers",
                           "HorizontalPodAutoscaler", package);
  kind.short_names = {"hpa"};
  kind.categories = {"all"};
  kind.has_status = true;
  kind.storage_version = "autoscaling/v2";
  kind.columns = columns({"Reference", "Targets", "MinPods", "MaxPods", "Replicas", "Age"});
  kind.validate = validate_autoscaler;
  return kind;
}

json::Array autoscaler_cells(const json::Value& object, WallTime now) {
  return {
      json::Value(std::string(json::string_at(object, {"spec", "scaleTargetRef", "kind"})) + "/" +
                  std::string(json::string_at(object, {"spec", "scaleTargetRef", "name"}))),
      json::Value(targets_cell(object)),
      json::Value(at_or(&object, {"spec", "minReplicas"}, "<unset>")),
      json::int_at(object, {"spec", "maxReplicas"}),
      json::int_at(object, {"status", "currentReplicas"}),
      json::Value(age(object, now))};
}

}  // namespace

void add_autoscaling_kinds(Kinds& kinds) {
  Kind second = autoscaler_kind("v2", "io.k8s.api.autoscaling.v2");
  second.cells = autoscaler_cells;
  second.set_defaults = default_v2;
  add(kinds, std::move(second));

  Kind first = autoscaler_kind("v1", "io.k8s.api.autoscaling.v1");
  first.from_storage = to_v1;
  first.to_storage = to_v2;
  first.cells = [](const json::Value& object, WallTime now) {
    json::Value newer = object;
    to_v2(newer);
    return autoscaler_cells(newer, now);
  };
  first.set_defaults = [](json::Value& object) {
    json::Object& spec = object_in_place(object.get_object(), "spec");
    set_default(spec, "minReplicas", 1);
    if (json::object_at(object, {"metadata", "annotations"}) == nullptr ||
        json::string_at(object, {"metadata", "annotations", kMetricsAnnotation}).empty())
      set_default(spec, "targetCPUUtilizationPercentage", 80);
  };
  add(kinds, std::move(first));
}

}  // namespace hekla::apiserver
