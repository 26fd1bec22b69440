#include "apiserver/write/remove.h"

#include <algorithm>
#include <array>

#include "apiserver/crd/platform_crds.h"
#include "apiserver/object/metadata.h"
#include "apiserver/object/storage.h"
#include "apiserver/object/write_scope.h"
#include "apiserver/text/errors.h"
#include "apiserver/text/field_error.h"
#include "apiserver/write/quota.h"
#include "apiserver/write/stages/admit.h"
#include "apiserver/write/stages/find.h"
#include "apiserver/write/stages/put.h"
#include "apiserver/write/stages/validate.h"
#include "model/time.h"

namespace hekla::apiserver {

namespace {

constexpr std::string_view kOrphan = "orphan";
constexpr std::string_view kForeground = "foregroundDeletion";

bool is_deleting(const json::Value& object) {
  const json::Value* at = json::find_path(object, {"metadata", "deletionTimestamp"});
  return at && !at->is_null();
}

Result<void> check_options(const RemoveOptions& options) {
  if (options.propagation_policy.empty()) return {};
  const json::Value policy(options.propagation_policy);
  if (options.orphan_dependents)
    return std::unexpected(invalid_options_error(
        "DeleteOptions",
        invalid_value("propagationPolicy", policy,
                      "orphanDependents and deletionPropagation cannot be both set")));
  static const std::vector<std::string> kPolicies{"Foreground", "Background", "Orphan", "nil"};
  if (std::find(kPolicies.begin(), kPolicies.end() - 1, options.propagation_policy) ==
      kPolicies.end() - 1)
    return std::unexpected(invalid_options_error(
        "DeleteOptions", unsupported_value("propagationPolicy", policy, kPolicies)));
  return {};
}

Result<void> check_preconditions(const WriteScope& scope, const json::Value& object,
                                 const store::Item& item) {
  const RemoveOptions& options = scope.request.remove;
  kube::Resource by_kind =
      stored_as(scope.kind());  // upstream names the kind here, not the resource
  by_kind.plural = by_kind.kind;
  auto mismatch = [&](std::string what, std::string_view wanted, std::string_view found,
                      std::string_view then) {
    if (scope.kind().traits.staged_delete)
      return std::unexpected(conflict_error(scope.resource(), scope.request.key.name,
                                            "Precondition failed: " + what +
                                                " in precondition: " + std::string(wanted) + ", " +
                                                what + " in object meta: " + std::string(found)));
    return std::unexpected(
        conflict_error(by_kind, scope.request.key.name,
                       "the " + what + " in the precondition (" + std::string(wanted) +
                           ") does not match the " + what + " in record (" + std::string(found) +
                           "). The object might have been " + std::string(then)));
  };
  std::string_view uid = meta_string(object, "uid");
  if (!options.precondition_uid.empty() && options.precondition_uid != uid)
    return mismatch("UID", options.precondition_uid, uid, "deleted and then recreated");
  std::string revision = std::to_string(item.modified);
  if (!options.precondition_resource_version.empty() &&
      options.precondition_resource_version != revision)
    return mismatch("ResourceVersion", options.precondition_resource_version, revision, "modified");
  return {};
}

// The finalizers as the propagation policy wants them.
std::vector<std::string> policy_finalizers(const WriteScope& scope,
                                           std::vector<std::string> finalizers) {
  const RemoveOptions& options = scope.request.remove;
  auto has = [&](std::string_view one) {
    return std::find(finalizers.begin(), finalizers.end(), one) != finalizers.end();
  };
  const std::string& policy = options.propagation_policy;
  bool orphan = policy == "Orphan" || options.orphan_dependents.value_or(false);
  bool foreground = policy == "Foreground";
  if (policy.empty() && !options.orphan_dependents) {
    foreground = has(kForeground);
    orphan = has(kOrphan) || (scope.kind().traits.orphans_by_default && !foreground);
  }
  std::erase_if(finalizers,
                [](const std::string& one) { return one == kOrphan || one == kForeground; });
  if (orphan) finalizers.emplace_back(kOrphan);
  if (foreground) finalizers.emplace_back(kForeground);
  return finalizers;
}

void mark_deleting(const Kind& kind, json::Value& object, WallTime when, std::int64_t grace) {
  json::Object& meta = metadata_of(object);
  const bool first = !is_deleting(object);
  if (first) meta["deletionTimestamp"] = model::format_rfc3339(when);
  if (kind.traits.staged_delete) return;
  meta["deletionGracePeriodSeconds"] = grace;
  if (first && json::int_at(object, {"metadata", "generation"}) > 0)
    meta["generation"] = json::int_at(object, {"metadata", "generation"}) + 1;
}

// A century and more: beyond it the sum of a time and a period would not be one.
constexpr std::int64_t kLongestGrace = std::int64_t{1} << 32;

std::int64_t pod_grace(const WriteScope& scope, const json::Value& pod) {
  std::int64_t period = scope.request.remove.grace_period_seconds.value_or(
      json::int_at(pod, {"spec", "terminationGracePeriodSeconds"}, 0));
  std::string_view phase = json::string_at(pod, {"status", "phase"});
  if (json::string_at(pod, {"spec", "nodeName"}).empty() || phase == "Succeeded" ||
      phase == "Failed")
    return 0;
  return period < 0 ? 1 : std::min(period, kLongestGrace);
}

// A CRD of the platform's comes back, and finds its objects.
bool is_platform_crd(const WriteScope& scope) {
  return scope.kind().traits.brings_kinds && scope.services.platform_crds &&
         scope.services.platform_crds->has(scope.request.key.name);
}

struct Grace {
  bool graceful = false;  // the kind takes its time
  bool pending = false;   // it already does, and this request changes nothing
  std::int64_t period = 0;
};

// Sets the deletion fields of a kind with grace; a second request may only shorten the period.
Grace begin_grace(const WriteScope& scope, json::Value& object) {
  if (!scope.kind().traits.graceful_delete) return {};
  if (!is_deleting(object)) {
    std::int64_t period = pod_grace(scope, object);
    mark_deleting(scope.kind(), object, scope.now + std::chrono::seconds(period), period);
    return {true, false, period};
  }
  const json::Value* running = json::find_path(object, {"metadata", "deletionGracePeriodSeconds"});
  if (!running || running->is_null()) return {};
  std::int64_t before = json::int_at(object, {"metadata", "deletionGracePeriodSeconds"});
  std::int64_t wanted = scope.request.remove.grace_period_seconds.value_or(before);
  if (wanted < 0) wanted = 1;
  if (wanted >= before) return {true, true, before};
  Result<WallTime> at = model::parse_rfc3339(meta_string(object, "deletionTimestamp"));
  WallTime when = at ? *at - std::chrono::seconds(before - wanted) : scope.now;
  metadata_of(object)["deletionTimestamp"] = model::format_rfc3339(when);
  metadata_of(object)["deletionGracePeriodSeconds"] = wanted;
  return {true, false, wanted};
}

}  // namespace

Result<PreparedWrite> prepare_remove(WriteScope& scope,
                                     const std::function<void(json::Value&)>& mark) {
  TRY(check_options(scope.request.remove));
  store::ItemPtr item = TRY(find_item(scope));
  const json::Value old = TRY(stored_object(scope, *item));
  TRY(check_preconditions(scope, old, *item));
  if (!scope.request.past_admission) TRY(admit_stage(scope, old, &old, kube::Operation::remove));

  json::Value object = old;
  if (mark) mark(object);
  const bool retry = scope.request.remove.precondition_resource_version.empty();
  Grace grace = begin_grace(scope, object);
  if (grace.pending) {
    return unchanged_stage(scope, item);
  }
  std::vector<std::string> finalizers = policy_finalizers(scope, finalizers_of(object));
  set_finalizers(object, finalizers);
  bool held = !finalizers.empty();
  if (scope.kind().rules.begin_removal && !is_platform_crd(scope))
    held |= scope.kind().rules.begin_removal(object, scope.now);

  PreparedWrite prepared;
  if (held || grace.period > 0) {
    if (!grace.graceful) mark_deleting(scope.kind(), object, scope.now, 0);
    if (json::equal(object, old)) return unchanged_stage(scope, item);
    prepared =
        TRY(put_stage(scope, std::move(object), {store::Expect::Kind::revision, item->modified},
                      WriteOutcome::Effect::updated, item->modified));
  } else {
    TRY(quota_stage(scope, nullptr, &old));
    prepared = TRY(remove_stage(scope, grace.graceful ? std::move(object) : old, *item));
  }
  prepared.retry_on_conflict = retry;
  return prepared;
}

}  // namespace hekla::apiserver
