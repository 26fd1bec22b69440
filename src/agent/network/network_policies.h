// Keeps the rules of NetworkPolicies current: from policies, namespaces and pods to the parent
// namespace's table. A policy that nft does not take is found and left out, so that the others
// hold. Lives on the client's executor.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "agent/network/policy_gate.h"
#include "agent/network/policy_rules.h"
#include "agent/network/rules_in_force.h"
#include "kube/informer.h"

namespace hekla::agent {

class NetworkPolicies final : public PolicyGate {
 public:
  struct Options {
    std::function<std::vector<PolicyInput::Pod>()> pods;
    std::function<void(std::string rules, Done<void> done)> set_rules;
    // Whether rules could be set; sets nothing.
    std::function<void(std::string rules, Done<void> done)> check_rules;
    // A policy that cannot be set: it is left out and admits nothing to the pods it selects.
    std::function<void(const NetworkPolicy&, const std::string& why)> refused;
    std::string dns_address;
    bool fresh = true;  // nobody has set rules before us
  };
  NetworkPolicies(kube::Client& client, Options options);

  void start();
  // Pods have changed their labels or addresses.
  void changed();
  void await(const model::Pod& pod, Done<void> done) override;

 private:
  using PolicyRef = std::shared_ptr<const NetworkPolicy>;
  struct Search;
  std::optional<std::string> rules() const;
  PolicyInput input(std::vector<const NetworkPolicy*> policies) const;
  void set(std::string rules, Done<void> done);
  void find_refused(Error error, Done<void> done);
  void check_next(const std::shared_ptr<Search>& search);
  void end_search(Search& search);

  Options options_;
  std::set<std::string> refused_;  // uids, until the policy changes
  kube::Informer<NetworkPolicy> policies_;
  kube::Informer<NamespaceLabels> namespaces_;
  RulesInForce rules_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace hekla::agent
