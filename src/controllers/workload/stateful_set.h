// StatefulSets: pods with names, ordinals and volumes of their own.
#pragma once

#include <map>

#include "controllers/workload/caches.h"
#include "controllers/workload/revisions.h"

namespace hekla::controllers {

// The ordinal of a pod named <set>-<n>; -1 for any other name.
std::int64_t ordinal_of(const std::string& set, const std::string& pod);

json::Value new_stateful_pod(const Workload& set, std::int64_t ordinal,
                             const TemplateRevision& revision);
// The claims of one pod, by their names.
std::map<std::string, json::Value> claims_of(const Workload& set, std::int64_t ordinal);

struct StatefulView {
  const Workload& set;
  std::map<std::int64_t, WorkloadPod> pods;  // by ordinal
  TemplateRevision current, update;
  std::function<WorkloadRef(const std::string& name)> claim;
};

// Pure: one step towards what the set asks for, and its status.
WorkloadPlan plan_stateful_set(const StatefulView& view, WallTime now);

class StatefulSets {
 public:
  explicit StatefulSets(WorkloadCaches& caches);

 private:
  WorkloadPlan plan(const Workload& set, WallTime now);

  WorkloadCaches& caches_;
  WorkloadLoop loop_;
};

}  // namespace hekla::controllers
