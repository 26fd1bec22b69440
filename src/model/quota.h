// What objects count for in a ResourceQuota: the arithmetic that admission (charging a write) and
// the status controller (counting anew) share. Names and rules are those of Kubernetes 1.34.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "json/value.h"
#include "model/core.h"

namespace hekla::model {

// A resource by group and plural; "" is the core group.
struct QuotaKind {
  std::string group, plural;
  auto operator<=>(const QuotaKind&) const = default;
};

// The kind whose objects are charged under a name of spec.hard: "requests.cpu" is pods,
// "count/jobs.batch" is jobs.
QuotaKind quota_kind_of(std::string_view name);

// What one object is charged, under every name it has. Pods that have ended only count as objects.
// Objects that cannot be read count for nothing but their number.
ResourceList quota_usage(const QuotaKind& kind, const json::Value& object);

// Whether the scopes of a quota (spec.scopes and spec.scopeSelector) take the object in.
bool quota_selects(const json::Value& quota, const QuotaKind& kind, const json::Value& object);

// "cpu for: a,b; memory for: a" when containers of a pod leave out what `charged` (names of a
// quota) needs to know.
std::optional<std::string> quota_unspecified(const std::vector<std::string>& charged,
                                             const json::Value& pod);

// Guaranteed, Burstable or BestEffort: by the resources of the pod as a whole where its spec has
// some, else by those of its containers.
std::string qos_class(const json::Value& pod_spec);

// max(sum of containers and sidecars, init peaks) of the limits; overhead joins limits that exist.
ResourceList pod_limits(const PodSpec& spec);

// A resource list of an object's JSON; entries that are no quantities are left out.
ResourceList resource_list_at(const json::Value& object,
                              std::initializer_list<std::string_view> path);
// "cpu=1,memory=1Gi".
std::string resource_list_text(const ResourceList& list);

}  // namespace hekla::model
