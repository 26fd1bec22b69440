// autoscaling/v2 and v1 HorizontalPodAutoscaler. Stored as v2; v1 shows the CPU target as a number
// of its own and carries what it has no words for in annotations.
#include <algorithm>

#include "apiserver/kinds/builtin.h"
#include "apiserver/kinds/cells.h"
#include "apiserver/kinds/defaults.h"
#include "apiserver/kinds/rules/rules.h"
#include "json/parse.h"
#include "model/quantity.h"

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

json::Value scaling_policy(std::string_view type, std::int64_t value) {
  return json::Object{{"type", type}, {"value", value}, {"periodSeconds", 15}};
}

// A rule for one direction brings both in full. How long scaling down waits stays
// open: that is the controller's to say.
void default_behavior(json::Object& spec) {
  json::Value* given = spec.if_contains("behavior");
  if (given == nullptr || !given->is_object()) return;
  for (std::string_view direction : {"scaleUp", "scaleDown"}) {
    json::Object& rules = object_in_place(given->get_object(), direction);
    const bool up = direction == "scaleUp";
    if (up) set_default(rules, "stabilizationWindowSeconds", 0);
    set_default(rules, "selectPolicy", "Max");
    json::Array policies{scaling_policy("Percent", 100)};
    if (up) policies.insert(policies.begin(), scaling_policy("Pods", 4));
    set_default(rules, "policies", std::move(policies));
  }
}

void default_v2(json::Value& object) {
  json::Object& spec = object_in_place(object.get_object(), "spec");
  set_default(spec, "minReplicas", 1);
  if (list_in(spec, "metrics").empty()) spec["metrics"] = json::Array{cpu_metric(80)};
  default_behavior(spec);
}

