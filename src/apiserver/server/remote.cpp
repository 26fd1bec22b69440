#include "apiserver/server/remote.h"

#include "apiserver/connect/proxy.h"
#include "base/check.h"

namespace hekla::apiserver {

namespace {

// Characters that stand in the name of a header as they are; upstream's aggregator writes the rest
// in percent form.
constexpr std::string_view kHeaderPlain = "!#$&'*+-.^_`|~";

net::Headers identity_headers(const kube::UserInfo& user) {
  net::Headers headers;
  headers.add("X-Remote-User", user.name);
  if (!user.uid.empty()) headers.add("X-Remote-Uid", user.uid);
  for (const std::string& group : user.groups) headers.add("X-Remote-Group", group);
  for (const auto& [key, values] : user.extra)
    for (const std::string& value : values)
      headers.add("X-Remote-Extra-" + percent_encode(key, kHeaderPlain), value);
  return headers;
}

// Of /apis/<group>/<version>/... and the schema of it; null for any other path and for what is
// served here.
RemotePtr remote_of(const Catalog& catalog, std::string_view path) {
  constexpr std::string_view kSchemas = "/openapi/v3", kApis = "/apis/";
  if (path.starts_with(kSchemas)) path.remove_prefix(kSchemas.size());
  if (!path.starts_with(kApis)) return nullptr;
  path.remove_prefix(kApis.size());
  const std::size_t slash = path.find('/');
  if (slash == std::string_view::npos) return nullptr;
  const std::string_view group = path.substr(0, slash), rest = path.substr(slash + 1);
  return catalog.remote(group, rest.substr(0, rest.find('/')));
}

}  // namespace

RemotePtr remote_for(const Exchange& exchange) {
  const CatalogPtr catalog = exchange.serving.registry->catalog();
  return catalog->remotes().empty() ? nullptr : remote_of(*catalog, exchange.request.path);
}

void serve_remote(const ExchangePtr& exchange, const RemotePtr& remote) {
  const net::Request& request = exchange->request;
  if (!remote->available || remote->origins.empty()) {
    net::Response response;
    response.status = 503;
    response.headers.set("Content-Type", "text/plain; charset=utf-8");
    response.headers.set("X-Content-Type-Options", "nosniff");
    response.body = "service unavailable\n";
    return exchange->respond(std::move(response));
  }
  CHECK(remote->client, "a server that is available has a client");
  Forwarding how;
  how.client = remote->client.get();
  how.held_client = remote->client;
  how.url = remote->origins[exchange->serving.rng->next() % remote->origins.size()] +
            encode_path(request.path);
  if (!request.query.all().empty()) how.url += "?" + request.query.encode();
  how.headers = identity_headers(exchange->user);
  how.dropped_headers = {"X-Remote-"};
  forward(exchange, std::move(how));
}

}  // namespace hekla::apiserver
