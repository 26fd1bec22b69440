#include "gateway/proxy.h"

#include <array>

#include "base/markup.h"
#include "gateway/activity/frame_scan.h"
#include "gateway/request/answers.h"
#include "gateway/request/content_origin.h"
#include "gateway/request/cookies.h"
#include "gateway/request/visitor_headers.h"

namespace hekla::gateway {
namespace {

constexpr const char* kAgainSeconds = "3";
// A server that is ready may not listen yet; nothing has been sent by then.
constexpr auto kRefusedRetry = std::chrono::seconds(2);

// A link to the page that tells why a notebook waits, and starts it.
std::string way_to_notebook(const Visit& visit, const kube::Access& access) {
  if (access.resource.plural != "notebooks") return {};
  const std::string page =
      is_content_origin(visit.origin) ? page_origin_of(visit.origin) : visit.origin;
  return "<p><a class=\"button\" href=\"" +
         escape_markup(page + "/jupyter/notebook/details/" + access.key.ns + "/" +
                       access.key.name) +
         "\">Why it waits, and how to start it</a></p>";
}

// The page reloads itself until the program answers; programs are told when to ask again.
net::Response waiting(const Visit& visit, const std::string& why, const kube::Access& access) {
  net::Response response;
  if (visit.wants_page()) {
    response = message_page(503, "The program does not answer yet",
                            why + ". This page looks again every few seconds.",
                            way_to_notebook(visit, access));
    response.headers.set("Refresh", kAgainSeconds);
  } else {
    response = refusal(visit, Error{Code::unavailable, why});
  }
  response.headers.set("Retry-After", kAgainSeconds);
  return response;
}

net::Response redirect_of(const Redirect& to, const Visit& visit) {
  const std::string_view own = visit.origin;
  const std::size_t scheme = own.find("://");
  std::string location = to.scheme.empty() ? std::string(own.substr(0, scheme)) : to.scheme;
  location += "://";
  location += to.authority.empty() ? own.substr(scheme + 3) : std::string_view(to.authority);
  location += to.uri.empty() ? visit.path.target() : visit.path.target(to.uri);
  return redirect(to.status, std::move(location));
}

net::Response answer_of(const DirectAnswer& given) {
  net::Response response;
  response.status = given.status;
  response.headers.set("Content-Type", "text/plain");
  response.body = given.body;
  return response;
}

std::string request_id(Rng& rng) {
  static constexpr char kHex[] = "0123456789abcdef";
  std::string id;
  for (int half = 0; half < 2; ++half)
    for (std::uint64_t bits = rng.next(), i = 0; i < 16; ++i, bits >>= 4) id += kHex[bits & 15];
  for (int at : {8, 13, 18, 23}) id.insert(static_cast<std::size_t>(at), "-");
  return id;
}

net::Headers headers_for(const Visit& visit, const Guest& guest, const Rule& rule,
                         const Destination& destination, Rng& rng) {
  net::Headers headers = net::end_to_end_headers(visit.request.headers);
  const std::string host(visit.request.headers.get("Host"));
  rule.request.apply(headers);
  destination.request.apply(headers);
  set_forwarded_headers(
      headers, guest.user,
      {visit.request.remote_address, visit.secure() ? "https" : "http", host, request_id(rng)});
  headers.set("Host", rule.rewrite_authority.value_or(host));
  return headers;
}

// No program gives a visitor a session or ends one, and none takes charge of its neighbours on the
// origin that they share.
void clean_answer(net::Headers& headers) {
  strip_own_set_cookies(headers);
  for (const char* name : {"Service-Worker-Allowed", "Clear-Site-Data", "Alt-Svc"})
    headers.remove(name);
}

std::string refused(const Policies& policies, const PolicyRequest& request) {
  return policies.empty() ? "" : refusal_by(policies, facts_of(request));
}

}  // namespace

bool RouteProxy::claims(const net::Request& request, const Path& path) const {
  const std::shared_ptr<const RouteTable> table = options_.table();
  return table->find(request, path).rule || table->lacks_slash(request, path);
}

Proxy::Way RouteProxy::way(const Visit& visit) {
  Chosen chosen;
  chosen.table = options_.table();
  chosen.found = chosen.table->find(visit.request, visit.path);
  if (!chosen.found.rule) {
    // Upstream's routes begin behind the slash that people forget. Whoever it is may be told.
    Path longer = visit.path;
    longer.text += '/';
    const RouteTable::Found found = chosen.table->find(visit.request, longer);
    static const Rule kNone;
    const Rule& rule = found.rule ? *found.rule : kNone;
    return {access_to(rule, rule.destinations.empty() ? nullptr : rule.destinations.data(), longer),
            [longer](const Visit& late, const Guest&) {
              late.writer->respond(redirect(302, longer.target()));
            }};
  }
  const Rule& rule = *chosen.found.rule;
  if (!rule.redirect && !rule.answer) chosen.destination = choose(rule, options_.rng->next());
  chosen.access = access_to(rule, chosen.destination, visit.path);
  return {chosen.access, [this, chosen](Visit late, const Guest& guest) {
            carry(std::move(late), guest, chosen);
          }};
}

std::shared_ptr<void> RouteProxy::count_stream(const std::string& user,
                                               const kube::Access& access) {
  const std::string all = user + "\n";
  const std::string one =
      all + access.resource.plural + "/" + access.key.ns + "/" + access.key.name;
  std::lock_guard lock(counts_->mutex);
  std::map<std::string, int>& streams = counts_->streams;
  const auto of_user = streams.find(all), of_object = streams.find(one);
  if ((of_user != streams.end() && of_user->second >= options_.streams_per_user) ||
      (of_object != streams.end() && of_object->second >= options_.streams_per_object))
    return nullptr;
  ++streams[all];
  ++streams[one];
  return {counts_.get(), [counts = counts_, all, one](void*) {
            std::lock_guard ending(counts->mutex);
            for (const std::string& key : {all, one})
              if (const auto at = counts->streams.find(key); --at->second == 0)
                counts->streams.erase(at);
          }};
}

void RouteProxy::note_use(const Visit& visit, const kube::Access& access, net::Forwarding& how) {
  if (access.resource.plural != "notebooks") return;
  const bool used = !visit.is_safe() || visit.wants_page();
  if (!used && !visit.is_upgrade()) return;
  std::shared_ptr<UseMark> mark = options_.activity->mark(access.key);
  if (used) mark->note(options_.clock->wall());
  if (!visit.is_upgrade()) return;
  how.on_passing = [mark = std::move(mark), clock = options_.clock, to_pod = FrameScan{},
                    from_pod = FrameScan{}](std::string_view bytes, bool from_requester) mutable {
    if ((from_requester ? to_pod : from_pod).has_message(bytes)) mark->note(clock->wall());
  };
}

void RouteProxy::carry(Visit visit, const Guest& guest, const Chosen& chosen) {
  const Rule& rule = *chosen.found.rule;
  if (rule.redirect) return visit.writer->respond(redirect_of(*rule.redirect, visit));
  if (rule.answer) return visit.writer->respond(answer_of(*rule.answer));
  if (!chosen.destination)
    return visit.writer->respond(
        waiting(visit, "No destination of the route has a weight", chosen.access));
  const Destination& destination = *chosen.destination;
  const std::string service = destination.service.ns + "/" + destination.service.name;
  const std::optional<Backend> backend = chosen.table->backend(destination, options_.rng->next());
  net::Forwarding how;
  const std::string target =
      visit.path.target(rewritten(rule, *chosen.found.match, visit.path.text));
  how.upstream.headers = headers_for(visit, guest, rule, destination, *options_.rng);
  const PolicyRequest asked_for{guest.user,
                                how.upstream.headers,
                                visit.request.method,
                                target,
                                std::string(how.upstream.headers.get("Host")),
                                backend ? backend->port : std::uint16_t{0}};
  if (const std::string why = refused(chosen.table->policies(destination.service), asked_for);
      !why.empty())
    return visit.writer->respond(
        refusal(visit,
                Error{Code::forbidden,
                      "User '" + guest.user.name + "' may not use service " + service + ": " + why},
                guest.user.name));
  if (!backend)
    return visit.writer->respond(waiting(visit,
                                         chosen.access.resource.plural == "notebooks"
                                             ? "Notebook " + chosen.access.key.ns + "/" +
                                                   chosen.access.key.name +
                                                   " has been stopped or is starting"
                                             : "Nothing is ready behind service " + service,
                                         chosen.access));
  std::shared_ptr<void> counted;
  if (visit.is_upgrade()) {
    counted = count_stream(guest.user.name, chosen.access);
    if (!counted)
      return visit.writer->respond(
          refusal(visit, Error{Code::too_many_requests, "too many streams are open"}));
  }
  how.upstream.method = visit.request.method;
  how.upstream.url = "http://" + backend->address + ":" + std::to_string(backend->port) + target;
  how.upstream.timeout = {};
  how.upstream.head_timeout = std::chrono::ceil<std::chrono::milliseconds>(rule.timeout);
  if (visit.is_safe()) how.upstream.refused_retry = kRefusedRetry;
  how.allow_upgrade = visit.is_upgrade();
  how.on_head = [table = chosen.table, &rule, &destination](int, net::Headers& headers) {
    rule.response.apply(headers);
    destination.response.apply(headers);
    clean_answer(headers);
  };
  auto asked = std::make_shared<Visit>(visit);
  asked->request.body.clear();
  asked->writer.reset();
  how.on_failure = [asked, service, access = chosen.access](const Error& error) {
    if (error.code == Code::timeout)
      return refusal(*asked, Error{Code::timeout, "service " + service + " took too long"});
    return waiting(*asked, "Service " + service + " does not answer", access);
  };
  note_use(visit, chosen.access, how);
  how.on_over = [counted]() mutable { counted.reset(); };
  options_.forward(visit.request, visit.writer, std::move(how));
}

}  // namespace hekla::gateway
