// RBAC: who may do what, from the Roles, ClusterRoles and bindings in the store.
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "apiserver/auth/auth.h"
#include "apiserver/auth/rbac_rules.h"

namespace hekla::apiserver {

// Evaluates a compiled policy that is made anew when a commit has touched one of the four kinds;
// only objects that changed are parsed. Thread-safe; a request that follows a committed change sees
// it.
class RbacAuthorizer final : public RequestAuthorizer {
 public:
  RbacAuthorizer(store::Store& store, const Registry& registry);
  ~RbacAuthorizer() override;

  bool allows(const kube::UserInfo& user, const RequestInfo& request,
              std::string* why) const override;
  std::vector<PolicyRule> rules_of(const kube::UserInfo& user,
                                   const std::string& ns) const override;

 private:
  struct Policy;
  class Compiler;
  std::shared_ptr<const Policy> policy() const;

  store::Store& store_;
  std::atomic<std::uint64_t> changes_{1};  // commits seen; a policy remembers how many it reflects
  mutable std::mutex mutex_;
  mutable std::unique_ptr<Compiler> compiler_;
  mutable std::shared_ptr<const Policy> policy_;
  std::array<std::unique_ptr<store::Store::Subscription>, 4>
      subscriptions_;  // ends before the rest
};

// Everything is allowed: for --authorization-mode=AlwaysAllow.
class OpenAuthorizer final : public RequestAuthorizer {
 public:
  bool allows(const kube::UserInfo&, const RequestInfo&, std::string*) const override {
    return true;
  }
  std::vector<PolicyRule> rules_of(const kube::UserInfo&, const std::string&) const override {
    return {{{"*"}, {"*"}, {"*"}, {}, {}}, {{"*"}, {}, {}, {}, {"*"}}};
  }
};

// Escalation: users grant only what they hold. The checks on writes of roles and bindings.
std::vector<kube::AdmissionStep> rbac_admission(const RequestAuthorizer& authorizer);

}  // namespace hekla::apiserver
