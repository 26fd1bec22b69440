#include "apiserver/server/server_fixture_test.h"

namespace hekla::apiserver {
namespace {

constexpr const char* kServices = "/apis/apiregistration.k8s.io/v1/apiservices";

class ApiServiceTest : public ServerFixture {
 protected:
  Reply get(const std::string& name) { return call("GET", std::string(kServices) + "/" + name); }
  static std::string available(const Reply& reply) {
    const json::Array* conditions = json::array_at(reply.body, {"status", "conditions"});
    if (!conditions || conditions->size() != 1) return "";
    return std::string(json::string_at(conditions->front(), {"status"})) + " " +
           std::string(json::string_at(conditions->front(), {"reason"}));
  }
};

TEST_F(ApiServiceTest, EveryServedVersionHasOne) {
  Reply core = get("v1.");
  ASSERT_EQ(core.status, 200);
  EXPECT_EQ(json::int_at(core.body, {"spec", "groupPriorityMinimum"}), 18000);
  EXPECT_EQ(json::int_at(core.body, {"spec", "versionPriority"}), 1);
  EXPECT_EQ(core.at({"metadata", "labels", "kube-aggregator.kubernetes.io/automanaged"}),
            "onstart");
  EXPECT_EQ(available(core), "True Local");
  EXPECT_EQ(json::int_at(get("v2.autoscaling").body, {"spec", "versionPriority"}), 30);
  EXPECT_EQ(available(get("v1.authorization.k8s.io")), "True Local");
  call("DELETE", std::string(kServices) + "/v1.apps");
  simulation.run_for(std::chrono::seconds(1));
  EXPECT_EQ(available(get("v1.apps")), "True Local") << "it comes back";
}

TEST_F(ApiServiceTest, ThoseOfCrdsComeAndGo) {
  constexpr const char* kCrds = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
  ASSERT_EQ(call("POST", kCrds,
                 R"({"metadata":{"name":"bars.y.io"},"spec":{"group":"y.io","scope":"Cluster",
      "names":{"plural":"bars","kind":"Bar"},"versions":[{"name":"v1","served":true,"storage":true,
      "schema":{"openAPIV3Schema":{"type":"object"}}}]}})")
                .status,
            201);
  simulation.run_for(std::chrono::seconds(1));
  Reply made = get("v1.y.io");
  ASSERT_EQ(made.status, 200) << made.text;
  EXPECT_EQ(json::int_at(made.body, {"spec", "groupPriorityMinimum"}), 1000);
  EXPECT_EQ(json::int_at(made.body, {"spec", "versionPriority"}), 100);
  EXPECT_EQ(available(made), "True Local");
  call("DELETE", std::string(kCrds) + "/bars.y.io");
  simulation.run_for(std::chrono::seconds(1));
  EXPECT_EQ(get("v1.y.io").status, 404);
}

TEST_F(ApiServiceTest, OneWithoutAServiceIsLocal) {
  ASSERT_EQ(call("POST", kServices,
                 R"({"metadata":{"name":"v1.other.io"},"spec":{"group":"other.io","version":"v1",
      "groupPriorityMinimum":100,"versionPriority":10}})")
                .status,
            201);
  simulation.run_for(std::chrono::seconds(1));
  EXPECT_EQ(available(get("v1.other.io")), "True Local");
}

}  // namespace
}  // namespace hekla::apiserver
