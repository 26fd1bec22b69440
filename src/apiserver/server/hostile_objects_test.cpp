// Objects and requests made to hurt: each is refused or harmless, and the server goes on.
#include <ctime>

#include "apiserver/server/server_fixture_test.h"
#include "base/bytes.h"

namespace hekla::apiserver {
namespace {

constexpr const char* kOpenThing =
    R"({"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition",
 "metadata":{"name":"things.example.com"},"spec":{"group":"example.com","scope":"Namespaced",
 "names":{"plural":"things","kind":"Thing"},"versions":[{"name":"v1","served":true,"storage":true,
 "schema":{"openAPIV3Schema":{"type":"object","properties":{"spec":{"type":"object",
 "x-kubernetes-preserve-unknown-fields":true}}}}}]}})";
constexpr const char* kThings = "/apis/example.com/v1/namespaces/default/things";

class HostileObjects : public ServerFixture {
 protected:
  Reply as(const std::string& user, std::string method, std::string target, std::string body = {},
           const std::string& type = "application/json") {
    return call(std::move(method), std::move(target), std::move(body),
                {{"Impersonate-User", user}, {"Content-Type", type}});
  }
};

TEST_F(HostileObjects, WhatIsStoredCanBeReadAgainHoweverDeep) {
  ASSERT_EQ(
      call("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", kOpenThing).status,
      201);
  for (int depth = 240; depth <= 256; ++depth) {
    std::string nested;
    for (int i = 2; i < depth; ++i) nested += "{\"a\":";
    nested += "1" + std::string(static_cast<std::size_t>(depth - 2), '}');
    const std::string name = "t" + std::to_string(depth);
    const Reply made =
        call("POST", kThings,
             R"({"apiVersion":"example.com/v1","kind":"Thing","metadata":{"name":")" + name +
                 R"("},"spec":)" + nested + "}");
    EXPECT_TRUE(made.status == 201 || made.status == 400) << depth << made.text.substr(0, 200);
    EXPECT_EQ(made.status == 201, depth < 253) << depth;
    const Reply read = call("GET", std::string(kThings) + "/" + name);
    EXPECT_EQ(read.status, made.status == 201 ? 200 : 404);
  }
  EXPECT_EQ(
      call("GET", kThings, "", {{"Accept", "application/json;as=Table;v=v1;g=meta.k8s.io"}}).status,
      200);
}

TEST_F(HostileObjects, ProblemsWithALongPathAreCountedNotCollected) {
  const std::string key(1 << 16, 'k');
  std::string repeated, unknown;
  for (int i = 0; i < 20'000; ++i) {
    repeated += (i ? ",\"a\":1" : "\"a\":1");
    unknown += (i ? "," : "") + ("\"u" + std::to_string(i)) + "\":0";
  }
  const std::string head =
      R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"x"},"data":{")" + key + "\":{";
  EXPECT_EQ(call("POST", kMaps, head + repeated + "}}}").status, 400);
  EXPECT_EQ(call("POST", kMaps, head + unknown + "}}}").status, 400);
  EXPECT_EQ(call("POST", kMaps, config_map("x")).status, 201);
}

