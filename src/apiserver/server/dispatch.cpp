#include "apiserver/server/dispatch.h"

#include <algorithm>

#include "apiserver/auth/impersonation.h"
#include "apiserver/request/audit.h"
#include "apiserver/request/flow_limits.h"
#include "apiserver/server/paths.h"
#include "apiserver/server/remote.h"
#include "apiserver/server/resources.h"
#include "apiserver/text/errors.h"

namespace hekla::apiserver {

namespace {

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

// Requests that go on until somebody ends them, by their names: nobody has looked for the kind yet.
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
  const RequestAuthorizer& authorizer = *exchange.serving.authorizer;
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
  // Reports of nodes are not narrowed by a field selector.
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
  else if (const RemotePtr remote = remote_for(*exchange))
    serve_remote(exchange, remote);
  else
    exchange->info.is_resource ? serve_resource(exchange) : serve_path(exchange);
  static const std::string kNobody = "system:anonymous";  // whose credentials were refused
  const std::string& flow = exchange->user.name.empty() ? kNobody : exchange->user.name;
  serving.limits->spent(flow, serving.clock->mono() - exchange->begun);
}

}  // namespace hekla::apiserver
