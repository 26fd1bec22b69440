// Reading a training job: its kind's defaults and the older forms of its spec.
#pragma once

#include "controllers/training/training_kind.h"

namespace hekla::controllers::training {

// Fails with `invalid` when there is nothing that could run.
Result<TrainingJob> read_job(const TrainingKind& kind, const Options& options,
                             const framework::AnyObject& object);

// Which of the two descriptions of a resource the job follows.
const TrainingKind& variant_of(const TrainingKind& kind, const framework::AnyObject& object);

// "tfjob-controller": in labels, in events, in logs.
std::string operator_name(const TrainingKind& kind);

// The deciding role; null when any decides, or when the job has none.
const Replica* decider_of(const TrainingJob& job);

// The index of the container that trains: the one with the kind's name, else the first.
std::size_t training_container(const TrainingKind& kind, const json::Array& containers,
                               bool bystander);

}  // namespace hekla::controllers::training