TEST_F(HostileObjects, ManyWarningsAreCutShort) {
  std::string members;
  for (int i = 0; i < 150; ++i)
    members += ",\"" + std::string(300, 'u') + std::to_string(i) + "\":0";
  const Reply made =
      call("POST", kMaps,
           R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"x"})" + members + "}",
           {{"Content-Type", "application/json"}});
  ASSERT_EQ(made.status, 201) << made.text;
  std::size_t warned = 0;
  for (std::string_view one : made.headers.get_all("Warning")) warned += one.size();
  EXPECT_GT(warned, 3'000u);
  EXPECT_LT(warned, 8'000u);
}

TEST_F(HostileObjects, ApplyAndPutCreateOnlyForThoseWhoMayCreate) {
  ASSERT_EQ(call("POST", "/apis/rbac.authorization.k8s.io/v1/namespaces/default/roles",
                 R"({"metadata":{"name":"patcher"},"rules":[{"apiGroups":["","coordination.k8s.io"],
                     "resources":["configmaps","leases"],"verbs":["patch","update","get"]}]})")
                .status,
            201);
  ASSERT_EQ(
      call(
          "POST", "/apis/rbac.authorization.k8s.io/v1/namespaces/default/rolebindings",
          R"({"metadata":{"name":"patcher"},"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"Role",
                     "name":"patcher"},
                     "subjects":[{"apiGroup":"rbac.authorization.k8s.io","kind":"User","name":"bob"}]})")
          .status,
      201);
  const std::string map = std::string(kMaps) + "/m?fieldManager=m";
  const Reply applied = as("bob", "PATCH", map, config_map("m"), "application/apply-patch+yaml");
  EXPECT_EQ(applied.status, 403);
  EXPECT_NE(applied.message().find("cannot create resource"), std::string::npos)
      << applied.message();
  const std::string lease = "/apis/coordination.k8s.io/v1/namespaces/default/leases/l";
  EXPECT_EQ(as("bob", "PUT", lease, R"({"metadata":{"name":"l"},"spec":{}})").status, 403);
  ASSERT_EQ(call("POST", kMaps, config_map("m")).status, 201);
  EXPECT_EQ(as("bob", "PATCH", map,
               R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"m"},"data":{"z":"1"}})",
               "application/apply-patch+yaml")
                .status,
            200);
}

TEST_F(HostileObjects, ADefinitionCannotTakeTheNameOfABuiltInResource) {
  const Reply made = call("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", R"({
    "apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition",
    "metadata":{"name":"leases.coordination.k8s.io","annotations":{"api-approved.kubernetes.io":"https://example.com"}},
    "spec":{"group":"coordination.k8s.io","scope":"Namespaced","names":{"plural":"leases","kind":"Lease9"},
    "versions":[{"name":"v9","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object"}}}]}})");
  EXPECT_EQ(made.status, 422) << made.text;
}

TEST_F(HostileObjects, ARoleOfABillionRightsIsRefusedInAMoment) {
  const auto many = [](const std::string& prefix) {
    std::string list;
    for (int i = 0; i < 300; ++i) list += (i ? ",\"" : "\"") + prefix + std::to_string(i) + "\"";
    return "[" + list + "]";
  };
  ASSERT_EQ(
      call("POST", "/apis/rbac.authorization.k8s.io/v1/clusterroles",
           R"({"metadata":{"name":"roles"},"rules":[{"apiGroups":["rbac.authorization.k8s.io"],
                     "resources":["roles"],"verbs":["create"]}]})")
          .status,
      201);
  ASSERT_EQ(
      call(
          "POST", "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
          R"({"metadata":{"name":"roles"},"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"ClusterRole",
                     "name":"roles"},
                     "subjects":[{"apiGroup":"rbac.authorization.k8s.io","kind":"User","name":"bob"}]})")
          .status,
      201);
  const Reply made =
      as("bob", "POST", "/apis/rbac.authorization.k8s.io/v1/namespaces/default/roles",
         R"({"metadata":{"name":"r"},"rules":[{"verbs":)" + many("v") + R"(,"apiGroups":)" +
             many("g") + R"(,"resources":)" + many("r") + "}]}");
  EXPECT_EQ(made.status, 403);
  EXPECT_LT(made.text.size(), 100'000u);
}

TEST_F(HostileObjects, AScaleIsANumberOfTheObjectItself) {
  const std::string deployments = "/apis/apps/v1/namespaces/default/deployments";
  ASSERT_EQ(call("POST", deployments,
                 R"({"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"d"},"spec":{
    "replicas":3,"selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}},
    "spec":{"containers":[{"name":"c","image":"i"}]}}}})")
                .status,
            201);
  const std::string scale = deployments + "/d/scale";
  for (const char* body : {R"({"spec":{"replicas":"5"}})", R"({"spec":{"replicas":2.5}})"})
    EXPECT_EQ(patch(scale, body).status, 400) << body;
  EXPECT_EQ(call("PUT", scale, "[]").status, 400);
  EXPECT_EQ(call("PUT", scale, R"({"metadata":{"name":"other"},"spec":{"replicas":1}})").status,
            400);
  EXPECT_EQ(json::int_at(call("GET", deployments + "/d").body, {"spec", "replicas"}), 3);
  EXPECT_EQ(patch(scale, R"({"spec":{"replicas":4}})").status, 200);
}

