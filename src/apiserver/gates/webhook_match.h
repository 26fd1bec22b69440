// Which webhooks a request concerns.
#pragma once

#include <string>

#include "apiserver/auth/auth.h"
#include "apiserver/gates/webhook_configurations.h"
#include "kube/admission.h"
#include "model/selector.h"

namespace hekla::apiserver {

// "CREATE", as rules and reviews name it.
std::string_view operation_name(kube::Operation operation);
// The version in which the webhook wants to see the object, or null when its rules do not match.
ServedPtr webhook_version(const json::Value& webhook, const kube::AdmissionRequest& request,
                          const Catalog& catalog);
model::Labels labels_of_value(const json::Value& object);
// namespaceSelector and objectSelector.
Result<bool> webhook_selects(const json::Value& webhook, const kube::AdmissionRequest& request,
                             const json::Value& object);
// matchConditions over the review's request.
Result<bool> webhook_conditions_hold(const Webhook& webhook, const kube::AdmissionRequest& request,
                                     const json::Value& review_request,
                                     const RequestAuthorizer& authorizer);
// One text for several failures: "[a, b]".
std::string aggregate_text(const std::vector<std::string>& failures);

}  // namespace hekla::apiserver
