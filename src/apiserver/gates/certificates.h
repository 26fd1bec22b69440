// CertificateApproval, CertificateSigning, CertificateSubjectRestriction: who may have a
// certificate from which signer.
#pragma once

#include <vector>

#include "apiserver/auth/auth.h"
#include "kube/admission.h"

namespace hekla::apiserver {

// `authorizer` outlives the steps.
std::vector<kube::AdmissionStep> certificate_admission(const RequestAuthorizer& authorizer);

}  // namespace hekla::apiserver
