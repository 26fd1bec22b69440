// The streams of pods where some are stand-ins: their logs are what the parts of this process have
// logged, and there is no container to enter.
#pragma once

#include <memory>

#include "agent/agent.h"
#include "base/executor.h"
#include "base/log_ring.h"
#include "kube/pod_streams.h"
#include "main/standin/standins.h"

namespace hekla {

// `agent`: runs the other pods; null: nobody does. `standins` may be asked on any thread. All
// outlive what is made.
std::unique_ptr<kube::PodStreams> with_standin_logs(agent::Agent* agent, const StandIns& standins,
                                                    const LogRing& ring, Executor& executor);

}  // namespace hekla
