// Carries a probe's or a hook's action out on this machine. Blocks; inside the instance's mount
// namespace.
#pragma once

#include "agent/network/pod_network.h"
#include "agent/probes/probe.h"
#include "agent/runtime/exec_process.h"
#include "base/result.h"
#include "net/own_ranges.h"

namespace hekla::agent {

struct ProbeTarget {
  std::string pod_uid, pod_ip;
  bool host_network = false;
  ExecPlace exec;
  net::OwnRanges own_ranges;  // where nobody connects to from the host's network
};

// An error means that the action could not be tried at all.
Result<ProbeOutcome> run_probe(const ProbeAction& action, const ProbeTarget& target,
                               PodNetwork& network);

}  // namespace hekla::agent
