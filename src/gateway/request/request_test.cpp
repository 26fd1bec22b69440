#include <gtest/gtest.h>

#include "gateway/request/cookies.h"
#include "gateway/request/path.h"
#include "gateway/request/return_path.h"
#include "gateway/request/visit.h"
#include "gateway/request/visitor_headers.h"

namespace hekla::gateway {
namespace {

TEST(Path, IsReadOneWayOrRefused) {
  const std::vector<std::pair<std::string, std::string>> rows{
      {"/", "/"},
      {"/notebook/a/nb/lab", "/notebook/a/nb/lab"},
      {"/notebook/a/nb/../../b/nb2/", "/notebook/b/nb2/"},
      {"/notebook/a/nb/%2e%2e/%2E%2e/b/", "/notebook/b/"},
      {"/notebook/a/nb/./x", "/notebook/a/nb/x"},
      {"/notebook/a/nb/..", "/notebook/a/"},
      {"/../../etc/passwd", "/etc/passwd"},
      {"/a\\b", "/a/b"},
      {"/%61%2d%7e", "/a-~"},
      {"/a%20b%c3%a9", "/a%20b%C3%A9"},
      {"/x?y=%2F", "/x"},
      {"/notebook/a%2Fnb/", ""},
      {"/a%5cb", ""},
      {"/a%00", ""},
      {"/a%0d%0aX:y", ""},
      {"/a%7f", ""},
      {"//evil", ""},
      {"/a//b", ""},
      {"/a\\/b", ""},
      {"/a;x=1/b", ""},
      {"/a#b", ""},
      {"/a%", ""},
      {"/a%4", ""},
      {"/a%zz", ""},
      {"/a b", ""},
      {"a", ""},
      {"", ""},
      {"/a?b#c", ""},
      {"/a?\x01", ""},
      {"/\xc3\xa9", ""},
  };
  for (const auto& [target, expected] : rows) {
    const Result<Path> path = read_path(target);
    EXPECT_EQ(path ? path->text : "", expected) << target;
    if (!path) {
      EXPECT_EQ(path.error().code, Code::bad_request) << target;
      continue;
    }
    // The target passed on is read as the same path: nobody behind can be led elsewhere.
    const Result<Path> again = read_path(path->target());
    ASSERT_TRUE(again) << target;
    EXPECT_EQ(again->text, path->text) << target;
    EXPECT_EQ(again->query, path->query) << target;
  }
  EXPECT_EQ(read_path("/x?y=%2F")->target("/z"), "/z?y=%2F");
  EXPECT_EQ(read_path("/x?")->target(), "/x?");
}

TEST(Path, HasSegments) {
  EXPECT_EQ(segment("/notebook/a/nb/lab", 0), "notebook");
  EXPECT_EQ(segment("/notebook/a/nb/lab", 2), "nb");
  EXPECT_EQ(segment("/notebook/a", 2), "");
}

TEST(Cookies, OursNeverLeave) {
  const std::vector<std::pair<std::string, std::string>> rows{
      {"oauth2_proxy_kubeflow=s; _xsrf=2|a|b", "_xsrf=2|a|b"},
      {"_xsrf=2|a|b; oauth2_proxy_kubeflow=s", "_xsrf=2|a|b"},
      {"a=1;  b=\"x y\" ;authservice_session=s; c", "a=1;  b=\"x y\" ; c"},
      {"oauth2_proxy_kubeflow_0=s; oauth2_proxy_kubeflow_1=t; d=4", "d=4"},
      {"OAuth2_Proxy_Kubeflow=s", ""},
      {"oauth2_proxy_kubeflow =s; hekla_content=c; oidc_state_csrf=d", ""},
      {"oauth2_proxy_kubeflow_csrf=s", ""},
      {"oauth2_proxy_kubeflower=mine", "oauth2_proxy_kubeflower=mine"},
      {"username-localhost-8080=\"2|1:0\"", "username-localhost-8080=\"2|1:0\""},
  };
  for (const auto& [sent, expected] : rows) {
    net::Headers headers;
    headers.add("Cookie", sent);
    strip_own_cookies(headers);
    EXPECT_EQ(headers.get("Cookie"), expected) << sent;
    EXPECT_EQ(headers.has("Cookie"), !expected.empty()) << sent;
  }
  net::Headers twice;
  twice.add("Cookie", "a=1; authservice_session=s");
  twice.add("Accept", "*/*");
  twice.add("cookie", "oauth2_proxy_kubeflow=s; b=2");
  strip_own_cookies(twice);
  EXPECT_EQ(twice.get_all("Cookie"), (std::vector<std::string_view>{"a=1", "b=2"}));
}

TEST(Cookies, NoPodSetsOurs) {
  net::Headers headers;
  headers.add("Set-Cookie", "oauth2_proxy_kubeflow=mine; Path=/");
  headers.add("Set-Cookie", "_xsrf=1; Path=/notebook/a/nb/");
  headers.add("set-cookie", " Authservice_Session =x");
  strip_own_set_cookies(headers);
  EXPECT_EQ(headers.get_all("Set-Cookie"),
            (std::vector<std::string_view>{"_xsrf=1; Path=/notebook/a/nb/"}));
}

TEST(VisitorHeaders, IdentityGoesInEverySpelling) {
  for (std::string_view name :
       {"kubeflow-userid", "Kubeflow-UserId", "kubeflow_userid", "KUBEFLOW_groups",
        "X-Auth-Request-Email", "x_auth_request_user", "X-Forwarded-User", "X-Forwarded-Email",
        "X-Forwarded-Groups", "x-forwarded_uri", "X-Envoy-Original-Path", "X-RStudio-Root-Path",
        "X-Forwarded-Host", "X-Forwarded-Proto", "X-Forwarded-For", "X-Remote-User", "Forwarded",
        "X-Original-URL"})
    EXPECT_TRUE(names_identity(name)) << name;
  for (std::string_view name : {"Host", "X-XSRFToken", "Accept", "X-Custom", "kubeflow"})
    EXPECT_FALSE(names_identity(name)) << name;
}

TEST(VisitorHeaders, RoutesSetNothingThatCounts) {
  for (std::string_view name :
       {"Host", "kubeflow-userid", "Cookie", "authorization", "Set-Cookie", "Transfer-Encoding",
        "Content-Length", "a b", "", "Sec-WebSocket-Key"})
    EXPECT_FALSE(may_be_set_by_routes(name)) << name;
  EXPECT_TRUE(may_be_set_by_routes("X-RStudio-Root-Path"));
  EXPECT_TRUE(may_be_set_by_routes("X-Custom"));
  EXPECT_FALSE(is_field_value("a\r\nb"));
}

TEST(VisitorHeaders, OriginIsTheHosts) {
  auto of = [](std::string host, std::string_view scheme) {
    net::Headers headers;
    headers.add("Host", std::move(host));
    return origin_of(headers, scheme);
  };
  EXPECT_EQ(of("LocalHost:8080", "http"), "http://localhost:8080");
  EXPECT_EQ(of("a.example:80", "http"), "http://a.example");
  EXPECT_EQ(of("a.example:443", "https"), "https://a.example");
  EXPECT_EQ(of("[::1]:8080", "http"), "http://[::1]:8080");
  EXPECT_EQ(of("a/b", "http"), "");
  EXPECT_EQ(of("a@b", "http"), "");
  EXPECT_EQ(of("", "http"), "");
}

TEST(ReturnPath, LeadsNowhereElse) {
  for (std::string_view bad : {"",
                               "//evil",
                               "///evil",
                               "/\\evil",
                               "\\\\evil",
                               "/\\/evil",
                               "/ /evil",
                               "/\t/evil",
                               "/./evil",
                               "/../evil",
                               "/.//evil",
                               "/x/..//evil",
                               "http://evil",
                               "https:evil",
                               "HTTP://evil",
                               "javascript:alert(1)",
                               "data:text/html,x",
                               "evil",
                               "@evil",
                               "/%2f/evil",
                               "/%5cevil",
                               "/%2Fevil",
                               "/%09/evil",
                               "/%0a/evil",
                               "/\nevil",
                               "/\revil",
                               "/a\r\nSet-Cookie: x",
                               "/a b",
                               "/;@evil",
                               "/a//b",
                               "?rd=x",
                               "#x",
                               "/\x7f",
                               "/\xe2\x80\xa8",
                               "/%00",
                               "/%zz",
                               ".",
                               "..",
                               "/dex/auth",
                               "/oauth2/start?rd=/",
                               "/logout"})
    EXPECT_EQ(return_path(bad), "/") << bad;
  for (std::string_view good : {"/", "/jupyter/", "/pipeline/#/runs/details/1", "/a?b=c%2Fd",
                                "/_/jupyter/?ns=team-a", "/a%20b"})
    EXPECT_EQ(return_path(good), good) << good;
  EXPECT_EQ(return_path("/" + std::string(5000, 'a')), "/");
}

Visit visit_with(std::vector<std::pair<std::string, std::string>> headers) {
  Visit visit;
  visit.origin = "http://localhost:8080";
  for (auto& [name, value] : headers) visit.request.headers.add(name, value);
  return visit;
}

TEST(Visit, ChangesComeFromOurPages) {
  EXPECT_TRUE(check_sender(visit_with({})));
  EXPECT_TRUE(check_sender(visit_with({{"Origin", "http://localhost:8080"},
                                       {"Sec-Fetch-Site", "same-origin"},
                                       {"Referer", "http://localhost:8080/jupyter/"}})));
  const std::vector<std::pair<std::string, std::string>> foreign{
      {"Origin", "http://evil.example"},
      {"Origin", "null"},
      {"Origin", "http://localhost:8081"},
      {"Origin", "https://localhost:8080"},
      {"Sec-Fetch-Site", "cross-site"},
      {"Sec-Fetch-Site", "same-site"},
      {"Referer", "http://evil.example/"},
      {"Referer", "http://localhost:80801/"},
      {"Referer", "http://localhost:8080/notebook/a/nb/lab"},
      {"Referer", "http://localhost:8080/x/../notebook/a/nb/lab"},
      {"Referer", "http://localhost:8080/tensorboard/a/tb/"},
      {"Referer", "http://localhost:8080/pvcviewers/a/v/"},
      {"Referer", "http://localhost:8080/pvcviewer/a/v/"},
  };
  for (const auto& [name, value] : foreign)
    EXPECT_FALSE(check_sender(visit_with({{name, value}}))) << name << ": " << value;
}

TEST(Visit, UpgradesNeedTheirOrigin) {
  EXPECT_TRUE(check_upgrade(visit_with({{"Origin", "http://localhost:8080"}}), true));
  EXPECT_FALSE(check_upgrade(visit_with({{"Origin", "http://evil.example"}}), true));
  EXPECT_FALSE(check_upgrade(visit_with({{"Origin", "http://evil.example"}}), false));
  EXPECT_FALSE(check_upgrade(visit_with({}), true));
  EXPECT_TRUE(check_upgrade(visit_with({}), false));
  EXPECT_FALSE(check_upgrade(
      visit_with({{"Origin", "http://localhost:8080"}, {"Origin", "http://evil"}}), true));
}

}  // namespace
}  // namespace hekla::gateway
