// What vc-controller-manager counts for Prometheus, by Volcano's names: pod groups of each queue by
// phase, jobs and flows that ended. What belongs to an object goes with it.
#pragma once

#include <map>
#include <string>

#include "base/metrics.h"
#include "controllers/volcano/caches.h"
#include "model/job_makers.h"

namespace hekla::controllers {

// Lives on the client's executor.
class PhaseMetrics {
 public:
  // Watches the caches, which are not started yet.
  PhaseMetrics(Caches& caches, bool with_flows, Metrics& metrics);

 private:
  using Counts = std::map<std::string, int>;  // by phase
  void group_changed(const model::PodGroup* before, const model::PodGroup* after);
  void queue_changed(const model::Queue* before, const model::Queue* after);
  void job_changed(const model::VcJob* before, const model::VcJob* after);
  void flow_changed(const AnyObject* before, const AnyObject* after);
  void show(const std::string& queue);

  Caches& caches_;
  const kube::Informer<AnyObject>* flows_ = nullptr;  // null: not counted
  Metrics& metrics_;
  std::map<std::string, Counts> queues_;
};

// From the creation of a job to that of one of its pods.
void observe_pod_creation(Metrics& metrics, const model::VcJob& job, WallTime now);

}  // namespace hekla::controllers
