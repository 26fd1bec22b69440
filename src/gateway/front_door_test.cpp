#include "gateway/front_door.h"

#include <gtest/gtest.h>

#include "gateway/password.h"
#include "gateway/recorded_writer_test.h"
#include "gateway/request/cookies.h"

namespace hekla::gateway {
namespace {

// A platform's door with one account of each kind, requests as values.
class FrontDoorTest : public testing::Test {
 protected:
  struct TestClock final : Clock {
    WallTime wall_now{std::chrono::hours(24 * 365 * 56)};
    MonoTime mono_now{};
    WallTime wall() const override { return wall_now; }
    MonoTime mono() const override { return mono_now; }
    void pass(Nanos time) {
      wall_now += time;
      mono_now += time;
    }
  };

  void SetUp() override {
    LoginOptions options;
    options.clock = &clock;
    options.rng = &real_rng();
    options.work = [this](Task& task) {
      if (busy) return false;
      task();
      return true;
    };
    options.redeem = [](const std::string& code, FrontDoorOptions::UserDone done) {
      if (code != "once") return done(fail(Code::not_found, "no such link"));
      kube::User user;
      user.name = "ann@example.com";
      user.proof = kube::Proof::session;
      done(std::move(user));
    };
    login = std::make_unique<Login>(std::move(options), sessions);
    config = std::make_shared<DexConfig>();
    config->users = {{"ann@example.com", "ann", "1", *hash_password("right", real_rng(), 4), {}},
                     {"bob@example.com", "bob", "2", "garbage", {}}};
    if (has_accounts) login->set_config(config);
    FrontDoorOptions door_options;
    door_options.verify_token = [](const std::string& token, FrontDoorOptions::UserDone done) {
      if (token != "sa-token") return done(fail(Code::unauthorized, "no"));
      kube::User user;
      user.name = "system:serviceaccount:a:default-editor";
      user.proof = kube::Proof::token;
      done(std::move(user));
    };
    door_options.authorize = [this](const kube::User& user, const kube::Access& access,
                                    kube::Authorizer::Done done) {
      asked.push_back(user.name + " " + access.verb + " " + access.resource.plural + " " +
                      access.key.ns + "/" + access.key.name);
      done(kube::Decision{user.name == "ann@example.com"});
    };
    kube::WebRoute page = route("/");
    kube::WebRoute api = route("/jupyter/");
    kube::WebRoute runs = route("/apis/v2beta1");
    runs.csrf = kube::WebCsrf::origin;
    kube::WebRoute files = route("/files/");
    files.gate = kube::WebGate::object;
    files.access = [](const net::Request& request) -> Result<kube::Access> {
      if (request.path == "/files/") return fail(Code::not_found, "no file");
      return kube::Access{"get", kube::resources::config_maps, {"a", request.path.substr(7)}};
    };
    kube::WebRoute open = route("/open");
    open.gate = kube::WebGate::anybody;
    door_options.routes = {page, api, runs, files, open};
    auto made = FrontDoor::make(std::move(door_options), *login);
    ASSERT_TRUE(made);
    door = std::move(*made);
    sessions.on_change([this](const std::vector<std::string>& ended) { door->end_streams(ended); });
  }

  kube::WebRoute route(std::string prefix) {
    kube::WebRoute made;
    made.prefix = std::move(prefix);
    made.handler = [this](kube::WebExchange exchange) {
      exchange.writer->respond({200, {}, exchange.user.name});
      exchanges.push_back(std::move(exchange));
    };
    return made;
  }

  struct Answer {
    int status = 0;
    net::Headers headers;
    std::string body;
    std::string location() const { return std::string(headers.get("Location")); }
  };
  using Pairs = std::vector<std::pair<std::string, std::string>>;

  Answer ask(std::string method, std::string target, Pairs headers = {}, std::string body = {}) {
    net::Request request;
    request.method = std::move(method);
    request.target = std::move(target);
    request.body = std::move(body);
    request.remote_address = "127.0.0.1";
    request.headers.add("Host", "localhost:8080");
    for (auto& [name, value] : headers) request.headers.add(name, value);
    writer = std::make_shared<RecordedWriter>();
    door->serve(std::move(request), writer, scheme);
    if (!writer->response) return {};
    return {writer->response->status, writer->response->headers, writer->response->body};
  }

