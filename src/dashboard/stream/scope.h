// The scope of a list: what a visitor may list and watch of a resource: one namespace, everything,
// or, where they may not see everything, the namespaces in which they may.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "kube/authorizer.h"
#include "kube/client.h"

namespace hekla::dashboard {

struct SeenScope {
  std::string ns;                                  // what to list: one namespace, or all
  std::optional<std::set<std::string>> only = {};  // of all, these
  bool operator==(const SeenScope&) const = default;
  bool has(const std::string& name) const { return !only || only->contains(name); }
};

// Forbidden, in the API server's words, when there is nothing. On the client's executor; `done` may
// come before this returns.
void find_scope(kube::Client& client, kube::Authorizer& authorizer, const kube::User& user,
                const kube::Resource& resource, const std::string& ns,
                std::move_only_function<void(Result<SeenScope>)> done);

// Namespaces in which the user may do `access` (its namespace is filled in).
void find_namespaces(kube::Client& client, kube::Authorizer& authorizer, const kube::User& user,
                     const kube::Access& access,
                     std::move_only_function<void(Result<std::set<std::string>>)> done);

}  // namespace hekla::dashboard
