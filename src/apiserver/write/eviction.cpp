#include "apiserver/write/eviction.h"

#include <algorithm>

#include "apiserver/object/metadata.h"
#include "apiserver/object/pod_conditions.h"
#include "apiserver/object/storage.h"
#include "apiserver/object/write_scope.h"
#include "apiserver/text/errors.h"
#include "apiserver/write/coupled_writes.h"
#include "apiserver/write/remove.h"
#include "apiserver/write/stages/admit.h"
#include "apiserver/write/stages/find.h"
#include "apiserver/write/stages/put.h"
#include "model/selector.h"
#include "model/time.h"

namespace hekla::apiserver {

namespace {

constexpr int kMaxUnconfirmed = 2000;
constexpr int kRetryAfterSeconds = 10;

// Such a pod serves nobody.
bool budgets_do_not_matter(const json::Value& pod) {
  std::string_view phase = json::string_at(pod, {"status", "phase"});
  return phase == "Succeeded" || phase == "Failed" || phase == "Pending" ||
         !meta_string(pod, "deletionTimestamp").empty();
}

bool is_ready(const json::Value& pod) {
  const json::Array* conditions = json::array_at(pod, {"status", "conditions"});
  return conditions &&
         std::any_of(conditions->begin(), conditions->end(), [](const json::Value& one) {
           return json::string_at(one, {"type"}) == "Ready" &&
                  json::string_at(one, {"status"}) == "True";
         });
}

// A missing selector selects nothing, an empty one everything.
bool covers(const json::Value& budget, const json::Value& pod) {
  const json::Value* given = json::find_path(budget, {"spec", "selector"});
  if (!given || given->is_null()) return false;
  Result<model::Selector> selector = model::Selector::from_label_selector(*given);
  if (!selector) return false;
  model::Labels labels;
  if (const json::Object* own = json::object_at(pod, {"metadata", "labels"}))
    for (const auto& one : *own)
      if (one.value().is_string())
        labels[std::string(one.key())] = json::sv(one.value().get_string());
  return selector->matches(labels);
}

bool may_go_unready(const json::Value& budget, const json::Value& pod) {
  if (is_ready(pod)) return false;
  if (json::string_at(budget, {"spec", "unhealthyPodEvictionPolicy"}) == "AlwaysAllow") return true;
  const std::int64_t desired = json::int_at(budget, {"status", "desiredHealthy"});
  return desired > 0 && json::int_at(budget, {"status", "currentHealthy"}) >= desired;
}

std::unexpected<Error> violation(const std::string& why, int retry_after_seconds) {
  Error error{Code::too_many_requests,
              "Cannot evict pod as it would violate the pod's disruption budget."};
  error.details.causes.push_back({"DisruptionBudget", why, ""});
  error.details.retry_after_seconds = retry_after_seconds;
  return std::unexpected(std::move(error));
}

std::string refusal_text(const json::Value& budget) {
  const std::string name(meta_string(budget, "name"));
  if (const json::Array* conditions = json::array_at(budget, {"status", "conditions"}))
    for (const json::Value& one : *conditions)
      if (json::string_at(one, {"type"}) == "DisruptionAllowed" &&
          json::string_at(one, {"status"}) == "False" &&
          json::string_at(one, {"reason"}) == "SyncFailed")
        return "The disruption budget " + name +
               " does not allow evicting pods currently because it failed sync: " +
               std::string(json::string_at(one, {"message"}));
  return "The disruption budget " + name + " needs " +
         std::to_string(json::int_at(budget, {"status", "desiredHealthy"})) +
         " healthy pods and has " +
         std::to_string(json::int_at(budget, {"status", "currentHealthy"})) + " currently";
}

Result<void> use_up(WriteScope& scope, CoupledWrite budget) {
  const std::string name(meta_string(budget.object, "name"));
  if (json::int_at(budget.object, {"status", "observedGeneration"}) <
      json::int_at(budget.object, {"metadata", "generation"}))
    return violation("The disruption budget " + name + " is still being processed by the server.",
                     kRetryAfterSeconds);
  const std::int64_t allowed = json::int_at(budget.object, {"status", "disruptionsAllowed"});
  if (allowed < 0)
    return std::unexpected(forbidden_error(kube::resources::pod_disruption_budgets, name,
                                           "pdb disruptions allowed is negative"));
  const json::Object* unconfirmed = json::object_at(budget.object, {"status", "disruptedPods"});
  if (unconfirmed && unconfirmed->size() > kMaxUnconfirmed)
    return std::unexpected(forbidden_error(
        kube::resources::pod_disruption_budgets, name,
        "DisruptedPods map too big - too many evictions not confirmed by PDB controller"));
  if (allowed == 0) return violation(refusal_text(budget.object), 0);
  const json::Value before = budget.object;
  json::at_path(budget.object, {"status", "disruptionsAllowed"}) = allowed - 1;
  json::at_path(budget.object, {"status", "disruptedPods", scope.request.key.name}) =
      model::format_rfc3339(scope.now);
  if (json::Value* conditions =
          json::at_path(budget.object, {"status"}).get_object().if_contains("conditions");
      allowed == 1 && conditions && conditions->is_array())
    for (json::Value& one : conditions->get_array()) {
      if (json::string_at(one, {"type"}) != "DisruptionAllowed") continue;
      one.get_object()["status"] = "False";
      one.get_object()["reason"] = "InsufficientPods";
      one.get_object()["lastTransitionTime"] = model::format_rfc3339(scope.now);
    }
  add_coupled_write(scope, before, std::move(budget));
  return {};
}

}  // namespace

Result<PreparedWrite> prepare_eviction(WriteScope& scope) {
  std::string_view name = json::string_at(scope.request.body, {"metadata", "name"});
  if (!name.empty() && name != scope.request.key.name)
    return fail(Code::bad_request, "name in URL does not match name in Eviction object");
  json::Value eviction(scope.request.body, scope.storage);
  TRY(admit_sent(scope, "eviction", kube::Operation::create, eviction));
  store::ItemPtr item = TRY(find_item(scope));
  const json::Value pod = decode_object(scope.served(), *item, scope.storage);
  if (budgets_do_not_matter(pod)) return prepare_remove(scope);
  std::vector<CoupledWrite> budgets =
      coupled_objects(scope, kube::resources::pod_disruption_budgets, scope.request.key.ns);
  std::erase_if(budgets, [&](const CoupledWrite& one) { return !covers(one.object, pod); });
  if (budgets.size() > 1)
    return fail(Code::internal,
                "This pod has more than one PodDisruptionBudget, which the eviction subresource "
                "does not support.");
  if (!budgets.empty() && !may_go_unready(budgets.front().object, pod))
    TRY(use_up(scope, std::move(budgets.front())));
  return prepare_remove(scope, [&](json::Value& evicted) {
    set_pod_condition(
        evicted, {"DisruptionTarget", "True", "EvictionByEvictionAPI", "Eviction API: evicting"},
        scope.now);
  });
}

}  // namespace hekla::apiserver
