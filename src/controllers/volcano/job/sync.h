// Bringing a job's objects in line with its spec: plugins' objects, claims, pod group, pods,
// status.
#pragma once

#include "controllers/volcano/job/round.h"
#include "controllers/volcano/job/state_machine.h"

namespace hekla::controllers {

// Pods that are due are created in one batch, once the plugins' objects and the claims are there.
// Of a huge job a round makes only some. The status counts pods that exist.
Plan sync_job(const JobView& view, Rule rule);

}  // namespace hekla::controllers
