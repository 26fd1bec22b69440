// The first stage: from a body to an object of the kind, with its defaults.
#pragma once

#include <string>
#include <string_view>

#include "apiserver/object/write_scope.h"
#include "base/result.h"
#include "json/value.h"

namespace hekla::apiserver {

// Body to object: unknown and duplicate fields are reported as the request asks, types are checked,
// unknown fields dropped, defaults filled. `patched` chooses the words of a strict refusal.
Result<void> decode_stage(WriteScope& scope, json::Value& object, bool patched = false);
// Defaults again after admission has changed the object, and what Go writes unasked.
void default_stage(const Kind& kind, json::Value& object);
// A built-in kind's status is always there, if only as its zero value.
void complete_status(const Kind& kind, json::Value& object);
// `Pod in version "v1" cannot be handled as a Pod: `.
std::string cannot_handle(const kube::Resource& resource);
// Whether a member of the object may be another than the stored one. (A conversion webhook may
// return anything.)
bool may_have_changed(const WriteScope& scope, std::string_view member);

}  // namespace hekla::apiserver
