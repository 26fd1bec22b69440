// A kubeconfig for a second person: a service account of theirs in a namespace, a role there, and a
// token that ends with the account.
#pragma once

#include <string>

#include "cli/api_session.h"

namespace hekla::cli {

struct UserGrant {
  std::string name, ns = "default", role = "edit";  // view, edit or admin
  int days = 365;
};

struct UserKubeconfig {
  std::string text;
  std::string until;        // RFC 3339: when the token ends, as the server has decided
  bool local_only = false;  // the address is one of this machine's own
  bool new_namespace = false;
};

// Again for the same name: the role is the new one, and older tokens go on.
Result<UserKubeconfig> grant_access(ApiSession& session, const UserGrant& grant);

// The text: `access` with the token in place of the caller's own credentials.
std::string user_kubeconfig_text(const kube::ClusterAccess& access, const UserGrant& grant,
                                 const std::string& token);

}  // namespace hekla::cli
