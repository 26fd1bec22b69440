#include "apiserver/gates/policies.h"

#include <algorithm>
#include <set>

#include "apiserver/auth/policy_expression.h"
#include "apiserver/gates/webhook_match.h"
#include "apiserver/gates/webhooks.h"
#include "apiserver/object/storage.h"
#include "apiserver/object/write_scope.h"
#include "apiserver/text/errors.h"
#include "json/go_text.h"
#include "model/selector.h"

namespace hekla::apiserver {
namespace {

// Budgets of one policy for one object, one expression of it, and its conditions.
constexpr std::uint64_t kBudget = 10'000'000, kExpressionBudget = 1'000'000,
                        kConditionBudget = 2'500'000;
constexpr std::size_t kMaxMessage = 5 * 1024, kMaxAnnotation = 10 * 1024;
const std::string kGroup = "admissionregistration.k8s.io";

std::string trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos) return {};
  return std::string(text.substr(first, text.find_last_not_of(" \t\r\n") - first + 1));
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
                                          {"matchPolicy", json::text_at(match, {"matchPolicy"})}},
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
  if (json::object_at(spec, {"paramKind"}))
    policy.parameters = PolicyParameterKind{json::text_at(spec, {"paramKind", "apiVersion"}),
                                            json::text_at(spec, {"paramKind", "kind"})};
  auto compiled = [](std::string text, const ExpressionScope& scope, ExpressionResult wanted) {
    auto program = compile_admission_expression(text, scope, wanted);
    return PolicyExpression{std::move(text), std::move(program)};
  };
  ExpressionScope scope;
  scope.has_parameters = policy.parameters.has_value();
  if (const json::Value* match = json::find(spec, "matchConstraints"))
    policy.match = read_match(*match);
  each_of(spec, {"matchConditions"}, [&](const json::Value& one) {
    policy.conditions.push_back(
        compiled(trimmed(json::text_at(one, {"expression"})), scope, ExpressionResult::boolean));
  });
  auto variables = std::make_shared<FieldsShape>("kubernetes.variables");
  if (const json::Array* given = json::array_at(spec, {"variables"}); given && !given->empty())
    scope.variables = variables.get();
  policy.variable_types = variables;
  each_of(spec, {"variables"}, [&](const json::Value& one) {
    const std::string name = json::text_at(one, {"name"});
    PolicyExpression variable =
        compiled(json::text_at(one, {"expression"}), scope, ExpressionResult::anything);
    add_variable(*variables, name, variable.program);
    policy.variables.emplace_back(name, std::move(variable));
  });
  each_of(spec, {"validations"}, [&](const json::Value& one) {
    PolicyValidation validation{
        compiled(json::text_at(one, {"expression"}), scope, ExpressionResult::boolean),
        std::nullopt, json::text_at(one, {"message"}),
        code_of_reason(json::string_at(one, {"reason"}))};
    ExpressionScope without_authorizer = scope;
    without_authorizer.has_authorizer = false;
    if (std::string text = json::text_at(one, {"messageExpression"}); !text.empty())
      validation.message_expression =
          compiled(std::move(text), without_authorizer, ExpressionResult::text);
    policy.validations.push_back(std::move(validation));
  });
  each_of(spec, {"auditAnnotations"}, [&](const json::Value& one) {
    policy.audit_annotations.emplace_back(json::text_at(one, {"key"}),
                                          compiled(trimmed(json::text_at(one, {"valueExpression"})),
                                                   scope, ExpressionResult::text_or_null));
  });
  return policy;
}

