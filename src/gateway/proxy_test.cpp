#include "gateway/proxy.h"

#include "gateway/recorded_writer_test.h"
#include "gateway/request/content_origin.h"
#include "gateway/request/cookies.h"
#include "gateway/routes/example_routes_test.h"

namespace hekla::gateway {
namespace {

// A door with users' programs behind it: requests as values in, what would be sent on as values
// out.
class ProxyTest : public testing::Test {
 protected:
  struct TestClock final : Clock {
    WallTime wall_now{std::chrono::hours(24 * 365 * 56)};
    MonoTime mono_now{};
    WallTime wall() const override { return wall_now; }
    MonoTime mono() const override { return mono_now; }
  };
  struct Sent {
    net::Request request;
    net::Forwarding how;
  };
  using Pairs = std::vector<std::pair<std::string, std::string>>;

  void SetUp() override {
    LoginOptions login_options;
    login_options.clock = &clock;
    login_options.rng = &real_rng();
    login_options.work = [](Task& task) { return task(), true; };
    login = std::make_unique<Login>(std::move(login_options), sessions);
    table = std::make_shared<const RouteTable>(
        std::vector{good_rules(
            "a",
            to_service("/notebook/a/nb/", "nb") + "," +
                to_service("/notebook/a/rs/", "nb",
                           R"(,"rewrite":{"uri":"/"},"timeout":"300s","headers":{
                                    "request":{"set":{"X-RStudio-Root-Path":"/notebook/a/rs/"}},
                                    "response":{"set":{"X-Seen":"1"}}})") +
                "," + to_service("/notebook/a/cold/", "cold") + "," +
                to_service("/jupyter/", "nb") + "," +
                R"({"match":[{"uri":{"prefix":"/r/"}}],"redirect":{"uri":"/notebook/a/nb/"}})")},
        RouteTable::Backends{{{{"a", "nb"}, 80}, {{"10.1.0.2", 8888}}}});
    ProxyOptions options;
    options.table = [this] { return table; };
    options.forward = [this](const net::Request& request,
                             const std::shared_ptr<net::ResponseWriter>& writer,
                             net::Forwarding how) {
      writer->respond({200, {}, "from the program"});
      sent.push_back({request, std::move(how)});
    };
    options.rng = &real_rng();
    options.clock = &clock;
    options.activity = &activity;
    options.streams_per_user = 3;
    options.streams_per_object = 2;
    proxy = std::make_unique<RouteProxy>(std::move(options));
    make_door({});
    for (const char* name : {"ann@example.com", "bob@example.com"}) {
      kube::User user;
      user.name = name;
      user.groups = {"team", "system:authenticated"};
      secrets[user.name.substr(0, 3)] = sessions.begin(user, "local");
    }
  }

  void make_door(std::optional<kube::User> everybody) {
    FrontDoorOptions options;
    options.is_sole_member = [this](const std::string& user, const std::string& ns) {
      return sole_member == user + " of " + ns;
    };
    options.everybody = std::move(everybody);
    options.verify_token = [](const std::string& token, FrontDoorOptions::UserDone done) {
      if (token != "sa-token") return done(fail(Code::unauthorized, "no"));
      kube::User user;
      user.name = "system:serviceaccount:a:default-editor";
      done(std::move(user));
    };
    options.authorize = [this](const kube::User& user, const kube::Access& access,
                               kube::Authorizer::Done done) {
      asked.push_back(user.name + " " + access.verb + " " + access.resource.plural + " " +
                      access.key.ns + "/" + access.key.name);
      done(kube::Decision{!user.name.starts_with("bob")});
    };
    for (const char* prefix : {"/", "/jupyter/"}) {
      kube::WebRoute route;
      route.prefix = prefix;
      route.handler = [](const kube::WebExchange& exchange) {
        exchange.writer->respond({200, {}, "the page"});
      };
      options.routes.push_back(std::move(route));
    }
    door = std::move(FrontDoor::make(std::move(options), *login).value());
    door->set_proxy(proxy.get());
    sessions.on_change([this](const std::vector<std::string>& ended) { door->end_streams(ended); });
  }

