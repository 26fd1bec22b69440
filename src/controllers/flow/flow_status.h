// What a JobFlow says about its jobs.
#pragma once

#include "model/job_makers.h"

namespace hekla::controllers {

// The whole status, phase included, from the jobs that exist, in the order of the flow's entries.
json::Value flow_status(const model::JobFlow& flow,
                        const std::vector<std::shared_ptr<const model::VcJob>>& jobs);

}  // namespace hekla::controllers
