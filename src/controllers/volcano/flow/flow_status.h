// What a JobFlow says about its jobs.
#pragma once

#include "model/job_makers.h"

namespace hekla::controllers {

// The whole status, from the jobs that exist, in the order of the flow's entries, and the phase so
// far.
json::Value flow_status(const model::JobFlowSpec& flow, std::string_view phase,
                        const std::vector<std::shared_ptr<const model::VcJob>>& jobs);

}  // namespace hekla::controllers
