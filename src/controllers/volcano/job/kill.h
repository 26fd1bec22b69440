// Ending pods: the whole job (every transition of the state machine that is a kill), or only a
// role, a pod or a partition.
#pragma once

#include "controllers/volcano/job/policies.h"
#include "controllers/volcano/job/round.h"

namespace hekla::controllers {

// Kills the pods outside the retained phases, removes what the plugins made and the pod group,
// raises the version, and applies the rule to counters that include the pods that are kept. When
// `even_if_idle` is false and nothing would change but the version, the plan is empty.
Plan kill_job(const JobView& view, const Transition& transition, Action action,
              const Request& request, bool even_if_idle);

// Kills the pods a restart of a task, pod or partition is about. Everything else stays: Volcano
// also tears down Service, hosts and keys under the pods that keep running.
Plan kill_target(const JobView& view, Action action, const Request& target, Rule rule);

}  // namespace hekla::controllers
