// Who is asking, and may they? Authentication by client certificate and bearer token; authorization behind
// one interface.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "apiserver/rbac_rules.h"
#include "apiserver/registry.h"
#include "apiserver/router.h"
#include "base/clock.h"
#include "base/result.h"
#include "base/rng.h"
#include "kube/admission.h"
#include "net/http.h"
#include "store/store.h"

namespace hekla::apiserver {

struct AuthOptions {
  std::string admin_token;      // grants system:masters; empty: none
  std::string signing_key_pem;  // ES256, for service-account tokens
  bool allow_everything = false;  // instead of RBAC
  std::string issuer = "https://kubernetes.default.svc.cluster.local";
};

struct TokenSubject {
  std::string ns, name, uid;                 // the service account
  std::string pod_name, pod_uid;             // when bound to a pod
};

// Issues and checks service-account tokens (JWT, ES256). Thread-safe.
class Tokens {
 public:
  Tokens(AuthOptions options, const Clock& clock, Rng& rng);
  // `audiences` empty: the issuer itself.
  Result<std::string> issue(const TokenSubject& subject, const std::vector<std::string>& audiences,
                            std::int64_t seconds) const;
  // Signature, times, issuer and audience; whether the account still exists is the caller's question.
  Result<TokenSubject> verify(std::string_view token) const;
  const std::string& issuer() const { return options_.issuer; }
  bool is_admin(std::string_view token) const;

 private:
  AuthOptions options_;
  const Clock& clock_;
  Rng& rng_;
  std::string key_id_;
};

// Thread-safe.
class Authenticator {
 public:
  Authenticator(const Tokens& tokens, const store::Store& store, const Registry& registry)
      : tokens_(tokens), store_(store), registry_(registry) {}
  // Anonymous without credentials; unauthorized with bad ones.
  Result<kube::UserInfo> authenticate(const net::Request& request) const;
  Result<kube::UserInfo> authenticate_token(std::string_view token) const;

 private:
  const Tokens& tokens_;
  const store::Store& store_;
  const Registry& registry_;
};

class Authorizer {
 public:
  virtual ~Authorizer() = default;
  // Thread-safe. `why`, when asked for, is the reason for either answer; it may stay empty.
  virtual bool allows(const kube::UserInfo& user, const RequestInfo& request, std::string* why) const = 0;
  // Everything `user` may do in `ns` (empty: what holds everywhere).
  virtual std::vector<PolicyRule> rules_of(const kube::UserInfo& user, const std::string& ns) const = 0;
};

bool in_group(const kube::UserInfo& user, std::string_view group);
Error forbidden_request(const kube::UserInfo& user, const RequestInfo& request, const std::string& why);
kube::UserInfo service_account_user(const TokenSubject& subject);

}  // namespace hekla::apiserver
