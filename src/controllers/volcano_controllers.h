// Volcano's controllers as one component: vcjob, queue, PodGroup, job clean-up, CronJob,
// JobFlow, JobTemplate and HyperNode, on shared caches.
#pragma once

#include <memory>
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
  };

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
