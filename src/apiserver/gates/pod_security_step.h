// PodSecurity: holds pods to the standard their namespace asks for by its labels.
#pragma once

#include "apiserver/gates/pod_security.h"
#include "kube/admission.h"

namespace hekla::apiserver {

// `by_default` holds in namespaces without labels; those of the system are privileged unless they
// say otherwise. Pods with the annotation `exempt`, which users cannot set, have no containers to
// judge; empty: there are no such pods.
kube::AdmissionStep pod_security_admission(PodSecurityLevel by_default, std::string exempt = {});

}  // namespace hekla::apiserver
