// GET /hekla/v1/session: who is here, which namespaces are theirs and as what, what the cluster
// serves, and what must be said to them.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "kube/authorizer.h"
#include "kube/client.h"
#include "kube/web_route.h"

namespace hekla::dashboard {

// Facts that only the front door knows.
struct DoorFacts {
  std::string logout_url;
  bool shares_origin = false;         // with users' programs: the page was opened by an address
  bool local_volumes = false;         // the volumes of claims are directories of this machine
  std::vector<std::string> warnings;  // to be shown until they are mended
};
// For a visitor who came by this origin.
using DoorFactsOf = std::function<DoorFacts(const std::string& origin, const kube::User& user)>;

kube::WebHandler session_handler(Executor& loop, kube::Client& client, kube::Authorizer& authorizer,
                                 DoorFactsOf facts);

// The roles that the RoleBindings of access management give a user, by namespace: owner,
// contributor, viewer. Pure.
std::map<std::string, std::string> roles_from_bindings(const std::vector<kube::ObjectPtr>& bindings,
                                                       const std::string& user);

}  // namespace hekla::dashboard
