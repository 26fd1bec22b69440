// Authentication by client certificate and bearer token; authorization
// behind one interface.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "apiserver/auth/rbac_rules.h"
#include "apiserver/auth/tokens.h"
#include "apiserver/object/registry.h"
#include "apiserver/object/request_info.h"
#include "base/result.h"
#include "kube/admission.h"
#include "net/http.h"
#include "store/store.h"

namespace hekla::apiserver {

// Thread-safe.
class Authenticator {
 public:
  Authenticator(const Tokens& tokens, const store::Store& store, const Registry& registry)
      : tokens_(tokens), store_(store), registry_(registry) {}
  // Anonymous without credentials; unauthorized with bad ones. A token among the subprotocols of a
  // WebSocket, which is all that a browser can send, is taken out of them: nobody behind shall see
  // it.
  Result<kube::UserInfo> authenticate(net::Request& request) const;
  // Empty `audiences`: the server's own.
  Result<kube::UserInfo> authenticate_token(std::string_view token,
                                            const std::vector<std::string>& audiences = {}) const;

 private:
  Result<kube::UserInfo> authenticate_websocket(net::Request& request) const;

  const Tokens& tokens_;
  const store::Store& store_;
  const Registry& registry_;
};

class RequestAuthorizer {
 public:
  virtual ~RequestAuthorizer() = default;
  // Thread-safe. `why`, when asked for, is the reason for either answer; it may stay empty.
  virtual bool allows(const kube::UserInfo& user, const RequestInfo& request,
                      std::string* why) const = 0;
  // Everything `user` may do in `ns` (empty: what holds everywhere).
  virtual std::vector<PolicyRule> rules_of(const kube::UserInfo& user,
                                           const std::string& ns) const = 0;
};

bool in_group(const kube::UserInfo& user, std::string_view group);
Error forbidden_request(const kube::UserInfo& user, const RequestInfo& request,
                        const std::string& why);
kube::UserInfo service_account_user(const TokenSubject& subject);
// Fills in the node that the subject's pod is on, if it is on one.
void add_node(const store::Store& store, const Catalog& catalog, TokenSubject& subject);

}  // namespace hekla::apiserver
