// admissionregistration.k8s.io/v1: webhook configurations. Policies are in admission_policy.cpp.
#include "apiserver/kinds/builtin.h"
#include "apiserver/kinds/cells.h"
#include "apiserver/kinds/defaults.h"
#include "apiserver/kinds/rules/expression_rules.h"
#include "apiserver/kinds/rules/rules.h"

namespace hekla::apiserver {
namespace {

constexpr std::string_view kGroup = "admissionregistration.k8s.io";
constexpr std::string_view kPackage = "io.k8s.api.admissionregistration.v1";

void default_rules(json::Object& holder, std::string_view member) {
  for (json::Value& rule : list_in(holder, member))
    if (rule.is_object()) set_default(rule.get_object(), "scope", "*");
}

void default_webhooks(json::Value& object, bool mutating) {
  for (json::Value& value : list_in(object.get_object(), "webhooks")) {
    if (!value.is_object()) continue;
    json::Object& webhook = value.get_object();
    set_default(webhook, "failurePolicy", "Fail");
    set_default(webhook, "matchPolicy", "Equivalent");
    object_in_place(webhook, "namespaceSelector");
    object_in_place(webhook, "objectSelector");
    set_default(webhook, "timeoutSeconds", 10);
    if (mutating) set_default(webhook, "reinvocationPolicy", "Never");
    if (json::Value* client = webhook.if_contains("clientConfig");
        client != nullptr && client->is_object())
      if (json::Value* service = client->get_object().if_contains("service");
          service != nullptr && service->is_object())
        set_default(service->get_object(), "port", 443);
    default_rules(webhook, "rules");
  }
}

void validate_match_conditions(const Field& conditions, Rules& rules) {
  std::set<std::string> names;
  for (std::size_t i = 0; i < conditions.items().size(); ++i) {
    const Field expression = conditions.at(i)["expression"], name = conditions.at(i)["name"];
    validate_expression(expression, {}, ExpressionResult::boolean, "", rules);
    if (rules.need_text(name) && rules.qualified_name(name)) rules.unique(names, name);
  }
}

void validate_webhook(const Field& webhook, Rules& rules) {
  if (rules.need_text(webhook["name"])) {
    std::string_view name = webhook["name"].text();
    if (rules.dns_subdomain(webhook["name"]) && std::count(name.begin(), name.end(), '.') < 2)
      rules.invalid(webhook["name"],
                    "should be a domain with at least three segments separated by dots");
  }
  if (webhook["admissionReviewVersions"].items().empty())
    rules.required(webhook["admissionReviewVersions"], "must specify one of v1, v1beta1");
  rules.one_of(webhook["failurePolicy"], {"Fail", "Ignore"});
  rules.one_of(webhook["matchPolicy"], {"Equivalent", "Exact"});
  if (webhook["sideEffects"].text().empty())
    rules.required(webhook["sideEffects"], "must specify one of None, NoneOnDryRun");
  else
    rules.one_of(webhook["sideEffects"], {"None", "NoneOnDryRun"});
  std::int64_t timeout = webhook["timeoutSeconds"].number(10);
  if (timeout < 1 || timeout > 30)
    rules.invalid(webhook["timeoutSeconds"], "the timeout value must be between 1 and 30 seconds");
  rules.webhook_client(webhook["clientConfig"]);
  validate_match_conditions(webhook["matchConditions"], rules);
  for (std::size_t i = 0; i < webhook["rules"].items().size(); ++i) {
    Field rule = webhook["rules"].at(i);
    for (std::string_view member : {"operations", "apiGroups", "apiVersions", "resources"})
      if (rule[member].items().empty()) rules.required(rule[member]);
  }
}

void add_webhooks(Kinds& kinds, bool mutating) {
  Kind kind = mutating ? cluster_kind(kGroup, "v1", "mutatingwebhookconfigurations",
                                      "MutatingWebhookConfiguration", kPackage)
                       : cluster_kind(kGroup, "v1", "validatingwebhookconfigurations",
                                      "ValidatingWebhookConfiguration", kPackage);
  kind.categories = {"api-extensions"};
  kind.traits.has_generation = true;
  kind.traits.unconditional_update = false;
  kind.traits.known_finalizers = false;
  kind.printing.columns = columns({"Webhooks:integer", "Age"});
  kind.printing.cells = [](const json::Value& object, WallTime now) -> json::Array {
    return {count(object, {"webhooks"}), json::Value(age(object, now))};
  };
  kind.rules.set_defaults = [mutating](json::Value& object) { default_webhooks(object, mutating); };
  kind.rules.validate = [](const json::Value& object) {
    Rules rules;
    Field webhooks = Field(object, "")["webhooks"];
    std::set<std::string> names;
    for (std::size_t i = 0; i < webhooks.items().size(); ++i) {
      validate_webhook(webhooks.at(i), rules);
      rules.unique(names, webhooks.at(i)["name"]);
    }
    return std::move(rules.causes);
  };
  add(kinds, std::move(kind));
}

void add_admissionregistration_kinds(Kinds& kinds) {
  add_webhooks(kinds, true);
  add_webhooks(kinds, false);
}

}  // namespace

extern const KindGroup kinds_admissionregistration;
const KindGroup kinds_admissionregistration{add_admissionregistration_kinds};

}  // namespace hekla::apiserver
