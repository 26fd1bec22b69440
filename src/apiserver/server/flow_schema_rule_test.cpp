#include "apiserver/server/server_fixture_test.h"

namespace hekla::apiserver {
namespace {

constexpr const char* kSchemas = "/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas";
constexpr const char* kLevels = "/apis/flowcontrol.apiserver.k8s.io/v1/prioritylevelconfigurations";

class FlowSchemaRuleTest : public ServerFixture {
 protected:
  // status and message of the condition Dangling.
  std::pair<std::string, std::string> dangling(const std::string& name) {
    const json::Value schema = call("GET", std::string(kSchemas) + "/" + name).body;
    const json::Array* conditions = json::array_at(schema, {"status", "conditions"});
    if (!conditions || conditions->size() != 1) return {};
    return {std::string(json::string_at((*conditions)[0], {"status"})),
            std::string(json::string_at((*conditions)[0], {"message"}))};
  }
};

TEST_F(FlowSchemaRuleTest, TheObjectsOfEveryClusterAreThere) {
  EXPECT_EQ(json::array_at(call("GET", kLevels).body, {"items"})->size(), 8u);
  EXPECT_EQ(json::array_at(call("GET", kSchemas).body, {"items"})->size(), 11u);
  Reply exempt = call("GET", std::string(kSchemas) + "/exempt");
  EXPECT_EQ(exempt.at({"metadata", "annotations", "apf.kubernetes.io/autoupdate-spec"}), "true");
  EXPECT_EQ(json::int_at(exempt.body, {"spec", "matchingPrecedence"}), 1);
  EXPECT_EQ(dangling("exempt").first, "False");
  EXPECT_EQ(dangling("service-accounts"),
            (std::pair<std::string, std::string>(
                "False",
                "This FlowSchema references the PriorityLevelConfiguration "
                "object named \"workload-low\" and it exists")));
  Reply table = call("GET", std::string(kSchemas) + "/probes", "",
                     {{"Accept", "application/json;as=Table;g=meta.k8s.io;v=v1"}});
  const json::Value& row = (*json::array_at(table.body, {"rows"}))[0];
  EXPECT_EQ(json::serialize(*json::find(row, "cells")).substr(0, 30),
            R"(["probes","exempt",2,"<none>",)");
}

TEST_F(FlowSchemaRuleTest, ASchemaHearsOfItsLevelComingAndGoing) {
  Reply made =
      call("POST", kSchemas,
           R"({"metadata":{"name":"mine"},"spec":{"priorityLevelConfiguration":{"name":"own"}}})");
  ASSERT_EQ(made.status, 201) << made.text;
  EXPECT_EQ(dangling("mine"), (std::pair<std::string, std::string>(
                                  "True",
                                  "This FlowSchema references the PriorityLevelConfiguration "
                                  "object named \"own\" but there is no such object")));
  ASSERT_EQ(call("POST", kLevels, R"({"metadata":{"name":"own"},"spec":{"type":"Limited","limited":{
      "limitResponse":{"type":"Reject"}}}})")
                .status,
            201);
  EXPECT_EQ(dangling("mine").first, "False");
  ASSERT_EQ(call("DELETE", std::string(kLevels) + "/own").status, 200);
  EXPECT_EQ(dangling("mine").first, "True");
}

TEST_F(FlowSchemaRuleTest, MandatoryOnesComeBack) {
  ASSERT_EQ(call("DELETE", std::string(kLevels) + "/catch-all").status, 200);
  ASSERT_EQ(call("DELETE", std::string(kLevels) + "/system").status, 200);
  EXPECT_EQ(call("GET", std::string(kLevels) + "/catch-all").status, 200);
  EXPECT_EQ(call("GET", std::string(kLevels) + "/system").status, 404) << "a suggestion";
}

TEST_F(FlowSchemaRuleTest, ComponentStatuses) {
  Reply list = call("GET", "/api/v1/componentstatuses");
  EXPECT_EQ(list.at({"kind"}), "ComponentStatusList");
  EXPECT_EQ(list.headers.get("Warning"), "299 - \"v1 ComponentStatus is deprecated in v1.19+\"");
  ASSERT_EQ(json::array_at(list.body, {"items"})->size(), 3u);
  Reply store = call("GET", "/api/v1/componentstatuses/etcd-0");
  EXPECT_EQ(json::serialize(*json::find(store.body, "conditions")),
            R"([{"type":"Healthy","status":"True","message":"ok"}])");
  Reply table = call("GET", "/api/v1/componentstatuses/scheduler", "",
                     {{"Accept", "application/json;as=Table;g=meta.k8s.io;v=v1"}});
  EXPECT_EQ(json::serialize(*json::find((*json::array_at(table.body, {"rows"}))[0], "cells")),
            R"(["scheduler","Unhealthy","not part of this process",""])");
  EXPECT_EQ(call("GET", "/api/v1/componentstatuses/x").message(),
            "componentstatuses \"x\" not found");
  EXPECT_EQ(call("POST", "/api/v1/componentstatuses", "{}").status, 405);
  EXPECT_NE(call("GET", "/api/v1").text.find(R"("name":"componentstatuses")"), std::string::npos);
}

}  // namespace
}  // namespace hekla::apiserver
