#include "agent/network/network_policies.h"

namespace hekla::agent {

NetworkPolicies::NetworkPolicies(kube::Client& client, Options options)
    : pods_(std::move(options.pods)),
      dns_address_(std::move(options.dns_address)),
      policies_(client, kube::resources::network_policies),
      namespaces_(client, kube::resources::namespaces),
      rules_(client.executor(), {[this] { return rules(); }, std::move(options.set_rules),
                                 options.fresh ? policy_rules({}) : "", "network policies are not in force"}) {}

void NetworkPolicies::start() {
  policies_.on_change([this](const auto&, const auto&) { changed(); });
  policies_.on_settled([this] { changed(); });
  namespaces_.on_change([this](const auto&, const auto&) { changed(); });
  namespaces_.on_settled([this] { changed(); });
  policies_.start();
  namespaces_.start();
}

void NetworkPolicies::changed() { rules_.changed(); }

void NetworkPolicies::await(const model::Pod& pod, Done<void> done) {
  bool isolated = !policies_.synced();
  policies_.for_each([&](const auto& policy) { isolated = isolated || isolates(*policy, pod); });
  if (!isolated) return done({});
  rules_.when_in_force(std::move(done));
}

std::optional<std::string> NetworkPolicies::rules() const {
  if (!policies_.synced() || !namespaces_.synced()) return std::nullopt;
  PolicyInput input;
  policies_.for_each([&](const auto& policy) { input.policies.push_back(policy.get()); });
  if (!input.policies.empty()) {
    namespaces_.for_each([&](const auto& one) {
      input.namespaces.emplace(one->metadata.name, one->metadata.labels);
    });
    input.pods = pods_();
    input.dns_address = dns_address_;
  }
  return policy_rules(input);
}

}  // namespace hekla::agent
