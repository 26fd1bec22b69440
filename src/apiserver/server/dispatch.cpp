#include "apiserver/server/dispatch.h"

#include <algorithm>

#include "apiserver/auth/impersonation.h"
#include "apiserver/connect/connect.h"
#include "apiserver/connect/proxy.h"
#include "apiserver/kinds/unstored.h"
#include "apiserver/object/subresources.h"
#include "apiserver/request/audit.h"
#include "apiserver/request/component_status.h"
#include "apiserver/request/flow_limits.h"
#include "apiserver/request/node_reports.h"
#include "apiserver/request/rest_reads.h"
#include "apiserver/request/rest_writes.h"
#include "apiserver/request/reviews.h"
#include "apiserver/server/backup.h"
#include "apiserver/server/remote.h"
#include "apiserver/text/errors.h"
#include "apiserver/text/field_error.h"
#include "apiserver/text/status_error.h"
#include "net/websocket.h"

namespace hekla::apiserver {

namespace {

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
std::optional<net::Response> health(const Serving& serving, const net::Request& request) {
  std::string_view root = request.path, asked;
  if (const std::size_t slash = root.find('/', 1); slash != std::string_view::npos) {
    asked = root.substr(slash + 1);
    root = root.substr(0, slash);
  }
  if (root != "/healthz" && root != "/livez" && root != "/readyz") return std::nullopt;
  struct Check {
    std::string_view name;
    bool passes;
  };
  const Check checks[] = {
      {"ping", true}, {"log", true}, {"etcd", root == "/livez" || serving.store->takes_writes()}};
  if (!asked.empty()) {
    const Check* found = std::ranges::find(checks, asked, &Check::name);
    if (found == std::end(checks)) return text_response(404, "404 page not found\n");
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

Error unsupported_verb() {
  return Error{Code::method_not_allowed,
               "the server does not allow this method on the requested resource"};
}

// Everything that is not about objects.
void serve_other(const ExchangePtr& exchange) {
  const net::Request& request = exchange->request;
  if (std::optional<net::Response> answer = health(exchange->serving, request))
    return exchange->respond(std::move(*answer));
  if (request.path == "/metrics" && exchange->serving.metrics) {
    net::Response response = text_response(200, exchange->serving.metrics->text());
    response.headers.set("Content-Type", "text/plain; version=0.0.4; charset=utf-8");
    return exchange->respond(std::move(response));
  }
  const Tokens& tokens = *exchange->serving.tokens;
  if (request.path == "/.well-known/openid-configuration")
    return exchange->respond(json_response(200, tokens.openid_configuration(), false));
  if (request.path == "/openid/v1/jwks") {
    net::Response response = json_response(200, tokens.key_set(), false);
    response.headers.set("Content-Type", "application/jwk-set+json");
    return exchange->respond(std::move(response));
  }
  if (request.method == "GET" || request.method == "HEAD") {
    if (std::optional<net::Response> found = exchange->serving.discovery->handle(request))
      return exchange->respond(std::move(*found));
    if (std::optional<net::Response> found = exchange->serving.schema->handle(request))
      return exchange->respond(std::move(*found));
  }
  if (request.path == "/version") return exchange->respond(unsupported_verb());
  if (exchange->serving.backups->serve(exchange)) return;
  // A version that is not served of a group that is.
  if (const std::size_t slash = request.path.rfind('/');
      request.path.starts_with("/apis/") && slash > 5 &&
      exchange->serving.discovery->knows_group(request.path.substr(6, slash - 6)))
    return exchange->respond(no_such_resource_error());
  exchange->respond(text_response(404, "404 page not found\n"));
}

// A list or watch of one name is judged as a request about that name.
std::string selected_name(const Exchange& exchange) {
  constexpr std::string_view kByName = "metadata.name=";
  if (!exchange.info.name.empty() || exchange.request.method != "GET") return exchange.info.name;
  std::string_view selector = exchange.request.query.get("fieldSelector");
  while (!selector.empty()) {
    std::string_view term = selector.substr(0, selector.find(','));
    if (term.starts_with(kByName)) {
      term.remove_prefix(kByName.size());
      return std::string(term.starts_with('=') ? term.substr(1) : term);
    }
    selector.remove_prefix(std::min(selector.size(), term.size() + 1));
  }
  return {};
}

bool is_probe(std::string_view path) {
  return path == "/healthz" || path == "/livez" || path == "/readyz";
}

// Requests that go on until somebody ends them.
bool is_stream(const Exchange& exchange) {
  const RequestInfo& info = exchange.info;
  if (info.verb == "watch" || info.path == "/hekla/backup") return true;
  return info.subresource == "exec" || info.subresource == "attach" ||
         info.subresource == "portforward" || info.subresource == "proxy" ||
         (info.subresource == "log" && exchange.request.query.has("follow"));
}

// The place is held for as long as anybody may still answer.
Result<void> take_place(Exchange& exchange) {
  if (is_probe(exchange.request.path)) return {};
  std::shared_ptr<FlowLimits::Ticket> ticket =
      TRY(exchange.serving.limits->admit(exchange.user, is_stream(exchange)));
  net::ResponseWriter* writer = exchange.writer.get();
  exchange.writer = std::shared_ptr<net::ResponseWriter>(
      writer,
      [held = std::move(exchange.writer), ticket = std::move(ticket)](net::ResponseWriter*) {});
  return {};
}

Result<void> identify(Exchange& exchange) {
  Result<kube::UserInfo> found = exchange.serving.authenticator->authenticate(exchange.request);
  if (!found) {
    if (exchange.serving.audit) exchange.serving.audit->attach(exchange, nullptr);
    return std::unexpected(found.error());
  }
  const kube::UserInfo user = *found;
  exchange.user = user;
  Result<kube::UserInfo> asked =
      impersonated(*exchange.serving.authorizer, exchange.request.headers, user);
  if (asked) exchange.user = std::move(*asked);
  const bool impersonates = asked && exchange.request.headers.has("Impersonate-User");
  if (exchange.serving.audit)
    exchange.serving.audit->attach(exchange, impersonates ? &user : nullptr);
  if (!asked) return std::unexpected(asked.error());
  return {};
}

Result<void> authorize(const Exchange& exchange) {
  const Authorizer& authorizer = *exchange.serving.authorizer;
  std::string why;
  const auto settled = [&](std::string_view decision) {
    if (!exchange.audit) return;
    exchange.audit->annotate("authorization.k8s.io/decision", decision);
    exchange.audit->annotate("authorization.k8s.io/reason", why);
  };
  if (authorizer.allows(exchange.user, exchange.info, exchange.audit ? &why : nullptr)) {
    settled("allow");
    return {};
  }
  RequestInfo info = exchange.info;
  // What nodes report is not narrowed by a field selector.
  if (info.is_resource && info.group != "metrics.k8s.io" && info.group != "logs.hekla.io")
    info.name = selected_name(exchange);
  why.clear();
  const bool allowed = authorizer.allows(exchange.user, info, &why);
  settled(allowed ? "allow" : "forbid");
  if (allowed) return {};
  return std::unexpected(forbidden_request(exchange.user, info, why));
}

Result<void> admit(Exchange& exchange) {
  TRY(identify(exchange));
  TRY(take_place(exchange));
  return authorize(exchange);
}

// Whether this server itself knows the group version; what it does not is left to others upstream,
// and answered as a path that nobody serves.
bool is_own_version(const Catalog& catalog, const RequestInfo& info) {
  return std::any_of(catalog.all().begin(), catalog.all().end(), [&](const ServedPtr& served) {
    const Kind& kind = *served->kind;
    return !kind.custom && kind.resource.group == info.group &&
           kind.resource.version == info.version;
  });
}

// Verbs and subresources a kind does not have are refused before anything else is looked at.
Result<void> check_served(const Exchange& exchange) {
  const Kind& kind = *exchange.served->kind;
  const RequestInfo& info = exchange.info;
  if (!info.subresource.empty()) {
    const std::string& verb = info.verb;
    std::vector<Subresource> all = subresources_of(kind);
    auto found = std::find_if(all.begin(), all.end(),
                              [&](const Subresource& one) { return one.name == info.subresource; });
    if (found == all.end())
      return std::unexpected(kind.custom ? not_found_error(kind.resource, info.name)
                                         : no_such_resource_error());
    // What a proxied request means, only its server knows.
    if (info.subresource != "proxy" &&
        std::find(found->verbs.begin(), found->verbs.end(), verb) == found->verbs.end())
      return std::unexpected(unsupported_verb());
    return {};
  }
  if (std::find(kind.verbs.begin(), kind.verbs.end(), info.verb) == kind.verbs.end())
    return std::unexpected(unsupported_verb());
  // Custom resources have no routes of their own upstream: what fits no route comes as far as the
  // handler.
  if (info.verb == "create" && !info.name.empty() && !kind.custom)
    return std::unexpected(unsupported_verb());
  if ((info.verb == "create" || info.verb == "deletecollection") && kind.resource.namespaced &&
      info.ns.empty())
    return std::unexpected(unsupported_verb());
  if ((info.verb == "update" || info.verb == "patch") && info.name.empty())
    return std::unexpected(kind.custom ? bad_request_error("name must be provided")
                                       : unsupported_verb());
  return {};
}

// Kinds that take questions and keep nothing have no verb but create.
bool is_virtual(const RequestInfo& info) {
  const std::vector<KindPtr>& all = virtual_kinds();
  return std::any_of(all.begin(), all.end(), [&](const KindPtr& kind) {
    const kube::Resource& r = kind->resource;
    return r.group == info.group && r.version == info.version && r.plural == info.plural;
  });
}

// Cluster-wide objects are not found below a namespace, nor single namespaced ones outside of
// theirs; all of them can be listed and watched there, and of custom resources there is nothing
// else.
bool fits_scope(const Kind& kind, const RequestInfo& info) {
  if (kind.resource.namespaced && kind.custom && info.ns.empty())
    return info.verb == "list" || info.verb == "watch";
  if (kind.resource.namespaced) return !info.ns.empty() || info.name.empty();
  return info.ns.empty() || (kind.resource.plural == "namespaces" && info.group.empty());
}

void serve_resource(const ExchangePtr& exchange) {
  if (serve_virtual(exchange) || serve_node_report(exchange) || serve_component_status(exchange))
    return;
  const RequestInfo& info = exchange->info;
  const CatalogPtr catalog = exchange->serving.registry->catalog();
  exchange->served = catalog->find(info.group, info.version, info.plural);
  if (!exchange->served && is_virtual(info)) return exchange->respond(unsupported_verb());
  if (!exchange->served || !fits_scope(*exchange->served->kind, info)) {
    if (is_own_version(*catalog, info)) return exchange->respond(no_such_resource_error());
    return exchange->respond(text_response(404, "404 page not found\n"));
  }
  if (!exchange->served->kind->resource.namespaced) exchange->info.ns.clear();
  if (Result<void> served = check_served(*exchange); !served)
    return exchange->respond(served.error());
  const bool over_websocket = net::wants_websocket(exchange->request);
  if (info.subresource == "log")
    return serve_pod_log(exchange, over_websocket ? websocket_log : plain_log);
  if (info.subresource == "exec" || info.subresource == "attach" ||
      info.subresource == "portforward")
    return serve_connect(exchange);
  if (info.subresource == "proxy") return serve_proxy(exchange);
  Result<Answer> answer = negotiate(exchange->request, exchange->served->kind->custom,
                                    info.verb == "list" || info.verb == "watch");
  if (!answer) return exchange->respond(answer.error());
  exchange->answer = std::move(*answer);
  if (info.verb == "patch") {
    Result<kube::PatchType> type =
        patch_type(exchange->request.headers.get("Content-Type"), *exchange->served->kind);
    if (!type) return exchange->respond(type.error());
    exchange->patch_type = *type;
  }
  if (const std::string& old = exchange->served->kind->deprecation; !old.empty())
    exchange->warnings.push_back(old);
  if (info.verb == "get" || info.verb == "list" || info.verb == "watch")
    return serve_read(exchange, over_websocket ? websocket_watch : plain_watch);
  serve_write(exchange);
}

}  // namespace

void handle_request(const Serving& serving, net::Request request,
                    std::shared_ptr<net::ResponseWriter> writer) {
  RequestInfo info = parse_request(request);
  auto exchange = std::make_shared<Exchange>(Exchange{serving,
                                                      std::move(request),
                                                      std::move(writer),
                                                      std::move(info),
                                                      {},
                                                      uuid(*serving.rng),
                                                      serving.clock->mono(),
                                                      nullptr,
                                                      {},
                                                      nullptr});
  if (Result<void> admitted = admit(*exchange); !admitted)
    exchange->respond(admitted.error());
  else if (!serve_remote(exchange))
    exchange->info.is_resource ? serve_resource(exchange) : serve_other(exchange);
  static const std::string kNobody = "system:anonymous";  // whose credentials were refused
  const std::string& flow = exchange->user.name.empty() ? kNobody : exchange->user.name;
  serving.limits->spent(flow, serving.clock->mono() - exchange->begun);
}

}  // namespace hekla::apiserver
