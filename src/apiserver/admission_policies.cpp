#include "apiserver/admission_policies.h"

#include <algorithm>

#include "apiserver/cel/program.h"
#include "apiserver/errors.h"
#include "apiserver/storage.h"
#include "apiserver/webhook_match.h"
#include "apiserver/webhooks.h"

namespace hekla::apiserver {
namespace {

constexpr std::uint64_t kBudget = 10'000'000;
const std::string kGroup = "admissionregistration.k8s.io";

std::string text_of(const json::Value& value, std::initializer_list<std::string_view> path) {
  return std::string(json::string_at(value, path));
}

PolicyExpression compiled(std::string text) {
  auto program = cel::Program::compile(text, {{"object", {}},
                                              {"oldObject", {}},
                                              {"request", {}},
                                              {"namespaceObject", {}},
                                              {"variables", {}}});
  return {std::move(text), std::move(program)};
}

template <class Visit>
void each_of(const json::Value& value, std::initializer_list<std::string_view> path, Visit visit) {
  if (const json::Array* list = json::array_at(value, path))
    for (const json::Value& one : *list) visit(one);
}

PolicyMatch read_match(const json::Value& match) {
  auto read_rules = [&](std::string_view member) {
    std::vector<PolicyMatch::Rule> rules;
    each_of(match, {member}, [&](const json::Value& rule) {
      PolicyMatch::Rule made{json::Object{{"rules", json::Array{rule}},
                                          {"matchPolicy", text_of(match, {"matchPolicy"})}},
                             {}};
      each_of(rule, {"resourceNames"}, [&](const json::Value& name) {
        if (name.is_string()) made.names.emplace_back(json::sv(name.get_string()));
      });
      rules.push_back(std::move(made));
    });
    return rules;
  };
  PolicyMatch out{read_rules("resourceRules"), read_rules("excludeResourceRules"), json::Object()};
  for (std::string_view member : {"namespaceSelector", "objectSelector"})
    if (const json::Value* selector = json::find(match, member))
      out.selectors.get_object()[member] = *selector;
  return out;
}

Code code_of_reason(std::string_view reason) {
  if (reason == "Unauthorized") return Code::unauthorized;
  if (reason == "Forbidden") return Code::forbidden;
  if (reason == "RequestEntityTooLarge") return Code::too_large;
  return Code::invalid;
}

AdmissionPolicy read_policy(const json::Value& object) {
  AdmissionPolicy policy;
  const json::Value* found = json::find(object, "spec");
  if (!found) return policy;
  const json::Value& spec = *found;
  policy.ignores_failure = json::string_at(spec, {"failurePolicy"}) == "Ignore";
  const json::Value* parameters = json::find(spec, "paramKind");
  policy.wants_parameters = parameters && parameters->is_object();
  if (const json::Value* match = json::find(spec, "matchConstraints")) policy.match = read_match(*match);
  each_of(spec, {"matchConditions"}, [&](const json::Value& one) {
    policy.conditions.push_back(compiled(text_of(one, {"expression"})));
  });
  each_of(spec, {"variables"}, [&](const json::Value& one) {
    policy.variables.emplace_back(text_of(one, {"name"}), compiled(text_of(one, {"expression"})));
  });
  each_of(spec, {"validations"}, [&](const json::Value& one) {
    PolicyValidation validation{compiled(text_of(one, {"expression"})), std::nullopt,
                                text_of(one, {"message"}),
                                code_of_reason(json::string_at(one, {"reason"}))};
    if (std::string text = text_of(one, {"messageExpression"}); !text.empty())
      validation.message_expression = compiled(std::move(text));
    policy.validations.push_back(std::move(validation));
  });
  return policy;
}

PolicyBinding read_binding(const json::Value& object) {
  PolicyBinding binding;
  binding.name = text_of(object, {"metadata", "name"});
  binding.policy = text_of(object, {"spec", "policyName"});
  if (const json::Value* match = json::find_path(object, {"spec", "matchResources"}))
    binding.match = read_match(*match);
  each_of(object, {"spec", "validationActions"}, [&](const json::Value& action) {
    binding.denies |= action == json::Value("Deny");
    binding.warns |= action == json::Value("Warn");
  });
  return binding;
}

bool any_matches(const std::vector<PolicyMatch::Rule>& rules, const kube::AdmissionRequest& request,
                 const Catalog& catalog) {
  return std::any_of(rules.begin(), rules.end(), [&](const PolicyMatch::Rule& rule) {
    const bool named = rule.names.empty() || std::find(rule.names.begin(), rule.names.end(),
                                                       request.key.name) != rule.names.end();
    return named && webhook_version(rule.webhook, request, catalog);
  });
}

// Without rules a binding concerns whatever its policy does.
Result<bool> concerns(const PolicyMatch& match, bool rules_needed, const kube::AdmissionRequest& request,
                      const json::Value& object, const Catalog& catalog) {
  if ((rules_needed || !match.rules.empty()) && !any_matches(match.rules, request, catalog)) return false;
  if (any_matches(match.excluded, request, catalog)) return false;
  return webhook_selects(match.selectors, request, object);
}

// One policy on one object. An error is what a rule found (with the code to answer with) or a failure
// of the policy itself.
class Evaluation {
 public:
  Evaluation(const AdmissionPolicy& policy, const kube::AdmissionRequest& request, const json::Value& object)
      : policy_(policy), budget_(kBudget) {
    review_ = review_request(request, request.resource, object);
    if (request.resource.namespaced && !request.key.ns.empty())
      if (Result<json::Value> found = request.reader->get(kube::resources::namespaces, {"", request.key.ns}))
        namespace_ = std::move(*found);
    static const json::Value kNothing;
    auto part = [&](std::string_view member) {
      const json::Value* found = json::find(review_, member);
      return cel::Value::of(found ? *found : kNothing, nullptr);
    };
    bindings_ = {{"object", part("object")},
                 {"oldObject", part("oldObject")},
                 {"request", cel::Value::of(review_, nullptr)},
                 {"namespaceObject", cel::Value::of(namespace_, nullptr)},
                 {"variables", cel::Value::map({})}};
  }

