// The reconciler of every training kind, as the training operator 1.9 has it: pods and services by
// index, restarts, conditions, clean-up, suspension, gangs.
#pragma once

#include <string>

#include "controllers/training/training_kind.h"
#include "framework/kind_description.h"

namespace hekla::controllers::training {

struct TrainingOptions {
  // Pods of a job wait until the scheduler of this name lets their PodGroup in; empty: no gangs.
  std::string gang_scheduler = "volcano";
};

// `kind` outlives the description.
framework::KindDescription describe(const TrainingKind& kind, TrainingOptions options);

// The job with its kind's defaults; the counts are still zero.
TrainingJob read_job(const TrainingKind& kind, const framework::AnyObject& object);
// "worker": the role in names and labels.
std::string role_label(const Replicas& role);

}  // namespace hekla::controllers::training
