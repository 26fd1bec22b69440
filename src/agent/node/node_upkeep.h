// Keeps the node fit to run pods: images make room for others, and pods are evicted before the
// machine runs out of memory, disk or processes. Lives on the agent's executor.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "agent/machine/linux_machine.h"
#include "agent/node/node.h"
#include "agent/node/node_pods.h"
#include "agent/pressure/eviction_watch.h"
#include "agent/pressure/image_gc.h"

namespace hekla::agent {

class NodeUpkeep {
 public:
  // All of them outlive this.
  struct Parts {
    kube::Client& client;
    LinuxMachine& machine;
    NodeRegistration& node;
    kube::EventRecorder& events;
    const NodePods& pods;
    std::string node_name;
  };
  // Mistakes in the flags are errors.
  static Result<std::unique_ptr<NodeUpkeep>> make(Parts parts, const EvictionFlags& flags,
                                                  const ImageGcOptions& images);
  explicit NodeUpkeep(Parts parts) : parts_(std::move(parts)) {}
  void start();

  // Why a new pod is turned away under the pressure there is, if it is.
  std::optional<std::string> refusal(const model::Pod& pod) const;

 private:
  EvictionHooks eviction_hooks();
  ImageGcHooks image_hooks();
  void measure(std::set<std::string> disk_of, Done<EvictionHooks::Uses> done);
  void report(const NodePressure& pressure);
  void node_event(const char* type, const std::string& reason, const std::string& message);

  Parts parts_;
  NodePressure pressure_;
  std::unique_ptr<EvictionWatch> eviction_;
  std::unique_ptr<ImageGc> images_;
};

}  // namespace hekla::agent
