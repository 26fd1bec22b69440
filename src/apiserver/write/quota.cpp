#include "apiserver/write/quota.h"

#include "apiserver/object/metadata.h"
#include "apiserver/object/write_scope.h"
#include "apiserver/text/errors.h"
#include "apiserver/write/coupled_writes.h"
#include "model/quota.h"

namespace hekla::apiserver {

namespace {

using model::Quantity;
using model::QuotaKind;
using model::ResourceList;

struct Charge {
  QuotaKind kind;
  const json::Value* object;
  const json::Value* old;
  ResourceList usage, old_usage;
};

// Only these weigh more or less after an update; of all others there is one, before and after.
bool weight_varies(const QuotaKind& kind) {
  return kind.group.empty() && (kind.plural == "pods" || kind.plural == "services" ||
                                kind.plural == "persistentvolumeclaims");
}

// Of one quota: what it limits, as far as the kind is concerned.
ResourceList limits_of(const json::Value& quota, const QuotaKind& kind) {
  ResourceList hard = model::resource_list_at(quota, {"status", "hard"});
  std::erase_if(hard, [&](const auto& one) { return model::quota_kind_of(one.first) != kind; });
  return hard;
}

ResourceList only(const ResourceList& list, const ResourceList& names) {
  ResourceList kept;
  for (const auto& [name, quantity] : list)
    if (names.contains(name)) kept.emplace(name, quantity);
  return kept;
}

// More minus less, without zeros.
ResourceList delta_of(const json::Value& quota, const Charge& charge, const ResourceList& hard) {
  ResourceList delta;
  if (charge.object && model::quota_selects(quota, charge.kind, *charge.object))
    delta = only(charge.usage, hard);
  if (charge.old && model::quota_selects(quota, charge.kind, *charge.old))
    for (const auto& [name, quantity] : only(charge.old_usage, hard)) delta[name] -= quantity;
  std::erase_if(delta, [](const auto& one) { return one.second.is_zero(); });
  return delta;
}

std::unexpected<Error> refusal(const WriteScope& scope, const Charge& charge,
                               const std::string& why) {
  const std::string name(meta_string(*charge.object, "name"));
  return std::unexpected(forbidden_error(scope.resource(), name, why));
}

Result<void> check_stated(const WriteScope& scope, const Charge& charge, const json::Value& quota) {
  if (charge.old || !charge.object || !model::quota_selects(quota, charge.kind, *charge.object))
    return {};
  const ResourceList hard = limits_of(quota, charge.kind);
  if (hard.empty()) return {};
  const std::string name(meta_string(quota, "name"));
  std::vector<std::string> names, unknown;
  const ResourceList used = model::resource_list_at(quota, {"status", "used"});
  std::string listed;
  for (const auto& [resource, limit] : hard) {
    names.push_back(resource);
    listed += (listed.empty() ? "" : ",") + resource;
    if (!used.contains(resource)) unknown.push_back(resource);
  }
  if (charge.kind == QuotaKind{"", "pods"})
    if (auto missing = model::quota_unspecified(names, *charge.object))
      return refusal(scope, charge, "failed quota: " + name + ": must specify " + *missing);
  if (!unknown.empty())
    return refusal(scope, charge, "status unknown for quota: " + name + ", resources: " + listed);
  return {};
}

Result<void> settle_with(WriteScope& scope, const Charge& charge, CoupledWrite quota) {
  const ResourceList hard = limits_of(quota.object, charge.kind);
  const ResourceList delta = delta_of(quota.object, charge, hard);
  if (delta.empty()) return {};
  const ResourceList used = model::resource_list_at(quota.object, {"status", "used"});
  const json::Value before = quota.object;
  ResourceList exceeded;
  for (const auto& [name, more] : delta) {
    auto found = used.find(name);
    if (found == used.end()) continue;  // not counted yet: the controller will
    Quantity now = found->second;
    now += more;
    if (more.nanos > 0 && now > hard.at(name)) exceeded.emplace(name, more);
    if (now.nanos < 0) now = Quantity::of(0, now.format);
    json::at_path(quota.object, {"status", "used", name}) = now.to_json();
  }
  // A report of what has happened (a kubelet's) is not refused.
  if (!exceeded.empty() && scope.request.subresource.empty() && charge.object)
    return refusal(scope, charge,
                   "exceeded quota: " + std::string(meta_string(quota.object, "name")) +
                       ", requested: " + model::resource_list_text(exceeded) +
                       ", used: " + model::resource_list_text(only(used, exceeded)) +
                       ", limited: " + model::resource_list_text(only(hard, exceeded)));
  if (!json::equal(quota.object, before)) add_coupled_write(scope, before, std::move(quota));
  return {};
}

}  // namespace

Result<void> quota_stage(WriteScope& scope, const json::Value* object, const json::Value* old) {
  if (!scope.services.quota || !scope.resource().namespaced) return {};
  Charge charge{{scope.resource().group, scope.resource().plural}, object, old, {}, {}};
  if (object && old && !weight_varies(charge.kind)) return {};
  const json::Value& either = object ? *object : *old;
  std::vector<CoupledWrite> quotas = coupled_objects(scope, kube::resources::resource_quotas,
                                                     std::string(meta_string(either, "namespace")));
  if (quotas.empty()) return {};
  if (scope.resource() == kube::resources::resource_quotas)
    std::erase_if(quotas, [&](const CoupledWrite& quota) {
      return meta_string(quota.object, "name") == meta_string(either, "name");
    });
  if (object) charge.usage = model::quota_usage(charge.kind, *object);
  if (old) charge.old_usage = model::quota_usage(charge.kind, *old);
  for (const CoupledWrite& quota : quotas) TRY(check_stated(scope, charge, quota.object));
  for (CoupledWrite& quota : quotas) TRY(settle_with(scope, charge, std::move(quota)));
  return {};
}

}  // namespace hekla::apiserver