  net::Response ask(const std::string& host, std::string target, Pairs headers = {},
                    std::string method = "GET") {
    net::Request request;
    request.method = std::move(method);
    request.target = std::move(target);
    request.remote_address = "127.0.0.9";
    request.headers.add("Host", host);
    for (auto& [name, value] : headers) request.headers.add(name, value);
    writer = std::make_shared<RecordedWriter>();
    door->serve(std::move(request), writer, "http");
    return writer->response.value_or(net::Response{0, {}, {}});
  }
  net::Response content(std::string target, Pairs headers = {}, std::string method = "GET",
                        const std::string& who = "ann") {
    headers.emplace_back("Cookie", pass_of(who));
    return ask(kContent, std::move(target), std::move(headers), std::move(method));
  }
  std::string session_of(const std::string& who) {
    return std::string(kSessionCookie) + "=" + secrets[who];
  }
  std::string pass_of(const std::string& who) {
    return std::string(kContentCookie) + "=" + content_pass(secrets[who]);
  }
  static std::string location(const net::Response& response) {
    return std::string(response.headers.get("Location"));
  }
  static std::string cookie_of(const net::Response& response, std::string_view name) {
    for (std::string_view line : response.headers.get_all("Set-Cookie"))
      if (line.starts_with(std::string(name) + "="))
        return std::string(line.substr(0, line.find(';')));
    return {};
  }