PolicyBinding read_binding(const json::Value& object) {
  PolicyBinding binding;
  binding.name = json::text_at(object, {"metadata", "name"});
  binding.policy = json::text_at(object, {"spec", "policyName"});
  if (const json::Value* match = json::find_path(object, {"spec", "matchResources"}))
    binding.match = read_match(*match);
  each_of(object, {"spec", "validationActions"}, [&](const json::Value& action) {
    if (action.is_string()) binding.actions.emplace_back(json::sv(action.get_string()));
  });
  const json::Value* reference = json::find_path(object, {"spec", "paramRef"});
  if (!reference || !reference->is_object()) return binding;
  PolicyParameterReference parameters{
      json::text_at(*reference, {"name"}), json::text_at(*reference, {"namespace"}), std::nullopt,
      json::string_at(*reference, {"parameterNotFoundAction"}) == "Deny"};
  if (const json::Value* selector = json::find(*reference, "selector");
      selector && selector->is_object())
    parameters.selector = *selector;
  binding.parameters = std::move(parameters);
  return binding;
}

// The version in which the first rule that matches wants to see the object; null: none does.
ServedPtr matched_version(const std::vector<PolicyMatch::Rule>& rules,
                          const kube::AdmissionRequest& request, const Catalog& catalog) {
  for (const PolicyMatch::Rule& rule : rules) {
    const bool named = rule.names.empty() || std::find(rule.names.begin(), rule.names.end(),
                                                       request.key.name) != rule.names.end();
    if (!named) continue;
    if (ServedPtr version = webhook_version(rule.webhook, request, catalog)) return version;
  }
  return nullptr;
}

// Without rules a binding concerns whatever its policy does.
Result<bool> concerns(const PolicyMatch& match, bool rules_needed,
                      const kube::AdmissionRequest& request, const json::Value& object,
                      const Catalog& catalog) {
  if ((rules_needed || !match.rules.empty()) && !matched_version(match.rules, request, catalog))
    return false;
  if (matched_version(match.excluded, request, catalog)) return false;
  return webhook_selects(match.selectors, request, object);
}

const ServedKind* parameter_kind(const PolicyParameterKind& wanted, const Catalog& catalog) {
  for (const ServedPtr& served : catalog.all())
    if (served->kind->resource.kind == wanted.kind &&
        served->kind->resource.api_version() == wanted.api_version)
      return served.get();
  return nullptr;
}

// The objects a binding hands to its policy; null stands for none at all. Nothing: the policy does
// not apply.
Result<std::vector<json::Value>> parameters_of(const PolicyBinding& binding,
                                               const kube::Resource* kind,
                                               const kube::AdmissionRequest& request) {
  if (!kind || !binding.parameters) return std::vector<json::Value>(1);
  const PolicyParameterReference& wanted = *binding.parameters;
  std::string ns = wanted.ns;
  // A namespace is in itself.
  const bool is_namespace =
      request.resource.group.empty() && request.resource.plural == "namespaces";
  if (kind->namespaced && ns.empty()) ns = is_namespace ? request.key.name : request.key.ns;
  if (kind->namespaced && ns.empty())
    return fail(
        Code::invalid,
        "cannot use namespaced paramRef in policy binding that matches cluster-scoped resources");
  if (!kind->namespaced && !ns.empty())
    return fail(Code::invalid,
                "paramRef.namespace must not be provided for a cluster-scoped `paramKind`");
  std::vector<json::Value> found;
  if (!wanted.name.empty()) {
    if (Result<kube::SharedValue> one = request.reader->get(*kind, {ns, wanted.name}))
      found.push_back(**one);
  } else if (wanted.selector) {
    const model::Selector selector = TRY(model::Selector::from_label_selector(*wanted.selector));
    for (const kube::SharedValue& one : TRY(request.reader->list(*kind, ns)))
      if (selector.matches(labels_of_value(*one))) found.push_back(*one);
  } else {
    return fail(Code::invalid, "one of name or selector must be provided");
  }
  if (found.empty() && wanted.missing_denies)
    return fail(Code::invalid,
                "no params found for policy binding with `Deny` parameterNotFoundAction");
  return found;
}

