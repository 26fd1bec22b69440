// kube-apiserver's RuntimeClass plugin: a pod's runtime class must exist, and lends it overhead and
// placement.
#pragma once

#include "kube/admission.h"

namespace hekla::apiserver {

kube::AdmissionStep runtime_class_admission();

}  // namespace hekla::apiserver
