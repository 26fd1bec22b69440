#include "apiserver/auth/auth.h"

#include <algorithm>

#include "apiserver/object/object_header.h"
#include "apiserver/object/storage.h"
#include "apiserver/text/errors.h"
#include "base/bytes.h"
#include "model/time.h"
#include "net/websocket.h"

namespace hekla::apiserver {

namespace {

Error unauthorized() { return Error{Code::unauthorized, "Unauthorized"}; }

constexpr std::string_view kTokenProtocol = "base64url.bearer.authorization.k8s.io.";

bool is_token(const std::string& protocol) { return protocol.starts_with(kTokenProtocol); }

bool carries_token(const net::Request& request) {
  return net::wants_websocket(request) &&
         std::ranges::any_of(net::websocket_protocols(request), is_token);
}

// Finalizers may hold an object back for as long as they like; its tokens end a minute after it
// should have gone. Lasting ones end at once.
bool is_gone(const ServedKind& served, const store::Item& item, bool lasting, WallTime now) {
  if (!header_of(item).deleting) return false;
  const Result<WallTime> when = model::parse_rfc3339(
      json::string_at(decode_object(served, item), {"metadata", "deletionTimestamp"}));
  return lasting || !when || *when + std::chrono::minutes(1) < now;
}

kube::UserInfo anonymous() { return {"system:anonymous", "", {"system:unauthenticated"}}; }

}  // namespace

Result<kube::UserInfo> Authenticator::authenticate(net::Request& request) const {
  if (request.peer) {
    kube::UserInfo user{request.peer->common_name, "", request.peer->organizations};
    user.groups.emplace_back("system:authenticated");
    if (!request.peer->sha256.empty())
      user.extra.push_back(
          {"authentication.kubernetes.io/credential-id", {"X509SHA256=" + request.peer->sha256}});
    return user;
  }
  std::string_view header = request.headers.get("Authorization");
  if (header.empty() && carries_token(request)) return authenticate_websocket(request);
  if (header.empty() && !tokens_.admits_anonymous()) return std::unexpected(unauthorized());
  if (header.empty()) return anonymous();
  if (!header.starts_with("Bearer ")) return std::unexpected(unauthorized());
  return authenticate_token(header.substr(7));
}

// One token, and beside it the protocol that will be spoken.
Result<kube::UserInfo> Authenticator::authenticate_websocket(net::Request& request) const {
  std::string others;
  std::optional<std::string> token;
  for (const std::string& one : net::websocket_protocols(request)) {
    if (!is_token(one)) {
      others += (others.empty() ? "" : ",") + one;
      continue;
    }
    if (token) return std::unexpected(unauthorized());
    token = base64url_decode(std::string_view(one).substr(kTokenProtocol.size()));
    if (!token || token->empty()) return std::unexpected(unauthorized());
  }
  if (others.empty()) return std::unexpected(unauthorized());
  kube::UserInfo user = TRY(authenticate_token(*token));
  request.headers.set("Sec-WebSocket-Protocol", std::move(others));
  return user;
}

Result<kube::UserInfo> Authenticator::authenticate_token(
    std::string_view token, const std::vector<std::string>& audiences) const {
  // These are meant for this server alone.
  const bool ours =
      audiences.empty() || std::ranges::find(audiences, tokens_.issuer()) != audiences.end();
  if (ours && tokens_.is_admin(token))
    return kube::UserInfo{"kubernetes-admin", "", {"system:masters", "system:authenticated"}};
  if (const StaticToken* given = ours ? tokens_.static_token(token) : nullptr) {
    kube::UserInfo user{given->user, given->uid, given->groups};
    user.groups.emplace_back("system:authenticated");
    return user;
  }
  TokenSubject subject = TRY(tokens_.verify(token, audiences));
  const store::Snapshot snapshot = store_.snapshot();
  const CatalogPtr catalog = registry_.catalog();
  // The objects that the token is bound to must still be there.
  auto alive = [&](const char* plural, const std::string& name, const std::string& uid) {
    ServedPtr served = catalog->find("", "v1", plural);
    store::ItemPtr item = served ? snapshot.get(served->bucket, subject.ns + "/" + name) : nullptr;
    return item && header_of(*item).uid == uid &&
           !is_gone(*served, *item, subject.lasting, tokens_.now());
  };
  // A lasting token is the one its secret holds: a secret made anew under the name does not revive
  // it.
  auto held = [&](const std::string& secret_name) {
    ServedPtr served = catalog->find("", "v1", "secrets");
    store::ItemPtr item =
        served ? snapshot.get(served->bucket, subject.ns + "/" + secret_name) : nullptr;
    return item && !header_of(*item).deleting &&
           json::string_at(decode_object(*served, *item), {"data", "token"}) ==
               base64_encode(token);
  };
  const bool valid =
      !subject.uid.empty() && alive("serviceaccounts", subject.name, subject.uid) &&
      (subject.pod_name.empty() || alive("pods", subject.pod_name, subject.pod_uid)) &&
      (subject.lasting ? held(subject.secret_name)
                       : subject.secret_name.empty() ||
                             alive("secrets", subject.secret_name, subject.secret_uid));
  if (!valid) return std::unexpected(unauthorized());
  return service_account_user(subject);
}

void add_node(const store::Store& store, const Catalog& catalog, TokenSubject& subject) {
  const store::Snapshot snapshot = store.snapshot();
  ServedPtr pods = catalog.find("", "v1", "pods"), nodes = catalog.find("", "v1", "nodes");
  if (!pods || !nodes || subject.pod_name.empty()) return;
  store::ItemPtr pod = snapshot.get(pods->bucket, subject.ns + "/" + subject.pod_name);
  if (!pod) return;
  subject.node_name = json::string_at(decode_object(*pods, *pod), {"spec", "nodeName"});
  if (store::ItemPtr node = snapshot.get(nodes->bucket, subject.node_name);
      node && !subject.node_name.empty())
    subject.node_uid = header_of(*node).uid;
}

kube::UserInfo service_account_user(const TokenSubject& subject) {
  kube::UserInfo user{
      "system:serviceaccount:" + subject.ns + ":" + subject.name,
      subject.uid,
      {"system:serviceaccounts", "system:serviceaccounts:" + subject.ns, "system:authenticated"}};
  if (!subject.token_id.empty())
    user.extra.push_back(
        {"authentication.kubernetes.io/credential-id", {"JTI=" + subject.token_id}});
  if (!subject.pod_name.empty()) {
    if (!subject.node_name.empty()) {
      user.extra.push_back({"authentication.kubernetes.io/node-name", {subject.node_name}});
      user.extra.push_back({"authentication.kubernetes.io/node-uid", {subject.node_uid}});
    }
    user.extra.push_back({"authentication.kubernetes.io/pod-name", {subject.pod_name}});
    user.extra.push_back({"authentication.kubernetes.io/pod-uid", {subject.pod_uid}});
  }
  return user;
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
