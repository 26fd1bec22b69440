// admissionregistration.k8s.io/v1: webhook configurations and validating policies.
#include "apiserver/kinds/builtin.h"
#include "apiserver/kinds/cells.h"
#include "apiserver/kinds/defaults.h"
#include "apiserver/kinds/rules.h"
#include "apiserver/webhook_configurations.h"

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
    if (rules.need_text(expression))
      if (auto program = compile_match_condition(std::string(expression.text())); !program)
        rules.invalid(expression, "compilation failed: " + program.error().message);
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
  kind.has_generation = true;
  kind.unconditional_update = false;
  kind.known_finalizers = false;
  kind.columns = columns({"Webhooks:integer", "Age"});
  kind.cells = [](const json::Value& object, WallTime now) -> json::Array {
    return {count(object, {"webhooks"}), json::Value(age(object, now))};
  };
  kind.set_defaults = [mutating](json::Value& object) { default_webhooks(object, mutating); };
  kind.validate = [](const json::Value& object) {
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

std::string parameter_kind(const json::Value& policy) {
  std::string version(json::string_at(policy, {"spec", "paramKind", "apiVersion"}));
  return version.empty()
             ? "<unset>"
             : version + "/" + std::string(json::string_at(policy, {"spec", "paramKind", "kind"}));
}

std::string parameter_reference(const json::Value& binding) {
  const json::Value* reference = json::find_path(binding, {"spec", "paramRef"});
  if (reference == nullptr || !reference->is_object()) return "<unset>";
  std::string ns(json::string_at(*reference, {"namespace"})),
      name(json::string_at(*reference, {"name"}));
  if (name.empty()) return ns.empty() ? "*" : ns + "/*";
  return ns.empty() ? name : ns + "/" + name;
}

}  // namespace

void add_admissionregistration_kinds(Kinds& kinds) {
  add_webhooks(kinds, true);
  add_webhooks(kinds, false);

  Kind policy = cluster_kind(kGroup, "v1", "validatingadmissionpolicies",
                             "ValidatingAdmissionPolicy", kPackage);
  policy.categories = {"api-extensions"};
  policy.has_status = true;
  policy.has_generation = true;
  policy.unconditional_update = false;
  policy.columns = columns({"Validations:integer", "ParamKind", "Age"});
  policy.cells = [](const json::Value& object, WallTime now) -> json::Array {
    return {count(object, {"spec", "validations"}), json::Value(parameter_kind(object)),
            json::Value(age(object, now))};
  };
  policy.set_defaults = [](json::Value& object) {
    json::Object& spec = object_in_place(object.get_object(), "spec");
    set_default(spec, "failurePolicy", "Fail");
    if (json::Value* match = spec.if_contains("matchConstraints");
        match != nullptr && match->is_object()) {
      set_default(match->get_object(), "matchPolicy", "Equivalent");
      object_in_place(match->get_object(), "namespaceSelector");
      object_in_place(match->get_object(), "objectSelector");
      default_rules(match->get_object(), "resourceRules");
      default_rules(match->get_object(), "excludeResourceRules");
    }
  };
  add(kinds, std::move(policy));

  Kind binding = cluster_kind(kGroup, "v1", "validatingadmissionpolicybindings",
                              "ValidatingAdmissionPolicyBinding", kPackage);
  binding.categories = {"api-extensions"};
  binding.has_generation = true;
  binding.unconditional_update = false;
  binding.columns = columns({"PolicyName", "ParamRef", "Age"});
  binding.cells = [](const json::Value& object, WallTime now) -> json::Array {
    return {json::Value(json::string_at(object, {"spec", "policyName"})),
            json::Value(parameter_reference(object)), json::Value(age(object, now))};
  };
  add(kinds, std::move(binding));
}

}  // namespace hekla::apiserver
