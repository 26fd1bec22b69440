// Keeps the rules of NetworkPolicies current: from policies, namespaces and pods to the parent
// namespace's table. Lives on the client's executor.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "agent/network/policy_rules.h"
#include "agent/network/rules_in_force.h"
#include "kube/informer.h"

namespace hekla::agent {

class NetworkPolicies {
 public:
  struct Options {
    std::function<std::vector<PolicyInput::Pod>()> pods;
    std::function<void(std::string rules, Done<void> done)> set_rules;
  };
  NetworkPolicies(kube::Client& client, Options options);

  void start();
  // Pods have changed their labels or addresses.
  void changed();

 private:
  std::optional<std::string> rules() const;

  std::function<std::vector<PolicyInput::Pod>()> pods_;
  kube::Informer<NetworkPolicy> policies_;
  kube::Informer<NamespaceLabels> namespaces_;
  RulesInForce rules_;
};

}  // namespace hekla::agent
