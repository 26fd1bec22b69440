#include "gateway/front_door.h"

#include <algorithm>

#include "gateway/request/answers.h"
#include "gateway/request/content_origin.h"
#include "gateway/request/cookies.h"
#include "gateway/request/visitor_headers.h"
#include "net/own_thread.h"
#include "net/text.h"

namespace hekla::gateway {
namespace {

constexpr std::size_t kMaxFormBytes = 64 * 1024;
constexpr std::size_t kMaxProxiedBytes = std::size_t{100} << 30;
constexpr std::size_t kMaxStreams = 100'000;

// Goes on where the request came in: handlers run on their connection's thread.
void go_on(const std::shared_ptr<net::OwnThread>& home, Task task) {
  if (!home || net::OwnThread::current() == home) return task();
  (void)home->post(task);
}

std::string_view bearer_of(const net::Headers& headers) {
  const std::vector<std::string_view> all = headers.get_all("Authorization");
  if (all.size() != 1 || all[0].size() < 8 ||
      !net::equal_ignoring_case(all[0].substr(0, 7), "Bearer "))
    return {};
  return net::trim(all[0].substr(7));
}

// Changes and WebSockets of a program's page come from the origin that it is on.
Result<void> check_content_sender(const Visit& visit, const Guest& guest) {
  if (guest.by_token) return {};
  if (visit.is_upgrade() || !visit.is_safe()) TRY(check_origin(visit));
  return visit.is_upgrade() ? check_upgrade(visit, true) : Result<void>{};
}

}  // namespace

Result<std::unique_ptr<FrontDoor>> FrontDoor::make(FrontDoorOptions options, Login& login) {
  WebTable table = TRY(WebTable::make(std::move(options.routes)));
  options.routes = {};
  return std::make_unique<FrontDoor>(Private{}, std::move(options), std::move(table), login);
}

net::RouteRules FrontDoor::rules(const net::Request& head) const {
  const Result<Path> path = read_path(head.target);
  if (!path || Login::owns(path->text)) return {.max_body_bytes = kMaxFormBytes};
  const kube::WebRoute* route = table_.find(path->text).route;
  if (route && (route->prefix != "/" || !proxy_ || !proxy_->claims(head, *path)))
    return route->limits;
  return {.stream_body = true,
          .max_body_bytes = kMaxProxiedBytes,
          .body_timeout = {},
          .stall_timeout = std::chrono::seconds(60)};
}

void FrontDoor::serve(net::Request request, std::shared_ptr<net::ResponseWriter> writer,
                      std::string_view scheme) {
  strip_identity_headers(request.headers);
  Visit visit;
  visit.origin = origin_of(request.headers, scheme);
  visit.writer = std::move(writer);
  Result<Path> path = read_path(request.target);
  visit.request = std::move(request);
  if (!path || visit.origin.empty()) {
    const Error error = path ? Error{Code::bad_request, "the request names no host"} : path.error();
    return visit.writer->respond(refusal(visit, error));
  }
  visit.path = std::move(*path);
  visit.request.target = visit.path.target();
  visit.request.path = net::url_decode(visit.path.text);
  if (is_content_origin(visit.origin)) {
    if (visit.path.text == kContentPath) return visit.writer->respond(login_.take_over(visit));
    if (visit.path.text == kStylePath) return login_.serve(std::move(visit));
  } else if (Login::owns(visit.path.text)) {
    return login_.serve(std::move(visit));
  }
  identify(std::move(visit));
}

void FrontDoor::identify(Visit visit) {
  if (options_.everybody) {
    // A foreign page whose name leads to this machine would be of the same origin as ours.
    if (!is_loopback_origin(visit.origin))
      return visit.writer->respond(refusal(
          visit,
          Error{Code::forbidden, "without a login the dashboard answers as localhost alone"}));
    return admit(std::move(visit), Guest{*options_.everybody, {}, {}, {}});
  }
  Guest guest;
  if (is_content_origin(visit.origin)) {
    if (std::optional<Sessions::Found> found = login_.known_content(visit.request.headers))
      guest = {found->session.user, found->id, {}, found->until};
  } else if (std::optional<Login::Known> known = login_.known(visit.request.headers)) {
    guest = {known->found.session.user, known->found.id, known->secret, known->found.until};
  }
  const std::string token(bearer_of(visit.request.headers));
  if (token.empty()) return admit(std::move(visit), std::move(guest));
  auto shared = std::make_shared<std::pair<Visit, Guest>>(std::move(visit), std::move(guest));
  options_.verify_token(
      token, [this, shared, home = net::OwnThread::current()](Result<kube::User> user) {
        go_on(home, [this, shared, user = std::move(user)]() mutable {
          auto& [visit, guest] = *shared;
          if (user) {
            visit.request.headers.remove("Authorization");
            return admit(std::move(visit), Guest{std::move(*user), {}, {}, {}, true});
          }
          // A token that is not ours belongs to the program behind, if a session opens the way to
          // it.
          if (!guest.session.empty()) return admit(std::move(visit), std::move(guest));
          visit.writer->respond(
              refusal(visit, Error{Code::unauthorized, "the bearer token is not valid"}));
        });
      });
}

void FrontDoor::admit(Visit visit, Guest guest) {
  if (is_content_origin(visit.origin)) return admit_content(std::move(visit), std::move(guest));
  if (visit.path.text == kContentPath) {
    if (guest.user.name.empty()) return turn_away(visit);
    return visit.writer->respond(login_.hand_over(visit, guest.secret));
  }
  const WebTable::Found found = table_.find(visit.path.text);
  const bool proxied = proxy_ && proxy_->claims(visit.request, visit.path);
  if (!found.redirect.empty() && !(proxied && found.redirect == "/"))
    return visit.writer->respond(redirect(302, visit.path.target(found.redirect)));
  if (found.route && (found.route->prefix != "/" || !proxied)) {
    if (guest.user.name.empty() && found.route->gate != kube::WebGate::anybody)
      return turn_away(visit);
    return enter(std::move(visit), std::move(guest), *found.route);
  }
  if (guest.user.name.empty()) return turn_away(visit);
  // A token is no browser's: no page is there whose cookies and scripts an answer could misuse.
  if (proxied && guest.by_token) {
    Proxy::Way way = proxy_->way(visit);
    return take_way(std::move(visit), std::move(guest), std::move(way));
  }
  if (proxied && content_origin_of(visit.origin).empty())
    return share_page(std::move(visit), std::move(guest));
  if (proxied) return leave_page(visit, guest);
  visit.writer->respond(
      refusal(visit, Error{Code::not_found, "there is nothing at this address"}, guest.user.name));
}

// Users' programs, and nothing else: what the page's own routes answer is never of this origin.
void FrontDoor::admit_content(Visit visit, Guest guest) {
  const std::string& path = visit.path.text;
  if (path == "/") return visit.writer->respond(redirect(302, page_origin_of(visit.origin) + "/"));
  const WebTable::Found found = table_.find(path);
  const bool fixed = Login::owns(path) || (found.route && found.route->prefix != "/") ||
                     (!found.redirect.empty() && found.redirect != "/");
  if (guest.user.name.empty()) {
    if (visit.wants_page() && !fixed) return visit.writer->respond(login_.ask_page(visit));
    return visit.writer->respond(refusal(visit, Error{Code::unauthorized, "No user detected."}));
  }
  if (fixed || !proxy_ || !proxy_->claims(visit.request, visit.path))
    return visit.writer->respond(
        refusal(visit, Error{Code::not_found, "no program is at this address"}, guest.user.name));
  if (Result<void> fine = check_content_sender(visit, guest); !fine)
    return visit.writer->respond(refusal(visit, fine.error(), guest.user.name));
  Proxy::Way way = proxy_->way(visit);
  take_way(std::move(visit), std::move(guest), std::move(way));
}

void FrontDoor::leave_page(const Visit& visit, const Guest& guest) {
  if (visit.wants_page()) return visit.writer->respond(login_.lead_to_content(visit));
  visit.writer->respond(
      refusal(visit,
              Error{Code::forbidden,
                    "users' programs do not answer on the dashboard's origin: "
                    "ask for " +
                        content_origin_of(visit.origin) + visit.path.text + ", or send a token"},
              guest.user.name));
}

// There is no second origin. A script of a program here can do whatever the visitor can, so it must
// be the visitor's own.
void FrontDoor::share_page(Visit visit, Guest guest) {
  Proxy::Way way = proxy_->way(visit);
  const std::string& ns = way.access.key.ns;
  Result<void> fine = check_content_sender(visit, guest);
  if (fine && !(options_.is_sole_member && options_.is_sole_member(guest.user.name, ns)))
    fine = fail(
        Code::forbidden,
        "others may work in " + ns +
            ", and by this address its programs would share the dashboard's origin, where their "
            "scripts could speak for you. Open the dashboard as http://localhost with the same "
            "port (by kubectl port-forward or ssh -L from another machine), or send a token");
  if (!fine) return visit.writer->respond(refusal(visit, fine.error(), guest.user.name));
  take_way(std::move(visit), std::move(guest), std::move(way));
}

void FrontDoor::take_way(Visit visit, Guest guest, Proxy::Way way) {
  authorize(std::move(visit), std::move(guest), way.access,
            [this, take = std::move(way.take)](Visit visit, const Guest& guest) {
              if (visit.is_upgrade()) remember_stream(guest, visit.writer);
              strip_own_cookies(visit.request.headers);
              take(std::move(visit), guest);
            });
}

void FrontDoor::turn_away(const Visit& visit) {
  if (visit.wants_page()) return visit.writer->respond(login_.begin(visit));
  visit.writer->respond(refusal(visit, Error{Code::unauthorized, "No user detected."}));
}

Result<void> check_csrf(const Visit& visit, const Guest& guest, kube::WebCsrf needed) {
  if (visit.is_safe() || guest.by_token) return {};
  TRY(check_sender(visit));
  if (needed == kube::WebCsrf::origin || guest.secret.empty()) return {};
  const std::vector<std::string> cookies = cookie_values(visit.request.headers, kCsrfCookie);
  const std::string_view sent = visit.request.headers.get("X-XSRF-TOKEN");
  if (cookies.empty())
    return fail(Code::forbidden, "Could not find CSRF cookie XSRF-TOKEN in the request.");
  if (sent.empty())
    return fail(Code::forbidden, "Could not detect CSRF protection header X-XSRF-TOKEN.");
  if (std::ranges::find(cookies, sent) == cookies.end())
    return fail(Code::forbidden,
                "CSRF check failed. Token in cookie doesn't match token in header.");
  if (sent != csrf_token(guest.secret))
    return fail(Code::forbidden, "CSRF check failed. The token is not this session's.");
  return {};
}

void FrontDoor::enter(Visit visit, Guest guest, const kube::WebRoute& route) {
  Result<void> fine = check_csrf(visit, guest, route.csrf);
  if (fine && visit.is_upgrade()) fine = check_upgrade(visit, !guest.by_token);
  if (!fine) return visit.writer->respond(refusal(visit, fine.error(), guest.user.name));
  if (route.gate != kube::WebGate::object) return call(std::move(visit), std::move(guest), route);
  Result<kube::Access> access = route.access(visit.request);
  if (!access) return visit.writer->respond(refusal(visit, access.error(), guest.user.name));
  authorize(std::move(visit), std::move(guest), *access, [this, &route](Visit visit, Guest guest) {
    call(std::move(visit), std::move(guest), route);
  });
}

void FrontDoor::authorize(Visit visit, Guest guest, const kube::Access& access, Then then) {
  auto shared = std::make_shared<std::pair<Visit, Guest>>(std::move(visit), std::move(guest));
  options_.authorize(
      shared->second.user, access,
      [shared, access, then = std::move(then),
       home = net::OwnThread::current()](Result<kube::Decision> decision) {
        go_on(home, [shared, access, then, decision = std::move(decision)] {
          auto& [visit, guest] = *shared;
          if (decision && decision->allowed) return then(std::move(visit), std::move(guest));
          const Error error =
              decision ? Error{Code::forbidden,
                               "User '" + guest.user.name + "' is not authorized to " +
                                   access.verb + " " + access.resource.api_version() + "/" +
                                   access.resource.plural + " in namespace '" + access.key.ns + "'"}
                       : decision.error();
          visit.writer->respond(refusal(visit, error, guest.user.name));
        });
      });
}

void FrontDoor::call(Visit visit, Guest guest, const kube::WebRoute& route) {
  strip_own_cookies(visit.request.headers);
  visit.request.headers.remove("Authorization");
  if (visit.is_upgrade()) remember_stream(guest, visit.writer);
  kube::WebExchange exchange;
  exchange.request = std::move(visit.request);
  exchange.writer = std::move(visit.writer);
  exchange.user = std::move(guest.user);
  exchange.origin = std::move(visit.origin);
  if (!guest.secret.empty()) exchange.csrf_token = csrf_token(guest.secret);
  exchange.until = guest.until;
  route.handler(std::move(exchange));
}

void FrontDoor::remember_stream(const Guest& guest,
                                const std::shared_ptr<net::ResponseWriter>& writer) {
  if (guest.session.empty()) return;
  std::lock_guard lock(mutex_);
  if (streams_.size() > kMaxStreams)
    std::erase_if(streams_, [](const auto& one) { return one.second.expired(); });
  streams_.emplace(guest.session, writer);
}

void FrontDoor::end_streams(const std::vector<std::string>& sessions) {
  std::vector<std::shared_ptr<net::ResponseWriter>> ending;
  {
    std::lock_guard lock(mutex_);
    for (const std::string& session : sessions) {
      const auto [first, last] = streams_.equal_range(session);
      for (auto at = first; at != last; ++at)
        if (auto writer = at->second.lock()) ending.push_back(std::move(writer));
      streams_.erase(first, last);
    }
  }
  for (const auto& writer : ending) writer->abort();
}

}  // namespace hekla::gateway
