#include "apiserver/auth.h"

#include <algorithm>

#include "apiserver/errors.h"
#include "apiserver/object_header.h"
#include "base/bytes.h"
#include "base/crypto.h"
#include "json/parse.h"

namespace hekla::apiserver {

namespace {

Error unauthorized() { return Error{Code::unauthorized, "Unauthorized"}; }

std::int64_t seconds(WallTime when) {
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

kube::UserInfo anonymous() { return {"system:anonymous", "", {"system:unauthenticated"}}; }

bool has_audience(const json::Value& claims, const std::string& wanted) {
  const json::Array* list = json::array_at(claims, {"aud"});
  if (!list) return json::string_at(claims, {"aud"}) == wanted;
  return std::any_of(list->begin(), list->end(), [&](const json::Value& one) {
    return one.is_string() && json::sv(one.get_string()) == wanted;
  });
}

}  // namespace

Tokens::Tokens(AuthOptions options, const Clock& clock, Rng& rng)
    : options_(std::move(options)), clock_(clock), rng_(rng) {
  if (!options_.signing_key_pem.empty())
    if (Result<std::string> id = key_id(options_.signing_key_pem)) key_id_ = std::move(*id);
}

Result<std::string> Tokens::issue(const TokenSubject& subject,
                                  const std::vector<std::string>& audiences,
                                  std::int64_t lifetime) const {
  if (key_id_.empty()) return fail(Code::internal, "the server has no key to sign tokens with");
  const std::int64_t now = seconds(clock_.wall());
  json::Object account{{"name", subject.name}, {"uid", subject.uid}};
  json::Object bound{{"namespace", subject.ns}, {"serviceaccount", std::move(account)}};
  if (!subject.pod_name.empty())
    bound.emplace("pod", json::Object{{"name", subject.pod_name}, {"uid", subject.pod_uid}});
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
  json::Object header{{"alg", "ES256"}, {"kid", key_id_}};
  std::string text = base64url_encode(json::serialize(json::Value(std::move(header)))) + "." +
                     base64url_encode(json::serialize(json::Value(std::move(claims))));
  std::string signature = TRY(es256_sign(options_.signing_key_pem, text));
  return text + "." + base64url_encode(signature);
}

Result<TokenSubject> Tokens::verify(std::string_view token) const {
  std::size_t first = token.find('.'), last = token.rfind('.');
  if (key_id_.empty() || first == std::string_view::npos || first == last)
    return std::unexpected(unauthorized());
  std::optional<std::string> payload = base64url_decode(token.substr(first + 1, last - first - 1));
  std::optional<std::string> signature = base64url_decode(token.substr(last + 1));
  if (!payload || !signature ||
      !es256_verify(options_.signing_key_pem, token.substr(0, last), *signature))
    return std::unexpected(unauthorized());
  Result<json::Value> claims = json::parse(*payload);
  if (!claims) return std::unexpected(unauthorized());
  const std::int64_t now = seconds(clock_.wall());
  if (json::string_at(*claims, {"iss"}) != options_.issuer || !has_audience(*claims, options_.issuer) ||
      json::int_at(*claims, {"exp"}) <= now || json::int_at(*claims, {"nbf"}) > now + 60)
    return std::unexpected(unauthorized());
  auto claim = [&](std::initializer_list<std::string_view> path) {
    return std::string(json::string_at(*claims, path));
  };
  return TokenSubject{claim({"kubernetes.io", "namespace"}),
                      claim({"kubernetes.io", "serviceaccount", "name"}),
                      claim({"kubernetes.io", "serviceaccount", "uid"}),
                      claim({"kubernetes.io", "pod", "name"}), claim({"kubernetes.io", "pod", "uid"})};
}

bool Tokens::is_admin(std::string_view token) const {
  return !options_.admin_token.empty() && same_secret(token, options_.admin_token);
}

Result<kube::UserInfo> Authenticator::authenticate(const net::Request& request) const {
  if (request.peer) {
    kube::UserInfo user{request.peer->common_name, "", request.peer->organizations};
    user.groups.emplace_back("system:authenticated");
    return user;
  }
  std::string_view header = request.headers.get("Authorization");
  if (header.empty()) return anonymous();
  if (!header.starts_with("Bearer ")) return std::unexpected(unauthorized());
  return authenticate_token(header.substr(7));
}

Result<kube::UserInfo> Authenticator::authenticate_token(std::string_view token) const {
  if (tokens_.is_admin(token))
    return kube::UserInfo{"kubernetes-admin", "", {"system:masters", "system:authenticated"}};
  TokenSubject subject = TRY(tokens_.verify(token));
  const store::Snapshot snapshot = store_.snapshot();
  const CatalogPtr catalog = registry_.catalog();
  auto alive = [&](const char* plural, const std::string& name, const std::string& uid) {
    ServedPtr served = catalog->find("", "v1", plural);
    store::ItemPtr item = served ? snapshot.get(served->bucket, subject.ns + "/" + name) : nullptr;
    return item && header_of(*item).uid == uid;
  };
  if (!alive("serviceaccounts", subject.name, subject.uid)) return std::unexpected(unauthorized());
  if (!subject.pod_name.empty() && !alive("pods", subject.pod_name, subject.pod_uid))
    return std::unexpected(unauthorized());
  return service_account_user(subject);
}

kube::UserInfo service_account_user(const TokenSubject& subject) {
  return {"system:serviceaccount:" + subject.ns + ":" + subject.name,
          subject.uid,
          {"system:serviceaccounts", "system:serviceaccounts:" + subject.ns, "system:authenticated"}};
}

bool in_group(const kube::UserInfo& user, std::string_view group) {
  return std::find(user.groups.begin(), user.groups.end(), group) != user.groups.end();
}

Error forbidden_request(const kube::UserInfo& user, const RequestInfo& request,
                        const std::string& why) {
  const std::string who = "User \"" + user.name + "\" cannot " + request.verb;
  const std::string tail = why.empty() ? "" : ": " + why;
  if (!request.is_resource)
    return Error{Code::forbidden, "forbidden: " + who + " path \"" + request.path + "\"" + tail};
  kube::Resource resource{request.group, request.version, request.plural, "", true};
  std::string what = request.plural;
  if (!request.subresource.empty()) what += "/" + request.subresource;
  std::string text = who + " resource \"" + what + "\" in API group \"" + request.group + "\"";
  text += request.ns.empty() ? " at the cluster scope" : " in the namespace \"" + request.ns + "\"";
  return forbidden_error(resource, request.name, text + tail);
}

}  // namespace hekla::apiserver
