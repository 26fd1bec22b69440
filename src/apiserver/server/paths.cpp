#include "apiserver/server/paths.h"

#include <algorithm>

#include "apiserver/auth/tokens.h"
#include "apiserver/discovery/discovery.h"
#include "apiserver/discovery/published_schema.h"
#include "apiserver/server/backup.h"
#include "apiserver/text/errors.h"
#include "apiserver/text/field_error.h"
#include "apiserver/text/status_error.h"

namespace hekla::apiserver {

namespace {

constexpr std::string_view kProbes[]{"/healthz", "/livez", "/readyz"};

net::Response text_response(int status, std::string text) {
  net::Response response;
  response.status = status;
  response.headers.set("Content-Type", "text/plain; charset=utf-8");
  response.body = std::move(text);
  return response;
}

// /livez, /readyz and the older /healthz, each also with the name of one check. The store's check
// bears the name that monitoring asks for. A server whose disk refuses writes still answers reads:
// it is alive, but not ready.
net::Response health(const Serving& serving, const net::Request& request) {
  std::string_view root = request.path, asked;
  if (const std::size_t slash = root.find('/', 1); slash != std::string_view::npos) {
    asked = root.substr(slash + 1);
    root = root.substr(0, slash);
  }
  struct Check {
    std::string_view name;
    bool passes;
  };
  const Check checks[] = {
      {"ping", true}, {"log", true}, {"etcd", root == "/livez" || serving.store->takes_writes()}};
  if (!asked.empty()) {
    const Check* found = std::ranges::find(checks, asked, &Check::name);
    if (found == std::end(checks)) return page_not_found();
    return found->passes
               ? text_response(200, "ok")
               : text_response(500,
                               "internal server error: the newest commit did not reach the disk\n");
  }
  std::vector<std::string_view> excluded = request.query.get_all("exclude");
  std::string lines;
  bool passes = true;
  for (const auto& [name, good] : checks) {
    const std::string text(name);
    if (std::erase(excluded, name) > 0)
      lines += "[+]" + text + " excluded: ok\n";
    else
      lines += good ? "[+]" + text + " ok\n" : "[-]" + text + " failed: reason withheld\n",
          passes &= good;
  }
  for (std::string_view unknown : excluded)
    lines +=
        "warn: some health checks cannot be excluded: no matches for " + go_quote(unknown) + "\n";
  lines += std::string(root.substr(1)) + (passes ? " check passed\n" : " check failed\n");
  if (!passes) return text_response(500, lines);
  return text_response(200, request.query.has("verbose") ? lines : "ok");
}

void serve_health(const ExchangePtr& exchange) {
  exchange->respond(health(exchange->serving, exchange->request));
}

void serve_process_metrics(const ExchangePtr& exchange) {
  if (!exchange->serving.metrics) return exchange->respond(page_not_found());
  net::Response response = text_response(200, exchange->serving.metrics->text());
  response.headers.set("Content-Type", "text/plain; version=0.0.4; charset=utf-8");
  exchange->respond(std::move(response));
}

void serve_openid_configuration(const ExchangePtr& exchange) {
  exchange->respond(json_response(200, exchange->serving.tokens->openid_configuration(), false));
}

void serve_openid_keys(const ExchangePtr& exchange) {
  net::Response response = json_response(200, exchange->serving.tokens->key_set(), false);
  response.headers.set("Content-Type", "application/jwk-set+json");
  exchange->respond(std::move(response));
}

// Discovery and OpenAPI; nothing when they do not know the path.
std::optional<net::Response> document(const Exchange& exchange) {
  const net::Request& request = exchange.request;
  if (request.method != "GET" && request.method != "HEAD") return std::nullopt;
  if (std::optional<net::Response> found = exchange.serving.discovery->handle(request))
    return found;
  return exchange.serving.schema->handle(request);
}

void serve_version(const ExchangePtr& exchange) {
  if (std::optional<net::Response> found = document(*exchange))
    return exchange->respond(std::move(*found));
  exchange->respond(unsupported_method_error());
}

void serve_backups(const ExchangePtr& exchange) {
  if (!exchange->serving.backups->serve(exchange)) exchange->respond(page_not_found());
}

struct PathRoute {
  std::string_view path;
  bool below;  // the paths below it as well
  void (*serve)(const ExchangePtr&);
};
constexpr PathRoute kRoutes[]{
    {kProbes[0], true, serve_health},
    {kProbes[1], true, serve_health},
    {kProbes[2], true, serve_health},
    {"/metrics", false, serve_process_metrics},
    {"/version", false, serve_version},
    {"/.well-known/openid-configuration", false, serve_openid_configuration},
    {"/openid/v1/jwks", false, serve_openid_keys},
    {"/hekla", true, serve_backups},
};

bool is_for(const PathRoute& route, std::string_view path) {
  if (!path.starts_with(route.path)) return false;
  path.remove_prefix(route.path.size());
  return path.empty() || (route.below && path.front() == '/');
}

}  // namespace

bool is_probe(std::string_view path) { return std::ranges::count(kProbes, path) > 0; }

net::Response page_not_found() { return text_response(404, "404 page not found\n"); }

void serve_path(const ExchangePtr& exchange) {
  const std::string& path = exchange->request.path;
  for (const PathRoute& route : kRoutes)
    if (is_for(route, path)) return route.serve(exchange);
  if (std::optional<net::Response> found = document(*exchange))
    return exchange->respond(std::move(*found));
  // A version that is not served of a group that is.
  if (const std::size_t slash = path.rfind('/');
      path.starts_with("/apis/") && slash > 5 &&
      exchange->serving.discovery->knows_group(path.substr(6, slash - 6)))
    return exchange->respond(no_such_resource_error());
  exchange->respond(page_not_found());
}

}  // namespace hekla::apiserver
