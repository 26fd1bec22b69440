// Pods get their account and its mounted token; secrets that ask for a token get one.
#pragma once

#include <vector>

#include "apiserver/auth/tokens.h"
#include "kube/admission.h"

namespace hekla::apiserver {

std::vector<kube::AdmissionStep> service_account_admission(const Tokens& tokens, Rng& rng);

}  // namespace hekla::apiserver
