// From a training kind to the description that the runtime takes.
#pragma once

#include <span>

#include "base/metrics.h"
#include "controllers/training/training_kind.h"

namespace hekla::controllers::training {

// Every kind in kinds/, by file name.
std::span<const TrainingKind* const> all_training_kinds();

// `kind` is one of the above; `metrics` may be null and else outlives the description.
framework::KindDescription describe(const TrainingKind& kind, const Options& options,
                                    Metrics* metrics);

}  // namespace hekla::controllers::training
