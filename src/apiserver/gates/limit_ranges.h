// LimitRanger: the LimitRanges of a namespace give containers their defaults and bound what pods
// and claims may ask for.
#pragma once

#include <vector>

#include "kube/admission.h"

namespace hekla::apiserver {

std::vector<kube::AdmissionStep> limit_admission();

}  // namespace hekla::apiserver
