#include "gateway/policies/policy.h"

#include <gtest/gtest.h>

#include "gateway/routes/example_routes_test.h"

namespace hekla::gateway {
namespace {

Result<Policy> policy(const std::string& spec, const std::string& ns = "a") {
  return read_policy(
      object_of(R"({"metadata":{"name":"p","namespace":")" + ns + R"("},"spec":)" + spec + "}"));
}

std::shared_ptr<const Policy> good(const std::string& spec, const std::string& ns = "a") {
  Result<Policy> read = policy(spec, ns);
  EXPECT_TRUE(read) << spec << (read ? "" : read.error().message);
  return std::make_shared<const Policy>(read ? std::move(*read) : Policy{});
}

// As the profile controller writes it for an owner.
const std::string kOwners = R"({"rules":[
  {"from":[{"source":{"principals":["cluster.local/ns/istio-system/sa/istio-ingressgateway-service-account",
                                    "cluster.local/ns/kubeflow/sa/ml-pipeline-ui"]}}],
   "when":[{"key":"request.headers[kubeflow-userid]","values":["ann@example.com"]}]},
  {"when":[{"key":"source.namespace","values":["a"]}]},
  {"to":[{"operation":{"paths":["/healthz","/metrics","/wait-for-drain"]}}]},
  {"from":[{"source":{"principals":["cluster.local/ns/kubeflow/sa/notebook-controller-service-account"]}}],
   "to":[{"operation":{"methods":["GET"],"paths":["*/api/kernels"]}}]}]})";

std::string why(const Policies& policies, const std::string& user,
                const std::string& path = "/notebook/a/nb/lab", const std::string& method = "GET",
                std::vector<std::pair<std::string, std::string>> more = {}) {
  kube::User asking;
  asking.name = user;
  asking.groups = {"team"};
  net::Headers headers;
  headers.add("Kubeflow-UserId", user);
  for (auto& [name, value] : more) headers.add(name, value);
  return refusal_by(policies, facts_of({asking, headers, method, path, "localhost:8080", 8888}));
}

TEST(Policies, OwnersAndTheNamespacesOwnAccountsAreLetIn) {
  const Policies owners{good(kOwners)};
  EXPECT_EQ(why(owners, "ann@example.com"), "");
  EXPECT_EQ(why(owners, "bob@example.com"), "no AuthorizationPolicy allows it");
  EXPECT_EQ(why(owners, "system:serviceaccount:a:default-editor"), "");
  EXPECT_NE(why(owners, "system:serviceaccount:b:default-editor"), "");
  EXPECT_NE(why(owners, "system:serviceaccount:a"), "");
  // Paths are whole, and the query is no part of them.
  EXPECT_EQ(why(owners, "bob@example.com", "/metrics?x"), "");
  EXPECT_NE(why(owners, "bob@example.com", "/metrics/x"), "");
  EXPECT_NE(why(owners, "bob@example.com", "/x?/metrics"), "");
  // The controller's rule is not for visitors.
  EXPECT_NE(why(owners, "bob@example.com", "/notebook/a/nb/api/kernels"), "");
  EXPECT_EQ(why(owners, "system:serviceaccount:kubeflow:notebook-controller-service-account",
                "/notebook/a/nb/api/kernels"),
            "");
  EXPECT_NE(why(owners, "system:serviceaccount:kubeflow:notebook-controller-service-account",
                "/notebook/a/nb/api/kernels", "POST"),
            "");
}

TEST(Policies, ContributorsAreAddedAndDenialsComeFirst) {
  const std::string bob = R"({"action":"ALLOW","rules":[{"from":[{"source":{"principals":["*"]}}],
      "when":[{"key":"request.headers[kubeflow-userid]","values":["bob@example.com"]}]}]})";
  EXPECT_EQ(why({good(kOwners), good(bob)}, "bob@example.com"), "");
  const std::string deny =
      R"({"action":"DENY","rules":[{"to":[{"operation":{"methods":["DELETE"]}}]}]})";
  EXPECT_EQ(why({good(kOwners), good(deny)}, "ann@example.com"), "");
  EXPECT_EQ(why({good(kOwners), good(deny)}, "ann@example.com", "/x", "DELETE"),
            "AuthorizationPolicy a/p denies it");
  EXPECT_EQ(why({good(deny)}, "bob@example.com"), "");  // nothing has to allow it
  EXPECT_NE(why({good("{}")}, "ann@example.com"), "");  // allows nothing
  EXPECT_EQ(why({good(R"({"rules":[{}]})")}, "bob@example.com"), "");
  EXPECT_EQ(why({good(R"({"action":"AUDIT","rules":[{}]})")}, "bob@example.com"), "");
  EXPECT_EQ(why({}, "bob@example.com"), "");
}

