// The components that run inside this process, shown as the pods people know them by: made once,
// kept up to date over restarts of the process, made again when somebody deletes them. Their logs
// are what the components have logged.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/log_ring.h"
#include "kube/client.h"
#include "kube/informer.h"
#include "kube/pod_streams.h"
#include "model/core.h"

namespace hekla {

struct Component {
  std::string ns, name;                // volcano-system, volcano-scheduler
  std::vector<std::string> log_names;  // under which it logs
  bool once = false;  // has done its work when the process has started, as a Job's pod
};
// The components of the embedded platform.
const std::vector<Component>& platform_components();

// The component a pod of that name stands for; null for any other pod.
const Component* component_of_pod(const std::string& ns, const std::string& pod);

// The pods themselves. Lives on the client's executor.
class ComponentPods {
 public:
  // `node`: where they are shown to run.
  ComponentPods(kube::Client& client, std::string node, WallTime started);
  void start();

 private:
  void settle();
  void make(const Component& component, const std::string& name);
  void make_later(const Component& component, const std::string& name);
  void remove(const model::Pod& pod);
  void update(const Component& component, const model::Pod& pod);

  kube::Client& client_;
  const std::string node_;
  const WallTime started_;
  bool settled_ = false;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
  kube::Informer<model::Pod> pods_;
};

// The agent's streams, and the components' logs from the ring.
std::unique_ptr<kube::PodStreams> with_component_logs(kube::PodStreams& agent, const LogRing& ring,
                                                      Executor& executor);

}  // namespace hekla
