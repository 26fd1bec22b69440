// Bringing a job's objects in line with its spec: plugins' objects, claims, pod group, pods,
// status.
#pragma once

#include "controllers/job/round.h"
#include "controllers/job/state_machine.h"

namespace hekla::controllers {

// All pods that are due are created in one batch. The status counts them as pending already.
Plan sync_job(const JobView& view, Rule rule);

}  // namespace hekla::controllers