// One policy on one object with one parameter.
class Evaluation : private cel::LazyFields {
 public:
  Evaluation(const AdmissionPolicy& policy, const kube::AdmissionRequest& request,
             const kube::Resource& as, const json::Value& object, const json::Value& parameter,
             const RequestAuthorizer& authorizer)
      : policy_(policy), authority_(authorizer, request), budget_(kBudget) {
    review_ = review_request(request, as, object);
    if (request.resource.namespaced && !request.key.ns.empty())
      if (Result<kube::SharedValue> found =
              request.reader->get(kube::resources::namespaces, {"", request.key.ns}))
        namespace_ = **found;
    static const json::Value kNothing;
    auto part = [&](std::string_view member) {
      const json::Value* found = json::find(review_, member);
      return cel::Value::of(found ? *found : kNothing, nullptr);
    };
    cel::Map variables;
    variables.entries = std::make_shared<const std::vector<std::pair<cel::Value, cel::Value>>>();
    variables.lazy = this;
    bindings_ = {{"object", part("object")},
                 {"oldObject", part("oldObject")},
                 {"request", cel::Value::of(review_, nullptr)},
                 {"params", cel::Value::of(parameter, nullptr)},
                 {"variables", cel::Value(variables)}};
    for (cel::Binding& one : authority_.bindings()) bindings_.push_back(std::move(one));
  }
  Evaluation(const Evaluation&) = delete;

  struct Finding {
    std::string message;
    Code code;
    bool failure = false;   // the policy's own
    std::size_t index = 0;  // of the validation
    bool always = false;    // denies whatever the binding's actions are
  };
  std::vector<Finding> run() {
    Result<bool> concerned = conditions_hold();
    if (!concerned) return {Finding{concerned.error().message, Code::invalid, true}};
    if (!*concerned) return {};
    // Conditions do not see the namespace; the rest does, and only the rules may ask the
    // authorizer.
    bindings_.push_back({"namespaceObject", cel::Value::of(namespace_, &namespace_shape())});
    std::vector<std::pair<std::size_t, Result<cel::Value>>> values;
    std::vector<Finding> findings;
    for (std::size_t i = 0; i < policy_.validations.size(); ++i) {
      Result<cel::Value> holds = value_of(policy_.validations[i].rule, budget_);
      if (!holds && budget_.exhausted())
        return {Finding{holds.error().message, Code::invalid, true}};
      if (!holds || !holds->is_true()) values.emplace_back(i, std::move(holds));
    }
    std::erase_if(bindings_,
                  [](const cel::Binding& one) { return one.name.starts_with("authorizer"); });
    computed_.clear();
    for (const auto& [i, holds] : values) {
      findings.push_back(
          holds ? Finding{message_of(policy_.validations[i]), policy_.validations[i].code}
                : Finding{holds.error().message, Code::invalid, true});
      findings.back().index = i;
    }
    annotate(findings);
    return findings;
  }
  // Key and value of what goes into the audit log.
  const std::vector<std::pair<std::string, std::string>>& annotations() const {
    return annotations_;
  }

 private:
  // One condition that does not hold outweighs others that fail.
  Result<bool> conditions_hold() {
    std::vector<std::string> failures;
    cel::Budget budget(kConditionBudget);
    bindings_.push_back({"namespaceObject", cel::Value()});
    for (const PolicyExpression& condition : policy_.conditions) {
      Result<cel::Value> holds = value_of(condition, budget);
      if (!holds && budget.exhausted()) return std::unexpected(holds.error());
      if (holds && !holds->is_true()) return false;
      if (!holds) failures.push_back(holds.error().message);
    }
    bindings_.pop_back();
    if (failures.empty()) return true;
    return fail(Code::invalid, aggregate_text(failures));
  }

  Result<cel::Value> value_of(const PolicyExpression& expression, cel::Budget& budget) {
    if (!expression.program)
      return fail(Code::invalid, "compilation error: " + expression.program.error().message);
    const std::uint64_t limit = std::min(budget.left(), kExpressionBudget);
    cel::Budget own(limit);
    Result<cel::Value> value = (*expression.program)->run(bindings_, own);
    if (!budget.spend(limit - own.left()) || (own.exhausted() && limit < kExpressionBudget)) {
      budget.spend(budget.left() + 1);
      return fail(Code::invalid,
                  "validation failed due to running out of cost budget, no further validation "
                  "rules will be run");
    }
    if (value) return value;
    return fail(Code::invalid,
                "expression '" + expression.text + "' resulted in error: " + value.error().message);
  }

