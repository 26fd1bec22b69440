// dependsOn: roles that wait for other roles.
#pragma once

#include "controllers/volcano/job/round.h"

namespace hekla::controllers {

// Whether the pods of `task` may be created now.
bool dependencies_ready(const JobView& view, const model::TaskSpec& task);

}  // namespace hekla::controllers
