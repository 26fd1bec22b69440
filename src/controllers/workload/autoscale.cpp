#include "controllers/workload/autoscale.h"

#include <algorithm>
#include <cmath>

namespace hekla::controllers {
namespace {

constexpr double kTolerance = 0.1;
// A pod that has just started uses more than it will: its first minutes say nothing about cpu.
constexpr Nanos kInitialReadiness = std::chrono::seconds(30);
constexpr Nanos kCpuInitialization = std::chrono::minutes(5);

struct Target {
  std::string resource, container;  // container: of a ContainerResource metric
  std::optional<std::int64_t> utilization;
  std::optional<model::Quantity> average;
};

std::optional<Target> read_target(const json::Value& metric) {
  Target target;
  std::string_view type = json::string_at(metric, {"type"});
  std::string_view member = type == "Resource"            ? "resource"
                            : type == "ContainerResource" ? "containerResource"
                                                          : "";
  if (member.empty()) return std::nullopt;
  target.resource = json::string_at(metric, {member, "name"});
  target.container = json::string_at(metric, {member, "container"});
  const json::Value* utilization =
      json::find_path(metric, {member, "target", "averageUtilization"});
  if (utilization && utilization->is_number())
    target.utilization = json::int_at(metric, {member, "target", "averageUtilization"});
  if (const json::Value* average = json::find_path(metric, {member, "target", "averageValue"}))
    if (Result<model::Quantity> quantity = model::Quantity::from_json(*average))
      target.average = *quantity;
  return target;
}

// In thousandths, as upstream counts.
Result<std::int64_t> request_of(const model::Pod& pod, const Target& target) {
  std::int64_t sum = 0;
  bool found = false;
  for (const model::Container& container : pod.spec.containers) {
    if (!target.container.empty() && container.name != target.container) continue;
    auto request = container.resources.requests.find(target.resource);
    if (request == container.resources.requests.end())
      return fail(Code::invalid, "missing request for " + target.resource + " in container " +
                                     container.name + " of Pod " + pod.metadata.name);
    sum += request->second.milli_value();
    found = true;
  }
  if (!found)
    return fail(Code::invalid, "container " + target.container +
                                   " not present in metrics for pod " + pod.metadata.ns + "/" +
                                   pod.metadata.name);
  return sum;
}

std::optional<std::int64_t> use_of(const model::Pod& pod, const Target& target, const PodUse& use) {
  auto found = use.find(pod.metadata.name);
  if (found == use.end()) return std::nullopt;
  std::int64_t sum = 0;
  bool any = false;
  for (const auto& [container, list] : found->second) {
    if (!target.container.empty() && container != target.container) continue;
    auto value = list.find(target.resource);
    if (value == list.end()) return std::nullopt;
    sum += value->second.milli_value();
    any = true;
  }
  return any ? std::optional(sum) : std::nullopt;
}

bool is_unready_for_cpu(const model::Pod& pod, WallTime now) {
  if (pod.status.phase == "Pending") return true;
  if (!pod.status.startTime) return true;
  const model::PodCondition* ready = nullptr;
  for (const model::PodCondition& one : pod.status.conditions)
    if (one.type == "Ready") ready = &one;
  if (!ready) return true;
  WallTime started = *pod.status.startTime.at;
  if (started + kCpuInitialization > now) return ready->status == "False";
  return ready->status == "False" && ready->lastTransitionTime &&
         started + kInitialReadiness > *ready->lastTransitionTime.at;
}

// The pods as a metric sees them; `use` and `request` in thousandths.
struct Sample {
  std::int64_t use = 0, request = 0;
};
struct Grouped {
  std::vector<Sample> measured;
  std::vector<std::int64_t> unready, missing;  // their requests
};

Result<Grouped> group(const std::vector<PodRef>& pods, const Target& target, const PodUse& use,
                      WallTime now) {
  Grouped grouped;
  for (const PodRef& pod : pods) {
    if (pod->metadata.deletionTimestamp || pod->status.phase == "Failed") continue;
    std::int64_t request = target.utilization ? TRY(request_of(*pod, target)) : 0;
    std::optional<std::int64_t> value = use_of(*pod, target, use);
    if (pod->status.phase == "Pending" ||
        (target.resource == "cpu" && is_unready_for_cpu(*pod, now)))
      grouped.unready.push_back(request);
    else if (!value)
      grouped.missing.push_back(request);
    else
      grouped.measured.push_back({*value, request});
  }
  if (grouped.measured.empty())
    return fail(Code::unavailable,
                "did not receive metrics for targeted pods (pods might be unready)");
  return grouped;
}

double ratio_of(const std::vector<Sample>& samples, const Target& target) {
  double use = 0, request = 0;
  for (const Sample& one : samples) {
    use += static_cast<double>(one.use);
    request += static_cast<double>(one.request);
  }
  if (target.utilization)
    // Whole percents, as upstream rounds them.
    return request <= 0
               ? 0
               : std::floor(use * 100 / request) / static_cast<double>(*target.utilization);
  double each = std::floor(use / static_cast<double>(samples.size()));
  return each / static_cast<double>(std::max<std::int64_t>(1, target.average->milli_value()));
}

std::int64_t replicas_for(const Grouped& grouped, const Target& target, std::int64_t current) {
  double ratio = ratio_of(grouped.measured, target);
  auto up = [](double x) { return static_cast<std::int64_t>(std::ceil(x - 1e-9)); };
  bool rebalance = !grouped.unready.empty() && ratio > 1.0;
  if (!rebalance && grouped.missing.empty()) {
    if (std::abs(ratio - 1.0) <= kTolerance) return current;
    return up(ratio * static_cast<double>(grouped.measured.size()));
  }
  // What is not known is assumed to be what damps the change.
  std::vector<Sample> samples = grouped.measured;
  for (std::int64_t request : grouped.missing) {
    std::int64_t assumed = 0;
    if (ratio < 1.0)
      assumed = target.utilization
                    ? request * std::max<std::int64_t>(100, *target.utilization) / 100
                    : target.average->milli_value();
    samples.push_back({assumed, request});
  }
  if (rebalance)
    for (std::int64_t request : grouped.unready) samples.push_back({0, request});
  double damped = ratio_of(samples, target);
  if (std::abs(damped - 1.0) <= kTolerance || (ratio < 1.0 && damped > 1.0) ||
      (ratio > 1.0 && damped < 1.0))
    return current;
  std::int64_t wanted = up(damped * static_cast<double>(samples.size()));
  if ((damped < 1.0 && wanted > current) || (damped > 1.0 && wanted < current)) return current;
  return wanted;
}

json::Value current_metric(const json::Value& metric, const Target& target,
                           const Grouped& grouped) {
  std::int64_t use = 0, request = 0;
  for (const Sample& one : grouped.measured) {
    use += one.use;
    request += one.request;
  }
  json::Object value;
  if (target.utilization && request > 0) value["averageUtilization"] = use * 100 / request;
  model::Quantity average =
      model::Quantity::of_milli(use / static_cast<std::int64_t>(grouped.measured.size()));
  if (target.resource != "cpu") average.format = model::Quantity::Format::binary_si;
  value["averageValue"] = average.to_json();
  bool container = !target.container.empty();
  json::Object source{{"name", target.resource}, {"current", std::move(value)}};
  if (container) source["container"] = target.container;
  return json::Object{{"type", json::string_at(metric, {"type"})},
                      {container ? "containerResource" : "resource", std::move(source)}};
}

struct Policy {
  std::string type;
  std::int64_t value = 0, period = 15;
};
struct Rules {
  Nanos window{0};
  bool disabled = false, least = false;
  bool plain = false;  // no behaviour is given at all
  std::vector<Policy> policies;
};

Rules rules_of(const json::Value& spec, bool up) {
  const json::Value* given = json::find_path(spec, {"behavior", up ? "scaleUp" : "scaleDown"});
  Rules rules;
  rules.plain = !json::object_at(spec, {"behavior"});
  std::int64_t seconds = up ? 0 : 300;
  if (given) {
    seconds = json::int_at(*given, {"stabilizationWindowSeconds"}, seconds);
    std::string_view select = json::string_at(*given, {"selectPolicy"});
    rules.disabled = select == "Disabled";
    rules.least = select == "Min";
    if (const json::Array* policies = json::array_at(*given, {"policies"}))
      for (const json::Value& one : *policies)
        rules.policies.push_back(
            {std::string(json::string_at(one, {"type"})), json::int_at(one, {"value"}),
             std::max<std::int64_t>(1, json::int_at(one, {"periodSeconds"}, 15))});
  }
  rules.window = std::chrono::seconds(seconds);
  if (rules.policies.empty() && up) rules.policies = {{"Pods", 4, 15}, {"Percent", 100, 15}};
  if (rules.policies.empty() && !up) rules.policies = {{"Percent", 100, 15}};
  return rules;
}

// The furthest the policies let the number go from here.
std::int64_t furthest(const Rules& rules, bool up, std::int64_t current,
                      const ScaleHistory& history, MonoTime now) {
  if (rules.disabled) return current;
  if (rules.plain) return up ? std::max<std::int64_t>(2 * current, 4) : 0;
  std::optional<std::int64_t> best;
  for (const Policy& policy : rules.policies) {
    std::int64_t moved = 0;
    for (const ScaleHistory::Change& change : history.changes)
      if (now - change.at < std::chrono::seconds(policy.period) && (change.by > 0) == up)
        moved += change.by;
    std::int64_t start = current - moved;
    std::int64_t step = policy.value;
    if (policy.type == "Percent")
      step = up ? (start * policy.value + 99) / 100 : start * policy.value / 100;
    std::int64_t limit = up ? start + step : start - step;
    bool further = !best || (up ? limit > *best : limit < *best);
    if (!best || further != rules.least) best = limit;
  }
  std::int64_t limit = best.value_or(current);
  return up ? std::max(limit, current) : std::min(limit, current);
}

}  // namespace

Result<MetricProposal> evaluate_metric(const json::Value& metric, std::int64_t current_replicas,
                                       const std::vector<PodRef>& pods, const PodUse& use,
                                       WallTime now) {
  std::optional<Target> target = read_target(metric);
  std::string type(json::string_at(metric, {"type"}));
  if (!target)
    return fail(Code::invalid, "metrics of type \"" + type +
                                   "\" are not supported: only Resource and ContainerResource are");
  if (!target->utilization && !target->average)
    return fail(
        Code::invalid,
        "invalid resource metric source: neither a utilization target nor a value target was set");
  if (use.empty())
    return fail(Code::unavailable, "failed to get " + target->resource +
                                       (target->utilization ? " utilization" : " usage") +
                                       ": unable to get metrics for resource " + target->resource +
                                       ": no metrics returned from resource metrics API");
  Result<Grouped> grouped = group(pods, *target, use, now);
  if (!grouped)
    return fail(grouped.error().code, "failed to get " + target->resource +
                                          (target->utilization ? " utilization: " : " usage: ") +
                                          grouped.error().message);
  MetricProposal proposal;
  proposal.replicas = replicas_for(*grouped, *target, current_replicas);
  proposal.name = target->resource +
                  (target->container.empty() ? " resource" : " container resource") +
                  (target->utilization ? " utilization (percentage of request)" : "");
  proposal.current = current_metric(metric, *target, *grouped);
  return proposal;
}

ScaleDecision limit_scale(const json::Value& spec, std::int64_t current, std::int64_t proposed,
                          ScaleHistory& history, MonoTime now) {
  const std::int64_t least = json::int_at(spec, {"minReplicas"}, 1);
  const std::int64_t most = json::int_at(spec, {"maxReplicas"}, least);
  const Rules up = rules_of(spec, true), down = rules_of(spec, false);
  const Nanos kept = std::max({up.window, down.window, Nanos(std::chrono::minutes(30))});
  history.recommendations.push_back({now, proposed});
  while (now - history.recommendations.front().at > kept) history.recommendations.pop_front();
  while (!history.changes.empty() && now - history.changes.front().at > kept)
    history.changes.pop_front();

  ScaleDecision decision;
  // Up only as far as everyone in the window agreed, down likewise.
  std::int64_t low = proposed, high = proposed;
  for (const ScaleHistory::Recommendation& one : history.recommendations) {
    if (now - one.at <= up.window) low = std::min(low, one.replicas);
    if (now - one.at <= down.window) high = std::max(high, one.replicas);
  }
  std::int64_t wanted = std::clamp(current, std::min(low, high), std::max(low, high));
  decision.stabilized = wanted != proposed;
  auto limited = [&](const char* reason, const char* message) {
    decision.limit_reason = reason;
    decision.limit_message = message;
  };
  if (wanted > current) {
    std::int64_t reach = furthest(up, true, current, history, now);
    if (wanted > std::min(reach, most)) {
      if (reach < most)
        limited("ScaleUpLimit",
                "the desired replica count is increasing faster than the maximum scale rate");
      else
        limited("TooManyReplicas",
                "the desired replica count is more than the maximum replica count");
    }
    wanted = std::min(wanted, reach);
  } else if (wanted < current) {
    std::int64_t reach = furthest(down, false, current, history, now);
    if (wanted < std::max(reach, least)) {
      if (reach > least)
        limited("ScaleDownLimit",
                "the desired replica count is decreasing faster than the maximum scale rate");
      else
        limited("TooFewReplicas",
                "the desired replica count is less than the minimum replica count");
    }
    wanted = std::max(wanted, reach);
  } else if (wanted == least && proposed < least) {
    limited("TooFewReplicas", "the desired replica count is less than the minimum replica count");
  } else if (wanted == most && proposed > most) {
    limited("TooManyReplicas", "the desired replica count is more than the maximum replica count");
  }
  decision.replicas = std::clamp(wanted, least, std::max(least, most));
  return decision;
}

}  // namespace hekla::controllers
