// Which nodes a DaemonSet wants, and how its pods are tied to them.
#include <algorithm>

#include "controllers/workload/daemon_set.h"

namespace hekla::controllers {
namespace {

struct AddedToleration {
  std::string_view key, effect;
};
constexpr AddedToleration kAdded[] = {
    {"node.kubernetes.io/not-ready", "NoExecute"},
    {"node.kubernetes.io/unreachable", "NoExecute"},
    {"node.kubernetes.io/disk-pressure", "NoSchedule"},
    {"node.kubernetes.io/memory-pressure", "NoSchedule"},
    {"node.kubernetes.io/pid-pressure", "NoSchedule"},
    {"node.kubernetes.io/unschedulable", "NoSchedule"},
};

}  // namespace

std::vector<model::Toleration> daemon_tolerations(const json::Value& pod_template) {
  std::vector<model::Toleration> all;
  if (const json::Array* given = json::array_at(pod_template, {"spec", "tolerations"}))
    for (const json::Value& one : *given)
      if (Result<model::Toleration> parsed = model::Toleration::from_json(one))
        all.push_back(std::move(*parsed));
  auto add = [&](std::string_view key, std::string_view effect) {
    model::Toleration one;
    one.key = key;
    one.op = "Exists";
    one.effect = effect;
    bool has = std::any_of(all.begin(), all.end(), [&](const model::Toleration& given) {
      return given.key == one.key && given.effect == one.effect && given.op == "Exists" &&
             !given.tolerationSeconds;
    });
    if (!has) all.push_back(std::move(one));
  };
  for (const AddedToleration& one : kAdded) add(one.key, one.effect);
  if (json::bool_at(pod_template, {"spec", "hostNetwork"}))
    add("node.kubernetes.io/network-unavailable", "NoSchedule");
  return all;
}

namespace {

bool tolerates(const std::vector<model::Toleration>& tolerations, const model::Taint& taint) {
  return std::any_of(tolerations.begin(), tolerations.end(), [&](const model::Toleration& one) {
    if (!one.effect.empty() && one.effect != taint.effect) return false;
    if (one.op == "Exists") return one.key.empty() || one.key == taint.key;
    return one.key == taint.key && one.value == taint.value;
  });
}

bool expressions_match(const json::Value& term, std::string_view member,
                       const model::Labels& labels) {
  const json::Array* expressions = json::array_at(term, {member});
  if (!expressions) return true;
  using Op = model::Selector::Op;
  static const std::map<std::string_view, Op> kOps{
      {"In", Op::in},         {"NotIn", Op::not_in},
      {"Exists", Op::exists}, {"DoesNotExist", Op::absent},
      {"Gt", Op::greater},    {"Lt", Op::less}};
  model::Selector selector;
  for (const json::Value& one : *expressions) {
    auto op = kOps.find(json::string_at(one, {"operator"}));
    if (op == kOps.end()) return false;
    model::Selector::Requirement requirement{
        std::string(json::string_at(one, {"key"})), op->second, {}};
    if (const json::Array* values = json::array_at(one, {"values"}))
      for (const json::Value& value : *values)
        if (value.is_string()) requirement.values.emplace_back(json::sv(value.get_string()));
    selector.add(std::move(requirement));
  }
  return selector.matches(labels);
}

bool daemon_affinity_matches(const json::Value& pod_template, const model::Node& node) {
  if (const json::Object* wanted = json::object_at(pod_template, {"spec", "nodeSelector"}))
    for (const auto& member : *wanted)
      if (!member.value().is_string() ||
          !node.metadata.labels.contains(std::string(member.key())) ||
          node.metadata.label(std::string(member.key())) != json::sv(member.value().get_string()))
        return false;
  const json::Array* terms = json::array_at(
      pod_template, {"spec", "affinity", "nodeAffinity",
                     "requiredDuringSchedulingIgnoredDuringExecution", "nodeSelectorTerms"});
  if (!terms) return true;
  model::Labels fields{{"metadata.name", node.metadata.name}};
  return std::any_of(terms->begin(), terms->end(), [&](const json::Value& term) {
    bool any = json::find(term, "matchExpressions") || json::find(term, "matchFields");
    return any && expressions_match(term, "matchExpressions", node.metadata.labels) &&
           expressions_match(term, "matchFields", fields);
  });
}

}  // namespace

DaemonFit daemon_fit(const json::Value& pod_template,
                     const std::vector<model::Toleration>& tolerations, const model::Node& node) {
  std::string_view pinned = json::string_at(pod_template, {"spec", "nodeName"});
  if (!pinned.empty() && pinned != node.metadata.name) return {};
  if (!daemon_affinity_matches(pod_template, node)) return {};
  DaemonFit fit{true, true};
  for (const model::Taint& taint : node.spec.taints) {
    if (taint.effect == "PreferNoSchedule" || tolerates(tolerations, taint)) continue;
    fit.should_run = false;
    if (taint.effect == "NoExecute") fit.may_stay = false;
  }
  return fit;
}

json::Value new_daemon_pod(const AnyObject& set, const TemplateRevision& revision,
                           const std::string& node) {
  json::Value pod = pod_from_template(revision.pod_template);
  json::at_path(pod, {"metadata", "generateName"}) = set.metadata.name + "-";
  json::at_path(pod, {"metadata", "labels", "controller-revision-hash"}) = revision.hash;
  json::at_path(pod, {"metadata", "labels", "pod-template-generation"}) =
      std::to_string(set.metadata.generation);
  json::Array tolerations;
  for (const model::Toleration& one : daemon_tolerations(revision.pod_template))
    tolerations.push_back(one.to_json());
  json::at_path(pod, {"spec", "tolerations"}) = std::move(tolerations);
  json::Value field = json::Object{
      {"key", "metadata.name"}, {"operator", "In"}, {"values", json::Array{json::Value(node)}}};
  json::at_path(pod, {"spec", "affinity", "nodeAffinity",
                      "requiredDuringSchedulingIgnoredDuringExecution", "nodeSelectorTerms"}) =
      json::Array{json::Object{{"matchFields", json::Array{std::move(field)}}}};
  return pod;
}

}  // namespace hekla::controllers
