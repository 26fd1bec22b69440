// The templates a StatefulSet or DaemonSet has had, kept as ControllerRevisions.
#pragma once

#include <set>

#include "controllers/workload/caches.h"

namespace hekla::controllers {

struct TemplateRevision {
  std::string name, hash;
  json::Value pod_template;
};

// The revision of the set's template. When it is new, or not the newest, a write is appended.
TemplateRevision current_template_revision(const Workload& set, const kube::Resource& resource,
                                           const std::vector<RevisionRef>& known,
                                           std::vector<kube::Write>& writes);
// A kept one by its name.
std::optional<TemplateRevision> find_template_revision(const std::vector<RevisionRef>& known,
                                                       const std::string& name);
// Removes the oldest ones beyond spec.revisionHistoryLimit; those in `used` stay.
void trim_revisions(const Workload& set, const std::vector<RevisionRef>& known,
                    const std::set<std::string>& used, std::vector<kube::Write>& writes);

}  // namespace hekla::controllers
