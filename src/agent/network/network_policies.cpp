#include "agent/network/network_policies.h"

namespace hekla::agent {

NetworkPolicies::NetworkPolicies(kube::Client& client, Options options)
    : options_(std::move(options)),
      policies_(client, kube::resources::network_policies),
      namespaces_(client, kube::resources::namespaces),
      rules_(client.executor(),
             {[this] { return rules(); },
              [this](std::string text, Done<void> done) { set(std::move(text), std::move(done)); },
              options_.fresh ? policy_rules({}) : "", "network policies are not in force"}) {}

void NetworkPolicies::start() {
  policies_.on_change([this](const auto& before, const auto&) {
    if (before) refused_.erase(before->metadata.uid);
    changed();
  });
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
  std::vector<const NetworkPolicy*> policies;
  policies_.for_each([&](const auto& policy) { policies.push_back(policy.get()); });
  return policy_rules(input(std::move(policies)));
}

PolicyInput NetworkPolicies::input(std::vector<const NetworkPolicy*> policies) const {
  if (policies.empty()) return {};
  PolicyInput out{std::move(policies), {}, options_.pods(), options_.dns_address, refused_};
  namespaces_.for_each(
      [&](const auto& one) { out.namespaces.emplace(one->metadata.name, one->metadata.labels); });
  return out;
}

void NetworkPolicies::set(std::string rules, Done<void> done) {
  options_.set_rules(std::move(rules), [this, alive = std::weak_ptr<bool>(alive_),
                                        done = std::move(done)](Result<void> result) mutable {
    if (!alive.lock()) return;
    if (result) return done({});
    find_refused(std::move(result.error()), std::move(done));
  });
}

// Which policies are to blame shows when each is tried without the others.
struct NetworkPolicies::Search {
  Error error;  // of all together
  Done<void> done;
  std::vector<PolicyRef> policies{nullptr};  // first none at all: that fails where nft itself does
  std::size_t next = 0;
  bool found = false;
};

void NetworkPolicies::find_refused(Error error, Done<void> done) {
  auto search = std::make_shared<Search>(Search{std::move(error), std::move(done)});
  policies_.for_each([&](const PolicyRef& policy) {
    if (!refused_.contains(policy->metadata.uid)) search->policies.push_back(policy);
  });
  check_next(search);
}

void NetworkPolicies::check_next(const std::shared_ptr<Search>& search) {
  if (search->next == search->policies.size()) return end_search(*search);
  const PolicyRef policy = search->policies[search->next++];
  std::vector<const NetworkPolicy*> alone;
  if (policy) alone.push_back(policy.get());
  std::string rules = policy_rules(input(std::move(alone)));
  options_.check_rules(
      std::move(rules),
      [this, search, policy, alive = std::weak_ptr<bool>(alive_)](const Result<void>& result) {
        if (!alive.lock()) return;
        if (!result && !policy) return search->done(std::unexpected(search->error));
        // A policy that has changed meanwhile is judged anew.
        if (!result && policies_.get({policy->metadata.ns, policy->metadata.name}) == policy) {
          search->found = true;
          refused_.insert(policy->metadata.uid);
          options_.refused(*policy, result.error().message);
        }
        check_next(search);
      });
}

void NetworkPolicies::end_search(Search& search) {
  std::optional<std::string> without = search.found ? rules() : std::nullopt;
  if (!without) return search.done(std::unexpected(search.error));
  options_.set_rules(std::move(*without), std::move(search.done));
}

}  // namespace hekla::agent
