// ValidatingAdmissionPolicies: rules in CEL about what may be written, in force where a binding
// says so.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "apiserver/auth/policy_expression.h"
#include "apiserver/object/registry.h"
#include "base/result.h"
#include "json/value.h"
#include "kube/admission.h"
#include "store/store.h"

namespace hekla::apiserver {

struct WriteScope;  // write_scope.h

struct PolicyValidation {
  PolicyExpression rule;
  std::optional<PolicyExpression> message_expression;
  std::string message;
  Code code = Code::invalid;
};

// matchConstraints and matchResources; each rule is shaped like a webhook with that rule alone.
struct PolicyMatch {
  struct Rule {
    json::Value webhook;
    std::vector<std::string> names;  // empty: any
  };
  std::vector<Rule> rules, excluded;
  json::Value selectors;
};

// spec.paramKind: the kind of the objects that bindings hand to the policy as `params`.
struct PolicyParameterKind {
  std::string api_version, kind;
};

struct AdmissionPolicy {
  bool ignores_failure = false;
  std::optional<PolicyParameterKind> parameters;
  PolicyMatch match;
  std::vector<PolicyExpression> conditions;
  std::vector<std::pair<std::string, PolicyExpression>> variables;
  std::shared_ptr<const cel::Shape> variable_types;
  std::vector<PolicyValidation> validations;
  std::vector<std::pair<std::string, PolicyExpression>> audit_annotations;
};

// spec.paramRef: one object by name, or all that the selector selects.
struct PolicyParameterReference {
  std::string name, ns;
  std::optional<json::Value> selector;
  bool missing_denies = false;
};

struct PolicyBinding {
  std::string name, policy;
  std::optional<PolicyMatch> match;
  std::optional<PolicyParameterReference> parameters;
  std::vector<std::string> actions;  // Deny, Warn, Audit
};

struct PolicySet {
  std::map<std::string, AdmissionPolicy> policies;
  std::vector<PolicyBinding> bindings;
};

// Read and compiled once for as long as nobody changes a policy or a binding. Thread-safe.
class AdmissionPolicies {
 public:
  std::shared_ptr<const PolicySet> at(const store::Snapshot& snapshot, const Catalog& catalog);

 private:
  std::mutex mutex_;
  std::vector<store::ItemPtr> items_;
  std::shared_ptr<const PolicySet> known_ = std::make_shared<PolicySet>();
};

Result<void> validate_by_policies(WriteScope& scope, const kube::AdmissionRequest& request,
                                  const json::Value& object);

}  // namespace hekla::apiserver
