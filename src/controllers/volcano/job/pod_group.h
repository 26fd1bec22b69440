// The PodGroup of a job.
#pragma once

#include "controllers/volcano/job/round.h"

namespace hekla::controllers {

// What must be free before the job's pods are created (PodGroup.spec.minResources): the gang's
// pods, roles of higher priority first.
Result<model::ResourceList> min_resources(
    const model::VcJobSpec& spec,
    const std::function<std::int32_t(const std::string&)>& priority_of);

Result<model::PodGroupSpec> pod_group_spec(const JobView& view);

// Creates the group, or brings it up to date with the job's spec. True when the group is as the
// spec wants it (nothing was planned).
Result<bool> plan_pod_group(const JobView& view, Plan& plan);

// Whether the group was made from an older spec of the job.
bool is_behind(const model::VcJob& job, const model::PodGroup& group);

// Pods are created once the scheduler has let the group into its queue.
bool may_create_pods(const model::PodGroup* group);

// The Warning on the job while its group cannot be scheduled; nullopt when it can.
std::optional<EventText> pending_event(const model::VcJob& job, const model::PodGroup& group);

}  // namespace hekla::controllers
