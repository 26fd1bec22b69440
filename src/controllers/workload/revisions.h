// The templates a StatefulSet or DaemonSet has had, kept as ControllerRevisions.
#pragma once

#include <set>

#include "controllers/workload/objects.h"

namespace hekla::controllers {

struct TemplateRevision {
  std::string name, hash;
  json::Value pod_template;
};

// The revision of the set's template. When it is new, or not the newest, the outcome says so.
TemplateRevision current_template_revision(const AnyObject& set,
                                           const std::vector<RevisionRef>& known, Outcome& outcome);
// A kept one by its name.
std::optional<TemplateRevision> find_template_revision(const std::vector<RevisionRef>& known,
                                                       const std::string& name);
// Removes the oldest ones beyond spec.revisionHistoryLimit; those in `used` stay.
void trim_revisions(const AnyObject& set, const std::vector<RevisionRef>& known,
                    const std::set<std::string>& used, Outcome& outcome);

// Revisions as children; ask the View for them as ControllerRevision.
OwnedKind owned_revisions();

}  // namespace hekla::controllers