  struct Finding {
    std::string message;
    Code code;
    bool failure = false;  // the policy's own
  };
  std::vector<Finding> run() {
    if (policy_.wants_parameters)
      return {{"paramKind is not supported", Code::invalid, true}};
    for (const PolicyExpression& condition : policy_.conditions) {
      Result<cel::Value> holds = value_of(condition);
      if (!holds) return {failure_of(condition, holds.error())};
      if (!holds->is_true()) return {};
    }
    set_variables();
    std::vector<Finding> findings;
    for (const PolicyValidation& validation : policy_.validations) {
      Result<cel::Value> holds = value_of(validation.rule);
      if (!holds)
        findings.push_back(failure_of(validation.rule, holds.error()));
      else if (!holds->is_true())
        findings.push_back({message_of(validation), validation.code, false});
    }
    return findings;
  }

 private:
  Result<cel::Value> value_of(const PolicyExpression& expression) {
    if (!expression.program) return std::unexpected(expression.program.error());
    return (*expression.program)->run(bindings_, budget_);
  }

  static Finding failure_of(const PolicyExpression& expression, const Error& error) {
    return {"expression '" + expression.text + "' resulted in error: " + error.message, Code::invalid, true};
  }

  // A variable that fails is missing, which only those who use it notice.
  void set_variables() {
    std::vector<std::pair<cel::Value, cel::Value>> values;
    for (const auto& [name, expression] : policy_.variables) {
      if (Result<cel::Value> value = value_of(expression))
        values.emplace_back(cel::Value::text(name), std::move(*value));
      bindings_.back().value = cel::Value::map(values);
    }
  }

  std::string message_of(const PolicyValidation& validation) {
    if (validation.message_expression)
      if (Result<cel::Value> text = value_of(*validation.message_expression);
          text && text->kind() == cel::Value::Kind::string && !text->view().empty())
        return std::string(text->view());
    return validation.message.empty() ? "failed expression: " + validation.rule.text : validation.message;
  }

  const AdmissionPolicy& policy_;
  cel::Budget budget_;
  json::Value review_, namespace_;
  std::vector<cel::Binding> bindings_;  // variables come last
};

Error denial(const kube::AdmissionRequest& request, const std::string& text, Code code) {
  Error error = forbidden_error(request.resource, request.key.name, text);
  error.code = code;
  return error;
}

}  // namespace

std::shared_ptr<const PolicySet> AdmissionPolicies::at(const store::Snapshot& snapshot,
                                                       const Catalog& catalog) {
  ServedPtr policies = catalog.find(kGroup, "v1", "validatingadmissionpolicies"),
            bindings = catalog.find(kGroup, "v1", "validatingadmissionpolicybindings");
  std::vector<store::ItemPtr> items;
  std::size_t policy_count = 0;
  for (const ServedPtr& served : {policies, bindings}) {
    if (served)
      snapshot.scan(served->bucket, "", "", [&](const store::ItemPtr& item) {
        items.push_back(item);
        return true;
      });
    if (served == policies) policy_count = items.size();
  }
  std::lock_guard lock(mutex_);
  if (items_ == items) return known_;
  auto set = std::make_shared<PolicySet>();
  for (std::size_t i = 0; i < items.size(); ++i) {
    const json::Value object = decode_object(i < policy_count ? *policies : *bindings, *items[i]);
    if (i < policy_count)
      set->policies.emplace(text_of(object, {"metadata", "name"}), read_policy(object));
    else
      set->bindings.push_back(read_binding(object));
  }
  items_ = std::move(items);
  known_ = std::move(set);
  return known_;
}

Result<void> validate_by_policies(WriteScope& scope, const kube::AdmissionRequest& request,
                                  const json::Value& object) {
  // Policies are beyond the reach of policies, or nobody could repair a broken one.
  if (request.resource.group == kGroup) return {};
  const auto set = scope.services.configurations->policies.at(scope.snapshot, scope.catalog);
  for (const PolicyBinding& binding : set->bindings) {
    auto found = set->policies.find(binding.policy);
    if (found == set->policies.end()) continue;
    const AdmissionPolicy& policy = found->second;
    if (!TRY(concerns(policy.match, true, request, object, scope.catalog))) continue;
    if (binding.match && !TRY(concerns(*binding.match, false, request, object, scope.catalog))) continue;
    const std::string about =
        "ValidatingAdmissionPolicy '" + found->first + "' with binding '" + binding.name + "'";
    for (const Evaluation::Finding& finding : Evaluation(policy, request, object).run()) {
      if (finding.failure && policy.ignores_failure) continue;
      if (binding.warns && !finding.failure)
        scope.warnings.push_back("Validation failed for " + about + ": " + finding.message);
      if (binding.denies || finding.failure)
        return std::unexpected(
            denial(request, about + " denied request: " + finding.message, finding.code));
    }
  }
  return {};
}

}  // namespace hekla::apiserver