  // A variable is computed when it is first asked for; who asks for one that fails, fails with it.
  bool has(std::string_view name) const override {
    return std::ranges::any_of(policy_.variables,
                               [&](const auto& one) { return one.first == name; });
  }
  Result<cel::Value> get(std::string_view name, cel::Budget& budget) const override {
    if (auto known = computed_.find(name); known != computed_.end()) return known->second;
    auto found =
        std::ranges::find_if(policy_.variables, [&](const auto& one) { return one.first == name; });
    auto failed = [&](std::string_view how, const Error& error) {
      return Error{error.code, "composited variable " + json::go_quote(name) + " fails to " +
                                   std::string(how) + ": " + error.message};
    };
    const Result<ProgramPtr>& program = found->second.program;
    Result<cel::Value> value = program ? (*program)->run(bindings_, budget)
                                       : std::unexpected(failed("compile", program.error()));
    if (program && !value) value = std::unexpected(failed("evaluate", value.error()));
    computed_.emplace(name, value);
    return value;
  }

  std::string message_of(const PolicyValidation& validation) {
    std::string text;
    if (validation.message_expression)
      if (Result<cel::Value> value = value_of(*validation.message_expression, budget_);
          value && value->kind() == cel::Value::Kind::string)
        text = trimmed(value->view());
    if (text.size() > kMaxMessage || text.find('\n') != std::string::npos) text.clear();
    if (text.empty()) text = trimmed(validation.message);
    return text.empty() ? "failed expression: " + trimmed(validation.rule.text) : text;
  }

  void annotate(std::vector<Finding>& findings) {
    for (const auto& [key, expression] : policy_.audit_annotations) {
      Result<cel::Value> value = value_of(expression, budget_);
      if (value && value->kind() == cel::Value::Kind::null) continue;
      if (value && value->kind() == cel::Value::Kind::string) {
        if (std::string text = trimmed(value->view()); !text.empty())
          annotations_.emplace_back(key, text.substr(0, kMaxAnnotation));
        continue;
      }
      Finding failure{
          value ? "valueExpression '" + expression.text +
                      "' resulted in unsupported return type: " + std::string(value->type_name()) +
                      ". Return type must be either string or null."
                : value.error().message,
          Code::invalid, !value};
      failure.always = true;
      findings.push_back(std::move(failure));
    }
  }

  const AdmissionPolicy& policy_;
  RequestAuthority authority_;
  cel::Budget budget_;
  json::Value review_, namespace_;
  std::vector<cel::Binding> bindings_;
  mutable std::map<std::string, Result<cel::Value>, std::less<>> computed_;
  std::vector<std::pair<std::string, std::string>> annotations_;
};

// The verdicts of all policies on one request.
class Judgement {
 public:
  Judgement(WriteScope& scope, const kube::AdmissionRequest& request, const json::Value& object)
      : scope_(scope), request_(request), object_(object) {}

