// Who may say what of a certificate signing request.
#pragma once

#include <vector>

#include "apiserver/object/kind.h"

namespace hekla::apiserver {

// Approval and denial are given on /approval alone, and nothing takes them back.
std::vector<Cause> validate_verdict(const json::Value& request, const json::Value& old,
                                    bool on_approval);

}  // namespace hekla::apiserver
