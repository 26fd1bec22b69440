// JobSets as a description for the runtime.
#pragma once

#include "base/metrics.h"
#include "controllers/jobset/options.h"
#include "framework/kind_description.h"

namespace hekla::controllers::jobset {

// `metrics` may be null and else outlives the description.
framework::KindDescription describe(const Options& options, Metrics* metrics);

}  // namespace hekla::controllers::jobset