TEST_F(HostileObjects, ANegativeGraceDoesNotRemoveARunningPod) {
  ASSERT_EQ(call("POST", kPods, pod("p", R"(,"nodeName":"n")")).status, 201);
  const std::string one = std::string(kPods) + "/p";
  ASSERT_EQ(call("DELETE", one).status, 200);
  ASSERT_EQ(call("DELETE", one + "?gracePeriodSeconds=-1").status, 200);
  const Reply still = call("GET", one);
  EXPECT_EQ(still.status, 200);
  EXPECT_EQ(json::int_at(still.body, {"metadata", "deletionGracePeriodSeconds"}), 1);
}

TEST_F(HostileObjects, ALastingTokenGoesWithItsSecret) {
  const std::string secrets = "/api/v1/namespaces/default/secrets";
  const auto make = [&](const std::string& name) {
    return call("POST", secrets,
                R"({"metadata":{)" + name +
                    R"(,"annotations":{"kubernetes.io/service-account.name":"default"}},
                                     "type":"kubernetes.io/service-account-token"})");
  };
  const std::string accounts = "/api/v1/namespaces/default/serviceaccounts";
  ASSERT_EQ(call("POST", accounts, R"({"metadata":{"name":"default"}})").status / 100, 2);
  for (const char* naming : {R"("name":"t")", R"("generateName":"t-")"}) {
    const Reply made = make(naming);
    ASSERT_EQ(made.status, 201) << made.text;
    const std::string token = base64_decode(made.at({"data", "token"})).value();
    const auto who = [&] {
      return call("POST", "/apis/authentication.k8s.io/v1/selfsubjectreviews", "{}",
                  {{"Authorization", "Bearer " + token}})
          .status;
    };
    EXPECT_EQ(who(), 201);
    ASSERT_EQ(call("DELETE", secrets + "/" + made.at({"metadata", "name"})).status, 200);
    EXPECT_EQ(who(), 401) << naming;
    simulation.clock().advance(std::chrono::seconds(2));  // a new token has another time in it
    ASSERT_EQ(make("\"name\":\"" + made.at({"metadata", "name"}) + "\"").status, 201);
    EXPECT_EQ(who(), 401) << "revived by a secret of the same name";
  }
}

TEST_F(HostileObjects, ASmallServiceRangeIsUsedAgain) {
  service_range = "10.9.0.0/28";
  server.reset();
  store.reset();
  open();
  const std::string services = "/api/v1/namespaces/default/services";
  for (int i = 0; i < 100; ++i) {
    const std::string name = "s" + std::to_string(i);
    const std::string service =
        R"({"metadata":{"name":")" + name + R"("},"spec":{"ports":[{"port":80}]}})";
    ASSERT_EQ(call("POST", services, service).status, 201);
    ASSERT_EQ(call("DELETE", services + "/" + name).status, 200);
    simulation.clock().advance(std::chrono::milliseconds(300));
  }
}

