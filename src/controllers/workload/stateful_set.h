// StatefulSets: pods with names, ordinals and volumes of their own.
#pragma once

#include <functional>
#include <map>

#include "controllers/workload/revisions.h"

namespace hekla::controllers {

// The ordinal of a pod named <set>-<n>; -1 for any other name.
std::int64_t ordinal_of(const std::string& set, const std::string& pod);

json::Value new_stateful_pod(const AnyObject& set, std::int64_t ordinal,
                             const TemplateRevision& revision);
// The claims of one pod, by their names.
std::map<std::string, json::Value> claims_of(const AnyObject& set, std::int64_t ordinal);

struct StatefulView {
  const AnyObject& set;
  std::map<std::int64_t, PodRef> pods;  // by ordinal
  TemplateRevision current, update;
  std::function<AnyRef(const std::string& name)> claim;  // null when there is none
};

KindDescription stateful_set_kind();

}  // namespace hekla::controllers
