#include <algorithm>
#include <charconv>
#include <chrono>

#include "controllers/workload/batch_job.h"

namespace hekla::controllers {
namespace {

const std::string kIndexAnnotation = "batch.kubernetes.io/job-completion-index";
const std::string kFailuresAnnotation = "batch.kubernetes.io/job-index-failure-count";

std::int64_t job_number(std::string_view text, std::int64_t otherwise) {
  std::int64_t number = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size() ? number : otherwise;
}

// The first container whose exit code the rule speaks of.
const model::ContainerStatus* matching_exit(const json::Value& rule, const model::Pod& pod) {
  std::string_view container = json::string_at(rule, {"containerName"});
  bool wanted_in = json::string_at(rule, {"operator"}) == "In";
  const json::Array* values = json::array_at(rule, {"values"});
  for (const auto* statuses : {&pod.status.initContainerStatuses, &pod.status.containerStatuses})
    for (const model::ContainerStatus& one : *statuses) {
      if (!container.empty() && one.name != container) continue;
      if (!one.state.terminated || one.state.terminated->exitCode == 0) continue;
      bool listed =
          values && std::any_of(values->begin(), values->end(), [&](const json::Value& v) {
            return json::equal(v, json::Value(one.state.terminated->exitCode));
          });
      if (listed == wanted_in) return &one;
    }
  return nullptr;
}

const model::PodCondition* matching_condition(const json::Array& patterns, const model::Pod& pod) {
  for (const json::Value& pattern : patterns) {
    std::string_view status = json::string_at(pattern, {"status"});
    for (const model::PodCondition& one : pod.status.conditions)
      if (one.type == json::string_at(pattern, {"type"}) &&
          one.status == (status.empty() ? "True" : status))
        return &one;
  }
  return nullptr;
}

void add_index_env(json::Value& spec, std::string_view containers) {
  json::Value* list = spec.get_object().if_contains(containers);
  if (!list || !list->is_array()) return;
  for (json::Value& container : list->get_array()) {
    if (!container.is_object()) continue;
    json::Value& env = container.get_object()["env"];
    if (!env.is_array()) env = json::Array{};
    json::Array& variables = env.get_array();
    bool has = std::any_of(variables.begin(), variables.end(), [](const json::Value& one) {
      return json::string_at(one, {"name"}) == "JOB_COMPLETION_INDEX";
    });
    if (has) continue;
    json::Object field{{"fieldPath", "metadata.annotations['" + kIndexAnnotation + "']"}};
    variables.push_back(json::Object{{"name", "JOB_COMPLETION_INDEX"},
                                     {"valueFrom", json::Object{{"fieldRef", std::move(field)}}}});
  }
}

}  // namespace

JobIndexes parse_job_indexes(std::string_view text) {
  JobIndexes all;
  while (!text.empty()) {
    std::string_view part = text.substr(0, text.find(','));
    text.remove_prefix(std::min(text.size(), part.size() + 1));
    std::size_t dash = part.find('-');
    std::int64_t first = job_number(part.substr(0, dash), -1);
    std::int64_t last =
        dash == std::string_view::npos ? first : job_number(part.substr(dash + 1), -1);
    for (std::int64_t i = first; i >= 0 && i <= last; ++i) all.insert(i);
  }
  return all;
}

std::string format_job_indexes(const JobIndexes& indexes) {
  std::string text;
  for (auto it = indexes.begin(); it != indexes.end();) {
    std::int64_t first = *it, last = first;
    while (++it != indexes.end() && *it == last + 1) last = *it;
    text += (text.empty() ? "" : ",") + std::to_string(first);
    if (last != first) text += (last == first + 1 ? "," : "-") + std::to_string(last);
  }
  return text;
}

bool tracked_by_job(const model::Pod& pod) {
  const auto& all = pod.metadata.finalizers;
  return std::find(all.begin(), all.end(), kJobTracking) != all.end();
}

Edit release_from_job(const model::Pod& pod) {
  json::Array rest;
  for (const std::string& one : pod.metadata.finalizers)
    if (one != kJobTracking) rest.emplace_back(one);
  return {kube::resources::pods, key_of(pod.metadata),
          json::Object{{"metadata", json::Object{{"finalizers", std::move(rest)}}}},
          pod.metadata.uid};
}

std::int64_t job_index_of(const model::Pod& pod) {
  return job_number(pod.metadata.annotation(kIndexAnnotation), -1);
}

std::int64_t index_failures_of(const model::Pod& pod) {
  return job_number(pod.metadata.annotation(kFailuresAnnotation), 0);
}

json::Value new_job_pod(const AnyObject& job, std::int64_t index, std::int64_t failures) {
  json::Value pod = pod_from_template(template_of(job));
  json::Value& finalizers = json::at_path(pod, {"metadata", "finalizers"});
  if (!finalizers.is_array()) finalizers = json::Array{};
  finalizers.get_array().emplace_back(kJobTracking);
  if (index < 0) {
    json::at_path(pod, {"metadata", "generateName"}) = job.metadata.name + "-";
    return pod;
  }
  std::string number = std::to_string(index), name = job.metadata.name + "-" + number;
  json::at_path(pod, {"metadata", "generateName"}) = name + "-";
  json::at_path(pod, {"metadata", "annotations", kIndexAnnotation}) = number;
  json::at_path(pod, {"metadata", "labels", kIndexAnnotation}) = number;
  if (json::find(job.spec, "backoffLimitPerIndex"))
    json::at_path(pod, {"metadata", "annotations", kFailuresAnnotation}) = std::to_string(failures);
  json::Value& spec = json::at_path(pod, {"spec"});
  if (json::string_at(spec, {"hostname"}).empty()) json::at_path(spec, {"hostname"}) = name;
  add_index_env(spec, "initContainers");
  add_index_env(spec, "containers");
  return pod;
}

FailureVerdict judge_failed_pod(const AnyObject& job, const model::Pod& pod) {
  const json::Array* rules = json::array_at(job.spec, {"podFailurePolicy", "rules"});
  if (!rules || pod.status.phase != "Failed") return {};
  std::string where = pod.metadata.ns + "/" + pod.metadata.name;
  for (std::size_t i = 0; i < rules->size(); ++i) {
    const json::Value& rule = (*rules)[i];
    std::string action(json::string_at(rule, {"action"}));
    std::string tail = " matching " + action + " rule at index " + std::to_string(i);
    if (const json::Value* codes = json::find(rule, "onExitCodes"); codes && codes->is_object()) {
      if (const model::ContainerStatus* hit = matching_exit(*codes, pod))
        return {action, "Container " + hit->name + " for pod " + where + " failed with exit code " +
                            std::to_string(hit->state.terminated->exitCode) + tail};
    } else if (const json::Array* patterns = json::array_at(rule, {"onPodConditions"})) {
      if (const model::PodCondition* hit = matching_condition(*patterns, pod))
        return {action, "Pod " + where + " has condition " + hit->type + tail};
    }
  }
  return {};
}

std::optional<WallTime> pod_ended_at(const model::Pod& pod) {
  std::optional<WallTime> last;
  for (const model::ContainerStatus& one : pod.status.containerStatuses)
    if (one.state.terminated && one.state.terminated->finishedAt)
      last = std::max(last, one.state.terminated->finishedAt.at);
  if (last) return last;
  if (pod.metadata.deletionTimestamp) return pod.metadata.deletionTimestamp.at;
  for (const model::PodCondition& one : pod.status.conditions)
    if (one.type == "Ready" && one.lastTransitionTime) return one.lastTransitionTime.at;
  return pod.metadata.creationTimestamp.at;
}

Nanos job_backoff(std::int64_t failures) {
  if (failures <= 0) return Nanos(0);
  Nanos delay = std::chrono::seconds(10), most = std::chrono::minutes(10);
  for (std::int64_t i = 1; i < failures && delay < most; ++i) delay *= 2;
  return std::min(delay, most);
}

}  // namespace hekla::controllers
