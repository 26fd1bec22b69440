// Istio's AuthorizationPolicies as values: who of those that the API's roles let in is let in to
// the programs of a namespace. Decided by pure functions.
//
// A policy only narrows: a request that reaches this far has been authorised by its object already.
// So the workloads that a policy selects need not be known exactly; see selects().
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "framework/any_object.h"
#include "kube/authorizer.h"
#include "kube/client.h"
#include "net/http.h"

namespace hekla::gateway {

inline const kube::Resource kAuthorizationPolicies{"security.istio.io", "v1beta1",
                                                   "authorizationpolicies", "AuthorizationPolicy"};
// Policies of this namespace are every namespace's.
inline constexpr const char* kRootNamespace = "istio-system";

// A request as policies see it: attributes of Istio's names ("source.principal",
// "request.headers[kubeflow-userid]"), each with its values.
class PolicyFacts {
 public:
  void add(std::string attribute, std::string value) {
    values_[std::move(attribute)].push_back(std::move(value));
  }
  const std::vector<std::string>& of(std::string_view attribute) const;

 private:
  std::map<std::string, std::vector<std::string>, std::less<>> values_;
};

// An attribute has any of the values, and none of the others.
struct PolicyTest {
  std::string attribute;
  std::vector<std::string> values, not_values;
};
using PolicyTests = std::vector<PolicyTest>;  // all of them

struct PolicyRule {
  std::vector<PolicyTests> from, to;  // any of them; none: everything
  PolicyTests when;
};

struct Policy {
  enum class Action : std::uint8_t { allow, deny, audit } action = Action::allow;
  kube::Key object;
  std::vector<std::pair<std::string, std::string>> selector;
  std::vector<PolicyRule> rules;
};

// An error names the field that is not understood.
Result<Policy> read_policy(const framework::AnyObject& object);
// In place of one that is not understood: lets nobody in to the same pods.
Policy policy_against_everybody(const framework::AnyObject& object);

// Whether the policy is about the pods of a Service that has this selector. A label that the
// Service does not ask for may or may not be theirs: a policy of their own namespace holds, one of
// the root namespace does not (those select the pods of Istio's own gateways).
bool selects(const Policy& policy, const json::Object* service_selector);

bool matches(const PolicyRule& rule, const PolicyFacts& facts);

using Policies = std::vector<std::shared_ptr<const Policy>>;
// Why these policies do not let the request in; empty: they do. Those that deny come first; where
// any allows, one must allow this.
std::string refusal_by(const Policies& policies, const PolicyFacts& facts);

// The facts of a request: who asks by way of the gateway, and with a token of a service account
// also by itself.
struct PolicyRequest {
  const kube::User& user;
  const net::Headers& headers;  // as they go on to the pod, with ours
  std::string method, path, host;
  std::uint16_t port = 0;
};
PolicyFacts facts_of(const PolicyRequest& request);

}  // namespace hekla::gateway
