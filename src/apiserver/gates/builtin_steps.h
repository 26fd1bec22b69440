// The admission steps the server itself brings, named after kube-apiserver's plugins.
#pragma once

#include <vector>

#include "kube/admission.h"

namespace hekla::apiserver {

// In the order in which they run, before those of main.
std::vector<kube::AdmissionStep> builtin_admission();

}  // namespace hekla::apiserver
