// DefaultStorageClass and StorageObjectInUseProtection.
#pragma once

#include <vector>

#include "kube/admission.h"

namespace hekla::apiserver {

std::vector<kube::AdmissionStep> storage_admission();

}  // namespace hekla::apiserver
