// Ports of the host: node ports and load balancers of services on its loopback, host ports of pods
// where they say. A connection is accepted in the host's network namespace and carried on by a
// socket of the pods' parent namespace; the host itself has no way to a pod.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "agent/os/fd_loop.h"
#include "agent/os/file_descriptor.h"
#include "base/done.h"
#include "base/executor.h"
#include "model/core.h"

namespace hekla::agent {

struct PortKey {
  std::uint16_t port = 0;
  bool udp = false;
  std::uint32_t address = 0x7f000001;  // of the host
  auto operator<=>(const PortKey&) const = default;
};

struct HostPort {
  PortKey key;
  std::vector<std::pair<std::string, std::int32_t>> targets;  // none: connections are refused
  bool operator==(const HostPort&) const = default;
};

// Host ports of a pod's containers, led to the pod's address. Without a hostIP they are on the
// loopback, as all that Hekla opens by itself: 0.0.0.0 has to be asked for.
std::vector<HostPort> host_ports_of(const model::PodSpec& pod, const std::string& address);

class HostPorts {
 public:
  // Makes a socket in the parent namespace; called on the executor.
  using Dial = std::function<void(bool udp, Done<FileDescriptor> done)>;
  static Result<std::unique_ptr<HostPorts>> open(Executor& executor, Dial dial);
  HostPorts(Executor& executor, Dial dial, std::unique_ptr<FdLoop> loop);
  ~HostPorts();

  // All of them, from now on; on the executor. Ports that somebody else holds are tried again with
  // every call, `taken` tells whether one is ours.
  void set(std::vector<HostPort> ports, std::function<void(std::vector<PortKey> ours)> taken);

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace hekla::agent
