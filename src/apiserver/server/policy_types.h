// Type checking of ValidatingAdmissionPolicies: their expressions are held against the schemas of
// what they are about, and what cannot be right is said in the policy's status. It changes nothing
// about what the policy does.
#pragma once

#include "apiserver/object/registry.h"
#include "apiserver/server/self_reconciler.h"

namespace hekla::apiserver {

// status.typeChecking.expressionWarnings.
json::Array policy_warnings(const json::Value& policy, const Catalog& catalog);

// Checks every policy whose generation it has not seen.
ReconcileRule policy_types_rule();

}  // namespace hekla::apiserver
