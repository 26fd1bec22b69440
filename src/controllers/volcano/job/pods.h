// The pods of a job, built from its templates.
#pragma once

#include "controllers/volcano/job/round.h"

namespace hekla::controllers {

// The pod of `task` with this index, plugins applied.
Result<json::Value> make_pod(const JobView& view, const model::TaskSpec& task, std::int32_t index);

}  // namespace hekla::controllers
