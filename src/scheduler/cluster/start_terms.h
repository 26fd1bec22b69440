// What queues and groups may ask of the scheduler beyond Volcano, read from annotations (upstream's
// CRDs would prune fields they do not know).
//
//   Queue      spec.dequeueStrategy or hekla.io/dequeue-strategy   fifo: nobody overtakes
//              hekla.io/max-running-jobs                           a number
//              hekla.io/reserve-after                              a duration: see PodGroup
//   PodGroup   hekla.io/reserve-after       once it has waited this long, room is kept for it
//              hekla.io/running-estimate    how long it will run, from its start
//              hekla.io/elastic-members     so many members it would have, of which minMember do
//              hekla.io/granted-members     so many it is given for now; written by the scheduler
//              hekla.io/hold-room           how long a dead member's room is kept for its successor
#pragma once

#include "model/volcano.h"
#include "scheduler/cluster/job.h"
#include "scheduler/cluster/queue.h"

namespace hekla::scheduler {

inline constexpr Nanos kDefaultHold = std::chrono::seconds(5);

void fill_start_terms(const model::Queue& queue, Queue& out);
void fill_start_terms(const model::PodGroup& group, Job& out);

}  // namespace hekla::scheduler
