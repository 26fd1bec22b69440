// The scheduler's metrics, under Volcano's names.
#pragma once

#include "base/metrics.h"
#include "scheduler/cluster/cluster.h"
#include "scheduler/session/decisions.h"

namespace hekla::scheduler {

void describe_metrics(Metrics& metrics);
void report_session(Metrics& metrics, const Cluster& cluster, const Decisions& decisions,
                    WallTime now);
void report_bind(Metrics& metrics, bool succeeded);

}  // namespace hekla::scheduler
