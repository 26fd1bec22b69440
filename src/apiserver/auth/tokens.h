// Service-account tokens: JWTs signed with ES256, bound to an account and perhaps to a pod or a
// secret.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/crypto.h"
#include "base/result.h"
#include "base/rng.h"
#include "json/value.h"

namespace hekla::apiserver {

// A bearer token from a file, and who it stands for.
struct StaticToken {
  std::string token, user, uid;
  std::vector<std::string> groups;
};

struct AuthOptions {
  std::string admin_token;  // grants system:masters; empty: none
  std::vector<StaticToken> static_tokens;
  std::string signing_key_pem;  // ES256, for service-account tokens
  // Keys that signed before, or elsewhere: private keys, public keys or certificates. They verify
  // only.
  std::vector<std::string> verify_key_pems;
  std::string root_ca_pem;        // handed out with tokens
  bool allow_everything = false;  // instead of RBAC
  bool anonymous = true;  // requests without credentials are judged; false: they are refused
  std::string issuer = "https://kubernetes.default.svc.cluster.local";
};

struct TokenSubject {
  std::string ns, name, uid;            // the service account
  std::string pod_name, pod_uid;        // when bound to a pod
  std::string node_name, node_uid;      // where that pod is
  std::string secret_name, secret_uid;  // when bound to a secret
  std::string token_id;
  bool lasting = false;  // no expiry: good while its secret holds it
};

// Thread-safe.
class Tokens {
 public:
  Tokens(AuthOptions options, const Clock& clock, Rng& rng);
  // `audiences` empty: the issuer itself.
  Result<std::string> issue(const TokenSubject& subject, const std::vector<std::string>& audiences,
                            std::int64_t seconds) const;
  // For a Secret of type kubernetes.io/service-account-token: lasts as long as account and secret
  // do.
  Result<std::string> issue_lasting(const TokenSubject& subject) const;
  // Signature, times, issuer and audience (one of `audiences`; empty: the issuer itself); whether
  // the account still exists is the caller's question.
  Result<TokenSubject> verify(std::string_view token,
                              const std::vector<std::string>& audiences = {}) const;
  // The audiences of a token that has been found valid.
  std::set<std::string, std::less<>> audiences_of(std::string_view token) const;
  WallTime now() const { return clock_.wall(); }
  const std::string& issuer() const { return options_.issuer; }
  bool admits_anonymous() const { return options_.anonymous; }
  const std::string& root_ca_pem() const { return options_.root_ca_pem; }
  bool is_admin(std::string_view token) const;
  // Null when it is none of those given.
  const StaticToken* static_token(std::string_view token) const;

  // The documents of /.well-known/openid-configuration and /openid/v1/jwks.
  json::Value openid_configuration() const;
  json::Value key_set() const;

 private:
  struct VerifyKey {
    std::string id;
    Es256Key key;
  };
  Result<std::string> sign(json::Object claims) const;
  bool is_signed(std::string_view token) const;

  AuthOptions options_;
  const Clock& clock_;
  Rng& rng_;
  std::string key_id_;
  std::vector<VerifyKey> keys_;
};

}  // namespace hekla::apiserver
