#include "apiserver/kinds/rules/quota_rules.h"

#include <algorithm>
#include <optional>

#include "apiserver/kinds/rules/rules.h"
#include "model/names.h"
#include "model/quantity.h"

namespace hekla::apiserver {
namespace {

using Names = std::set<std::string, std::less<>>;

const Names kObjects{"pods",
                     "services",
                     "replicationcontrollers",
                     "resourcequotas",
                     "secrets",
                     "configmaps",
                     "persistentvolumeclaims",
                     "services.nodeports",
                     "services.loadbalancers"};
const Names kCompute{"cpu",           "memory",       "limits.cpu",
                     "limits.memory", "requests.cpu", "requests.memory"};
const Names kStorage{"ephemeral-storage", "requests.storage", "requests.ephemeral-storage",
                     "limits.ephemeral-storage"};
const Names kScopes{"Terminating",   "NotTerminating", "BestEffort",
                    "NotBestEffort", "PriorityClass",  "CrossNamespacePodAffinity"};

bool is_quota_name(std::string_view name) {
  return kObjects.contains(name) || kCompute.contains(name) || kStorage.contains(name) ||
         name.starts_with("hugepages-") || name.starts_with("requests.hugepages-");
}

void check_name(const Field& entry, std::string_view name, bool quota, Rules& rules) {
  const std::size_t before = rules.causes.size();
  for (const std::string& why : model::qualified_name_errors(name))
    rules.invalid(entry, json::Value(name), why);
  if (name.find('/') != std::string_view::npos) return;
  if (rules.causes.size() == before && !is_quota_name(name) && name != "storage")
    rules.invalid(entry, json::Value(name), "must be a standard resource type or fully qualified");
  if (quota && !is_quota_name(name))
    rules.invalid(entry, json::Value(name), "must be a standard resource for quota");
}

void check_hard(const Field& hard, Rules& rules) {
  for (const auto& entry : hard.members()) {
    const Field amount = hard.key(entry.key());
    check_name(amount, entry.key(), true, rules);
    auto quantity = model::Quantity::from_json(entry.value());
    if (!quantity) continue;
    if (quantity->nanos < 0)
      rules.invalid(amount, json::Value(quantity->text()), "must be greater than or equal to 0");
    if (kObjects.contains(std::string_view(entry.key())) && quantity->nanos % 1'000'000'000 != 0)
      rules.invalid(amount, json::Value(quantity->text()), "must be an integer");
  }
}

// Only what pods use can be counted by their scope.
bool fits_scope(std::string_view scope, std::string_view name) {
  if (!is_quota_name(name)) return true;
  return name == "pods" || (scope != "BestEffort" && kCompute.contains(name));
}

void check_scopes(const Field& at, const Field& hard, const std::vector<std::string>& scopes,
                  Rules& rules) {
  for (const std::string& scope : scopes)
    for (const auto& entry : hard.members())
      if (!fits_scope(scope, entry.key()))
        rules.invalid(at, "unsupported scope applied to resource");
  const auto both = [&](std::string_view a, std::string_view b) {
    return std::ranges::find(scopes, a) != scopes.end() &&
           std::ranges::find(scopes, b) != scopes.end();
  };
  if (both("BestEffort", "NotBestEffort") || both("Terminating", "NotTerminating"))
    rules.invalid(at, "conflicting scopes");
}

void check_expression(const Field& one, Rules& rules) {
  const std::string_view scope = one["scopeName"].text(), op = one["operator"].text();
  if (!kScopes.contains(scope))
    rules.invalid(one["scopeName"], json::Value(scope), "unsupported scope");
  if (kScopes.contains(scope) && scope != "PriorityClass" && op != "Exists")
    rules.invalid(one["operator"], json::Value(op),
                  "must be 'Exists' when scope is any of ResourceQuotaScopeTerminating, "
                  "ResourceQuotaScopeNotTerminating, ResourceQuotaScopeBestEffort, "
                  "ResourceQuotaScopeNotBestEffort or "
                  "ResourceQuotaScopeCrossNamespacePodAffinity");
  const bool values = !one["values"].items().empty();
  if (op == "In" || op == "NotIn") {
    if (!values)
      rules.required(
          one["values"],
          "must be at least one value when `operator` is 'In' or 'NotIn' for scope selector");
  } else if (op == "Exists" || op == "DoesNotExist") {
    if (values)
      rules.invalid(
          one["values"],
          "must be no value when `operator` is 'Exist' or 'DoesNotExist' for scope selector");
  } else {
    rules.invalid(one["operator"], json::Value(op), "not a valid selector operator");
  }
}

std::optional<model::Quantity> amount_in(const Field& item, std::string_view list,
                                         std::string_view name) {
  const Field entry = item[list].key(name);
  auto amount = model::Quantity::from_json(entry.value());
  if (!entry.present() || !amount) return std::nullopt;
  return *amount;
}

// One resource's amounts must not contradict one another.
void check_order(const Field& item, std::string_view name, Rules& rules) {
  const auto min = amount_in(item, "min", name), max = amount_in(item, "max", name),
             limit = amount_in(item, "default", name),
             request = amount_in(item, "defaultRequest", name),
             ratio = amount_in(item, "maxLimitRequestRatio", name);
  const auto check = [&](const auto& low, std::string_view what, const auto& high,
                         std::string_view than, std::string_view list, const auto& shown) {
    if (low && high && *low > *high)
      rules.invalid(item[list].key(name), json::Value(shown->text()),
                    std::string(what) + " value " + low->text() + " is greater than " +
                        std::string(than) + " value " + high->text());
  };
  check(min, "min", max, "max", "min", min);
  check(min, "min", request, "default request", "defaultRequest", request);
  check(request, "default request", max, "max", "defaultRequest", request);
  check(request, "default request", limit, "default limit", "defaultRequest", request);
  check(min, "min", limit, "default", "default", min);
  check(limit, "default", max, "max", "default", max);
  if (ratio && *ratio < model::Quantity::of(1))
    rules.invalid(item["maxLimitRequestRatio"].key(name), json::Value(ratio->text()),
                  "ratio " + ratio->text() + " is less than 1");
}

}  // namespace

std::vector<Cause> validate_quota(const json::Value& object) {
  Rules rules;
  const Field spec = Field(object, "")["spec"], hard = spec["hard"], scopes = spec["scopes"];
  check_hard(hard, rules);
  std::vector<std::string> named, selected;
  for (std::size_t i = 0; i < scopes.items().size(); ++i) {
    named.emplace_back(scopes.at(i).text());
    if (!kScopes.contains(named.back())) rules.invalid(scopes, "unsupported scope");
  }
  check_scopes(scopes, hard, named, rules);
  const Field expressions = spec["scopeSelector"]["matchExpressions"];
  for (const json::Value& one : expressions.items()) {
    check_expression(Field(one, expressions.path()), rules);
    selected.emplace_back(json::string_at(one, {"scopeName"}));
  }
  check_scopes(expressions, hard, selected, rules);
  return std::move(rules.causes);
}

std::vector<Cause> validate_limits(const json::Value& object) {
  Rules rules;
  const Field limits = Field(object, "")["spec"]["limits"];
  std::set<std::string> types;
  for (std::size_t i = 0; i < limits.items().size(); ++i) {
    const Field item = limits.at(i);
    if (rules.need_text(item["type"])) rules.qualified_name(item["type"]);
    rules.unique(types, item["type"]);
    std::set<std::string> names;
    for (std::string_view list :
         {"max", "min", "default", "defaultRequest", "maxLimitRequestRatio"}) {
      if (list.starts_with("default") && item["type"].text() == "Pod") {
        if (!item[list].members().empty())
          rules.forbidden(item[list], "may not be specified when `type` is 'Pod'");
        continue;
      }
      for (const auto& entry : item[list].members()) {
        check_name(item[list].key(entry.key()), entry.key(), false, rules);
        names.emplace(entry.key());
      }
    }
    if (item["type"].text() == "PersistentVolumeClaim" && !item["min"]["storage"].present() &&
        !item["max"]["storage"].present())
      rules.required(
          item["limits"],
          "either minimum or maximum storage value is required, but neither was provided");
    for (const std::string& name : names) check_order(item, name, rules);
  }
  return std::move(rules.causes);
}

}  // namespace hekla::apiserver
