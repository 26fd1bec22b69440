// Volcano's controllers as one component: vcjob, queue, PodGroup, job clean-up, CronJob,
// JobFlow, JobTemplate and HyperNode, on shared caches.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/metrics.h"
#include "kube/client.h"
#include "kube/pod_streams.h"

namespace hekla::controllers {

// Lives on the client's executor: constructed, started and destroyed there, or while it does not
// run.
class VolcanoControllers {
 public:
  struct Options {
    std::vector<std::string> scheduler_names{"volcano"};
    bool inherit_owner_annotations = true;
    // The groups of plain pods follow their owners (the gate WorkLoadSupport).
    bool follow_owners = true;
    // Queues are opened and closed by Commands (the gate QueueCommandSync).
    bool queue_commands = true;
    // A job's round that fails so often in a row ends the job, a queue's command is dropped;
    // -1: never.
    int max_requeue = 15;
    // Arguments of job plugins, by name, that jobs may override.
    std::map<std::string, std::vector<std::string>> plugin_defaults;
    // Of names(): those that do not run.
    std::set<std::string> disabled;
  };
  // What vc-controller-manager calls them.
  static const std::vector<std::string>& names();

  // `metrics` may be null. The client should act as "vc-controller-manager".
  VolcanoControllers(kube::Client& client, Options options, Metrics* metrics);
  ~VolcanoControllers();

  void start();
  // Who runs the pods, for the probes of JobFlows; on the client's executor.
  void set_pod_streams(kube::PodStreams* streams);
  // Every cache has its first list and rounds are running.
  bool synced() const;

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace hekla::controllers
