// DaemonSets: one pod on every node that suits.
#pragma once

#include <map>

#include "controllers/workload/caches.h"
#include "controllers/workload/revisions.h"

namespace hekla::controllers {

// Whether a pod of the template belongs on the node, and whether one that is there may stay.
struct DaemonFit {
  bool should_run = false, may_stay = false;
};
// `tolerations`: daemon_tolerations() of the template.
DaemonFit daemon_fit(const json::Value& pod_template,
                     const std::vector<model::Toleration>& tolerations, const model::Node& node);
// The template's own and those that every daemon has.
std::vector<model::Toleration> daemon_tolerations(const json::Value& pod_template);

json::Value new_daemon_pod(const Workload& set, const TemplateRevision& revision,
                           const std::string& node);

struct DaemonView {
  const Workload& set;
  TemplateRevision revision;
  std::map<std::string, std::vector<WorkloadPod>> pods;  // by the node they are on or meant for
  std::vector<std::shared_ptr<const model::Node>> nodes;
};

WorkloadPlan plan_daemon_set(const DaemonView& view, WallTime now);

class DaemonSets {
 public:
  explicit DaemonSets(WorkloadCaches& caches);

 private:
  WorkloadPlan plan(const Workload& set, WallTime now);

  WorkloadCaches& caches_;
  WorkloadLoop loop_;
};

}  // namespace hekla::controllers
