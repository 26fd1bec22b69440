// What JobSet (0.12, its feature gates as they come) checks of a new set, part by part.
#pragma once

#include <set>
#include <string>

#include "admission/field_errors.h"
#include "kube/admission.h"

namespace hekla::admission {

void check_set_network(const json::Value& set, FieldErrors& errors);
// Names that fit, sizes that can be counted, and dependencies on what stands above.
void check_replicated_jobs(const json::Value& set, FieldErrors& errors);
void check_set_policies(const json::Value& set, FieldErrors& errors);
void check_coordinator(const json::Value& set, FieldErrors& errors);
// Claims are mounted, named once, and agree with what exists.
void check_volume_claims(const kube::AdmissionRequest& request, const json::Value& set,
                         FieldErrors& errors);

}  // namespace hekla::admission