  const std::string kPage = "localhost:8080", kContent = "content.localhost:8080";
  const std::string kPageUrl = "http://localhost:8080",
                    kContentUrl = "http://content.localhost:8080";
  TestClock clock;
  Sessions sessions{{}, clock, real_rng()};
  std::unique_ptr<Login> login;
  std::shared_ptr<const RouteTable> table;
  std::unique_ptr<RouteProxy> proxy;
  std::unique_ptr<FrontDoor> door;
  std::map<std::string, std::string> secrets;
  std::vector<std::string> asked;
  std::string sole_member;
  Activity activity;
  std::vector<Sent> sent;
  std::shared_ptr<RecordedWriter> writer;
};

TEST_F(ProxyTest, ABrowserComesToTheContentByTheFullExchange) {
  net::Response answer = ask(kPage, "/notebook/a/nb/lab?x=1", {{"Cookie", session_of("ann")}});
  EXPECT_EQ(location(answer), kContentUrl + "/notebook/a/nb/lab?x=1");
  answer = ask(kContent, "/notebook/a/nb/lab?x=1");
  const std::string kept = cookie_of(answer, kContentStateCookie);
  ASSERT_TRUE(location(answer).starts_with(kPageUrl + "/hekla/content?state="));
  answer = ask(kPage, location(answer).substr(kPageUrl.size()), {{"Cookie", session_of("ann")}});
  ASSERT_TRUE(location(answer).starts_with(kContentUrl + "/hekla/content?code="));
  const std::string code = location(answer).substr(kContentUrl.size());
  answer = ask(kContent, code, {{"Cookie", kept}});
  EXPECT_EQ(location(answer), "/notebook/a/nb/lab?x=1");
  EXPECT_EQ(cookie_of(answer, kContentCookie), pass_of("ann"));
  EXPECT_EQ(ask(kContent, code, {{"Cookie", kept}}).status, 403);  // a code works once
  EXPECT_TRUE(sent.empty());
  answer = ask(kContent, "/notebook/a/nb/lab", {{"Cookie", pass_of("ann")}});
  EXPECT_EQ(answer.body, "from the program");
}

TEST_F(ProxyTest, APageOfThisMachinesAddressIsAskedByThatAddress) {
  const std::string page = "127.0.0.1:8080";
  net::Response answer = ask(page, "/notebook/a/nb/?x", {{"Cookie", session_of("ann")}});
  ASSERT_TRUE(location(answer).starts_with(kContentUrl + "/hekla/content?page="));
  const std::string begun = location(answer).substr(kContentUrl.size());
  answer = ask(kContent, begun);
  const std::string kept = cookie_of(answer, kContentStateCookie);
  // The cookies are that name's: as localhost the visitor would have to log in once more.
  ASSERT_TRUE(location(answer).starts_with("http://127.0.0.1:8080/hekla/content?state="));
  answer = ask(page, location(answer).substr(21), {{"Cookie", session_of("ann")}});
  ASSERT_TRUE(location(answer).starts_with(kContentUrl + "/hekla/content?code="));
  answer = ask(kContent, location(answer).substr(kContentUrl.size()), {{"Cookie", kept}});
  EXPECT_EQ(location(answer), "/notebook/a/nb/?x");
  EXPECT_EQ(location(ask(kContent, begun, {{"Cookie", pass_of("ann")}})), "/notebook/a/nb/?x");
  for (const char* other : {"http%3A%2F%2Fevil.example%3A8080", "http%3A%2F%2F127.0.0.1%3A8080%40e",
                            "http%3A%2F%2F127.0.0.1%3A9", "https%3A%2F%2F127.0.0.1%3A8080", "x"})
    EXPECT_EQ(ask(kContent, std::string("/hekla/content?rd=%2F&page=") + other).status, 403)
        << other;
}

TEST_F(ProxyTest, TheLoginFormMayLeadToTheContent) {
  // Browsers stop a form whose redirects leave what the page's policy names.
  net::Response answer = ask(kPage, "/notebook/a/nb/");
  const std::string kept = cookie_of(answer, kStateCookie);
  while (answer.status == 302) answer = ask(kPage, location(answer), {{"Cookie", kept}});
  ASSERT_EQ(answer.status, 200) << answer.body;
  EXPECT_TRUE(answer.headers.get("Content-Security-Policy")
                  .contains("form-action 'self' " + kContentUrl + ";"))
      << answer.headers.get("Content-Security-Policy");
}

TEST_F(ProxyTest, ACodeIsTheAskingBrowsersAndForAMoment) {
  const auto code_for = [&] {
    const net::Response begun = ask(kContent, "/notebook/a/nb/");
    const net::Response answer =
        ask(kPage, location(begun).substr(kPageUrl.size()), {{"Cookie", session_of("ann")}});
    return std::pair(cookie_of(begun, kContentStateCookie),
                     location(answer).substr(kContentUrl.size()));
  };
  EXPECT_EQ(ask(kContent, code_for().second).status, 403);
  EXPECT_EQ(
      ask(kContent, code_for().second, {{"Cookie", std::string(kContentStateCookie) + "=other"}})
          .status,
      403);
  const auto [kept, code] = code_for();
  clock.mono_now += std::chrono::seconds(31);
  EXPECT_EQ(ask(kContent, code, {{"Cookie", kept}}).status, 403);
  const std::string state(64, 'a');
  net::Response answer = ask(kPage, "/hekla/content?rd=%2F&state=" + state);
  EXPECT_TRUE(location(answer).starts_with("/dex/auth"));  // nobody is logged in
  answer = ask("192.0.2.1:8080", "/hekla/content?rd=%2F&state=" + state,
               {{"Cookie", session_of("ann")}});
  EXPECT_EQ(answer.status, 400);
}

TEST_F(ProxyTest, TheTwoOriginsKnowNothingOfEachOthersCookies) {
  EXPECT_EQ(ask(kContent, "/notebook/a/nb/api/status", {{"Cookie", session_of("ann")}}).status,
            401);
  EXPECT_EQ(ask(kPage, "/jupyter/api/x", {{"Cookie", pass_of("ann")}}).status, 401);
  EXPECT_EQ(ask(kPage, "/jupyter/api/x",
                {{"Cookie", std::string(kSessionCookie) + "=" + content_pass(secrets["ann"])}})
                .status,
            401);
  const std::string forged = std::string(kContentCookie) + "=" +
                             content_pass(secrets["ann"]).substr(0, 65) +
                             content_pass(secrets["bob"]).substr(65);
  EXPECT_EQ(ask(kContent, "/notebook/a/nb/api/status", {{"Cookie", forged}}).status, 401);
  sessions.end(secrets["ann"]);
  EXPECT_EQ(content("/notebook/a/nb/api/status").status, 401);
  EXPECT_TRUE(sent.empty());
}

TEST_F(ProxyTest, PassesSurviveARestartAsDigests) {
  const std::string dumped = json::serialize(sessions.dump());
  EXPECT_FALSE(dumped.contains(content_pass(secrets["ann"]).substr(65)));
  Sessions other{{}, clock, real_rng()};
  other.load(sessions.dump());
  EXPECT_TRUE(other.find_content(content_pass(secrets["ann"])));
}

TEST_F(ProxyTest, ProgramsNeverAnswerOnThePagesOrigin) {
  const Pairs cookie{{"Cookie", session_of("ann")}};
  EXPECT_EQ(ask(kPage, "/notebook/a/nb/api/status", cookie).status, 403);
  EXPECT_EQ(ask(kPage, "/notebook/a/nb/", cookie, "POST").status, 403);
  for (const char* host : {"192.0.2.1:8080", "hekla.example", "content.localhost.:8080"}) {
    const net::Response answer = ask(host, "/notebook/a/nb/", cookie);
    EXPECT_EQ(answer.status, 403) << host;
    EXPECT_TRUE(answer.body.contains("Open the dashboard as http://localhost")) << answer.body;
  }
  EXPECT_TRUE(sent.empty());
}

TEST_F(ProxyTest, WithoutASecondOriginProgramsAreTheirSoleMembers) {
  const std::string page = "192.0.2.1:8080";
  const Pairs cookie{{"Cookie", session_of("ann") + "; _xsrf=1"}};
  net::Response answer = ask(page, "/notebook/a/nb/x", cookie);
  EXPECT_EQ(answer.status, 403);
  EXPECT_TRUE(answer.body.contains("Others may work in a")) << answer.body;
  sole_member = "ann@example.com of b";
  EXPECT_EQ(ask(page, "/notebook/a/nb/x", cookie).status, 403);
  EXPECT_TRUE(sent.empty());

  sole_member = "ann@example.com of a";
  EXPECT_EQ(ask(page, "/notebook/a/nb/x", cookie).body, "from the program");
  ASSERT_EQ(sent.size(), 1u);
  EXPECT_EQ(sent[0].how.upstream.headers.get("Cookie"), "_xsrf=1");  // and not the session
  EXPECT_EQ(asked, std::vector<std::string>{"ann@example.com get notebooks a/nb"});
  // Not for others, not from another page, and the page's own routes stay the page's.
  EXPECT_EQ(ask(page, "/notebook/a/nb/x", {{"Cookie", session_of("bob")}}).status, 403);
  const auto with = [&](Pairs more) {
    more.insert(more.end(), cookie.begin(), cookie.end());
    return more;
  };
  EXPECT_EQ(ask(page, "/notebook/a/nb/x", with({{"Origin", "http://evil.example"}}), "POST").status,
            403);
  EXPECT_EQ(ask(page, "/notebook/a/nb/ws",
                with({{"Upgrade", "websocket"}, {"Origin", "http://evil.example"}}))
                .status,
            403);
  EXPECT_EQ(ask(page, "/notebook/a/nb/ws", with({{"Upgrade", "websocket"}})).status, 403);
  EXPECT_EQ(ask(page, "/jupyter/", cookie).body, "the page");
  EXPECT_EQ(sent.size(), 1u);
  EXPECT_EQ(ask(page, "/notebook/a/nb/ws",
                with({{"Upgrade", "websocket"}, {"Origin", "http://192.0.2.1:8080"}}))
                .status,
            200);
  EXPECT_EQ(location(ask(kPage, "/notebook/a/nb/x", cookie)), kContentUrl + "/notebook/a/nb/x");
}

TEST_F(ProxyTest, ThePagesRoutesAreNotOfTheContentsOrigin) {
  EXPECT_EQ(content("/jupyter/").status, 404);  // a route claims it; the table is stronger
  EXPECT_EQ(content("/jupyter").status, 404);
  EXPECT_EQ(content("/unknown").status, 404);
  EXPECT_EQ(content("/hekla/session").status, 404);
  EXPECT_EQ(content("/dex/auth").status, 404);
  EXPECT_EQ(location(content("/")), kPageUrl + "/");
  EXPECT_EQ(ask(kPage, "/jupyter/", {{"Cookie", session_of("ann")}}).body, "the page");
  EXPECT_TRUE(sent.empty());
}

TEST_F(ProxyTest, EveryRequestIsAuthorisedByItsObject) {
  for (const char* method : {"GET", "HEAD", "POST", "PUT", "DELETE", "PATCH", "OPTIONS"})
    EXPECT_EQ(content("/notebook/a/nb/x", {}, method, "bob").status, 403) << method;
  for (const char* target :
       {"/notebook/b/../a/nb/", "/notebook/b/%2e%2e/a/nb/", "/notebook/a/nb/;x"})
    EXPECT_NE(content(target, {}, "GET", "bob").status, 200) << target;
  EXPECT_EQ(content("/notebook/a%2Fnb/").status, 400);
  EXPECT_EQ(
      content("/notebook/a/nb/x", {{"Upgrade", "websocket"}, {"Origin", kContentUrl}}, "GET", "bob")
          .status,
      403);
  EXPECT_TRUE(sent.empty());
  asked.clear();
  EXPECT_EQ(content("/notebook/a/nb/x").status, 200);
  EXPECT_EQ(asked, std::vector<std::string>{"ann@example.com get notebooks a/nb"});
}

TEST_F(ProxyTest, APodSeesWhoAsksAndNoCookieOfOurs) {
  content("/notebook/a/nb/lab?y=%2F", {{"Cookie", "_xsrf=a|b; " + session_of("ann") + "; z=1"},
                                       {"kubeflow-userid", "eve"},
                                       {"Kubeflow_UserId", "eve"},
                                       {"X-Forwarded-For", "6.6.6.6"},
                                       {"Connection", "keep-alive, X-Hop"},
                                       {"X-Hop", "1"},
                                       {"Authorization", "Basic abc"}});
  ASSERT_EQ(sent.size(), 1u);
  const net::ClientRequest& up = sent[0].how.upstream;
  EXPECT_EQ(up.url, "http://10.1.0.2:8888/notebook/a/nb/lab?y=%2F");
  EXPECT_EQ(up.headers.get_all("Cookie"), std::vector<std::string_view>{"_xsrf=a|b; z=1"});
  EXPECT_EQ(up.headers.get_all("kubeflow-userid"),
            std::vector<std::string_view>{"ann@example.com"});
  EXPECT_FALSE(up.headers.has("Kubeflow_UserId"));
  EXPECT_FALSE(up.headers.has("X-Hop"));
  EXPECT_EQ(up.headers.get("kubeflow-groups"), "team");
  EXPECT_EQ(up.headers.get("Host"), kContent);
  EXPECT_EQ(up.headers.get_all("X-Forwarded-For"), std::vector<std::string_view>{"127.0.0.9"});
  EXPECT_EQ(up.headers.get("X-Forwarded-Proto"), "http");
  EXPECT_EQ(up.headers.get("X-Request-Id").size(), 36u);
  EXPECT_EQ(up.headers.get("Authorization"), "Basic abc");
  EXPECT_EQ(up.timeout.count(), 0);
  EXPECT_FALSE(sent[0].how.allow_upgrade);
}

TEST_F(ProxyTest, RoutesRewriteSetHeadersAndLimitTheWait) {
  content("/notebook/a/rs/auth?x", {{"X-RStudio-Root-Path", "/evil/"}});
  ASSERT_EQ(sent.size(), 1u);
  const net::ClientRequest& up = sent[0].how.upstream;
  EXPECT_EQ(up.url, "http://10.1.0.2:8888/auth?x");
  EXPECT_EQ(up.headers.get_all("X-RStudio-Root-Path"),
            std::vector<std::string_view>{"/notebook/a/rs/"});
  EXPECT_EQ(up.head_timeout, std::chrono::seconds(300));
  net::Headers answer;
  answer.add("Set-Cookie", "hekla_content=x");
  answer.add("Set-Cookie", "_xsrf=y; Path=/notebook/a/rs/");
  answer.add("Service-Worker-Allowed", "/");
  sent[0].how.on_head(200, answer);
  EXPECT_EQ(answer.get_all("Set-Cookie"),
            std::vector<std::string_view>{"_xsrf=y; Path=/notebook/a/rs/"});
  EXPECT_FALSE(answer.has("Service-Worker-Allowed"));
  EXPECT_EQ(answer.get("X-Seen"), "1");
  EXPECT_EQ(location(content("/notebook/a/nb?q=1")), "/notebook/a/nb/?q=1");
  EXPECT_EQ(location(content("/r/x")), kContentUrl + "/notebook/a/nb/");
}

TEST_F(ProxyTest, UpgradesAndChangesOfOtherOriginsAreRefused) {
  EXPECT_EQ(
      content("/notebook/a/nb/ws", {{"Upgrade", "websocket"}, {"Origin", kContentUrl}}).status,
      200);
  ASSERT_EQ(sent.size(), 1u);
  EXPECT_TRUE(sent[0].how.allow_upgrade);
  sent.clear();
  for (const std::string& origin : {std::string("http://evil.example"), kPageUrl})
    EXPECT_EQ(content("/notebook/a/nb/ws", {{"Upgrade", "websocket"}, {"Origin", origin}}).status,
              403);
  EXPECT_EQ(content("/notebook/a/nb/ws", {{"Upgrade", "websocket"}}).status, 403);
  EXPECT_EQ(content("/notebook/a/nb/x", {{"Origin", "http://evil.example"}}, "POST").status, 403);
  EXPECT_EQ(content("/notebook/a/nb/x", {{"Sec-Fetch-Site", "cross-site"}}, "POST").status, 403);
  EXPECT_TRUE(sent.empty());
  EXPECT_EQ(
      content("/notebook/a/nb/x",
              {{"Origin", kContentUrl}, {"Referer", kContentUrl + "/notebook/a/nb/lab"}}, "POST")
          .status,
      200);
  EXPECT_EQ(content("/notebook/a/nb/x", {{"Upgrade", "h2c"}}).status, 200);
  EXPECT_FALSE(sent.back().how.allow_upgrade);
}

TEST_F(ProxyTest, OtherUpgradesAreOrdinaryRequests) {
  EXPECT_EQ(content("/notebook/a/nb/", {{"Upgrade", "h2c"},
                                        {"Connection", "Upgrade, HTTP2-Settings"},
                                        {"HTTP2-Settings", "AAMAAABkAAQAAP__"}})
                .status,
            200);
  ASSERT_EQ(sent.size(), 1u);
  EXPECT_FALSE(sent[0].how.allow_upgrade);
  for (const char* name : {"Upgrade", "Connection", "HTTP2-Settings"})
    EXPECT_FALSE(sent[0].how.upstream.headers.has(name)) << name;
}

TEST_F(ProxyTest, CookiesOfSeveralLinesAreEachCleaned) {
  content("/notebook/a/nb/", {{"Cookie", session_of("ann") + "; _xsrf=2|a|b; x=\"1 2\""},
                              {"cookie", "OAUTH2_PROXY_KUBEFLOW_1=s; hekla_content_state=t"},
                              {"Cookie", "y=3; authservice_session=u"}});
  ASSERT_EQ(sent.size(), 1u);
  const std::vector<std::string_view> kept{"_xsrf=2|a|b; x=\"1 2\"", "y=3"};
  EXPECT_EQ(sent[0].how.upstream.headers.get_all("Cookie"), kept);
}

TEST_F(ProxyTest, ThePathThatIsAuthorisedIsThePathThatIsSent) {
  const std::vector<std::pair<std::string, std::string>> rows{
      {"/notebook/a/nb/x/../y", "/notebook/a/nb/y"},
      {"/notebook/b/%2e%2E/a/nb/", "/notebook/a/nb/"},
      {"/notebook/a/nb/./x?../..", "/notebook/a/nb/x?../.."},
      {"/notebook/a/%6eb/x", "/notebook/a/nb/x"},
  };
  for (const auto& [target, path] : rows) {
    sent.clear(), asked.clear();
    EXPECT_EQ(content(target).status, 200) << target;
    ASSERT_EQ(sent.size(), 1u) << target;
    EXPECT_EQ(sent[0].how.upstream.url, "http://10.1.0.2:8888" + path);
    EXPECT_EQ(asked, std::vector<std::string>{"ann@example.com get notebooks a/nb"}) << target;
  }
  sent.clear();
  for (const char* target :
       {"/notebook/a%2Fnb/", "/notebook/a/nb/%2f..", "/notebook/a/nb/%5c", "/notebook/a/nb/%00",
        "/notebook/a/nb/#/../../b/", "http://evil.example/notebook/a/nb/", "/notebook/a/nb/\x01"})
    EXPECT_GE(content(target).status, 400) << target;
  EXPECT_TRUE(sent.empty());
}

TEST_F(ProxyTest, StreamsEndWithTheirSession) {
  content("/notebook/a/nb/ws", {{"Upgrade", "websocket"}, {"Origin", kContentUrl}});
  EXPECT_FALSE(writer->aborted);
  sessions.end(secrets["ann"]);
  EXPECT_TRUE(writer->aborted);
}

TEST_F(ProxyTest, UseOfNotebooksIsNotedDown) {
  const auto used = [&] {
    std::vector<std::string> out;
    for (const auto& [notebook, when] : activity.take_new())
      out.push_back(notebook.ns + "/" + notebook.name + (when == clock.wall_now ? "" : " before"));
    clock.wall_now += std::chrono::seconds(1);
    return out;
  };
  const std::vector<std::string> none, lab{"a/nb"};
  EXPECT_EQ((content("/notebook/a/nb/api/kernels"), used()), none);  // an open page's polling
  EXPECT_EQ((content("/notebook/a/nb/api/kernels", {}, "POST"), used()), lab);
  EXPECT_EQ((content("/notebook/a/nb/lab", {{"Accept", "text/html"}}), used()), lab);
  EXPECT_EQ((content("/notebook/a/nb/lab", {}, "POST", "bob"), used()), none);  // was refused
  content("/notebook/a/nb/ws", {{"Upgrade", "websocket"}, {"Origin", kContentUrl}});
  const auto passing = sent.back().how.on_passing;
  EXPECT_EQ(used(), none);
  EXPECT_EQ((passing(std::string_view("\x89\x00", 2), false), used()), none);  // a ping
  EXPECT_EQ((passing("\x81\x02hi", false), used()), lab);
  EXPECT_EQ((passing("\x81\x82maskhi", true), used()), lab);
}

TEST_F(ProxyTest, StreamsAreCounted) {
  const Pairs upgrade{{"Upgrade", "websocket"}, {"Origin", kContentUrl}};
  EXPECT_EQ(content("/notebook/a/nb/ws", upgrade).status, 200);
  EXPECT_EQ(content("/notebook/a/nb/ws", upgrade).status, 200);
  EXPECT_EQ(content("/notebook/a/nb/ws", upgrade).status, 429);  // of one object
  EXPECT_EQ(content("/notebook/a/rs/ws", upgrade).status, 200);
  EXPECT_EQ(content("/notebook/a/rs/ws", upgrade).status, 429);  // of one user
  EXPECT_EQ(content("/notebook/a/nb/x").status, 200);
  sent[0].how.on_over();
  EXPECT_EQ(content("/notebook/a/nb/ws", upgrade).status, 200);
}

TEST_F(ProxyTest, TokensOpenTheWayOnEitherOriginAndStayHere) {
  for (const std::string& host : {kPage, kContent, std::string("192.0.2.1:8080")}) {
    sent.clear();
    EXPECT_EQ(ask(host, "/notebook/a/nb/api/status", {{"Authorization", "Bearer sa-token"}}).status,
              200);
    ASSERT_EQ(sent.size(), 1u);
    EXPECT_FALSE(sent[0].how.upstream.headers.has("Authorization"));
    EXPECT_EQ(sent[0].how.upstream.headers.get("kubeflow-userid"),
              "system:serviceaccount:a:default-editor");
  }
  EXPECT_EQ(asked.front(), "system:serviceaccount:a:default-editor get notebooks a/nb");
  EXPECT_EQ(ask(kContent, "/notebook/a/nb/", {{"Authorization", "Bearer other"}}).status, 401);
}

TEST_F(ProxyTest, APageWaitsWhileNothingIsReady) {
  net::Response answer = content("/notebook/a/cold/", {{"Accept", "text/html"}});
  EXPECT_EQ(answer.status, 503);
  EXPECT_EQ(answer.headers.get("Refresh"), "3");
  EXPECT_TRUE(answer.body.contains("Notebook a/cold has been stopped or is starting"));
  EXPECT_TRUE(answer.body.contains(kPageUrl + "/jupyter/notebook/details/a/cold"));
  answer = content("/notebook/a/cold/api/status", {{"Accept", "application/json"}});
  EXPECT_EQ(answer.status, 503);
  EXPECT_FALSE(answer.headers.has("Refresh"));
  EXPECT_EQ(answer.headers.get("Retry-After"), "3");
  EXPECT_TRUE(sent.empty());
  content("/notebook/a/nb/", {{"Accept", "text/html"}});
  ASSERT_EQ(sent.size(), 1u);
  answer = sent[0].how.on_failure(Error{Code::unavailable, "connection refused"});
  EXPECT_EQ(answer.status, 503);
  EXPECT_EQ(answer.headers.get("Refresh"), "3");
  EXPECT_EQ(sent[0].how.on_failure(Error{Code::timeout, "late"}).status, 504);
}

TEST_F(ProxyTest, PoliciesNarrowWhatTheRolesAllow) {
  Policy owners;
  owners.object = {"a", "ns-owner-access-istio"};
  owners.rules.resize(1);
  owners.rules[0].when = {{"request.headers[kubeflow-userid]", {"carl@example.com"}, {}}};
  table = std::make_shared<const RouteTable>(
      std::vector{good_rules("a", to_service("/notebook/a/nb/", "nb"))},
      RouteTable::Backends{{{{"a", "nb"}, 80}, {{"10.1.0.2", 8888}}}},
      RouteTable::PoliciesOf{{{"a", "nb"}, {std::make_shared<const Policy>(owners)}}});
  // The header is the session's, whatever the visitor sends.
  const net::Response answer =
      content("/notebook/a/nb/x", {{"kubeflow-userid", "carl@example.com"}});
  EXPECT_EQ(answer.status, 403);
  EXPECT_TRUE(answer.body.contains("no AuthorizationPolicy allows it")) << answer.body;
  EXPECT_EQ(
      content("/notebook/a/nb/ws", {{"Upgrade", "websocket"}, {"Origin", kContentUrl}}).status,
      403);
  EXPECT_TRUE(sent.empty());
  kube::User carl;
  carl.name = "carl@example.com";
  secrets["carl"] = sessions.begin(carl, "local");
  EXPECT_EQ(content("/notebook/a/nb/x", {}, "GET", "carl").status, 200);
}

TEST_F(ProxyTest, WithoutLoginTheOriginsAreStillTwo) {
  kube::User everybody;
  everybody.name = "user@example.com";
  make_door(everybody);
  EXPECT_EQ(location(ask(kPage, "/notebook/a/nb/")), kContentUrl + "/notebook/a/nb/");
  EXPECT_EQ(ask(kContent, "/notebook/a/nb/").body, "from the program");
  EXPECT_EQ(ask(kContent, "/jupyter/").status, 404);
  // A program's page, or any other, changes nothing on the page's origin.
  EXPECT_EQ(ask(kPage, "/jupyter/x", {{"Origin", kContentUrl}}, "POST").status, 403);
  EXPECT_EQ(ask(kPage, "/jupyter/x", {}, "POST").status, 200);
  // A page of a name that leads here (DNS rebinding) is no page of ours, though its origin is the
  // request's own.
  for (const char* host : {"evil.example:8080", "192.0.2.1:8080", "localhost.evil.example"})
    EXPECT_EQ(ask(host, "/jupyter/x", {{"Origin", std::string("http://") + host}}, "POST").status,
              403)
        << host;
  EXPECT_EQ(ask("127.0.0.1:8080", "/jupyter/x", {}, "POST").status, 200);
}

}  // namespace
}  // namespace hekla::gateway
