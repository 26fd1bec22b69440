// Jobs on a schedule (batch.volcano.sh CronJob), after Kubernetes' CronJob: the most recent time
// that has passed without its job makes one, unless it is too late, or a job is still running and
// must not be joined.
#pragma once

#include "framework/kind_description.h"

namespace hekla::controllers {

framework::KindDescription cron_kind();

}  // namespace hekla::controllers
