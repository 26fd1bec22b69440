// Why a job is in its phase, in words: status.state.reason and message. Volcano has the fields and
// leaves them empty.
#pragma once

#include "controllers/volcano/job/policies.h"
#include "controllers/volcano/job/round.h"

namespace hekla::controllers {

// Fills the reason of a phase `status` has just entered. What ended or restarted the job stays
// until it runs again: Aborted keeps the reason of Aborting, Pending that of Restarting. A job that
// runs or has completed needs none.
void give_reason(const JobView& view, Action action, const Request& request,
                 model::VcJobStatus& status);

}  // namespace hekla::controllers
