// Keeps the rules of NetworkPolicies current: from policies, namespaces and pods to the parent
// namespace's table. Lives on the client's executor.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "agent/network/policy_rules.h"
#include "agent/pod_machine.h"
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
  void publish();

  kube::Client& client_;
  Options options_;
  kube::Informer<NetworkPolicy> policies_;
  kube::Informer<NamespaceLabels> namespaces_;
  bool pending_ = false;    // a publish is posted
  bool in_flight_ = false;  // rules are being set
  bool failing_ = false;    // said once, not every time
  std::string in_force_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace hekla::agent
