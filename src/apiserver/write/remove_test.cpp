#include "apiserver/server/server_fixture_test.h"

namespace hekla::apiserver {
namespace {

class RemoveTest : public ServerFixture {
 protected:
  Reply bind(const std::string& name, const std::string& node) {
    return call("POST", std::string(kPods) + "/" + name + "/binding",
                R"({"metadata":{"name":")" + name + R"("},"target":{"kind":"Node","name":")" +
                    node + R"("}})");
  }
};

TEST_F(RemoveTest, PlainObjectsGoAtOnce) {
  Reply made = call("POST", kMaps, config_map("m"));
  Reply gone = call("DELETE", std::string(kMaps) + "/m", R"({"propagationPolicy":"Background"})");
  EXPECT_EQ(gone.status, 200);
  EXPECT_EQ(gone.at({"status"}), "Success");
  EXPECT_EQ(gone.at({"details", "kind"}), "configmaps");
  EXPECT_EQ(gone.at({"details", "uid"}), made.at({"metadata", "uid"}));
  Reply again = call("DELETE", std::string(kMaps) + "/m");
  EXPECT_EQ(again.status, 404);
  EXPECT_EQ(again.message(), "configmaps \"m\" not found");
}

TEST_F(RemoveTest, PreconditionsAndOptions) {
  call("POST", kMaps, config_map("m"));
  const std::string url = std::string(kMaps) + "/m";
  Reply other = call("DELETE", url, R"({"preconditions":{"uid":"x"}})");
  EXPECT_EQ(other.status, 409);
  EXPECT_TRUE(
      other.message().starts_with("Operation cannot be fulfilled on ConfigMap \"m\": the UID in "
                                  "the precondition (x) does not match the "
                                  "UID in record ("));
  EXPECT_EQ(call("DELETE", url, R"({"preconditions":{"resourceVersion":"1"}})").status, 409);
  EXPECT_EQ(call("DELETE", url, R"({"propagationPolicy":"Sideways"})").status, 422);
  EXPECT_EQ(call("DELETE", url + "?dryRun=All").status, 200);
  EXPECT_EQ(call("GET", url).status, 200);
}

TEST_F(RemoveTest, FinalizersHoldAnObjectBack) {
  call("POST", kMaps, config_map("m", R"(,"finalizers":["x.io/f"])"));
  const std::string url = std::string(kMaps) + "/m";
  Reply held = call("DELETE", url);
  EXPECT_EQ(held.status, 200);
  EXPECT_EQ(held.at({"metadata", "deletionTimestamp"}), "2026-01-01T00:00:00Z");
  EXPECT_EQ(json::int_at(held.body, {"metadata", "deletionGracePeriodSeconds"}, -1), 0);
  Reply more = patch(url, R"({"metadata":{"finalizers":["x.io/f","x.io/g"]}})");
  EXPECT_EQ(more.status, 422);
  EXPECT_EQ(
      more.message(),
      "ConfigMap \"m\" is invalid: metadata.finalizers: Forbidden: no new finalizers can be added "
      "if the object is being deleted, found new finalizers []string{\"x.io/g\"}");
  Reply last = patch(url, R"({"metadata":{"finalizers":null}})");
  EXPECT_EQ(last.status, 200);
  EXPECT_EQ(last.at({"metadata", "name"}), "m");
  EXPECT_EQ(call("GET", url).status, 404);
}

TEST_F(RemoveTest, PropagationPolicyBecomesAFinalizer) {
  call("POST", kMaps, config_map("m"));
  Reply held = call("DELETE", std::string(kMaps) + "/m", R"({"propagationPolicy":"Foreground"})");
  const json::Array* finalizers = json::array_at(held.body, {"metadata", "finalizers"});
  ASSERT_TRUE(finalizers);
  EXPECT_EQ(finalizers->front(), json::Value("foregroundDeletion"));
}