  void judge(const PolicySet& set, const std::string& name, const AdmissionPolicy& policy) {
    Result<bool> matches = concerns(policy.match, true, request_, object_, scope_.catalog);
    if (!matches) return misconfigured(name, policy, nullptr, matches.error());
    if (!*matches) return;
    const ServedPtr version = matched_version(policy.match.rules, request_, scope_.catalog);
    const ServedKind* kind =
        policy.parameters ? parameter_kind(*policy.parameters, scope_.catalog) : nullptr;
    std::map<std::string, std::set<std::string>> annotations;
    for (const PolicyBinding& binding : set.bindings) {
      if (binding.policy != name) continue;
      if (policy.parameters && !kind)
        return misconfigured(
            name, policy, nullptr,
            Error{Code::invalid, "failed to find resource referenced by paramKind: '" +
                                     policy.parameters->api_version +
                                     ", Kind=" + policy.parameters->kind + "'"});
      Result<bool> bound =
          binding.match ? concerns(*binding.match, false, request_, object_, scope_.catalog) : true;
      if (bound && !*bound) continue;
      Result<std::vector<json::Value>> parameters =
          bound ? parameters_of(binding, kind ? &kind->kind->resource : nullptr, request_)
                : std::unexpected(bound.error());
      if (!parameters) {
        misconfigured(name, policy, &binding, parameters.error());
        continue;
      }
      for (const json::Value& parameter : *parameters) {
        Evaluation evaluation(policy, request_, version->kind->resource, object_, parameter,
                              *scope_.services.authorizer);
        for (const Evaluation::Finding& finding : evaluation.run())
          if (!finding.failure || !policy.ignores_failure) act(name, binding, finding);
        for (const auto& [key, value] : evaluation.annotations()) annotations[key].insert(value);
      }
    }
    for (const auto& [key, values] : annotations) {
      std::string& joined = scope_.memo->audit_annotations[name + "/" + key];
      for (const std::string& value : values) joined += (joined.empty() ? "" : ", ") + value;
    }
  }

  const std::optional<Error>& denial() const { return denial_; }

 private:
  void deny(const std::string& text, Code code) {
    if (denial_) return;
    denial_ = forbidden_error(request_.resource, request_.key.name, text);
    denial_->code = code;
    denial_->details.causes.push_back({"", text, ""});
  }

  static std::string about(const std::string& policy, const PolicyBinding* binding) {
    return "ValidatingAdmissionPolicy '" + policy + "'" +
           (binding ? " with binding '" + binding->name + "'" : "");
  }

  void misconfigured(const std::string& name, const AdmissionPolicy& policy,
                     const PolicyBinding* binding, const Error& error) {
    if (policy.ignores_failure) return;
    deny(about(name, binding) + " denied request: failed to configure " +
             (binding ? "binding: " : "policy: ") + error.message,
         Code::invalid);
  }

  void act(const std::string& name, const PolicyBinding& binding,
           const Evaluation::Finding& finding) {
    if (finding.always)
      return deny(about(name, &binding) + " denied request: " + finding.message, finding.code);
    for (const std::string& action : binding.actions) {
      if (action == "Deny")
        deny(about(name, &binding) + " denied request: " + finding.message, finding.code);
      else if (action == "Warn")
        scope_.warnings.push_back("Validation failed for " + about(name, &binding) + ": " +
                                  finding.message);
      else if (action == "Audit")
        scope_.memo->audit_annotations.try_emplace(
            "validation.policy.admission.k8s.io/validation_failure",
            failure_record(name, binding, finding));
    }
  }

  static std::string failure_record(const std::string& name, const PolicyBinding& binding,
                                    const Evaluation::Finding& finding) {
    json::Array actions;
    for (const std::string& action : binding.actions) actions.emplace_back(action);
    json::Object failure{{"message", finding.message},
                         {"policy", name},
                         {"binding", binding.name},
                         {"expressionIndex", static_cast<std::int64_t>(finding.index)},
                         {"validationActions", std::move(actions)}};
    return json::serialize(json::Array{json::Value(std::move(failure))});
  }

  WriteScope& scope_;
  const kube::AdmissionRequest& request_;
  const json::Value& object_;
  std::optional<Error> denial_;  // the first
};

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
      set->policies.emplace(json::text_at(object, {"metadata", "name"}), read_policy(object));
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
  const auto set = scope.services.policies->at(scope.snapshot, scope.catalog);
  Judgement judgement(scope, request, object);
  for (const auto& [name, policy] : set->policies) judgement.judge(*set, name, policy);
  if (judgement.denial()) return std::unexpected(*judgement.denial());
  return {};
}

}  // namespace hekla::apiserver
