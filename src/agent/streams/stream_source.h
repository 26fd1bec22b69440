// The pods of this node as streams look for them: a container to run something in, a log to read,
// what everything uses. Lives on the agent's executor.
#pragma once

#include <memory>
#include <string>

#include "agent/logs/log_streams.h"
#include "agent/machine/linux_machine.h"
#include "agent/node/node_pods.h"
#include "agent/pressure/usage.h"

namespace hekla::agent {

struct StreamTarget {
  PodRecord record;
  std::size_t container = 0;
};

class StreamSource final : public LogSource, public std::enable_shared_from_this<StreamSource> {
 public:
  // `pods` and `machine` outlive this.
  StreamSource(kube::Client& client, const NodePods& pods, LinuxMachine& machine,
               std::string node_name)
      : client_(client), pods_(pods), machine_(machine), node_name_(std::move(node_name)) {}

  // An empty container name means any: the pod alone is wanted.
  Result<StreamTarget> find(const kube::PodRef& pod, const std::string& container) const;
  void measure(Done<kube::NodeUsage> done);

  Result<LogTarget> find_log(const kube::PodRef& pod,
                             const kube::LogOptions& options) const override;
  bool is_live(const LogTarget& target) const override;
  std::vector<KeptPod> kept(const std::string& ns) const override;

 private:
  kube::Client& client_;
  const NodePods& pods_;
  LinuxMachine& machine_;
  std::string node_name_;
  UsageMeter usage_;
};

}  // namespace hekla::agent
