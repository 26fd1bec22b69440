#include "apiserver/auth/tokens.h"

#include <algorithm>
#include <optional>

#include "base/bytes.h"
#include "base/crypto.h"
#include "base/log.h"
#include "json/parse.h"

namespace hekla::apiserver {

namespace {

constexpr std::string_view kLastingIssuer = "kubernetes/serviceaccount";
constexpr std::string_view kLastingClaim = "kubernetes.io/serviceaccount/";

std::unexpected<Error> bad_token() {
  return std::unexpected(Error{Code::unauthorized, "Unauthorized"});
}

std::int64_t epoch_seconds(WallTime when) {
  return std::chrono::duration_cast<std::chrono::seconds>(when.time_since_epoch()).count();
}

// Takes as long for a near miss as for a far one.
bool same_secret(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  unsigned char difference = 0;
  for (std::size_t i = 0; i < a.size(); ++i)
    difference = static_cast<unsigned char>(difference | (a[i] ^ b[i]));
  return difference == 0;
}

using Audiences = std::set<std::string, std::less<>>;

Audiences audiences_in(const json::Value& claims) {
  const json::Array* list = json::array_at(claims, {"aud"});
  if (!list) return {json::text_at(claims, {"aud"})};
  Audiences all;
  for (const json::Value& one : *list)
    if (one.is_string()) all.emplace(json::sv(one.get_string()));
  return all;
}

Result<json::Value> claims_of(std::string_view token) {
  const std::size_t first = token.find('.'), last = token.rfind('.');
  if (first == std::string_view::npos || first == last) return fail(Code::unauthorized, "");
  std::optional<std::string> payload = base64url_decode(token.substr(first + 1, last - first - 1));
  return payload ? json::parse(*payload) : fail(Code::unauthorized, "");
}

json::Object named(const std::string& name, const std::string& uid) {
  return {{"name", name}, {"uid", uid}};
}

TokenSubject bound_subject(const json::Value& claims) {
  auto claim = [&](std::initializer_list<std::string_view> path) {
    return std::string(json::string_at(claims, path));
  };
  return {claim({"kubernetes.io", "namespace"}),
          claim({"kubernetes.io", "serviceaccount", "name"}),
          claim({"kubernetes.io", "serviceaccount", "uid"}),
          claim({"kubernetes.io", "pod", "name"}),
          claim({"kubernetes.io", "pod", "uid"}),
          claim({"kubernetes.io", "node", "name"}),
          claim({"kubernetes.io", "node", "uid"}),
          claim({"kubernetes.io", "secret", "name"}),
          claim({"kubernetes.io", "secret", "uid"}),
          claim({"jti"})};
}

TokenSubject lasting_subject(const json::Value& claims) {
  auto claim = [&](std::string_view name) {
    return std::string(json::string_at(claims, {std::string(kLastingClaim) + std::string(name)}));
  };
  TokenSubject subject;
  subject.ns = claim("namespace");
  subject.name = claim("service-account.name");
  subject.uid = claim("service-account.uid");
  subject.secret_name = claim("secret.name");
  subject.lasting = true;
  return subject;
}

}  // namespace

Tokens::Tokens(AuthOptions options, const Clock& clock, Rng& rng)
    : options_(std::move(options)), clock_(clock), rng_(rng) {
  auto add = [this](const std::string& pem) -> std::string {
    Result<Es256Key> key = Es256Key::read(pem);
    Result<std::string> id = key ? key->id() : std::unexpected(key.error());
    if (!id) {
      log_error("apiserver",
                "a key for service-account tokens cannot be used; ECDSA P-256 is needed",
                {{"error", id.error().message}});
      return {};
    }
    const bool known = std::any_of(keys_.begin(), keys_.end(),
                                   [&](const VerifyKey& one) { return one.id == *id; });
    if (!known) keys_.push_back({*id, std::move(*key)});
    return *id;
  };
  if (!options_.signing_key_pem.empty()) key_id_ = add(options_.signing_key_pem);
  for (const std::string& pem : options_.verify_key_pems) add(pem);
}

Result<std::string> Tokens::sign(json::Object claims) const {
  if (key_id_.empty()) return fail(Code::internal, "the server has no key to sign tokens with");
  json::Object header{{"alg", "ES256"}, {"kid", key_id_}};
  std::string text = base64url_encode(json::serialize(json::Value(std::move(header)))) + "." +
                     base64url_encode(json::serialize(json::Value(std::move(claims))));
  std::string signature = TRY(keys_.front().key.sign(text));
  return text + "." + base64url_encode(signature);
}

Result<std::string> Tokens::issue(const TokenSubject& subject,
                                  const std::vector<std::string>& audiences,
                                  std::int64_t lifetime) const {
  const std::int64_t now = epoch_seconds(clock_.wall());
  json::Object bound{{"namespace", subject.ns}};
  if (!subject.node_name.empty()) bound.emplace("node", named(subject.node_name, subject.node_uid));
  if (!subject.pod_name.empty()) bound.emplace("pod", named(subject.pod_name, subject.pod_uid));
  if (!subject.secret_name.empty())
    bound.emplace("secret", named(subject.secret_name, subject.secret_uid));
  bound.emplace("serviceaccount", named(subject.name, subject.uid));
  json::Array audience;
  for (const std::string& one : audiences) audience.emplace_back(one);
  if (audience.empty()) audience.emplace_back(options_.issuer);
  json::Object claims;
  claims.emplace("aud", std::move(audience));
  claims.emplace("exp", now + lifetime);
  claims.emplace("iat", now);
  claims.emplace("iss", options_.issuer);
  claims.emplace("jti", uuid(rng_));
  claims.emplace("kubernetes.io", std::move(bound));
  claims.emplace("nbf", now);
  claims.emplace("sub", "system:serviceaccount:" + subject.ns + ":" + subject.name);
  return sign(std::move(claims));
}

Result<std::string> Tokens::issue_lasting(const TokenSubject& subject) const {
  json::Object claims{{"iss", kLastingIssuer}};
  auto put = [&](std::string_view name, const std::string& value) {
    claims.emplace(std::string(kLastingClaim) + std::string(name), value);
  };
  put("namespace", subject.ns);
  put("secret.name", subject.secret_name);
  put("service-account.name", subject.name);
  put("service-account.uid", subject.uid);
  claims.emplace("sub", "system:serviceaccount:" + subject.ns + ":" + subject.name);
  return sign(std::move(claims));
}

// The key the token names is tried first; a token that names none may be any key's.
bool Tokens::is_signed(std::string_view token) const {
  const std::size_t first = token.find('.'), last = token.rfind('.');
  if (first == std::string_view::npos || first == last) return false;
  std::optional<std::string> head = base64url_decode(token.substr(0, first));
  std::optional<std::string> signature = base64url_decode(token.substr(last + 1));
  if (!head || !signature) return false;
  Result<json::Value> header = json::parse(*head);
  if (!header || json::string_at(*header, {"alg"}) != "ES256") return false;
  const std::string_view id = json::string_at(*header, {"kid"});
  return std::any_of(keys_.begin(), keys_.end(), [&](const VerifyKey& key) {
    return (id.empty() || id == key.id) && key.key.verify(token.substr(0, last), *signature);
  });
}

Result<TokenSubject> Tokens::verify(std::string_view token,
                                    const std::vector<std::string>& audiences) const {
  if (!is_signed(token)) return bad_token();
  const Result<json::Value> claims = claims_of(token);
  if (!claims) return bad_token();
  const std::string_view issuer = json::string_at(*claims, {"iss"});
  const Audiences meant = audiences_in(*claims);
  auto wanted = [&](const std::string& one) { return meant.contains(one); };
  if (issuer == kLastingIssuer) {  // for the server's own audience alone
    const bool ours = audiences.empty() || std::find(audiences.begin(), audiences.end(),
                                                     options_.issuer) != audiences.end();
    if (!ours) return bad_token();
    return lasting_subject(*claims);
  }
  const bool audience_fits = audiences.empty()
                                 ? wanted(options_.issuer)
                                 : std::any_of(audiences.begin(), audiences.end(), wanted);
  const std::int64_t now = epoch_seconds(clock_.wall());
  if (issuer != options_.issuer || !audience_fits || json::int_at(*claims, {"exp"}) <= now ||
      json::int_at(*claims, {"nbf"}) > now + 60)
    return bad_token();
  return bound_subject(*claims);
}

// A token that this server has issued names its audiences; any other is for this server alone.
std::set<std::string, std::less<>> Tokens::audiences_of(std::string_view token) const {
  const Result<json::Value> claims = claims_of(token);
  if (claims && json::string_at(*claims, {"iss"}) == options_.issuer) return audiences_in(*claims);
  return {options_.issuer};
}

bool Tokens::is_admin(std::string_view token) const {
  return !options_.admin_token.empty() && same_secret(token, options_.admin_token);
}

const StaticToken* Tokens::static_token(std::string_view token) const {
  for (const StaticToken& one : options_.static_tokens)
    if (same_secret(one.token, token)) return &one;
  return nullptr;
}

json::Value Tokens::openid_configuration() const {
  auto one = [](std::string_view text) { return json::Array{json::Value(text)}; };
  return json::Object{{"issuer", options_.issuer},
                      {"jwks_uri", options_.issuer + "/openid/v1/jwks"},
                      {"response_types_supported", one("id_token")},
                      {"subject_types_supported", one("public")},
                      {"id_token_signing_alg_values_supported", one("ES256")}};
}

json::Value Tokens::key_set() const {
  json::Array keys;
  for (const VerifyKey& key : keys_) {
    Result<std::string> point = key.key.point();
    if (!point) continue;
    keys.push_back(json::Object{{"use", "sig"},
                                {"kty", "EC"},
                                {"kid", key.id},
                                {"crv", "P-256"},
                                {"alg", "ES256"},
                                {"x", base64url_encode(point->substr(0, 32))},
                                {"y", base64url_encode(point->substr(32))}});
  }
  return json::Object{{"keys", std::move(keys)}};
}

}  // namespace hekla::apiserver
