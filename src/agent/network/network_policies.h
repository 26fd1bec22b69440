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
    std::string dns_address;
    bool fresh = true;  // nobody has set rules before us
  };
  NetworkPolicies(kube::Client& client, Options options);

  void start();
  // Pods have changed their labels or addresses.
  void changed();
  // Calls back when the policies that select the pod hold for its address; at once when none does.
  void await(const model::Pod& pod, Done<void> done);

 private:
  std::optional<std::string> rules() const;

  std::function<std::vector<PolicyInput::Pod>()> pods_;
  std::string dns_address_;
  kube::Informer<NetworkPolicy> policies_;
  kube::Informer<NamespaceLabels> namespaces_;
  RulesInForce rules_;
};

}  // namespace hekla::agent
