// Claims appear by themselves, in stateful sets and in ephemeral volumes.
#pragma once

#include "apiserver/kinds/rules/rules.h"

namespace hekla::apiserver {

void default_claim_spec(json::Object& spec);
void validate_claim_spec(const Field& spec, Rules& rules);
// Required, at most 63 characters, a DNS name in any case.
void validate_driver_name(const Field& driver, Rules& rules);

}  // namespace hekla::apiserver
