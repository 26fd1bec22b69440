#include "apiserver/write/finish_update.h"

#include <algorithm>

#include "apiserver/crd/conversion.h"
#include "apiserver/object/metadata.h"
#include "apiserver/object/subresources.h"
#include "apiserver/write/managed_fields.h"
#include "apiserver/write/quota.h"
#include "apiserver/write/stages/admit.h"
#include "apiserver/write/stages/allocate.h"
#include "apiserver/write/stages/decode.h"
#include "apiserver/write/stages/put.h"
#include "apiserver/write/stages/validate.h"
#include "base/check.h"

namespace hekla::apiserver {

namespace {

// Keeps the members of the old object that the addressed endpoint may not touch.
void isolate(const WriteScope& scope, json::Value& object, const json::Value& old) {
  const Kind& kind = scope.kind();
  if (!kind.traits.has_status) return;
  json::Object& now = object.get_object();
  const json::Object& before = old.get_object();
  if (const Subresource* part = find_subresource(kind, scope.request.subresource);
      part && part->isolate)
    return part->isolate(object, old);
  if (!writes_status(scope.request.subresource)) {
    if (!may_have_changed(scope, "status")) return;
    if (const json::Value* status = before.if_contains("status"))
      now["status"] = *status;
    else
      now.erase("status");
    return;
  }
  json::Object merged(now.storage());
  for (const auto& member : before) {
    const bool own = member.key() == "status" || (member.key() == "metadata" && !kind.custom);
    json::Value* given =
        own || !may_have_changed(scope, member.key()) ? now.if_contains(member.key()) : nullptr;
    if (given)
      merged.emplace(member.key(), std::move(*given));
    else if (!own)
      merged.emplace(member.key(), member.value());
  }
  if (json::Value* status = now.if_contains("status"); status && !before.contains("status"))
    merged.emplace("status", std::move(*status));
  if (!kind.custom) {
    json::Object& metadata = merged["metadata"].get_object();
    for (const std::string& member : kind.traits.status_keeps) {
      const json::Value* kept = json::find_path(old, {"metadata", member});
      if (kept)
        metadata[member] = *kept;
      else
        metadata.erase(member);
    }
  }
  now = std::move(merged);
}

void count_generation(const Kind& kind, json::Value& object, const json::Value& old) {
  if (!kind.traits.has_generation) return;
  bool changed = !same_outside(object, old, kind.traits.has_status || !kind.custom);
  const std::string_view member = kind.traits.generation_metadata;
  if (!changed && !member.empty()) {
    static const json::Value kNone;
    const json::Value* now = json::find_path(object, {"metadata", member});
    const json::Value* before = json::find_path(old, {"metadata", member});
    changed = !json::equal(now ? *now : kNone, before ? *before : kNone);
  }
  if (changed)
    metadata_of(object)["generation"] = json::int_at(old, {"metadata", "generation"}) + 1;
}

// Whether the update took the last thing that held a terminating object back.
bool completes_removal(const Kind& kind, const json::Value& object) {
  const json::Value* deleted = json::find_path(object, {"metadata", "deletionTimestamp"});
  if (!deleted || deleted->is_null() || !finalizers_of(object).empty()) return false;
  if (json::int_at(object, {"metadata", "deletionGracePeriodSeconds"}) > 0) return false;
  if (kind.traits.holds_objects) {
    const json::Array* content = json::array_at(object, {"spec", "finalizers"});
    return !content || content->empty();
  }
  return true;
}

}  // namespace

Result<PreparedWrite> finish_update(WriteScope& scope, UpdateInput input) {
  CHECK(input.item && input.old.is_object() && input.object.is_object(),
        "an update replaces an object by an object");
  const Kind& kind = scope.kind();
  json::Value& object = input.object;
  const json::Value& old = input.old;
  if (!input.decoded) TRY(decode_stage(scope, object));
  keep_server_fields(object, old);
  isolate(scope, object, old);
  if (!input.fields_tracked && kind.schema)
    track_update(
        kind, &old, object,
        {scope.request.field_manager, kind.resource.api_version(), scope.request.subresource},
        scope.now);
  TRY(mutate_stage(scope, object, &old, kube::Operation::update));
  if (kind.rules.prepare_update)
    kind.rules.prepare_update(object, old, {scope.now, &scope.rng, scope.request.subresource});
  complete_status(kind, object);
  TRY(allocate_stage(scope, object, &old));
  if (!writes_status(scope.request.subresource)) count_generation(kind, object, old);
  TRY(validate_stage(scope, object, &old));
  TRY(admit_stage(scope, object, &old, kube::Operation::update));
  const bool removal = completes_removal(kind, object);
  TRY(quota_stage(scope, removal ? nullptr : &object, &old));

  metadata_of(object)["resourceVersion"] = std::to_string(input.item->modified);
  PreparedWrite prepared;
  if (removal) {
    prepared = TRY(remove_stage(scope, std::move(object), *input.item));
    // An object that is kept in another version is written all the same: so objects move to a new
    // storage version.
  } else if (json::equal(object, old) &&
             (!kind.custom || stored_version(*input.item) == kind.storage.version)) {
    return unchanged_stage(scope, std::move(input.item));
  } else {
    prepared = TRY(put_stage(scope, std::move(object),
                             {store::Expect::Kind::revision, input.item->modified},
                             WriteOutcome::Effect::updated, input.item->modified));
  }
  prepared.retry_on_conflict = input.retry_on_conflict;
  return prepared;
}

}  // namespace hekla::apiserver
