// Looks at the node every ten seconds, reports pressure, and ends pods until there is none: one at
// a time, after everything that can be had without them. Lives on the agent's executor.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>

#include "agent/pressure/eviction.h"
#include "base/done.h"
#include "base/executor.h"

namespace hekla::agent {

struct EvictionHooks {
  std::function<void(Done<NodeReadings>)> read;
  // The pods that run, with what they use of memory and processes and, if asked for, of the disk.
  // The pods' objects live as long as the result.
  struct Uses {
    std::vector<std::shared_ptr<const model::Pod>> keep;
    std::vector<PodUse> pods;
  };
  // `disk_of`: pods (by uid) whose files are counted.
  std::function<void(std::set<std::string> disk_of, Done<Uses>)> measure;
  // Pods that have limits on storage, and all pods.
  std::function<std::set<std::string>()> limited_pods, running_pods;
  // Takes away what no pod needs.
  std::function<void(Done<void>)> reclaim_disk;
  std::function<void(const std::string& uid, const std::string& message, Nanos grace)> evict;
  std::function<void(const NodePressure&)> report;
  // Of the node.
  std::function<void(const std::string& reason, const std::string& message)> event;
};

class EvictionWatch {
 public:
  EvictionWatch(Executor& executor, std::vector<EvictionThreshold> thresholds,
                const EvictionFlags& flags, EvictionHooks hooks);
  ~EvictionWatch();
  void start();

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace hekla::agent
