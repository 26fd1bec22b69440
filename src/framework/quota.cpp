#include "framework/quota.h"

#include "model/quota.h"

namespace hekla::framework {
namespace {

using model::Quantity;
using model::ResourceList;

void default_requests(std::vector<model::Container>& containers) {
  for (model::Container& container : containers)
    for (const auto& [name, limit] : container.resources.limits)
      container.resources.requests.try_emplace(name, limit);
}

// Kubernetes' own names are without a domain; everything else is an extended resource.
bool is_extended(const std::string& name) {
  return name.find('/') != std::string::npos && !name.starts_with("requests.") &&
         name.find("kubernetes.io/") == std::string::npos;
}

}  // namespace

ResourceList pod_quota_usage(model::PodSpec spec) {
  default_requests(spec.containers);
  default_requests(spec.initContainers);
  ResourceList usage{{"pods", Quantity::of(1)}, {"count/pods", Quantity::of(1)}};
  for (const auto& [name, quantity] : model::pod_requests(spec)) {
    bool native = name == "cpu" || name == "memory" || name == "ephemeral-storage" ||
                  name.starts_with("hugepages-");
    if (native || is_extended(name)) {
      usage[name] = quantity;
      usage["requests." + name] = quantity;
    } else if (name.find('/') != std::string::npos) {
      usage[name] = quantity;  // kubernetes.io/batch-cpu and its like carry no quota name
    }
  }
  for (const auto& [name, quantity] : model::pod_limits(spec))
    if (name == "cpu" || name == "memory" || name == "ephemeral-storage")
      usage["limits." + name] = quantity;
  return usage;
}

Result<ResourceList> pod_quota_usage(const json::Value& pod_template) {
  const json::Value* spec = json::find(pod_template, "spec");
  if (!spec) return pod_quota_usage(model::PodSpec{});
  model::PodSpec decoded = TRY(json::decode<model::PodSpec>(*spec));
  return pod_quota_usage(std::move(decoded));
}

void add_times(ResourceList& total, const ResourceList& usage, std::int64_t times) {
  if (times <= 0) return;
  for (const auto& [name, quantity] : usage) {
    auto [found, inserted] = total.try_emplace(name, quantity * times);
    if (!inserted) found->second += quantity * times;
  }
}

}  // namespace hekla::framework
