#include "gateway/login/login.h"

#include <algorithm>
#include <array>

#include "base/crypto.h"
#include "gateway/login/login_page.h"
#include "gateway/password.h"
#include "gateway/request/answers.h"
#include "gateway/request/content_origin.h"
#include "gateway/request/cookies.h"
#include "gateway/request/return_path.h"
#include "model/time.h"
#include "net/text.h"

namespace hekla::gateway {
namespace {

constexpr std::size_t kMaxAttempts = 10'000;
constexpr Nanos kAttemptLife = std::chrono::minutes(15);
constexpr std::string_view kWrong = "Invalid Email Address and password.";
constexpr std::string_view kStarting = "The platform is starting. Try again in a moment.";
constexpr std::string_view kLoginPath = "/dex/auth/local/login";

void clear_cookie(net::Headers& headers, std::string_view name, bool secure) {
  headers.add("Set-Cookie",
              set_cookie({.name = name, .value = "", .secure = secure, .max_age_seconds = 0}));
}

std::string account_key(std::string_view email) {
  std::string key = "account ";
  for (char c : email.substr(0, 256)) key += net::to_lower(c);
  return key;
}

std::string time_text(WallTime time) { return model::format_rfc3339(time); }

}  // namespace

kube::User local_user(const DexUser& user) {
  kube::User made;
  made.name = user.email;
  made.uid = user.user_id;
  made.groups = user.groups;
  std::erase_if(made.groups, [](const std::string& group) { return group.starts_with("system:"); });
  made.groups.emplace_back("system:authenticated");
  made.proof = kube::Proof::session;
  return made;
}

Login::Login(LoginOptions options, Sessions& sessions)
    : options_(std::move(options)),
      sessions_(sessions),
      guesses_(GuessLimit::Options{}),
      codes_(*options_.clock, *options_.rng) {}

std::shared_ptr<const DexConfig> Login::config() const {
  std::lock_guard lock(mutex_);
  return config_;
}

void Login::set_config(std::shared_ptr<const DexConfig> config) {
  {
    std::lock_guard lock(mutex_);
    config_ = config;
  }
  has_accounts_ = true;
  // Users that were removed are logged out.
  sessions_.end_where([&](const Session& session) {
    return session.connector == "local" && !config->find(session.user.name);
  });
  const DexUser* usual = config->find(kDefaultEmail);
  if (!usual) {
    default_password_ = false;
    return;
  }
  Task task = [this, hash = usual->hash] {
    default_password_ = verify_password(kDefaultPassword, hash);
  };
  if (!options_.work(task)) default_password_ = true;  // rather one banner too many
}

bool Login::owns(std::string_view path) {
  static constexpr std::array<std::string_view, 6> kExact{
      "/logout",      "/login/oidc",    "/authservice/logout",
      "/hekla/login", "/hekla/session", "/hekla/sessions"};
  return std::ranges::find(kExact, path) != kExact.end() || path.starts_with("/oauth2/") ||
         path.starts_with("/dex/") || path.starts_with("/hekla/sessions/");
}

bool Login::claims(std::string_view prefix) {
  static constexpr std::array<std::string_view, 6> kOwn{"/logout", "/login",  "/authservice",
                                                        "/hekla",  "/oauth2", "/dex"};
  return std::ranges::any_of(kOwn, [&](std::string_view own) {
    return own.starts_with(prefix) ||
           (prefix.starts_with(own) && (prefix.size() == own.size() || prefix[own.size()] == '/'));
  });
}

std::optional<Login::Known> Login::known(const net::Headers& headers) {
  for (std::string_view name : {kSessionCookie, kOldSessionCookie})
    for (const std::string& secret : cookie_values(headers, name))
      if (std::optional<Sessions::Found> found = sessions_.find(secret))
        return Known{std::move(*found), secret};
  return std::nullopt;
}

net::Response Login::begin(const Visit& visit) { return begin_at(visit, visit.path.target()); }

net::Response Login::begin_at(const Visit& visit, std::string_view return_to) {
  const std::string state = random_secret(*options_.rng);
  std::string cookie = random_secret(*options_.rng);
  {
    std::lock_guard lock(mutex_);
    // A browser may be at several logins at once: in two tabs, or by what a page loads beside
    // itself.
    for (const std::string& kept : cookie_values(visit.request.headers, kStateCookie))
      if (std::ranges::any_of(attempts_,
                              [&](const auto& one) { return one.second.cookie == kept; }))
        cookie = kept;
    const MonoTime now = options_.clock->mono();
    if (attempts_.size() >= kMaxAttempts)
      std::erase_if(attempts_,
                    [&](const auto& one) { return now - one.second.begun > kAttemptLife; });
    while (attempts_.size() >= kMaxAttempts)
      attempts_.erase(std::ranges::min_element(attempts_, {},
                                               [](const auto& one) { return one.second.begun; }));
    attempts_[state] = Attempt{return_path(return_to), cookie, {}, {}, {}, now};
  }
  net::Response response =
      redirect(302,
               "/dex/auth?client_id=kubeflow-oidc-authservice&redirect_uri=%2Foauth2%2Fcallback"
               "&response_type=code&scope=profile+email+groups+openid&state=" +
                   state);
  response.headers.add("Set-Cookie", set_cookie({.name = kStateCookie,
                                                 .value = cookie,
                                                 .secure = visit.secure(),
                                                 .max_age_seconds = 900}));
  return response;
}

bool Login::is_attempt(const std::string& state) {
  std::lock_guard lock(mutex_);
  const auto at = attempts_.find(state);
  return at != attempts_.end() && options_.clock->mono() - at->second.begun <= kAttemptLife;
}

void Login::serve(Visit visit) {
  const std::string& path = visit.path.text;
  const net::Query query = net::Query::parse(visit.path.query);
  const bool post = visit.request.method == "POST";
  auto answer = [&](net::Response response) { visit.writer->respond(std::move(response)); };
  const std::string state(query.get("state"));
  if (path == kLoginPath && post) return check_password(std::move(visit));
  if (path == "/hekla/login") return redeem_link(std::move(visit));
  if (path == kStylePath) {
    net::Response style = html_answer(200, std::string(style_sheet()));
    style.headers.set("Content-Type", "text/css; charset=utf-8");
    style.headers.set("Cache-Control", "public, max-age=3600");
    return answer(std::move(style));
  }
  if (path == "/authservice/logout") return answer(old_sign_out(visit));
  if (path == "/hekla/session") return answer(session_info(visit));
  if (path.starts_with("/hekla/sessions")) return answer(session_list(visit));
  if (path == "/oauth2/sign_out" || path == "/logout")
    return answer(sign_out(visit, query.get("rd")));
  if (!visit.is_safe())
    return answer(refusal(visit, Error{Code::method_not_allowed, "only GET here"}));
  if (path == "/oauth2/start" || path == "/oauth2/sign_in")
    return answer(begin_at(visit, query.get("rd")));
  if (path == "/oauth2/auth") {
    const bool known_here = known(visit.request.headers).has_value();
    return answer(json_answer(known_here ? 202 : 401, json::Object{}));
  }
  if (path == "/oauth2/userinfo") return answer(session_info(visit));
  if (path == "/oauth2/callback" || path == "/login/oidc") return answer(finish(visit));
  if (path == "/dex/healthz") {
    net::Response healthy = html_answer(200, "Health check passed");
    healthy.headers.set("Content-Type", "text/plain");
    return answer(std::move(healthy));
  }
  if (path == "/dex/auth" || path == "/dex/auth/local") {
    if (!is_attempt(state)) return answer(begin_at(visit, "/"));
    return answer(redirect(302, path == "/dex/auth"
                                    ? "/dex/auth/local?state=" + state
                                    : std::string(kLoginPath) + "?back=&state=" + state));
  }
  if (path == kLoginPath) {
    if (!is_attempt(state)) return answer(begin_at(visit, "/"));
    return answer(form(visit, 200, state, {}, {}));
  }
  answer(refusal(visit, Error{Code::not_found, "no page of the login has this address"}));
}

net::Response Login::form(const Visit& visit, int status, const std::string& state,
                          std::string error, std::string email) const {
  LoginPage page;
  page.action = std::string(kLoginPath) + "?back=&state=" + state;
  page.error = std::move(error);
  page.email = std::move(email);
  page.chinese = visit.request.headers.get("Accept-Language").starts_with("zh");
  page.passwords = config()->passwords;
  net::Response response = login_page(status, page);
  // Browsers hold a form's redirects to the policy too, and a login for a program ends there.
  set_page_security(response.headers, content_origin_of(visit.origin));
  return response;
}

void Login::check_password(Visit visit) {
  const net::Query sent = net::Query::parse(visit.request.body);
  const std::string state(net::Query::parse(visit.path.query).get("state"));
  const std::string email(sent.get("login")), password(sent.get("password"));
  auto refuse = [&](int status, std::string text) {
    visit.writer->respond(form(visit, status, state, std::move(text), email));
  };
  if (!is_attempt(state)) return visit.writer->respond(begin_at(visit, "/"));
  if (Result<void> sender = check_sender(visit); !sender)
    return visit.writer->respond(refusal(visit, sender.error()));
  if (!has_accounts_) return refuse(503, std::string(kStarting));
  if (!config()->passwords || email.empty() || email.size() > 254 || password.empty() ||
      password.size() > 1024)
    return refuse(401, std::string(kWrong));
  const MonoTime now = options_.clock->mono();
  const std::string account = account_key(email),
                    address = "address " + visit.request.remote_address;
  const Nanos wait = std::max(guesses_.wait(account, now), guesses_.wait(address, now));
  if (wait > Nanos{}) {
    const auto seconds = std::chrono::ceil<std::chrono::seconds>(wait).count();
    net::Response busy =
        form(visit, 429, state,
             "Too many attempts. Try again in " + std::to_string(seconds) + " s.", email);
    busy.headers.set("Retry-After", std::to_string(seconds));
    return visit.writer->respond(std::move(busy));
  }
  auto shared = std::make_shared<Visit>(std::move(visit));
  Task task = [this, shared, state, email, password] {
    const std::shared_ptr<const DexConfig> config = this->config();
    const DexUser* user = config->find(email);
    const bool right =
        user ? verify_password(password, user->hash) : (verify_nothing(password), false);
    judge(*shared, state, email, right);
  };
  if (!options_.work(task))
    shared->writer->respond(
        form(*shared, 503, state, "Too many people are logging in. Try again in a moment.", email));
}

void Login::judge(const Visit& visit, const std::string& state, const std::string& email,
                  bool right) {
  const std::string account = account_key(email),
                    address = "address " + visit.request.remote_address;
  const std::shared_ptr<const DexConfig> config = this->config();
  const DexUser* user = config->find(email);
  if (!right || !user) {
    guesses_.failed(account, options_.clock->mono());
    guesses_.failed(address, options_.clock->mono());
    return visit.writer->respond(form(visit, 401, state, std::string(kWrong), email));
  }
  guesses_.succeeded(account);
  guesses_.succeeded(address);
  const std::string code = random_secret(*options_.rng);
  {
    std::lock_guard lock(mutex_);
    const auto at = attempts_.find(state);
    if (at == attempts_.end()) return visit.writer->respond(redirect(303, "/"));
    at->second.code = code;
    at->second.user = local_user(*user);
    at->second.connector = "local";
  }
  visit.writer->respond(redirect(303, "/oauth2/callback?code=" + code + "&state=" + state));
}

net::Response Login::finish(const Visit& visit) {
  const net::Query query = net::Query::parse(visit.path.query);
  std::optional<Attempt> attempt;
  {
    std::lock_guard lock(mutex_);
    const auto at = attempts_.find(std::string(query.get("state")));
    if (at != attempts_.end() && at->second.user && !at->second.code.empty()) {
      attempt = std::move(at->second);
      attempts_.erase(at);  // a code works once
    }
  }
  const std::vector<std::string> cookies = cookie_values(visit.request.headers, kStateCookie);
  // The browser that ends the login must be the one that began it.
  if (!attempt || attempt->code != query.get("code") ||
      std::ranges::find(cookies, attempt->cookie) == cookies.end())
    return begin_at(visit, "/");
  return start_session(visit, std::move(*attempt->user), attempt->connector, attempt->return_to);
}

net::Response Login::start_session(const Visit& visit, kube::User user, std::string connector,
                                   const std::string& return_to) {
  if (std::optional<Known> before = known(visit.request.headers)) sessions_.end(before->secret);
  const std::string secret = sessions_.begin(std::move(user), std::move(connector));
  net::Response response = redirect(302, return_to);
  for (std::string_view name : {kSessionCookie, kOldSessionCookie})
    response.headers.add("Set-Cookie", set_cookie({.name = name,
                                                   .value = secret,
                                                   .secure = visit.secure(),
                                                   .max_age_seconds = 7 * 86400}));
  response.headers.add("Set-Cookie", set_cookie({.name = kCsrfCookie,
                                                 .value = csrf_token(secret),
                                                 .secure = visit.secure(),
                                                 .http_only = false,
                                                 .same_site = "Strict"}));
  clear_cookie(response.headers, kStateCookie, visit.secure());
  return response;
}

net::Response Login::sign_out(const Visit& visit, std::string_view return_to) {
  if (std::optional<Known> session = known(visit.request.headers)) sessions_.end(session->secret);
  net::Response response = redirect(302, return_path(return_to.empty() ? "/" : return_to));
  for (std::string_view name : {kSessionCookie, kOldSessionCookie})
    clear_cookie(response.headers, name, visit.secure());
  return response;
}

net::Response Login::old_sign_out(const Visit& visit) {
  if (visit.request.method != "POST")
    return refusal(visit, Error{Code::method_not_allowed, "only POST here"});
  std::optional<Known> session = known(visit.request.headers);
  const std::string_view bearer = visit.request.headers.get("Authorization");
  if (!session && bearer.starts_with("Bearer "))
    if (std::optional<Sessions::Found> found = sessions_.find(bearer.substr(7)))
      session = Known{std::move(*found), std::string(bearer.substr(7))};
  if (!session) return refusal(visit, Error{Code::unauthorized, "nobody is logged in"});
  sessions_.end(session->secret);
  net::Response response = json_answer(201, json::Object{{"afterLogoutURL", "/"}});
  for (std::string_view name : {kSessionCookie, kOldSessionCookie})
    clear_cookie(response.headers, name, visit.secure());
  return response;
}

net::Response Login::session_info(const Visit& visit) {
  const std::optional<Known> session = known(visit.request.headers);
  if (!session) return json_answer(401, json::Object{{"error", "nobody is logged in"}});
  const Session& found = session->found.session;
  json::Array groups;
  for (const std::string& group : found.user.groups)
    if (!group.starts_with("system:")) groups.emplace_back(group);
  return json_answer(200, json::Object{{"user", found.user.name},
                                       {"email", found.user.name},
                                       {"groups", std::move(groups)},
                                       {"connector", found.connector},
                                       {"since", time_text(found.created)},
                                       {"until", time_text(session->found.until)},
                                       {"csrfToken", csrf_token(session->secret)},
                                       {"defaultPassword", has_default_password()},
                                       {"logoutUrl", "/oauth2/sign_out"}});
}

net::Response Login::session_list(const Visit& visit) {
  const std::optional<Known> session = known(visit.request.headers);
  if (!session) return refusal(visit, Error{Code::unauthorized, "nobody is logged in"});
  const std::string& user = session->found.session.user.name;
  if (visit.request.method == "DELETE") {
    if (Result<void> sender = check_sender(visit); !sender) return refusal(visit, sender.error());
    if (visit.request.headers.get("X-XSRF-TOKEN") != csrf_token(session->secret))
      return refusal(visit, Error{Code::forbidden, "CSRF check failed."});
    const std::string id(segment(visit.path.text, 2));
    if (!sessions_.end_of_user(user, id))
      return refusal(visit, Error{Code::not_found, "you have no such session"});
    return json_answer(200, json::Object{{"success", true}});
  }
  json::Array all;
  for (const Sessions::Found& one : sessions_.of_user(user))
    all.push_back(json::Object{{"id", one.id},
                               {"since", time_text(one.session.created)},
                               {"used", time_text(one.session.used)},
                               {"until", time_text(one.until)},
                               {"connector", one.session.connector},
                               {"this", one.id == session->found.id}});
  return json_answer(200, json::Object{{"sessions", std::move(all)}});
}

void Login::redeem_link(Visit visit) {
  const net::Query query = net::Query::parse(visit.path.query);
  const std::string return_to = return_path(query.has("rd") ? query.get("rd") : "/");
  std::string code(query.get("code"));
  if (visit.request.method != "GET" || code.empty() || code.size() > 64 || !options_.redeem)
    return visit.writer->respond(begin_at(visit, return_to));
  auto shared = std::make_shared<Visit>(std::move(visit));
  options_.redeem(std::move(code), [this, shared, return_to](Result<kube::User> user) {
    if (user)
      return shared->writer->respond(start_session(*shared, std::move(*user), "link", return_to));
    shared->writer->respond(message_page(
        user.error().code == Code::not_found ? 410 : http_status_of(user.error().code),
        "This link has been used or is too old",
        "A link works once, and for two minutes. Type hekla dashboard for a new one, or log in.",
        "<a class=\"button\" href=\"/oauth2/start?rd=%2F\">Login</a>"));
  });
}

}  // namespace hekla::gateway
