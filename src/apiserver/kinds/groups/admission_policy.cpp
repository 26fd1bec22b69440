// admissionregistration.k8s.io/v1: ValidatingAdmissionPolicy and its binding. What they do is in
// gates/policies.cpp.
#include <algorithm>

#include "apiserver/kinds/builtin.h"
#include "apiserver/kinds/cells.h"
#include "apiserver/kinds/defaults.h"
#include "apiserver/kinds/rules/expression_rules.h"
#include "apiserver/kinds/rules/rules.h"
#include "model/names.h"

namespace hekla::apiserver {
namespace {

constexpr std::string_view kPolicyGroup = "admissionregistration.k8s.io";
constexpr std::string_view kPolicyPackage = "io.k8s.api.admissionregistration.v1";

void default_match(json::Object& match) {
  set_default(match, "matchPolicy", "Equivalent");
  object_in_place(match, "namespaceSelector");
  object_in_place(match, "objectSelector");
  for (std::string_view member : {"resourceRules", "excludeResourceRules"})
    for (json::Value& rule : list_in(match, member))
      if (rule.is_object()) set_default(rule.get_object(), "scope", "*");
}

void validate_match(const Field& match, Rules& rules) {
  rules.one_of(match["matchPolicy"], {"Equivalent", "Exact"});
  rules.selector(match["namespaceSelector"]);
  rules.selector(match["objectSelector"]);
  for (std::string_view member : {"resourceRules", "excludeResourceRules"})
    for (std::size_t i = 0; i < match[member].items().size(); ++i)
      for (std::string_view list : {"operations", "apiGroups", "apiVersions", "resources"})
        if (match[member].at(i)[list].items().empty()) rules.required(match[member].at(i)[list]);
}

void validate_parameter_kind(const Field& kind, Rules& rules) {
  const Field version = kind["apiVersion"];
  const std::string_view text = version.text();
  if (rules.need_text(version)) {
    const std::size_t slash = text.find('/');
    const std::string_view group = slash == std::string_view::npos ? "" : text.substr(0, slash);
    const std::string_view name = slash == std::string_view::npos ? text : text.substr(slash + 1);
    if (name.find('/') != std::string_view::npos) {
      rules.invalid(version, "unexpected GroupVersion string: " + std::string(text));
    } else {
      if (!group.empty())
        for (const std::string& why : model::dns1123_subdomain_errors(group))
          rules.invalid(version, json::Value(group), why);
      if (name.empty()) rules.invalid(version, "version must be specified");
      for (const std::string& why :
           name.empty() ? std::vector<std::string>{} : model::dns1035_label_errors(name))
        rules.invalid(version, json::Value(name), why);
    }
  }
  rules.need_text(kind["kind"]);
}

void validate_rule(const Field& rule, const ExpressionScope& scope, Rules& rules) {
  validate_expression(rule["expression"], scope, ExpressionResult::boolean,
                      "expression is not specified", rules);
  ExpressionScope without_authorizer = scope;
  without_authorizer.has_authorizer = false;
  const Field message = rule["message"], computed = rule["messageExpression"];
  if (!computed.text().empty()) {
    if (is_blank(computed.text()))
      rules.invalid(computed, "must be non-empty if specified");
    else
      validate_expression(computed, without_authorizer, ExpressionResult::text, "", rules);
  }
  if (!message.text().empty() && is_blank(message.text()))
    rules.invalid(message, "must be non-empty if specified");
  if (message.text().find('\n') != std::string_view::npos)
    rules.invalid(message, "must not contain line breaks");
  if (rule["reason"].present())
    rules.one_of(rule["reason"], {"Forbidden", "Invalid", "RequestEntityTooLarge", "Unauthorized"});
}

bool is_identifier(std::string_view name) {
  auto sign = [](unsigned char c) { return c < 0x80 && (std::isalnum(c) != 0 || c == '_'); };
  return std::isdigit(static_cast<unsigned char>(name[0])) == 0 &&
         std::all_of(name.begin(), name.end(), sign) && !cel::reserved_name(name);
}

void validate_variables(const Field& variables, const ExpressionScope& scope, FieldsShape& types,
                        Rules& rules) {
  for (std::size_t i = 0; i < variables.items().size(); ++i) {
    const Field name = variables.at(i)["name"], expression = variables.at(i)["expression"];
    if (is_blank(name.text()))
      rules.required(name, "name is not specified");
    else if (!is_identifier(name.text()))
      rules.invalid(name, "must be a valid CEL identifier");
    auto program = validate_expression(expression, scope, ExpressionResult::anything,
                                       "expression is not specified", rules);
    add_variable(types, std::string(name.text()), program);
  }
}

void validate_annotations(const Field& annotations, const std::string& policy,
                          const ExpressionScope& scope, Rules& rules) {
  constexpr std::size_t kMost = 20;
  std::set<std::string> keys;
  if (annotations.items().size() > kMost)
    rules.invalid(annotations, "must not have more than 20 auditAnnotations");
  for (std::size_t i = 0; i < annotations.items().size(); ++i) {
    const Field key = annotations.at(i)["key"];
    const std::string name = policy + "/" + std::string(key.text());
    for (const std::string& why : model::qualified_name_errors(name))
      rules.invalid(key, json::Value(name), why);
    validate_expression(annotations.at(i)["valueExpression"], scope, ExpressionResult::text_or_null,
                        "valueExpression is not specified", rules);
    rules.unique(keys, key);
  }
}

void validate_expressions(const Field& spec, const std::string& policy, bool parameters,
                          Rules& rules) {
  std::set<std::string> names;
  ExpressionScope scope;
  scope.has_parameters = parameters;
  const Field conditions = spec["matchConditions"], variables = spec["variables"];
  for (std::size_t i = 0; i < conditions.items().size(); ++i) {
    validate_expression(conditions.at(i)["expression"], scope, ExpressionResult::boolean, "",
                        rules);
    if (rules.need_text(conditions.at(i)["name"]) && rules.qualified_name(conditions.at(i)["name"]))
      rules.unique(names, conditions.at(i)["name"]);
  }
  FieldsShape types("kubernetes.variables");
  if (!variables.items().empty()) scope.variables = &types;
  validate_variables(variables, scope, types, rules);
  const Field validations = spec["validations"], annotations = spec["auditAnnotations"];
  if (validations.items().empty() && annotations.items().empty())
    for (const Field& list : {validations, annotations})
      rules.required(list, "validations or auditAnnotations must contain at least one item");
  for (std::size_t i = 0; i < validations.items().size(); ++i)
    validate_rule(validations.at(i), scope, rules);
  validate_annotations(annotations, policy, scope, rules);
}

std::vector<Cause> validate_policy(const json::Value& object) {
  Rules rules;
  const Field spec = Field(object, "")["spec"];
  rules.one_of(spec["failurePolicy"], {"Fail", "Ignore"});
  const bool parameters = spec["paramKind"].present();
  if (parameters) validate_parameter_kind(spec["paramKind"], rules);
  if (!spec["matchConstraints"].present()) {
    rules.required(spec["matchConstraints"]);
  } else {
    validate_match(spec["matchConstraints"], rules);
    if (spec["matchConstraints"]["resourceRules"].items().empty())
      rules.required(spec["matchConstraints"]["resourceRules"]);
  }
  validate_expressions(spec, std::string(json::string_at(object, {"metadata", "name"})), parameters,
                       rules);
  return std::move(rules.causes);
}

void validate_parameter_reference(const Field& reference, Rules& rules) {
  const bool named = !reference["name"].text().empty(), selected = reference["selector"].present();
  if (named && selected)
    for (std::string_view member : {"name", "selector"})
      rules.forbidden(reference[member], "name and selector are mutually exclusive");
  if (selected) rules.selector(reference["selector"]);
  if (!named && !selected) rules.required(reference, "one of name or selector must be specified");
  rules.one_of(reference["parameterNotFoundAction"], {"Deny", "Allow"}, true);
}

std::vector<Cause> validate_binding(const json::Value& object) {
  Rules rules;
  const Field spec = Field(object, "")["spec"];
  if (rules.need_text(spec["policyName"])) rules.dns_subdomain(spec["policyName"]);
  if (spec["paramRef"].present()) validate_parameter_reference(spec["paramRef"], rules);
  if (spec["matchResources"].present()) validate_match(spec["matchResources"], rules);
  const Field actions = spec["validationActions"];
  std::set<std::string> seen;
  for (std::size_t i = 0; i < actions.items().size(); ++i) {
    rules.one_of(actions.at(i), {"Audit", "Deny", "Warn"});
    rules.unique(seen, actions.at(i));
  }
  if (seen.contains("Deny") && seen.contains("Warn"))
    rules.invalid(
        actions,
        "must not contain both Deny and Warn (repeating the same validation failure information in "
        "the API response and headers serves no purpose)");
  if (seen.empty()) rules.required(actions, "at least one validation action is required");
  return std::move(rules.causes);
}

std::string parameter_kind_cell(const json::Value& policy) {
  std::string version(json::string_at(policy, {"spec", "paramKind", "apiVersion"}));
  return version.empty()
             ? "<unset>"
             : version + "/" + std::string(json::string_at(policy, {"spec", "paramKind", "kind"}));
}

std::string parameter_reference_cell(const json::Value& binding) {
  const json::Value* reference = json::find_path(binding, {"spec", "paramRef"});
  if (reference == nullptr || !reference->is_object()) return "<unset>";
  std::string ns(json::string_at(*reference, {"namespace"})),
      name(json::string_at(*reference, {"name"}));
  if (name.empty()) return ns.empty() ? "*" : ns + "/*";
  return ns.empty() ? name : ns + "/" + name;
}

void add_admission_policy_kinds(Kinds& kinds) {
  Kind policy = cluster_kind(kPolicyGroup, "v1", "validatingadmissionpolicies",
                             "ValidatingAdmissionPolicy", kPolicyPackage);
  policy.categories = {"api-extensions"};
  policy.traits.has_status = true;
  policy.traits.has_generation = true;
  policy.traits.unconditional_update = false;
  policy.printing.columns = columns({"Validations:integer", "ParamKind", "Age"});
  policy.printing.cells = [](const json::Value& object, WallTime now) -> json::Array {
    return {count(object, {"spec", "validations"}), json::Value(parameter_kind_cell(object)),
            json::Value(age(object, now))};
  };
  policy.rules.set_defaults = [](json::Value& object) {
    json::Object& spec = object_in_place(object.get_object(), "spec");
    set_default(spec, "failurePolicy", "Fail");
    if (json::Value* match = spec.if_contains("matchConstraints");
        match != nullptr && match->is_object())
      default_match(match->get_object());
  };
  policy.rules.validate = validate_policy;
  add(kinds, std::move(policy));

  Kind binding = cluster_kind(kPolicyGroup, "v1", "validatingadmissionpolicybindings",
                              "ValidatingAdmissionPolicyBinding", kPolicyPackage);
  binding.categories = {"api-extensions"};
  binding.traits.has_generation = true;
  binding.traits.unconditional_update = false;
  binding.printing.columns = columns({"PolicyName", "ParamRef", "Age"});
  binding.printing.cells = [](const json::Value& object, WallTime now) -> json::Array {
    return {json::Value(json::string_at(object, {"spec", "policyName"})),
            json::Value(parameter_reference_cell(object)), json::Value(age(object, now))};
  };
  binding.rules.set_defaults = [](json::Value& object) {
    json::Object& spec = object_in_place(object.get_object(), "spec");
    if (json::Value* match = spec.if_contains("matchResources");
        match != nullptr && match->is_object())
      default_match(match->get_object());
  };
  binding.rules.validate = validate_binding;
  add(kinds, std::move(binding));
}

}  // namespace

extern const KindGroup kinds_admission_policy;
const KindGroup kinds_admission_policy{add_admission_policy_kinds};

}  // namespace hekla::apiserver
