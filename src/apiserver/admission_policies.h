// ValidatingAdmissionPolicies: rules in CEL about what may be written, in force where a binding says so.
// Parameters (paramKind) and the authorizer are not there: a policy that wants them fails by its failurePolicy.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "apiserver/registry.h"
#include "base/result.h"
#include "json/value.h"
#include "kube/admission.h"
#include "store/store.h"

namespace hekla::apiserver {

struct WriteScope;
namespace cel {
class Program;
}

struct PolicyExpression {
  std::string text;
  Result<std::shared_ptr<const cel::Program>> program;
};

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

struct AdmissionPolicy {
  bool ignores_failure = false;
  bool wants_parameters = false;
  PolicyMatch match;
  std::vector<PolicyExpression> conditions;
  std::vector<std::pair<std::string, PolicyExpression>> variables;
  std::vector<PolicyValidation> validations;
};

struct PolicyBinding {
  std::string name, policy;
  std::optional<PolicyMatch> match;
  bool denies = false, warns = false;
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
