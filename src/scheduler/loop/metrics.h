// The scheduler's metrics, under Volcano's names.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/metrics.h"
#include "scheduler/cluster/cluster.h"
#include "scheduler/session/decisions.h"
#include "scheduler/session/session.h"

namespace hekla::scheduler {

void describe_metrics(Metrics& metrics);
void report_session(Metrics& metrics, const Cluster& cluster, const Decisions& decisions,
                    WallTime now);

// How long a binding took: until what it needed was written, and from then on.
struct BindTimes {
  Nanos preparing{0}, binding{0};
  std::optional<Nanos> since_creation;  // of the pod; none if it is gone
};
void report_bind(Metrics& metrics, bool succeeded, const BindTimes& times);

// Gauges with a label per group: told again only when they change, and taken back when the group is
// gone. As upstream, groups of one name in several namespaces share `unschedule_task_count`.
class JobMetrics {
 public:
  // After the session.
  void report(Metrics& metrics, const Session& session, const Decisions& decisions);

 private:
  struct Told {
    std::string ns, name, queue, uid;  // of the group; no uid: nothing told
    double share = -1;
    std::int32_t unready = -1;
    bool retried = false;
    MetricLabels labels() const {
      return {{"job_name", name}, {"queue", queue}, {"job_namespace", ns}};
    }
  };
  void take_back(Metrics& metrics, Told& told);

  std::vector<Told> told_;  // by job
};

// The figures of queues; taken back when the queue is gone, or has no such figure any more.
class QueueMetrics {
 public:
  void report(Metrics& metrics, const Cluster& cluster, const Decisions& decisions);

 private:
  struct Told {
    GaugeDecision gauge;
    MetricLabels labels;
  };
  std::vector<Told> told_;  // as the last session said them
};

}  // namespace hekla::scheduler
