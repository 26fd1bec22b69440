// Admission around a write: the server's own steps, policies and webhooks.
#pragma once

#include <string>

#include "apiserver/gates/webhooks.h"
#include "apiserver/object/write_scope.h"
#include "base/result.h"
#include "json/value.h"

namespace hekla::apiserver {

// The request as admission sees it; the reader of other objects is left to the caller.
OwnAdmissionRequest admission_request(WriteScope& scope, const json::Value& object,
                                      const json::Value* old, kube::Operation operation);
Result<void> mutate_stage(WriteScope& scope, json::Value& object, const json::Value* old,
                          kube::Operation operation);
Result<void> admit_stage(WriteScope& scope, const json::Value& object, const json::Value* old,
                         kube::Operation operation);
// A body sent to a subresource that is no object of the resource's kind (a Binding, an Eviction, a
// Scale, the options of exec) passes webhooks, which may change it, and policies.
Result<void> admit_sent(WriteScope& scope, const std::string& subresource,
                        kube::Operation operation, json::Value& sent,
                        const json::Value* old = nullptr);

}  // namespace hekla::apiserver
