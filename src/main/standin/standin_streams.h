// The streams of pods where some are stand-ins: their logs are what the parts of this process have
// logged, there is no container to enter, and what listens is this process.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "agent/agent.h"
#include "base/executor.h"
#include "base/log_ring.h"
#include "kube/pod_streams.h"
#include "main/standin/standins.h"

namespace hekla {

// The port of this machine's loopback that stands behind a port of a part's pods; none: nothing
// listens there.
using PartPorts =
    std::function<std::optional<std::uint16_t>(const std::string& part, std::uint16_t port)>;

// `node`: runs the other pods and reaches the addresses of parts; null: nobody does. `standins` and
// `ports` may be asked on any thread. All outlive what is made.
std::unique_ptr<kube::PodStreams> with_standin_streams(agent::Agent* node, const StandIns& standins,
                                                       const LogRing& ring, Executor& executor,
                                                       PartPorts ports);

}  // namespace hekla
