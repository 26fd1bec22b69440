// TrainJobs as a description for the runtime.
#pragma once

#include "controllers/trainer/options.h"
#include "framework/kind_description.h"

namespace hekla::controllers::trainer {

framework::KindDescription describe(const Options& options);

}  // namespace hekla::controllers::trainer