  static std::string cookie_of(const Answer& answer, std::string_view name) {
    for (std::string_view line : answer.headers.get_all("Set-Cookie"))
      if (line.starts_with(std::string(name) + "="))
        return std::string(line.substr(name.size() + 1, line.find(';') - name.size() - 1));
    return {};
  }

  // As a script does it: follow redirects to the form, post it, follow to the end.
  Answer log_in(const std::string& email, const std::string& password,
                const std::string& at = "/jupyter/?ns=a") {
    Answer answer = ask("GET", at, {{"Accept", "text/html"}});
    state_cookie = cookie_of(answer, kStateCookie);
    while (answer.status == 302) {
      form = answer.location();
      answer = ask("GET", form);
    }
    EXPECT_EQ(answer.status, 200);
    answer = ask("POST", form, {},
                 "login=" + net::url_encode(email) + "&password=" + net::url_encode(password));
    if (answer.status != 303) return answer;
    callback = answer.location();
    answer = ask("GET", callback, {{"Cookie", std::string(kStateCookie) + "=" + state_cookie}});
    secret = cookie_of(answer, kSessionCookie);
    return answer;
  }
  std::string session_cookie() const { return std::string(kSessionCookie) + "=" + secret; }

  TestClock clock;
  Sessions sessions{{}, clock, real_rng()};
  std::unique_ptr<Login> login;
  std::shared_ptr<DexConfig> config;
  bool has_accounts = true;  // read before the first request
  std::unique_ptr<FrontDoor> door;
  std::vector<kube::WebExchange> exchanges;
  std::vector<std::string> asked;
  std::shared_ptr<RecordedWriter> writer;
  bool busy = false;
  std::string scheme = "http";
  std::string form, callback, state_cookie, secret;
};

TEST_F(FrontDoorTest, LogsInAsScriptsDoIt) {
  const Answer answer = log_in("ann@example.com", "right");
  EXPECT_EQ(answer.status, 302);
  EXPECT_EQ(answer.location(), "/jupyter/?ns=a");
  EXPECT_TRUE(form.starts_with("/dex/auth/local/login?"));
  ASSERT_FALSE(secret.empty());
  EXPECT_EQ(cookie_of(answer, kOldSessionCookie), secret);
  for (std::string_view line : answer.headers.get_all("Set-Cookie"))
    EXPECT_TRUE(line.starts_with(kCsrfCookie) || line.contains("HttpOnly; SameSite=Lax")) << line;
  const Answer page = ask("GET", "/jupyter/", {{"Cookie", session_cookie()}});
  EXPECT_EQ(page.body, "ann@example.com");
  EXPECT_EQ(exchanges.back().user.proof, kube::Proof::session);
  EXPECT_EQ(exchanges.back().csrf_token, csrf_token(secret));
  EXPECT_EQ(ask("GET", "/jupyter/", {{"Cookie", "authservice_session=" + secret}}).status, 200);
  EXPECT_TRUE(ask("GET", "/hekla/session", {{"Cookie", session_cookie()}})
                  .body.contains("\"user\":\"ann@example.com\""));
}

TEST_F(FrontDoorTest, RefusesWrongPasswords) {
  const Answer answer = log_in("ann@example.com", "wrong");
  EXPECT_EQ(answer.status, 401);
  EXPECT_TRUE(answer.body.contains("id=\"login-error\""));
  EXPECT_TRUE(answer.body.contains("Invalid Email Address and password."));
  EXPECT_EQ(log_in("nobody@example.com", "right").status, 401);
  EXPECT_EQ(log_in("bob@example.com", "garbage").status, 401);
  EXPECT_EQ(log_in("ann@example.com", "").status, 401);
  busy = true;
  EXPECT_EQ(log_in("ann@example.com", "right").status, 503);
}

TEST_F(FrontDoorTest, GuessingBecomesSlow) {
  for (int i = 0; i < 5; ++i) EXPECT_EQ(log_in("ann@example.com", "wrong").status, 401);
  const Answer slow = log_in("ann@example.com", "right");
  EXPECT_EQ(slow.status, 429);
  EXPECT_EQ(slow.headers.get("Retry-After"), "1");
  clock.pass(std::chrono::seconds(1));
  EXPECT_EQ(log_in("ann@example.com", "right").status, 302);
}

TEST_F(FrontDoorTest, ALoginBelongsToTheBrowserThatBeganIt) {
  log_in("ann@example.com", "right");
  // The code was used.
  EXPECT_EQ(
      cookie_of(ask("GET", callback, {{"Cookie", std::string(kStateCookie) + "=" + state_cookie}}),
                kSessionCookie),
      "");
  Answer answer = ask("GET", "/", {{"Accept", "text/html"}});
  while (answer.status == 302) answer = ask("GET", form = answer.location());
  EXPECT_EQ(ask("POST", form, {{"Origin", "http://evil.example"}},
                "login=ann%40example.com&password=right")
                .status,
            403);
  answer = ask("POST", form, {}, "login=ann%40example.com&password=right");
  ASSERT_EQ(answer.status, 303);
  EXPECT_EQ(cookie_of(ask("GET", answer.location()), kSessionCookie), "");  // another browser
}

TEST_F(FrontDoorTest, SeveralLoginsOfABrowserDoNotEndEachOther) {
  Answer answer = ask("GET", "/jupyter/", {{"Accept", "text/html"}});
  const std::string kept = std::string(kStateCookie) + "=" + cookie_of(answer, kStateCookie);
  while (answer.status == 302) answer = ask("GET", form = answer.location(), {{"Cookie", kept}});
  // Another tab, and whatever a page loads beside itself, come in between.
  const Answer other = ask("GET", "/volumes/", {{"Accept", "text/html"}, {"Cookie", kept}});
  EXPECT_EQ(std::string(kStateCookie) + "=" + cookie_of(other, kStateCookie), kept);
  const std::string accepted = "image/avif,image/webp,*/*;q=0.8";
  EXPECT_EQ(ask("GET", "/favicon.ico", {{"Accept", accepted}, {"Cookie", kept}}).status, 401);
  answer = ask("POST", form, {{"Cookie", kept}}, "login=ann%40example.com&password=right");
  ASSERT_EQ(answer.status, 303);
  answer = ask("GET", answer.location(), {{"Cookie", kept}});
  EXPECT_NE(cookie_of(answer, kSessionCookie), "");
  EXPECT_EQ(answer.location(), "/jupyter/");
  // A cookie that no login has given is not kept.
  EXPECT_NE(
      cookie_of(ask("GET", "/jupyter/",
                    {{"Accept", "text/html"}, {"Cookie", std::string(kStateCookie) + "=planted"}}),
                kStateCookie),
      "planted");
}

TEST_F(FrontDoorTest, EachLoginIsANewSession) {
  log_in("ann@example.com", "right");
  const std::string first = secret;
  Answer answer = ask("GET", "/hekla/login?code=once", {{"Cookie", session_cookie()}});
  const std::string second = cookie_of(answer, kSessionCookie);
  EXPECT_NE(first, second);
  EXPECT_EQ(ask("GET", "/jupyter/", {{"Cookie", session_cookie()}}).status, 302);
  // A cookie that somebody has planted is no session.
  EXPECT_EQ(ask("GET", "/jupyter/",
                {{"Cookie", std::string(kSessionCookie) + "=" + std::string(43, 'a')}})
                .status,
            302);
}

TEST_F(FrontDoorTest, SessionsEnd) {
  log_in("ann@example.com", "right");
  clock.pass(std::chrono::hours(23));
  EXPECT_EQ(ask("GET", "/jupyter/", {{"Cookie", session_cookie()}}).status, 200);
  clock.pass(std::chrono::hours(25));  // idle
  EXPECT_EQ(ask("GET", "/jupyter/", {{"Cookie", session_cookie()}}).status, 302);
  log_in("ann@example.com", "right");
  for (int i = 0; i < 8; ++i) {
    clock.pass(std::chrono::hours(20));
    EXPECT_EQ(ask("GET", "/jupyter/", {{"Cookie", session_cookie()}}).status, 200) << i;
  }
  clock.pass(std::chrono::hours(20));  // seven days
  EXPECT_EQ(ask("GET", "/jupyter/", {{"Cookie", session_cookie()}}).status, 302);
}

TEST_F(FrontDoorTest, LogoutEndsSessionAndStreams) {
  log_in("ann@example.com", "right");
  ask("GET", "/jupyter/stream",
      {{"Cookie", session_cookie()},
       {"Connection", "Upgrade"},
       {"Upgrade", "websocket"},
       {"Origin", "http://localhost:8080"}});
  const std::shared_ptr<RecordedWriter> stream = writer;
  const Answer out = ask("GET", "/oauth2/sign_out?rd=//evil", {{"Cookie", session_cookie()}});
  EXPECT_EQ(out.status, 302);
  EXPECT_EQ(out.location(), "/");
  EXPECT_TRUE(stream->aborted);
  EXPECT_EQ(ask("GET", "/jupyter/", {{"Cookie", session_cookie()}}).status, 302);
  log_in("ann@example.com", "right");
  const Answer old = ask("POST", "/authservice/logout", {{"Authorization", "Bearer " + secret}});
  EXPECT_EQ(old.status, 201);
  EXPECT_EQ(old.body, "{\"afterLogoutURL\":\"/\"}\n");
  EXPECT_EQ(ask("POST", "/authservice/logout", {}).status, 401);
}

struct StartingFrontDoorTest : FrontDoorTest {
  StartingFrontDoorTest() { has_accounts = false; }
};

TEST_F(StartingFrontDoorTest, NoPasswordIsWrongBeforeTheAccountsAreRead) {
  for (int i = 0; i < 10; ++i) EXPECT_EQ(log_in("ann@example.com", "right").status, 503);
  login->set_config(config);
  EXPECT_EQ(log_in("ann@example.com", "right").status, 302);
}

TEST_F(FrontDoorTest, RemovedUsersAreLoggedOut) {
  log_in("ann@example.com", "right");
  login->set_config(std::make_shared<DexConfig>());
  EXPECT_EQ(ask("GET", "/jupyter/", {{"Cookie", session_cookie()}}).status, 302);
}

TEST_F(FrontDoorTest, ASessionIsRevokedByItsOwnerAlone) {
  log_in("ann@example.com", "right");
  const std::string mine = sessions.of_user("ann@example.com")[0].id;
  kube::User bob;
  bob.name = "bob@example.com";
  const std::string other = std::string(kSessionCookie) + "=" + sessions.begin(bob, "local");
  const std::string token = csrf_token(other.substr(other.find('=') + 1));
  EXPECT_EQ(
      ask("DELETE", "/hekla/sessions/" + mine, {{"Cookie", other}, {"X-XSRF-TOKEN", token}}).status,
      404);
  EXPECT_EQ(ask("DELETE", "/hekla/sessions/" + mine, {{"Cookie", session_cookie()}}).status, 403);
  EXPECT_EQ(ask("DELETE", "/hekla/sessions/" + mine,
                {{"Cookie", session_cookie()}, {"X-XSRF-TOKEN", csrf_token(secret)}})
                .status,
            200);
  EXPECT_EQ(ask("GET", "/jupyter/", {{"Cookie", session_cookie()}}).status, 302);
}

TEST_F(FrontDoorTest, StrangersAreSentToTheLoginOrRefused) {
  EXPECT_TRUE(
      ask("GET", "/jupyter/", {{"Accept", "text/html"}}).location().starts_with("/dex/auth?"));
  for (const auto& [target, headers] : std::vector<std::pair<std::string, Pairs>>{
           {"/jupyter/", {{"Accept", "application/json"}}},
           {"/jupyter/api/config", {}},
           {"/apis/v2beta1/runs", {}},
           {"/jupyter/", {{"X-Requested-With", "XMLHttpRequest"}}},
           {"/jupyter/", {{"Sec-Fetch-Mode", "cors"}}},
           {"/jupyter/", {{"Upgrade", "websocket"}}}}) {
    EXPECT_EQ(ask("GET", target, headers).status, 401) << target;
  }
  EXPECT_EQ(ask("POST", "/jupyter/", {}).status, 401);
  EXPECT_EQ(ask("GET", "/open").status, 200);
  EXPECT_EQ(exchanges.size(), 1u);
  EXPECT_EQ(exchanges[0].user.name, "");
  EXPECT_EQ(ask("GET", "/x%2fy").status, 400);
  EXPECT_EQ(ask("GET", "/jupyter", {{"Authorization", "Bearer sa-token"}}).location(), "/jupyter/");
}

TEST_F(FrontDoorTest, NobodyIsWhoTheySayTheyAre) {
  log_in("ann@example.com", "right");
  for (std::string_view name : {"kubeflow-userid", "kubeflow_userid", "X-Auth-Request-Email"}) {
    EXPECT_EQ(ask("GET", "/jupyter/api/x", {{std::string(name), "ann@example.com"}}).status, 401);
    ask("GET", "/jupyter/",
        {{std::string(name), "root@example.com"}, {"Cookie", session_cookie()}});
    EXPECT_EQ(exchanges.back().user.name, "ann@example.com");
    EXPECT_FALSE(exchanges.back().request.headers.has(name));
    EXPECT_FALSE(exchanges.back().request.headers.has("Cookie"));
  }
}

TEST_F(FrontDoorTest, TokensOfServiceAccountsWork) {
  const Pairs token{{"Authorization", "bearer sa-token"}};
  EXPECT_EQ(ask("GET", "/jupyter/api/x", token).body, "system:serviceaccount:a:default-editor");
  EXPECT_FALSE(exchanges.back().request.headers.has("Authorization"));
  EXPECT_EQ(ask("POST", "/jupyter/api/x", token).status, 200);
  EXPECT_EQ(ask("GET", "/jupyter/api/x", {{"Authorization", "Bearer other"}}).status, 401);
  EXPECT_EQ(ask("GET", "/files/x", token).status, 403);
}

TEST_F(FrontDoorTest, ChangesNeedTheSessionsToken) {
  log_in("ann@example.com", "right");
  const std::string good = csrf_token(secret);
  auto change = [&](const std::string& cookie, const std::string& header, Pairs more = {}) {
    Pairs headers{{"Cookie", session_cookie() + (cookie.empty() ? "" : "; XSRF-TOKEN=" + cookie)}};
    if (!header.empty()) headers.emplace_back("X-XSRF-TOKEN", header);
    for (auto& one : more) headers.push_back(one);
    return ask("POST", "/jupyter/api/x", headers);
  };
  EXPECT_EQ(change(good, good).status, 200);
  EXPECT_TRUE(
      change("", good).body.contains("Could not find CSRF cookie XSRF-TOKEN in the request."));
  EXPECT_TRUE(
      change(good, "").body.contains("Could not detect CSRF protection header X-XSRF-TOKEN."));
  EXPECT_EQ(change(good, "x").status, 403);
  EXPECT_EQ(change("x", "x").status, 403);  // equal, but not this session's
  EXPECT_EQ(change(good, good, {{"Origin", "http://evil.example"}}).status, 403);
  EXPECT_EQ(change(good, good, {{"Sec-Fetch-Site", "cross-site"}}).status, 403);
  EXPECT_EQ(change(good, good, {{"Referer", "http://localhost:8080/notebook/a/nb/"}}).status, 403);
  // The pipelines SDK knows no such header.
  EXPECT_EQ(ask("POST", "/apis/v2beta1/runs", {{"Cookie", session_cookie()}}).status, 200);
  EXPECT_EQ(
      ask("POST", "/apis/v2beta1/runs", {{"Cookie", session_cookie()}, {"Origin", "null"}}).status,
      403);
}

TEST_F(FrontDoorTest, ObjectsAuthorise) {
  log_in("ann@example.com", "right");
  EXPECT_EQ(ask("GET", "/files/x", {{"Cookie", session_cookie()}}).status, 200);
  EXPECT_EQ(asked, std::vector<std::string>{"ann@example.com get configmaps a/x"});
  kube::User bob;
  bob.name = "bob@example.com";
  const std::string other = std::string(kSessionCookie) + "=" + sessions.begin(bob, "link");
  exchanges.clear();
  const Answer refused =
      ask("GET", "/files/x", {{"Cookie", other}, {"Accept", "application/json"}});
  EXPECT_EQ(refused.status, 403);
  EXPECT_TRUE(refused.body.contains(
      "User 'bob@example.com' is not authorized to get v1/configmaps in namespace 'a'"));
  EXPECT_EQ(ask("GET", "/files/", {{"Cookie", other}}).status, 404);
  EXPECT_TRUE(exchanges.empty());
}

TEST_F(FrontDoorTest, UpgradesOfOtherOriginsAreRefused) {
  log_in("ann@example.com", "right");
  exchanges.clear();
  const Pairs foreign{{"Cookie", session_cookie()},
                      {"Connection", "Upgrade"},
                      {"Upgrade", "WebSocket"},
                      {"Origin", "http://evil.example"}};
  EXPECT_EQ(ask("GET", "/jupyter/stream", foreign).status, 403);
  EXPECT_EQ(ask("GET", "/jupyter/stream", {{"Cookie", session_cookie()}, {"Upgrade", "websocket"}})
                .status,
            403);
  EXPECT_TRUE(exchanges.empty());
  EXPECT_EQ(ask("GET", "/jupyter/stream",
                {{"Authorization", "Bearer sa-token"}, {"Upgrade", "websocket"}})
                .status,
            200);
}

TEST_F(FrontDoorTest, LinksWorkThroughTheirCode) {
  Answer answer = ask("GET", "/hekla/login?code=once&rd=%2Fjupyter%2F");
  EXPECT_EQ(answer.location(), "/jupyter/");
  EXPECT_NE(cookie_of(answer, kSessionCookie), "");
  answer = ask("GET", "/hekla/login?code=twice");
  EXPECT_EQ(answer.status, 410);
  EXPECT_EQ(cookie_of(answer, kSessionCookie), "");
  EXPECT_EQ(ask("GET", "/hekla/login?code=once&rd=%2F%2Fevil").location(), "/");
}

TEST_F(FrontDoorTest, CookiesAreSecureWhereTheConnectionIs) {
  for (const bool tls : {false, true}) {
    scheme = tls ? "https" : "http";
    const Answer answer = ask("GET", "/hekla/login?code=once");
    const auto cookies = answer.headers.get_all("Set-Cookie");
    EXPECT_GE(cookies.size(), 3u);
    for (std::string_view line : cookies)
      EXPECT_EQ(line.contains("; Secure"), tls) << line;  // a page over plain http must work
  }
}

TEST_F(FrontDoorTest, OurPagesAreInNobodysFrameAndTellNobodyWhereTheyWere) {
  for (const char* target : {"/", "/dex/auth/local/login?state=x", "/hekla/login?code=twice",
                             "/files/x", "/oauth2/start?rd=%2F"}) {
    const Answer answer = ask("GET", target, {{"Accept", "text/html"}});
    const std::string_view policy = answer.headers.get("Content-Security-Policy");
    EXPECT_TRUE(policy.contains("frame-ancestors 'none'")) << target;
    EXPECT_TRUE(policy.contains("default-src 'none'")) << target;
    EXPECT_EQ(answer.headers.get("Referrer-Policy"), "same-origin") << target;
    EXPECT_EQ(answer.headers.get("X-Content-Type-Options"), "nosniff") << target;
    EXPECT_EQ(answer.headers.get("Cache-Control"), "no-store") << target;
  }
}

TEST_F(FrontDoorTest, SessionsSurviveARestartAsDigests) {
  log_in("ann@example.com", "right");
  const std::string dumped = json::serialize(sessions.dump());
  EXPECT_FALSE(dumped.contains(secret));
  Sessions other{{}, clock, real_rng()};
  other.load(sessions.dump());
  ASSERT_TRUE(other.find(secret));
  EXPECT_EQ(other.find(secret)->session.user.name, "ann@example.com");
  EXPECT_EQ(other.find(secret)->session.user.proof, kube::Proof::session);
}

}  // namespace
}  // namespace hekla::gateway
