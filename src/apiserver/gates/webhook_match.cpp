#include "apiserver/gates/webhook_match.h"

#include <algorithm>

#include "apiserver/auth/policy_expression.h"

namespace hekla::apiserver {
namespace {

bool listed(const json::Value& rule, std::string_view member, std::string_view wanted) {
  const json::Array* list = json::array_at(rule, {member});
  return list && std::any_of(list->begin(), list->end(), [&](const json::Value& one) {
           return one.is_string() &&
                  (one.get_string() == "*" || json::sv(one.get_string()) == wanted);
         });
}

// "pods", "pods/status", "pods/*", "*/status", "*" (no subresources), "*/*".
bool resource_listed(const json::Value& rule, std::string_view plural,
                     std::string_view subresource) {
  const json::Array* list = json::array_at(rule, {"resources"});
  return list && std::any_of(list->begin(), list->end(), [&](const json::Value& one) {
           if (!one.is_string()) return false;
           std::string_view text = json::sv(one.get_string());
           const std::size_t slash = text.find('/');
           std::string_view first = text.substr(0, slash);
           std::string_view second = slash == std::string_view::npos ? "" : text.substr(slash + 1);
           return (first == "*" || first == plural) &&
                  (second == subresource || (second == "*" && slash != std::string_view::npos));
         });
}

bool rule_matches(const json::Value& rule, const kube::AdmissionRequest& request,
                  const kube::Resource& as) {
  const std::string_view scope = json::string_at(rule, {"scope"});
  if (scope == "Cluster" && as.namespaced) return false;
  if (scope == "Namespaced" && !as.namespaced) return false;
  return listed(rule, "operations", operation_name(request.operation)) &&
         listed(rule, "apiGroups", as.group) && listed(rule, "apiVersions", as.version) &&
         resource_listed(rule, as.plural, request.subresource);
}

bool any_rule_matches(const json::Value& webhook, const kube::AdmissionRequest& request,
                      const kube::Resource& as) {
  const json::Array* rules = json::array_at(webhook, {"rules"});
  return rules && std::any_of(rules->begin(), rules->end(), [&](const json::Value& rule) {
           return rule_matches(rule, request, as);
         });
}

Result<bool> selector_matches(const json::Value* selector, const model::Labels& labels) {
  if (!selector || !selector->is_object()) return true;
  return TRY(model::Selector::from_label_selector(*selector)).matches(labels);
}

}  // namespace

std::string_view operation_name(kube::Operation operation) {
  switch (operation) {
    case kube::Operation::create:
      return "CREATE";
    case kube::Operation::update:
      return "UPDATE";
    case kube::Operation::remove:
      return "DELETE";
    case kube::Operation::connect:
      return "CONNECT";
  }
  return "";
}

model::Labels labels_of_value(const json::Value& object) {
  model::Labels out;
  if (const json::Object* labels = json::object_at(object, {"metadata", "labels"}))
    for (const auto& one : *labels)
      if (one.value().is_string()) out.emplace(one.key(), json::sv(one.value().get_string()));
  return out;
}

ServedPtr webhook_version(const json::Value& webhook, const kube::AdmissionRequest& request,
                          const Catalog& catalog) {
  if (any_rule_matches(webhook, request, request.resource)) return catalog.find(request.resource);
  if (json::string_at(webhook, {"matchPolicy"}) == "Exact") return nullptr;
  for (const ServedPtr& served : catalog.all()) {
    const kube::Resource& other = served->kind->resource;
    if (other.group == request.resource.group && other.plural == request.resource.plural &&
        any_rule_matches(webhook, request, other))
      return served;
  }
  return nullptr;
}

Result<bool> webhook_selects(const json::Value& webhook, const kube::AdmissionRequest& request,
                             const json::Value& object) {
  const bool removal = request.operation == kube::Operation::remove;
  const json::Value* objects = json::find(webhook, "objectSelector");
  bool selected = !removal && TRY(selector_matches(objects, labels_of_value(object)));
  if (!selected && request.old_object)
    selected = TRY(selector_matches(objects, labels_of_value(*request.old_object)));
  if (!selected) return false;
  const json::Value* namespaces = json::find(webhook, "namespaceSelector");
  if (request.resource.plural == "namespaces" && request.resource.group.empty())
    return selector_matches(namespaces, labels_of_value(object));
  if (!request.resource.namespaced || !namespaces || !namespaces->is_object() ||
      namespaces->get_object().empty())
    return true;
  const kube::Resource kind{.group = "",
                            .version = "v1",
                            .plural = "namespaces",
                            .kind = "Namespace",
                            .namespaced = false};
  Result<kube::SharedValue> found = request.reader->get(kind, {"", request.key.ns});
  return selector_matches(namespaces, found ? labels_of_value(**found) : model::Labels{});
}

std::string aggregate_text(const std::vector<std::string>& failures) {
  std::vector<std::string> different;
  for (const std::string& one : failures)
    if (std::find(different.begin(), different.end(), one) == different.end())
      different.push_back(one);
  if (different.size() == 1) return different[0];
  std::string out = "[";
  for (std::size_t i = 0; i < different.size(); ++i) out += (i > 0 ? ", " : "") + different[i];
  return out + "]";
}

Result<bool> webhook_conditions_hold(const Webhook& webhook, const kube::AdmissionRequest& request,
                                     const json::Value& review_request,
                                     const RequestAuthorizer& authorizer) {
  if (webhook.conditions.empty()) return true;
  static const json::Value kNone;
  const json::Value *object = json::find(review_request, "object"),
                    *old = json::find(review_request, "oldObject");
  std::vector<cel::Binding> bindings{{"object", cel::Value::of(object ? *object : kNone, nullptr)},
                                     {"oldObject", cel::Value::of(old ? *old : kNone, nullptr)},
                                     {"request", cel::Value::of(review_request, nullptr)},
                                     {"namespaceObject", cel::Value()}};
  const RequestAuthority authority(authorizer, request);
  for (cel::Binding& one : authority.bindings()) bindings.push_back(std::move(one));
  std::vector<std::string> failures;
  cel::Budget budget(2'500'000);
  for (const PolicyExpression& condition : webhook.conditions) {
    Result<cel::Value> value = condition.program ? (*condition.program)->run(bindings, budget)
                                                 : std::unexpected(condition.program.error());
    // One condition that does not hold outweighs others that fail.
    if (value && !value->is_true()) return false;
    if (!value)
      failures.push_back(condition.program ? "expression '" + condition.text +
                                                 "' resulted in error: " + value.error().message
                                           : "compilation error: " + value.error().message);
  }
  if (failures.empty()) return true;
  return fail(Code::forbidden, aggregate_text(failures));
}

}  // namespace hekla::apiserver
