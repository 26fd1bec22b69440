// Names, links, and what is answered without anybody behind; test/e2e/streams_test.py has real
// pods.
#include "apiserver/connect/proxy.h"

#include "apiserver/server/server_fixture_test.h"

namespace hekla::apiserver {
namespace {

TEST(ProxyNames, SchemeNameAndPort) {
  EXPECT_EQ(parse_proxy_name("web"), (ProxyName{"", "web", ""}));
  EXPECT_EQ(parse_proxy_name("web:80"), (ProxyName{"", "web", "80"}));
  EXPECT_EQ(parse_proxy_name("https:web:tls"), (ProxyName{"https", "web", "tls"}));
  EXPECT_EQ(parse_proxy_name(":web:80"), (ProxyName{"", "web", "80"}));
  EXPECT_EQ(parse_proxy_name("https:web:"), (ProxyName{"https", "web", ""}));
  for (const char* bad : {"", ":80", "ftp:web:80", "http::80", "a:b:c:d"})
    EXPECT_EQ(parse_proxy_name(bad), std::nullopt) << bad;
}

TEST(ProxyLinks, ThoseFromTheRootGoBelowThePrefix) {
  EXPECT_EQ(prefixed_link("/x/?q=1", "/p", "host"), "/p/x/?q=1");
  EXPECT_EQ(prefixed_link("x", "/p", "host"), "x");
  EXPECT_EQ(prefixed_link("/p/x", "/p", "host"), "/p/x");
  EXPECT_EQ(prefixed_link("http://host/x", "/p", "host"), "http://host/p/x");
  EXPECT_EQ(prefixed_link("http://other/x", "/p", "host"), "http://other/x");
  EXPECT_EQ(prefixed_link("//other/x", "/p", "host"), "//other/x");
}

TEST(ProxyLinks, OnlyAttributesThatHoldLinksChange) {
  EXPECT_EQ(
      prefixed_links(R"(<A HREF="/x">/x</a><img alt='/y' src='/y'><form action=/z method=get>)",
                     "/p", "h"),
      R"(<A HREF="/p/x">/x</a><img alt='/y' src='/p/y'><form action=/p/z method=get>)");
  EXPECT_EQ(
      prefixed_links(
          R"(<!-- <a href="/x"> --><script src="/s">t = '<a href="/x">'</script><a href="/x"/>)",
          "/p", "h"),
      R"(<!-- <a href="/x"> --><script src="/p/s">t = '<a href="/x">'</script><a href="/p/x"/>)");
  for (const char* cut : {"<", "<a", "<a href", "<a href=", "<a href=\"/x", "<!--", "a < b"})
    EXPECT_TRUE(prefixed_links(cut, "/p", "h").size() >= std::string(cut).size()) << cut;
}

class ProxyTest : public ServerFixture {};

TEST_F(ProxyTest, AnswersWithoutAnyoneBehind) {
  const std::string pods = "/api/v1/namespaces/default/pods";
  call("POST", pods,
       R"({"metadata":{"name":"p"},"spec":{"containers":[{"name":"c","image":"i"}]}})");
  EXPECT_EQ(call("GET", pods + "/a:b:c:d/proxy/").status, 400);
  EXPECT_EQ(call("GET", pods + "/nobody/proxy/").status, 404);
  const Reply redirect = call("GET", pods + "/p/proxy?x=1");
  EXPECT_EQ(redirect.status, 301);
  EXPECT_EQ(redirect.headers.get("Location"), pods + "/p/proxy/?x=1");
  // A pod's status must not lead to the server's own machine.
  call("PATCH", pods + "/p/status", R"({"status":{"podIP":"127.0.0.1"}})",
       {{"Content-Type", "application/merge-patch+json"}});
  const Reply local = call("DELETE", pods + "/p/proxy/x");
  EXPECT_EQ(local.status, 400);
  EXPECT_EQ(local.message(), "address not allowed");
  call("POST", "/api/v1/namespaces/default/services",
       R"({"metadata":{"name":"s"},"spec":{"ports":[{"port":80}]}})");
  const Reply none = call("GET", "/api/v1/namespaces/default/services/s:80/proxy/");
  EXPECT_EQ(none.status, 503);
  EXPECT_EQ(none.message(), R"(no endpoints available for service "s")");
}

// Endpoints are anybody's to write, and a pod they name may be on the host's network.
TEST(ProxyClients, NoEndpointLeadsFromTheHostsNetworkToAPod) {
  ProxyClients clients(net::OwnRanges::parse({"192.0.2.0/24"}).value());
  Result<net::Response> refused = clients.to_host().value()->fetch({.url = "http://192.0.2.1/"});
  ASSERT_FALSE(refused);
  EXPECT_TRUE(refused.error().message.contains("192.0.2.1 is an address of pods or services"))
      << refused.error().message;
}

TEST_F(ProxyTest, ANodeAnswersForItsKubelet) {
  call("POST", "/api/v1/nodes", R"({"metadata":{"name":"n1"}})");
  EXPECT_EQ(call("GET", "/api/v1/nodes/n1/proxy/healthz").text, "ok");
  EXPECT_EQ(call("GET", "/api/v1/nodes/n1:10250/proxy/other").status, 404);
  EXPECT_EQ(call("GET", "/api/v1/nodes/n2/proxy/healthz").status, 404);
  const std::string pods = "/api/v1/namespaces/default/pods";
  for (const char* name : {"here", "elsewhere"})
    call("POST", pods,
         std::string(R"({"metadata":{"name":")") + name + R"("},"spec":{"nodeName":")" +
             (name[0] == 'h' ? "n1" : "n2") + R"(","containers":[{"name":"c","image":"i"}]}})");
  const std::string list = call("GET", "/api/v1/nodes/n1/proxy/pods").text;
  EXPECT_NE(list.find(R"("name":"here")"), std::string::npos) << list;
  EXPECT_EQ(list.find("elsewhere"), std::string::npos) << list;
}

}  // namespace
}  // namespace hekla::apiserver