TEST_F(RemoveTest, PodsTakeTheirGrace) {
  call("POST", kPods, pod("idle"));
  Reply idle = call("DELETE", std::string(kPods) + "/idle");
  EXPECT_EQ(idle.at({"kind"}), "Pod");
  EXPECT_EQ(call("GET", std::string(kPods) + "/idle").status, 404);

  call("POST", kPods, pod("p"));
  EXPECT_EQ(bind("p", "n1").status, 201);
  const std::string url = std::string(kPods) + "/p";
  Reply first = call("DELETE", url);
  EXPECT_EQ(first.at({"metadata", "deletionTimestamp"}), "2026-01-01T00:00:30Z");
  EXPECT_EQ(json::int_at(first.body, {"metadata", "deletionGracePeriodSeconds"}), 30);
  EXPECT_EQ(json::int_at(first.body, {"metadata", "generation"}), 2);
  Reply longer = call("DELETE", url, R"({"gracePeriodSeconds":60})");
  EXPECT_EQ(longer.at({"metadata", "resourceVersion"}), first.at({"metadata", "resourceVersion"}));
  Reply shorter = call("DELETE", url, R"({"gracePeriodSeconds":5})");
  EXPECT_EQ(shorter.at({"metadata", "deletionTimestamp"}), "2026-01-01T00:00:05Z");
  EXPECT_EQ(json::int_at(shorter.body, {"metadata", "generation"}), 2);
  Reply now = call("DELETE", url, R"({"gracePeriodSeconds":0})");
  EXPECT_EQ(now.at({"kind"}), "Pod");
  EXPECT_EQ(call("GET", url).status, 404);
}

TEST_F(RemoveTest, BindingHappensOnce) {
  call("POST", kPods, pod("p"));
  Reply bound = bind("p", "n1");
  EXPECT_EQ(bound.status, 201);
  EXPECT_EQ(bound.at({"status"}), "Success");
  Reply now = call("GET", std::string(kPods) + "/p");
  EXPECT_EQ(now.at({"spec", "nodeName"}), "n1");
  const json::Value& condition = json::array_at(now.body, {"status", "conditions"})->front();
  EXPECT_EQ(json::string_at(condition, {"type"}), "PodScheduled");
  EXPECT_EQ(json::string_at(condition, {"status"}), "True");
  Reply again = bind("p", "n2");
  EXPECT_EQ(again.status, 409);
  EXPECT_EQ(again.message(),
            "Operation cannot be fulfilled on pods/binding \"p\": pod p is already "
            "assigned to node \"n1\"");
  EXPECT_EQ(again.at({"details", "kind"}), "pods/binding");
  EXPECT_EQ(bind("none", "n1").status, 404);
  Reply nowhere = call("POST", std::string(kPods) + "/p/binding", R"({"target":{}})");
  EXPECT_EQ(nowhere.status, 422);
  call("POST", kPods, pod("q"));
  Reply by_collection = call("POST", "/api/v1/namespaces/default/bindings",
                             R"({"metadata":{"name":"q"},"target":{"name":"n1"}})");
  EXPECT_EQ(by_collection.status, 201) << by_collection.text;
}

TEST_F(RemoveTest, EvictionDeletes) {
  call("POST", kPods, pod("p"));
  bind("p", "n1");
  Reply evicted = call("POST", std::string(kPods) + "/p/eviction",
                       R"({"apiVersion":"policy/v1","kind":"Eviction","metadata":{"name":"p"}})");
  EXPECT_EQ(evicted.status, 201);
  EXPECT_EQ(call("GET", std::string(kPods) + "/p").at({"metadata", "deletionTimestamp"}),
            "2026-01-01T00:00:30Z");
}

TEST_F(RemoveTest, CollectionsAreDeletedBySelector) {
  for (const char* name : {"a", "b", "c"})
    call("POST", kMaps, config_map(name, name == std::string("c") ? "" : R"(,"labels":{"x":"y"})"));
  Reply gone = call("DELETE", std::string(kMaps) + "?labelSelector=x%3Dy");
  EXPECT_EQ(gone.status, 200);
  EXPECT_EQ(gone.at({"kind"}), "ConfigMapList");
  EXPECT_EQ(json::array_at(gone.body, {"items"})->size(), 2u);
  EXPECT_EQ(json::array_at(call("GET", kMaps).body, {"items"})->size(), 1u);
}

}  // namespace
}  // namespace hekla::apiserver
