// What the Trainer (2.3) asks of a TrainJob and the runtime it names, policy by policy.
#pragma once

#include "admission/field_errors.h"
#include "kube/admission.h"

namespace hekla::admission {

struct TrainJobView {
  const kube::AdmissionRequest& request;
  const json::Value& job;
  const json::Value& runtime;
};

// The initializers a job configures are in the runtime.
void check_initializers(const TrainJobView& view, FieldErrors& errors);
// Patches are of somebody, reach only what the runtime has, and change only while nothing runs.
void check_runtime_patches(const TrainJobView& view, FieldErrors& errors);
// What the runtime's framework sets itself, and cannot do.
void check_torch(const TrainJobView& view, FieldErrors& errors);
void check_torchtune(const TrainJobView& view, FieldErrors& errors);
void check_mpi(const TrainJobView& view, FieldErrors& errors);
void check_xgboost(const TrainJobView& view, FieldErrors& errors);
void check_flux(const TrainJobView& view, FieldErrors& errors);
// The queue and the priority class of its pod group.
void check_volcano(const TrainJobView& view, FieldErrors& errors);

// spec.runtimeRef as Go writes it.
std::string runtime_ref_text(const json::Value& job);

}  // namespace hekla::admission
