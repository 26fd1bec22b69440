#include "dashboard/page/as_user.h"

#include <gtest/gtest.h>

#include "dashboard/page/assets.h"
#include "dashboard/page/session_route.h"

namespace hekla::dashboard {
namespace {

net::Request request_with(std::vector<std::pair<std::string, std::string>> headers) {
  net::Request request;
  request.method = "GET";
  request.path = "/hekla/v1/k8s/api/v1/pods";
  request.target = request.path + "?limit=1";
  for (auto& [name, value] : headers) request.headers.add(name, value);
  return request;
}

TEST(AsUser, TheVisitorIsTheOneWhoIsLoggedIn) {
  const kube::User user{"a@example.com", "", {"team"}};
  net::Request made = as_user(request_with({{"Accept", "application/json"},
                                            {"Authorization", "Bearer x"},
                                            {"COOKIE", "a=b"},
                                            {"Impersonate-User", "system:admin"},
                                            {"impersonate-group", "system:masters"},
                                            {"IMPERSONATE-EXTRA-scopes", "all"},
                                            {"X-Remote-User", "root"}}),
                              "/hekla/v1/k8s", user);
  EXPECT_EQ(made.path, "/api/v1/pods");
  EXPECT_EQ(made.target, "/api/v1/pods?limit=1");
  EXPECT_EQ(made.headers.get("Accept"), "application/json");
  EXPECT_EQ(made.headers.get_all("Impersonate-User"),
            std::vector<std::string_view>{"a@example.com"});
  EXPECT_EQ(made.headers.get_all("Impersonate-Group"), std::vector<std::string_view>{"team"});
  for (const char* name : {"Authorization", "Cookie", "Impersonate-Extra-Scopes", "X-Remote-User"})
    EXPECT_FALSE(made.headers.has(name)) << name;
  EXPECT_FALSE(made.peer);
}

kube::ObjectPtr binding(const std::string& ns, const std::string& user, const std::string& role) {
  auto object = std::make_shared<kube::Object>();
  object->ns = ns;
  object->json = std::make_shared<const std::string>(R"({"metadata":{"annotations":{"user":")" +
                                                     user + R"(","role":")" + role + R"("}}})");
  return object;
}

TEST(Session, TheHighestRoleOfANamespaceCounts) {
  const auto roles = roles_from_bindings(
      {binding("a", "u", "view"), binding("a", "u", "admin"), binding("a", "u", "edit"),
       binding("b", "u", "edit"), binding("c", "other", "admin"), binding("d", "u", "view")},
      "u");
  EXPECT_EQ(roles, (std::map<std::string, std::string>{
                       {"a", "owner"}, {"b", "contributor"}, {"d", "viewer"}}));
}

TEST(Assets, TheTerminalAloneMayHaveStylesOfItsOwn) {
  net::Request request;
  for (const Asset& asset : assets()) {
    const net::Response response = asset_response(asset, request);
    const std::string policy(response.headers.get("Content-Security-Policy"));
    EXPECT_EQ(policy.find("unsafe-inline") != std::string::npos, asset.name == "terminal.html")
        << asset.name;
    EXPECT_EQ(policy.find("unsafe-eval"), std::string::npos);
    EXPECT_FALSE(response.body.empty()) << asset.name;
  }
}

TEST(Assets, AKnownFileIsNotSentAgain) {
  net::Request request;
  const net::Response first = document_response("index.html", request);
  EXPECT_EQ(first.status, 200);
  if (assets().empty()) return;
  request.headers.add("If-None-Match", std::string(first.headers.get("ETag")));
  EXPECT_EQ(document_response("index.html", request).status, 304);
}

}  // namespace
}  // namespace hekla::dashboard
