// The volumes of a job: claims it makes or finds, and their places in the pods.
#pragma once

#include "controllers/volcano/job/round.h"

namespace hekla::controllers {

// The name a claim gets whose volume has none: `<job>-pvc-<12 characters>`.
std::string claim_name(const model::VcJob& job, std::size_t index);

// A patch that writes the names of new claims into spec.volumes; nullopt when all have one.
std::optional<kube::Write> name_claims(const model::VcJob& job);

// Makes the claims that are asked for, and marks every claim in `status`. A claim that must exist
// and does not is an error with the text users know; the job stays Pending until it appears.
Result<void> make_claims(const JobView& view, model::VcJobStatus& status, Plan& plan);

// Mounts the job's volumes into every container of the pod. A second volume of the same claim is
// ignored; one that names and describes no claim is an emptyDir.
void mount_volumes(const model::VcJob& job, json::Value& pod);

}  // namespace hekla::controllers
