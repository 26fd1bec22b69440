// DaemonSets: one pod on every node that suits.
#pragma once

#include <map>

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

json::Value new_daemon_pod(const AnyObject& set, const TemplateRevision& revision,
                           const std::string& node);

struct DaemonView {
  const AnyObject& set;
  TemplateRevision revision;
  std::map<std::string, std::vector<PodRef>> pods;  // by the node they are on or meant for
  std::vector<std::shared_ptr<const model::Node>> nodes;
};

KindDescription daemon_set_kind();

}  // namespace hekla::controllers
