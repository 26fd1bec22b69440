#include "apiserver/server/resources.h"

#include <algorithm>
#include <map>

#include "apiserver/connect/connect.h"
#include "apiserver/connect/proxy.h"
#include "apiserver/kinds/unstored.h"
#include "apiserver/object/subresources.h"
#include "apiserver/request/component_status.h"
#include "apiserver/request/node_reports.h"
#include "apiserver/request/request_body.h"
#include "apiserver/request/rest_reads.h"
#include "apiserver/request/rest_writes.h"
#include "apiserver/request/reviews.h"
#include "apiserver/server/paths.h"
#include "apiserver/text/errors.h"
#include "net/websocket.h"

namespace hekla::apiserver {

namespace {

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
    const Subresource* found = find_subresource(kind, info.subresource);
    if (!found)
      return std::unexpected(kind.custom ? not_found_error(kind.resource, info.name)
                                         : no_such_resource_error());
    // The verb of a proxied request means something to its server alone.
    if (found->form != Subresource::Form::proxy &&
        std::find(found->verbs.begin(), found->verbs.end(), verb) == found->verbs.end())
      return std::unexpected(unsupported_method_error());
    return {};
  }
  if (std::find(kind.verbs.begin(), kind.verbs.end(), info.verb) == kind.verbs.end())
    return std::unexpected(unsupported_method_error());
  // Custom resources have no routes of their own upstream: what fits no route comes as far as the
  // handler.
  if (info.verb == "create" && !info.name.empty() && !kind.custom)
    return std::unexpected(unsupported_method_error());
  if ((info.verb == "create" || info.verb == "deletecollection") && kind.resource.namespaced &&
      info.ns.empty())
    return std::unexpected(unsupported_method_error());
  if ((info.verb == "update" || info.verb == "patch") && info.name.empty())
    return std::unexpected(kind.custom ? bad_request_error("name must be provided")
                                       : unsupported_method_error());
  return {};
}

// Cluster-wide objects are not found below a namespace, nor single namespaced ones outside of
// theirs; all of them can be listed and watched there, and of custom resources there is nothing
// else.
bool fits_scope(const Kind& kind, const RequestInfo& info) {
  if (kind.resource.namespaced && kind.custom && info.ns.empty())
    return info.verb == "list" || info.verb == "watch";
  if (kind.resource.namespaced) return !info.ns.empty() || info.name.empty();
  return info.ns.empty() || kind.traits.holds_objects;
}

// The object itself, or a part or view of it.
void serve_object(const ExchangePtr& exchange) {
  const RequestInfo& info = exchange->info;
  const Kind& kind = *exchange->served->kind;
  Result<Answer> answer =
      negotiate(exchange->request, kind.custom, info.verb == "list" || info.verb == "watch");
  if (!answer) return exchange->respond(answer.error());
  exchange->answer = std::move(*answer);
  if (info.verb == "patch") {
    Result<kube::PatchType> type = patch_type(exchange->request.headers.get("Content-Type"), kind);
    if (!type) return exchange->respond(type.error());
    exchange->patch_type = *type;
  }
  if (const std::string& old = kind.traits.deprecation; !old.empty())
    exchange->warnings.push_back(old);
  if (info.verb != "get" && info.verb != "list" && info.verb != "watch")
    return serve_write(exchange);
  const bool over_websocket = net::wants_websocket(exchange->request);
  serve_read(exchange, over_websocket ? websocket_watch : plain_watch);
}

void serve_subresource(const ExchangePtr& exchange, Subresource::Form form) {
  switch (form) {
    case Subresource::Form::log:
      return serve_pod_log(exchange,
                           net::wants_websocket(exchange->request) ? websocket_log : plain_log);
    case Subresource::Form::stream:
      return serve_connect(exchange);
    case Subresource::Form::proxy:
      return serve_proxy(exchange);
    case Subresource::Form::token:
      return serve_token_request(exchange);
    case Subresource::Form::object:
    case Subresource::Form::scale:
    case Subresource::Form::binding:
    case Subresource::Form::eviction:
      return serve_object(exchange);
  }
}

void serve_stored(const ExchangePtr& exchange) {
  const RequestInfo& info = exchange->info;
  const CatalogPtr catalog = exchange->serving.registry->catalog();
  exchange->served = catalog->find(info.group, info.version, info.plural);
  if (!exchange->served || !fits_scope(*exchange->served->kind, info)) {
    if (is_own_version(*catalog, info)) return exchange->respond(no_such_resource_error());
    return exchange->respond(page_not_found());
  }
  if (!exchange->served->kind->resource.namespaced) exchange->info.ns.clear();
  if (Result<void> served = check_served(*exchange); !served)
    return exchange->respond(served.error());
  const Subresource* part = find_subresource(*exchange->served->kind, info.subresource);
  serve_subresource(exchange, part ? part->form : Subresource::Form::object);
}

// POST .../bindings: the pod's name stands in the body.
void serve_pod_binding(const ExchangePtr& exchange) {
  Result<json::Value> body = parse_body(exchange->request, nullptr);
  if (!body) return exchange->respond(body.error());
  RequestInfo& info = exchange->info;
  info.plural = "pods";
  info.name = json::string_at(*body, {"metadata", "name"});
  info.subresource = "binding";
  serve_stored(exchange);
}

// The handler of a kind that is not stored. Requests it does not accept are no methods of the kind.
struct UnstoredRoute {
  bool (*accepts)(const RequestInfo& info);
  void (*serve)(const ExchangePtr& exchange);
};

bool is_posted(const RequestInfo& info) { return info.verb == "create"; }
bool is_posted_without_name(const RequestInfo& info) {
  return info.verb == "create" && info.name.empty();
}
bool is_cluster_read(const RequestInfo& info) {
  return info.ns.empty() && info.subresource.empty() && (info.verb == "get" || info.verb == "list");
}
bool is_anything(const RequestInfo&) { return true; }

const UnstoredRoute& route_of(const KindPtr& kind) {
  static const std::map<const Kind*, UnstoredRoute> kRoutes = [] {
    std::map<const Kind*, UnstoredRoute> routes;
    for (const KindPtr& one : virtual_kinds())
      routes[one.get()] = one->resource.kind == "Binding"
                              ? UnstoredRoute{is_posted_without_name, serve_pod_binding}
                              : UnstoredRoute{is_posted, serve_review};
    for (const KindPtr& one : report_kinds()) routes[one.get()] = {is_anything, serve_node_report};
    routes[component_status_kind().get()] = {is_cluster_read, serve_component_status};
    return routes;
  }();
  return kRoutes.at(kind.get());
}

}  // namespace

void serve_resource(const ExchangePtr& exchange) {
  const KindPtr unstored = unstored_kind_of(exchange->info);
  const bool reported =
      unstored && std::ranges::find(report_kinds(), unstored) != report_kinds().end();
  if (!unstored || (reported && !exchange->serving.registry->catalog()->node_reports()))
    return serve_stored(exchange);
  const UnstoredRoute& route = route_of(unstored);
  if (!route.accepts(exchange->info)) return exchange->respond(unsupported_method_error());
  route.serve(exchange);
}

}  // namespace hekla::apiserver
