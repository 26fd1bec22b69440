#include "controllers/cluster/role_aggregation.h"

#include <gtest/gtest.h>

#include "json/parse.h"
#include "support/fake_client.h"
#include "support/sim_executor.h"

namespace hekla::controllers {
namespace {

const kube::Resource kRoles{"rbac.authorization.k8s.io", "v1", "clusterroles", "ClusterRole",
                            false};

json::Value role(const std::string& text) { return *json::parse(text); }

TEST(RoleAggregation, GathersTheRulesOfSelectedRolesAndFollowsThem) {
  sim::Simulation simulation(1);
  test::FakeApi api(simulation.clock());
  test::FakeClient client(api, simulation.add("controllers"));
  api.create(kRoles, role(R"({"metadata":{"name":"admin"},"rules":[],
    "aggregationRule":{"clusterRoleSelectors":[{"matchLabels":{"to-admin":"true"}}]}})"));
  api.create(kRoles, role(R"({"metadata":{"name":"edit","labels":{"to-admin":"true"}},"rules":[],
    "aggregationRule":{"clusterRoleSelectors":[{"matchLabels":{"to-edit":"true"}}]}})"));
  api.create(kRoles, role(R"({"metadata":{"name":"part","labels":{"to-edit":"true"}},
    "rules":[{"verbs":["get"],"apiGroups":[""],"resources":["pods"]}]})"));
  kube::CacheSet caches(client);
  RoleAggregation aggregation(caches);
  caches.start();
  simulation.run_until_idle();
  auto rules = [&](const std::string& name) {
    return json::serialize(*json::find(*api.find(kRoles, {"", name}), "rules"));
  };
  const std::string pods = R"({"verbs":["get"],"apiGroups":[""],"resources":["pods"]})";
  EXPECT_EQ(rules("edit"), "[" + pods + "]");
  EXPECT_EQ(rules("admin"), "[" + pods + "]");

  api.create(kRoles, role(R"({"metadata":{"name":"q","labels":{"to-edit":"true"}},
    "rules":[{"verbs":["list"],"apiGroups":["x"],"resources":["y"]}]})"));
  simulation.run_until_idle();
  EXPECT_EQ(rules("admin"),
            "[" + pods + R"(,{"verbs":["list"],"apiGroups":["x"],"resources":["y"]}])");

  api.remove(kRoles, {"", "part"});
  simulation.run_until_idle();
  EXPECT_EQ(rules("admin"), R"([{"verbs":["list"],"apiGroups":["x"],"resources":["y"]}])");
  api.clear_log();
  simulation.run_until_idle();
  EXPECT_TRUE(api.log().empty());
}

}  // namespace
}  // namespace hekla::controllers
