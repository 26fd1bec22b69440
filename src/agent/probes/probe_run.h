// Carries a probe's or a hook's action out on this machine. Blocks; inside the instance's mount
// namespace.
#pragma once

#include "agent/network/pod_network.h"
#include "agent/probes/probe.h"
#include "agent/runtime/exec_process.h"
#include "base/result.h"

namespace hekla::agent {

struct ProbeTarget {
  std::string pod_uid, pod_ip;
  bool host_network = false;
  ExecPlace exec;
};

// An error means that the action could not be tried at all.
Result<ProbeOutcome> run_probe(const ProbeAction& action, const ProbeTarget& target,
                               PodNetwork& network);

}  // namespace hekla::agent