TEST(Policies, ValuesMatchWholeByStartByEndOrAtAll) {
  const auto lets = [&](const std::string& rule, const std::string& path = "/a/b") {
    return why({good(R"({"rules":[)" + rule + "]}")}, "ann@example.com", path, "GET",
               {{"X-Team", "red"}}) == "";
  };
  EXPECT_TRUE(lets(R"({"to":[{"operation":{"paths":["/a/*"]}}]})"));
  EXPECT_TRUE(lets(R"({"to":[{"operation":{"paths":["*/b"],"ports":["8888"]}}]})"));
  EXPECT_FALSE(lets(R"({"to":[{"operation":{"paths":["*/b"],"ports":["80"]}}]})"));
  EXPECT_FALSE(lets(R"({"to":[{"operation":{"paths":["/a"]}}]})"));
  EXPECT_FALSE(lets(R"({"to":[{"operation":{"paths":["/a/*"],"notPaths":["/a/b"]}}]})"));
  EXPECT_TRUE(lets(R"({"when":[{"key":"request.headers[x-team]","values":["red","blue"]}]})"));
  EXPECT_TRUE(lets(R"({"when":[{"key":"request.headers[X-Team]","notValues":["blue"]}]})"));
  EXPECT_FALSE(lets(R"({"when":[{"key":"request.headers[x-none]","values":["*"]}]})"));
  EXPECT_TRUE(lets(R"({"when":[{"key":"request.auth.claims[groups]","values":["team"]}]})"));
  EXPECT_FALSE(lets(R"({"from":[{"source":{"notNamespaces":["istio-system"]}}]})"));
  EXPECT_TRUE(lets(R"({"from":[{"source":{"requestPrincipals":["*"]}}]})"));
  EXPECT_TRUE(lets(R"({"to":[{"operation":{"hosts":["localhost:*"]}}]})"));
}

TEST(Policies, WhatIsNotUnderstoodLetsNobodyIn) {
  for (const auto& [spec, field] : std::vector<std::pair<std::string, std::string>>{
           {R"({"action":"CUSTOM","rules":[{}]})", "spec.action"},
           {R"({"rules":[{"from":[{"source":{"ipBlocks":["1.2.3.4"]}}]}]})",
            "spec.rules[0].from[0].source.ipBlocks"},
           {R"({"rules":[{"to":[{"operation":{"paths":["/a/{*}"]}}]}]})",
            "spec.rules[0].to[0].operation.paths"},
           {R"({"rules":[{"from":[{}]}]})", "spec.rules[0].from[0].source"},
           {R"({"rules":[{"when":[{"key":"connection.sni","values":["x"]}]}]})",
            "spec.rules[0].when[0].key"},
           {R"({"rules":[{"when":[{"key":"source.namespace"}]}]})", "spec.rules[0].when[0]"},
           {R"({"rules":["x"]})", "spec.rules[0]"},
           {R"({"targetRefs":[{"name":"x"}]})", "spec.targetRefs"}}) {
    const Result<Policy> read = policy(spec);
    ASSERT_FALSE(read) << spec;
    EXPECT_TRUE(read.error().message.starts_with(field + ":")) << read.error().message;
  }
  const auto against = std::make_shared<const Policy>(policy_against_everybody(object_of(
      R"({"metadata":{"name":"p","namespace":"a"},"spec":{"selector":{"matchLabels":{"app":"x"}}}})")));
  EXPECT_EQ(why({against}, "ann@example.com"), "AuthorizationPolicy a/p denies it");
  EXPECT_EQ(against->selector.size(), 1u);
}

TEST(Policies, AreAboutThePodsThatTheySelect) {
  const framework::AnyObject service =
      object_of(R"({"metadata":{"name":"s"},"spec":{"selector":{"app":"x"}}})");
  const json::Object* selector = json::object_at(service.spec, {"selector"});
  const auto about = [&](const std::string& labels, const std::string& ns = "a") {
    return selects(*good(R"({"selector":{"matchLabels":)" + labels + "}}", ns), selector);
  };
  EXPECT_TRUE(selects(*good("{}"), selector));
  EXPECT_TRUE(selects(*good("{}", kRootNamespace), selector));
  EXPECT_TRUE(about(R"({"app":"x"})"));
  EXPECT_FALSE(about(R"({"app":"y"})"));
  EXPECT_TRUE(about(R"({"tier":"web"})"));
  EXPECT_FALSE(about(R"({"istio":"ingressgateway"})", kRootNamespace));
  EXPECT_TRUE(about(R"({"app":"x"})", kRootNamespace));
}

}  // namespace
}  // namespace hekla::gateway
