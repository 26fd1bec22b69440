// HorizontalPodAutoscaler as arithmetic: how many replicas the metrics call for, and how fast the
// number may move. The rules are those of Kubernetes 1.34 for resource metrics.
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "controllers/workload/objects.h"

namespace hekla::controllers {

// Use per pod, then per container.
using ContainerUse = std::map<std::string, model::ResourceList>;
using PodUse = std::map<std::string, ContainerUse>;

// One metric of the spec, evaluated.
struct MetricProposal {
  std::int64_t replicas = 0;
  std::string name;     // "cpu resource utilization (percentage of request)"
  json::Value current;  // an item of status.currentMetrics
};

// `metric` is an item of spec.metrics; `pods` are those the target's selector finds.
Result<MetricProposal> evaluate_metric(const json::Value& metric, std::int64_t current_replicas,
                                       const std::vector<PodRef>& pods, const PodUse& use,
                                       WallTime now);

// What one autoscaler remembers between rounds.
struct ScaleHistory {
  struct Recommendation {
    MonoTime at;
    std::int64_t replicas;
  };
  struct Change {
    MonoTime at;
    std::int64_t by;  // positive: up
  };
  std::deque<Recommendation> recommendations;
  std::deque<Change> changes;
};

struct ScaleDecision {
  std::int64_t replicas = 0;
  bool stabilized = false;
  std::string limit_reason = "DesiredWithinRange";
  std::string limit_message = "the desired count is within the acceptable range";
};

// Holds a proposal to minReplicas, maxReplicas and the behaviour of `spec`; notes it in `history`.
ScaleDecision limit_scale(const json::Value& spec, std::int64_t current, std::int64_t proposed,
                          ScaleHistory& history, MonoTime now);

}  // namespace hekla::controllers
