// One pass over a job's pending tasks: each gets the best node there is, until the job, or one of
// its sub-jobs, is ready or cannot become so any more.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "scheduler/session/statement.h"

namespace hekla::scheduler {

// The pending tasks that request something and may be placed, in order, behind what is in `out`.
void collect_pending(const Session& session, JobPart part, std::vector<TaskId>& out);

// `next` is left behind the last task tried.
void place_tasks(Session& session, Statement& statement, JobPart part,
                 std::span<const TaskId> order, std::uint32_t& next);

}  // namespace hekla::scheduler
