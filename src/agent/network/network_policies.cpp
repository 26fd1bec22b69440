#include "agent/network/network_policies.h"

#include "base/log.h"

namespace hekla::agent {
namespace {

constexpr std::chrono::seconds kRetry{5};

}  // namespace

NetworkPolicies::NetworkPolicies(kube::Client& client, Options options)
    : client_(client),
      options_(std::move(options)),
      policies_(client, kube::resources::network_policies),
      namespaces_(client, kube::resources::namespaces),
      in_force_(policy_rules({})) {}

void NetworkPolicies::start() {
  policies_.on_change([this](const auto&, const auto&) { changed(); });
  policies_.on_settled([this] { changed(); });
  namespaces_.on_change([this](const auto&, const auto&) { changed(); });
  namespaces_.on_settled([this] { changed(); });
  policies_.start();
  namespaces_.start();
}

// Many changes in one turn of the loop, or while rules are being set, are one new set of rules.
void NetworkPolicies::changed() {
  if (in_flight_ || std::exchange(pending_, true)) return;
  client_.executor().post([this, alive = std::weak_ptr<bool>(alive_)] {
    if (alive.lock()) publish();
  });
}

void NetworkPolicies::publish() {
  pending_ = false;
  if (!policies_.synced() || !namespaces_.synced()) return;
  PolicyInput input;
  policies_.for_each([&](const auto& policy) { input.policies.push_back(policy.get()); });
  if (!input.policies.empty()) {
    namespaces_.for_each([&](const auto& one) {
      input.namespaces.emplace(one->metadata.name, one->metadata.labels);
    });
    input.pods = options_.pods();
  }
  std::string rules = policy_rules(input);
  if (rules == in_force_) return;
  in_flight_ = true;
  options_.set_rules(
      rules, [this, rules, alive = std::weak_ptr<bool>(alive_)](const Result<void>& set) {
        if (!alive.lock()) return;
        in_flight_ = false;
        if (set) {
          in_force_ = rules;
          failing_ = false;
          return changed();  // what came in between
        }
        if (!std::exchange(failing_, true))
          log_error("agent", "network policies are not in force", {{"error", set.error().message}});
        client_.executor().post_after(kRetry, [this, alive] {
          if (alive.lock()) changed();
        });
      });
}

}  // namespace hekla::agent