// v1 to v2, in place.
void to_v2(json::Value& object) {
  object_in_place(object.get_object(),
                  "metadata");  // before the spec is held: a new member may move the others
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

void validate_target(const Field& target, Rules& rules) {
  std::string_view type = target["type"].text();
  if (type.empty()) rules.required(target["type"], "must specify a metric target type");
  if (type != "Utilization" && type != "Value" && type != "AverageValue")
    rules.invalid(target["type"], json::Value(type),
                  "must be either Utilization, Value, or AverageValue");
  for (std::string_view member : {"value", "averageValue"})
    if (auto amount = model::Quantity::from_json(target[member].value());
        target[member].present() && amount && amount->nanos <= 0)
      rules.invalid(target[member], json::Value(amount->text()), "must be positive");
  if (target["averageUtilization"].present() && target["averageUtilization"].number() < 1)
    rules.invalid(target["averageUtilization"], "must be greater than 0");
}

void validate_reference(const Field& reference, bool core_too, Rules& rules) {
  for (std::string_view member : {"kind", "name"})
    if (rules.need_text(reference[member])) rules.path_segment(reference[member]);
  const std::string_view version = reference["apiVersion"].text();
  const auto slashes = std::ranges::count(version, '/');
  if (slashes > 1)
    rules.invalid(reference["apiVersion"],
                  "unexpected GroupVersion string: " + std::string(version));
  else if (!core_too && (slashes == 0 || version.starts_with('/')))
    rules.invalid(reference["apiVersion"], json::Value(version),
                  "apiVersion must specify API group");
}

// Which of its numbers a target must have depends on what is measured.
void validate_source(std::string_view kind, const Field& source, Rules& rules) {
  const Field target = source["target"];
  const bool value = target["value"].present(), average = target["averageValue"].present(),
             used = target["averageUtilization"].present();
  if (kind == "resource" || kind == "containerResource") {
    if (source["name"].text().empty())
      rules.required(source["name"], "must specify a resource name");
    if (kind == "containerResource") {
      if (source["container"].text().empty())
        rules.required(source["container"], "must specify a container");
      else
        rules.dns_label(source["container"]);
    }
    validate_target(target, rules);
    if (!used && !average)
      rules.required(target["averageUtilization"],
                     "must set either a target raw value or a target utilization");
    if (used && average)
      rules.forbidden(target["averageValue"],
                      "may not set both a target raw value and a target utilization");
    return;
  }
  if (kind == "object") validate_reference(source["describedObject"], true, rules);
  if (source["metric"]["name"].text().empty())
    rules.required(source["metric"]["name"], "must specify a metric name");
  else
    rules.path_segment(source["metric"]["name"]);
  validate_target(target, rules);
  if (kind == "pods" && !average)
    rules.required(target["averageValue"], "must specify a positive target averageValue");
  if (kind == "object" && !value && !average)
    rules.required(target["averageValue"], "must set either a target value or averageValue");
  if (kind == "external" && !value && !average)
    rules.required(target["averageValue"],
                   "must set either a target value for metric or a per-pod target");
  if (kind == "external" && value && average)
    rules.forbidden(target["value"],
                    "may not set both a target value for metric and a per-pod target");
}

void validate_metric(const Field& metric, Rules& rules) {
  static const std::pair<std::string_view, std::string_view> kKinds[]{
      {"Object", "object"},
      {"External", "external"},
      {"Pods", "pods"},
      {"Resource", "resource"},
      {"ContainerResource", "containerResource"}};
  std::string_view expected;
  int present = 0;
  for (const auto& [type, member] : kKinds)
    if (metric["type"].text() == type) expected = member;
  if (metric["type"].text().empty())
    rules.required(metric["type"], "must specify a metric source type");
  if (expected.empty())
    rules.unsupported(metric["type"],
                      {"ContainerResource", "External", "Object", "Pods", "Resource"});
  for (const auto& [type, member] : kKinds) {
    if (metric[member].present() && ++present == 1) validate_source(member, metric[member], rules);
  }
  if (!expected.empty() && !metric[expected].present())
    rules.required(metric[expected], "must populate information for the given metric source");
  for (const auto& [type, member] : kKinds)
    if (present > 1 && member != expected && metric[member].present())
      rules.forbidden(metric[member], "must populate the given metric source only");
}

void validate_behavior(const Field& scaling, Rules& rules) {
  constexpr std::int64_t kLongestWindow = 3600, kLongestPeriod = 1800;
  if (!scaling.present()) return;
  const Field window = scaling["stabilizationWindowSeconds"], policies = scaling["policies"];
  if (window.number() < 0) rules.invalid(window, "must be greater than or equal to zero");
  if (window.number() > kLongestWindow) rules.invalid(window, "must be less than or equal to 3600");
  rules.one_of(scaling["selectPolicy"], {"Disabled", "Max", "Min"});
  if (policies.items().empty()) rules.required(policies, "must specify at least one Policy");
  for (std::size_t i = 0; i < policies.items().size(); ++i) {
    if (std::string_view type = policies.at(i)["type"].text(); type != "Percent" && type != "Pods")
      rules.unsupported(policies.at(i)["type"], {"Percent", "Pods"});
    for (std::string_view member : {"value", "periodSeconds"})
      if (const Field number = policies.at(i)[member]; number.number() <= 0)
        rules.invalid(number, json::Value(number.number()), "must be greater than zero");
    if (const Field period = policies.at(i)["periodSeconds"]; period.number() > kLongestPeriod)
      rules.invalid(period, "must be less than or equal to 1800");
  }
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
  // Of the kinds of the core group, one alone can be scaled.
  const Field target = spec["scaleTargetRef"];
  validate_reference(target, target["kind"].text() == "ReplicationController", rules);
  for (std::size_t i = 0; i < spec["metrics"].items().size(); ++i)
    validate_metric(spec["metrics"].at(i), rules);
  for (std::string_view direction : {"scaleUp", "scaleDown"})
    validate_behavior(spec["behavior"][direction], rules);
  return std::move(rules.causes);
}

Kind autoscaler_kind(std::string_view version, std::string_view package) {
  Kind kind = builtin_kind("autoscaling", version, "horizontalpodautoscalers",
                           "HorizontalPodAutoscaler", package);
  kind.short_names = {"hpa"};
  kind.categories = {"all"};
  kind.traits.has_status = true;
  kind.storage.version = "autoscaling/v2";
  kind.printing.columns =
      columns({"Reference", "Targets", "MinPods", "MaxPods", "Replicas", "Age"});
  kind.rules.validate = validate_autoscaler;
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

void add_autoscaling_kinds(Kinds& kinds) {
  Kind second = autoscaler_kind("v2", "io.k8s.api.autoscaling.v2");
  second.printing.cells = autoscaler_cells;
  second.rules.set_defaults = default_v2;
  add(kinds, std::move(second));

  Kind first = autoscaler_kind("v1", "io.k8s.api.autoscaling.v1");
  first.storage.from_stored = to_v1;
  first.storage.to_stored = to_v2;
  first.printing.cells = [](const json::Value& object, WallTime now) {
    json::Value newer = object;
    to_v2(newer);
    return autoscaler_cells(newer, now);
  };
  first.rules.validate = [](const json::Value& object) {
    Rules rules{validate_autoscaler(object)};
    const Field used = Field(object, "")["spec"]["targetCPUUtilizationPercentage"];
    if (used.present() && used.number() < 1)  // where it stands in v2
      rules.invalid(Field(used.value(), "spec.metrics[0].resource.target.averageUtilization"),
                    "must be greater than 0");
    return std::move(rules.causes);
  };
  first.rules.set_defaults = [](json::Value& object) {
    json::Object& spec = object_in_place(object.get_object(), "spec");
    set_default(spec, "minReplicas", 1);
    if (json::object_at(object, {"metadata", "annotations"}) == nullptr ||
        json::string_at(object, {"metadata", "annotations", kMetricsAnnotation}).empty())
      set_default(spec, "targetCPUUtilizationPercentage", 80);
  };
  add(kinds, std::move(first));
}

}  // namespace

extern const KindGroup kinds_autoscaling;
const KindGroup kinds_autoscaling{add_autoscaling_kinds};

}  // namespace hekla::apiserver
