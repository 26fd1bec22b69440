// batch/v1 CronJobs: a Job whenever the schedule says so.
#pragma once

#include "controllers/workload/caches.h"

namespace hekla::controllers {

// Pure: what to do about `cron`, given the jobs it owns.
WorkloadPlan plan_cron_job(const Workload& cron, const std::vector<WorkloadRef>& jobs,
                           WallTime now);

class CronJobs {
 public:
  explicit CronJobs(WorkloadCaches& caches);

 private:
  WorkloadCaches& caches_;
  WorkloadLoop loop_;
};

}  // namespace hekla::controllers
