// batch/v1 CronJobs: a Job whenever the schedule says so.
#pragma once

#include "controllers/workload/objects.h"

namespace hekla::controllers {

KindDescription cron_job_kind();

}  // namespace hekla::controllers