TEST_F(HostileObjects, NodePortsThatAreUsedUpAreSaidToBe) {
  std::string ports;
  for (int i = 1; i <= 2'769; ++i)
    ports += (i > 1 ? R"(,{"name":"p)" : R"({"name":"p)") + std::to_string(i) + R"(","port":)" +
             std::to_string(i) + "}";
  const Reply made =
      call("POST", "/api/v1/namespaces/default/services",
           R"({"metadata":{"name":"s"},"spec":{"type":"NodePort","ports":[)" + ports + "]}}");
  EXPECT_EQ(made.status, 422);
  EXPECT_NE(made.message().find(
                "spec.ports[2768].nodePort: Invalid value: 0: failed to allocate a nodePort: range "
                "is full"),
            std::string::npos)
      << made.message().substr(0, 500);
}

TEST_F(HostileObjects, LabelsOfABindingAreHeldToTheRules) {
  ASSERT_EQ(call("POST", kPods, pod("p")).status, 201);
  const Reply bound =
      call("POST", std::string(kPods) + "/p/binding",
           R"({"target":{"name":"n"},"metadata":{"labels":{"a":{"b":1},"bad key!":"x"}}})");
  EXPECT_EQ(bound.status, 422) << bound.text;
}

TEST_F(HostileObjects, InventedMethodsLeaveNoMetrics) {
  for (int i = 0; i < 50; ++i) call("ODD" + std::to_string(i), kMaps);
  EXPECT_EQ(call("GET", "/metrics").text.find("odd1"), std::string::npos);
}

// `count` members or elements, from the largest to the smallest: `item` of each one's number.
template <class Item>
std::string many(int count, Item item) {
  std::string text;
  for (int i = count; i > 0; --i)
    text += (text.empty() ? "" : ",") + item(std::to_string(1'000'000 + i));
  return text;
}

// Each took minutes of a net thread when members and elements were looked for, put in or taken out
// one by one.
TEST_F(HostileObjects, WhatIsLargeIsTakenApartInAMoment) {
  const std::clock_t begun = std::clock();
  const auto took = [&] { return static_cast<double>(std::clock() - begun) / CLOCKS_PER_SEC; };
  const auto map = [](const std::string& rest) {
    return R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"x"})" + rest + "}";
  };
  const auto data = [](const char* value) {
    return ",\"data\":{" + many(100'000, [&](auto i) { return "\"k" + i + "\":" + value; }) + "}";
  };
  const std::string unknown = many(100'000, [](auto i) { return "\"u" + i + "\":1"; });
  EXPECT_EQ(call("POST", kMaps, map("," + unknown), {{"Content-Type", "application/json"}}).status,
            201);
  EXPECT_LT(took(), 10) << "unknown members";
  const std::string x = std::string(kMaps) + "/x";
  EXPECT_EQ(call("PUT", x, map(data("\"1\""))).status, 200);
  EXPECT_LT(took(), 10) << "what is written is tracked";
  const std::string apply = "?force=true&fieldManager=";
  const std::vector<std::pair<std::string, std::string>> applies{
      {"Content-Type", "application/apply-patch+yaml"}};
  EXPECT_EQ(call("PATCH", x + apply + "a", map(data("\"2\"")), applies).status, 200);
  EXPECT_EQ(call("PATCH", x + apply + "a", map(""), applies).status, 200);
  EXPECT_LT(took(), 10) << "what is applied is tracked";
  const auto held = [&](const char* order) {
    return R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"y","finalizers":[)" +
           many(30'000, [&](auto i) { return std::string("\"e.g/") + order + i + "\""; }) + "]}}";
  };
  const std::string y = std::string(kMaps) + "/y";
  EXPECT_EQ(call("PATCH", y + apply + "a", held("a"), applies).status, 201);
  EXPECT_EQ(call("PATCH", y + apply + "b", held("b"), applies).status, 200);
  EXPECT_EQ(call("PATCH", y + apply + "a", held("c"), applies).status, 200);
  EXPECT_LT(took(), 10) << "elements of lists";
  EXPECT_EQ(
      call("PATCH", x,
           R"({"data":{)" + many(100'000, [](auto i) { return "\"k" + i + "\":null"; }) + "}}",
           {{"Content-Type", "application/merge-patch+json"}})
          .status,
      200);
  EXPECT_EQ(call("PATCH", y,
                 R"({"metadata":{"finalizers":[)" +
                     many(60'000, [](auto i) { return "\"e.g/d" + i + "\""; }) +
                     R"(],"$deleteFromPrimitiveList/finalizers":[)" +
                     many(60'000, [](auto i) { return "\"e.g/b" + i + "\""; }) + "]}}",
                 {{"Content-Type", "application/strategic-merge-patch+json"}})
                .status,
            200);
  EXPECT_LT(took(), 10) << "patches";
}

}  // namespace
}  // namespace hekla::apiserver
