// The members of a namespace, as its RoleBindings say.
//
// Where the page has no second origin, users' programs may answer on its own only if nobody but the
// visitor could have put them there. So the question is asked strictly: a group is others, whoever
// is in it; so is a service account of another namespace. Whoever has rights in all namespaces is
// trusted with all of them anyway.
#pragma once

#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "framework/any_object.h"
#include "kube/client.h"

namespace hekla::gateway {

inline const kube::Resource kRoleBindings{"rbac.authorization.k8s.io", "v1", "rolebindings",
                                          "RoleBinding"};

// Thread-safe.
class Members {
 public:
  void read(const framework::AnyObject& binding);
  void forget(const kube::Key& binding);
  bool is_sole(const std::string& user, const std::string& ns) const;

 private:
  mutable std::mutex mutex_;
  // Other than the namespace's own service accounts: "User ann@example.com".
  std::map<kube::Key, std::vector<std::string>> subjects_;  // by binding
};

}  // namespace hekla::gateway
