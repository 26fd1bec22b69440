#include "apiserver/gates/limit_ranges.h"

#include <cstdio>

#include "apiserver/object/metadata.h"
#include "apiserver/text/errors.h"
#include "model/quota.h"

namespace hekla::apiserver {

namespace {

using kube::AdmissionRequest;
using kube::Operation;
using model::Quantity;
using model::ResourceList;

const kube::Resource kLimitRanges{"", "v1", "limitranges", "LimitRange", true};
constexpr std::string_view kAnnotation = "kubernetes.io/limit-ranger";

bool is_claim(const kube::Resource& resource) {
  return resource.plural == "persistentvolumeclaims";
}

// Visits spec.limits of every LimitRange in the namespace.
template <class Visit>
void for_each_limit(const AdmissionRequest& request, Visit visit) {
  Result<std::vector<kube::SharedValue>> ranges =
      request.reader->list(kLimitRanges, request.key.ns);
  if (!ranges) return;
  for (const kube::SharedValue& range : *ranges)
    if (const json::Array* limits = json::array_at(*range, {"spec", "limits"}))
      for (const json::Value& limit : *limits) visit(json::string_at(limit, {"type"}), limit);
}

// Fills what is missing of one side; returns "cpu, memory request for container c".
std::string fill(json::Value& container, std::string_view side, std::string_view word,
                 std::string_view prefix, const ResourceList& defaults) {
  std::string names;
  for (const auto& [name, quantity] : defaults) {
    if (json::find_path(container, {"resources", side, name})) continue;
    json::at_path(container, {"resources", side, name}) = quantity.to_json();
    names += (names.empty() ? "" : ", ") + name;
  }
  if (names.empty()) return names;
  return names + " " + std::string(word) + " for " + std::string(prefix) + " " +
         std::string(json::string_at(container, {"name"}));
}

Result<void> give_defaults(const AdmissionRequest& request, json::Value& pod) {
  json::Value* spec = pod.get_object().if_contains("spec");
  if (!spec || !spec->is_object()) return {};
  std::string set;
  for_each_limit(request, [&](std::string_view type, const json::Value& limit) {
    if (type != "Container") return;
    const ResourceList limits = model::resource_list_at(limit, {"default"});
    const ResourceList requests = model::resource_list_at(limit, {"defaultRequest"});
    for (std::string_view list : {"containers", "initContainers"}) {
      json::Value* containers = spec->get_object().if_contains(list);
      if (!containers || !containers->is_array()) continue;
      std::string_view prefix = list == "containers" ? "container" : "init container";
      for (json::Value& container : containers->get_array())
        for (const std::string& text : {fill(container, "requests", "request", prefix, requests),
                                        fill(container, "limits", "limit", prefix, limits)})
          if (!text.empty()) set += (set.empty() ? "" : "; ") + text;
    }
  });
  if (!set.empty())
    json::at_path(pod, {"metadata", "annotations", kAnnotation}) = "LimitRanger plugin set: " + set;
  return {};
}

// Requests of one container, pod or claim, held against one limit.
struct Asked {
  std::string_view what;  // "Container", "Pod", "PersistentVolumeClaim"
  ResourceList requests, limits;
};

const Quantity* find_in(const ResourceList& list, const std::string& name) {
  auto found = list.find(name);
  return found == list.end() ? nullptr : &found->second;
}

void check_min(const Asked& asked, const std::string& name, const Quantity& min,
               std::vector<std::string>& problems) {
  const Quantity *request = find_in(asked.requests, name), *limit = find_in(asked.limits, name);
  const std::string text =
      "minimum " + name + " usage per " + std::string(asked.what) + " is " + min.text();
  if (!request)
    problems.push_back(text + ".  No request is specified");
  else if (*request < min)
    problems.push_back(text + ", but request is " + request->text());
  else if (limit && *limit < min)
    problems.push_back(text + ", but limit is " + limit->text());
}

void check_max(const Asked& asked, const std::string& name, const Quantity& max,
               std::vector<std::string>& problems) {
  const Quantity *request = find_in(asked.requests, name), *limit = find_in(asked.limits, name);
  const std::string text =
      "maximum " + name + " usage per " + std::string(asked.what) + " is " + max.text();
  const bool claim = asked.what == "PersistentVolumeClaim";  // claims have requests only
  if (claim && !request)
    problems.push_back(text + ".  No request is specified");
  else if (!claim && !limit)
    problems.push_back(text + ".  No limit is specified");
  else if (limit && *limit > max)
    problems.push_back(text + ", but limit is " + limit->text());
  else if (request && *request > max)
    problems.push_back(text + ", but request is " + request->text());
}

void check_ratio(const Asked& asked, const std::string& name, const Quantity& max,
                 std::vector<std::string>& problems) {
  const Quantity *request = find_in(asked.requests, name), *limit = find_in(asked.limits, name);
  const std::string text = name + " max limit to request ratio per " + std::string(asked.what) +
                           " is " + max.text() + ", but ";
  if (!request || request->is_zero()) {
    problems.push_back(text + "no request is specified or request is 0");
  } else if (!limit || limit->is_zero()) {
    problems.push_back(text + "no limit is specified or limit is 0");
  } else {
    const double ratio = static_cast<double>(limit->nanos) / static_cast<double>(request->nanos);
    if (ratio * 1e9 <= static_cast<double>(max.nanos)) return;
    char digits[64];
    std::snprintf(digits, sizeof digits, "%f", ratio);
    problems.push_back(text + "provided ratio is " + digits);
  }
}

void check_limit(const Asked& asked, const json::Value& limit, std::vector<std::string>& problems) {
  for (const auto& [name, min] : model::resource_list_at(limit, {"min"}))
    check_min(asked, name, min, problems);
  for (const auto& [name, max] : model::resource_list_at(limit, {"max"}))
    check_max(asked, name, max, problems);
  for (const auto& [name, max] : model::resource_list_at(limit, {"maxLimitRequestRatio"}))
    check_ratio(asked, name, max, problems);
}

Result<void> refuse(const AdmissionRequest& request, const std::vector<std::string>& problems) {
  if (problems.empty()) return {};
  std::string text;
  for (const std::string& problem : problems) text += (text.empty() ? "" : ", ") + problem;
  if (problems.size() > 1) text = "[" + text + "]";
  return std::unexpected(forbidden_error(request.resource, request.key.name, text));
}

Result<void> check_pod(const AdmissionRequest& request, const json::Value& pod) {
  std::vector<std::string> problems;
  for_each_limit(request, [&](std::string_view type, const json::Value& limit) {
    if (type == "Container")
      for (std::string_view list : {"containers", "initContainers"})
        if (const json::Array* containers = json::array_at(pod, {"spec", list}))
          for (const json::Value& container : *containers)
            check_limit({"Container", model::resource_list_at(container, {"resources", "requests"}),
                         model::resource_list_at(container, {"resources", "limits"})},
                        limit, problems);
    if (type != "Pod") return;
    const json::Value* spec = json::find(pod, "spec");
    Result<model::PodSpec> decoded =
        spec ? json::decode<model::PodSpec>(*spec) : Result<model::PodSpec>(model::PodSpec{});
    if (decoded)
      check_limit({"Pod", model::pod_requests(*decoded), model::pod_limits(*decoded)}, limit,
                  problems);
  });
  return refuse(request, problems);
}

Result<void> check_claim(const AdmissionRequest& request, const json::Value& claim) {
  std::vector<std::string> problems;
  for_each_limit(request, [&](std::string_view type, const json::Value& limit) {
    if (type == "PersistentVolumeClaim")
      check_limit({"PersistentVolumeClaim",
                   model::resource_list_at(claim, {"spec", "resources", "requests"}),
                   {}},
                  limit, problems);
  });
  return refuse(request, problems);
}

}  // namespace

std::vector<kube::AdmissionStep> limit_admission() {
  auto pods = [](const kube::Resource& resource, Operation operation,
                 std::string_view subresource) {
    return operation == Operation::create && resource.group.empty() && resource.plural == "pods" &&
           subresource.empty();
  };
  auto claims = [](const kube::Resource& resource, Operation operation,
                   std::string_view subresource) {
    return operation != Operation::remove && resource.group.empty() && is_claim(resource) &&
           subresource.empty();
  };
  std::vector<kube::AdmissionStep> steps;
  steps.push_back({"LimitRanger", pods, give_defaults, check_pod});
  steps.push_back({"LimitRanger", claims, nullptr,
                   [](const AdmissionRequest& request, const json::Value& claim) -> Result<void> {
                     // A pod that is going away is only ever updated to let it go.
                     if (!meta_string(claim, "deletionTimestamp").empty()) return {};
                     return check_claim(request, claim);
                   }});
  return steps;
}

}  // namespace hekla::apiserver
