#include "apiserver/crd.h"

#include "apiserver/server_fixture_test.h"

namespace hekla::apiserver {
namespace {

constexpr const char* kCrds = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
constexpr const char* kFoos = "/apis/x.io/v1/namespaces/default/foos";

const std::string kFooCrd = R"({"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition",
  "metadata":{"name":"foos.x.io"},
  "spec":{"group":"x.io","scope":"Namespaced","names":{"plural":"foos","kind":"Foo","shortNames":["fo"]},
  "versions":[
    {"name":"v1","served":true,"storage":true,"subresources":{"status":{}},
     "additionalPrinterColumns":[{"name":"Size","type":"integer","jsonPath":".spec.size"},
                                 {"name":"Age","type":"date","jsonPath":".metadata.creationTimestamp"}],
     "schema":{"openAPIV3Schema":{"type":"object","properties":{
       "spec":{"type":"object","properties":{
         "size":{"type":"integer","default":3},
         "s":{"type":"string","enum":["a","b"]}}},
       "status":{"type":"object","properties":{"phase":{"type":"string"}}}}}}},
    {"name":"v1beta1","served":true,"storage":false,
     "schema":{"openAPIV3Schema":{"type":"object","x-kubernetes-preserve-unknown-fields":true}}}]}})";

class CrdTest : public ServerFixture {
 protected:
  Reply install() { return call("POST", kCrds, kFooCrd); }
};

TEST_F(CrdTest, IsEstablishedAndServedAtOnce) {
  Reply made = install();
  ASSERT_EQ(made.status, 201) << made.text;
  const json::Array& conditions = *json::array_at(made.body, {"status", "conditions"});
  ASSERT_EQ(conditions.size(), 2u);
  EXPECT_EQ(json::string_at(conditions[0], {"type"}), "NamesAccepted");
  EXPECT_EQ(json::string_at(conditions[0], {"reason"}), "NoConflicts");
  EXPECT_EQ(json::string_at(conditions[1], {"type"}), "Established");
  EXPECT_EQ(json::string_at(conditions[1], {"message"}), "the initial names have been accepted");
  EXPECT_EQ(made.at({"status", "acceptedNames", "singular"}), "foo");
  EXPECT_EQ(made.at({"spec", "names", "listKind"}), "FooList");
  EXPECT_EQ(json::array_at(made.body, {"status", "storedVersions"})->size(), 1u);
  EXPECT_EQ(call("GET", kFoos).at({"kind"}), "FooList");
  EXPECT_EQ(call("GET", "/apis/x.io/v1").status, 200);
}

TEST_F(CrdTest, ResourcesArePrunedDefaultedAndValidated) {
  install();
  Reply made = call("POST", kFoos, R"({"apiVersion":"x.io/v1","kind":"Foo","metadata":{"name":"f"},
      "spec":{"s":"a","extra":1},"status":{"phase":"x"}})");
  ASSERT_EQ(made.status, 201) << made.text;
  EXPECT_EQ(json::int_at(made.body, {"spec", "size"}), 3);
  EXPECT_EQ(json::find_path(made.body, {"spec", "extra"}), nullptr);
  EXPECT_EQ(json::find(made.body, "status"), nullptr);
  EXPECT_EQ(made.headers.get("Warning"), "299 - \"unknown field \\\"spec.extra\\\"\"");
  Reply odd = call("POST", std::string(kFoos) + "?fieldValidation=Strict",
                   R"({"metadata":{"name":"o","color":"red"},"spec":{}})");
  EXPECT_EQ(odd.status, 400);
  EXPECT_EQ(odd.message(), "Foo in version \"v1\" cannot be handled as a Foo: strict decoding error: "
                           "unknown field \"metadata.color\"");
  EXPECT_EQ(call("POST", kFoos, R"({"metadata":{"name":"o","labels":{"a":1}}})").status, 400);
  Reply bad = call("POST", kFoos, R"({"metadata":{"name":"g"},"spec":{"s":"q"}})");
  EXPECT_EQ(bad.status, 422);
  EXPECT_EQ(bad.message(), "Foo.x.io \"g\" is invalid: spec.s: Unsupported value: \"q\": supported "
                           "values: \"a\", \"b\"");
  Reply unguarded = call("PUT", std::string(kFoos) + "/f", R"({"metadata":{"name":"f"},"spec":{}})");
  EXPECT_EQ(unguarded.status, 422);
  EXPECT_EQ(patch(std::string(kFoos) + "/f", "{}", "strategic-merge-patch").status, 415);
  Reply changed = patch(std::string(kFoos) + "/f", R"({"spec":{"size":4}})");
  EXPECT_EQ(json::int_at(changed.body, {"metadata", "generation"}), 2);
  Reply status = patch(std::string(kFoos) + "/f/status", R"({"status":{"phase":"Up"},"spec":{"size":9}})");
  EXPECT_EQ(status.at({"status", "phase"}), "Up");
  EXPECT_EQ(json::int_at(status.body, {"spec", "size"}), 4);
  EXPECT_EQ(json::int_at(status.body, {"metadata", "generation"}), 2);
  const json::Value item = json::array_at(call("GET", kFoos).body, {"items"})->front();
  EXPECT_EQ(json::string_at(item, {"kind"}), "Foo");
}

// What was written before the CRD changed is read as if it had been written after.
TEST_F(CrdTest, ResourcesOlderThanTheSchemaArePrunedAndDefaultedOnRead) {
  install();
  call("POST", kFoos, R"({"metadata":{"name":"old"},"spec":{"s":"a"}})");
  const std::string before = call("GET", std::string(kFoos) + "/old").at({"metadata", "resourceVersion"});
  const std::string properties = "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties";
  Reply changed = patch(std::string(kCrds) + "/foos.x.io",
                        R"([{"op":"remove","path":")" + properties + R"(/s"},{"op":"add","path":")" + properties +
                            R"(/color","value":{"type":"string","default":"red"}}])",
                        "json-patch");
  ASSERT_EQ(changed.status, 200) << changed.text;
  const auto expect_new = [](const json::Value& foo) {
    EXPECT_EQ(json::string_at(foo, {"spec", "color"}), "red");
    EXPECT_EQ(json::int_at(foo, {"spec", "size"}), 3);
    EXPECT_EQ(json::find_path(foo, {"spec", "s"}), nullptr);
  };
  Reply read = call("GET", std::string(kFoos) + "/old");
  expect_new(read.body);
  EXPECT_EQ(read.at({"metadata", "resourceVersion"}), before);
  expect_new(json::array_at(call("GET", kFoos).body, {"items"})->front());
  expect_new(call("GET", "/apis/x.io/v1beta1/namespaces/default/foos/old").body);
  expect_new(patch(std::string(kFoos) + "/old", R"({"metadata":{"labels":{"a":"b"}}})").body);
}

TEST_F(CrdTest, VersionsDifferInName) {
  install();
  call("POST", kFoos, R"({"metadata":{"name":"f"},"spec":{"size":1}})");
  Reply other = call("GET", "/apis/x.io/v1beta1/namespaces/default/foos/f");
  EXPECT_EQ(other.at({"apiVersion"}), "x.io/v1beta1");
  EXPECT_EQ(json::int_at(other.body, {"spec", "size"}), 1);
  Reply table = call("GET", kFoos, "", {{"Accept", "application/json;as=Table;v=v1;g=meta.k8s.io"}});
  const json::Array& cells = *json::array_at(json::array_at(table.body, {"rows"})->front(), {"cells"});
  EXPECT_EQ(json::serialize(json::Value(cells)), R"(["f",1,"0s"])");
}

TEST_F(CrdTest, BadDefinitionsAreRefused) {
  std::string wrong_name = kFooCrd;
  wrong_name.replace(wrong_name.find("foos.x.io"), 9, "bars.x.io");
  Reply name = call("POST", kCrds, wrong_name);
  EXPECT_EQ(name.status, 422);
  EXPECT_NE(name.message().find("metadata.name: Invalid value: \"bars.x.io\": must be "
                                "spec.names.plural+\".\"+spec.group"),
            std::string::npos);
  std::string no_storage = kFooCrd;
  no_storage.replace(no_storage.find("\"storage\":true"), 14, "\"storage\":false");
  Reply storage = call("POST", kCrds, no_storage);
  EXPECT_EQ(storage.status, 422);
  EXPECT_NE(storage.message().find("must have exactly one version marked as storage version"),
            std::string::npos);
}

// A server that others can reach says where.
TEST_F(CrdTest, TheServerIsAnEndpointOfItsService) {
  constexpr const char* kEndpoints = "/api/v1/namespaces/default/endpoints/kubernetes";
  EXPECT_EQ(call("GET", kEndpoints).status, 404);  // loopback
  advertise_address = "192.0.2.1";
  server.reset();
  store.reset();
  open();
  bootstrap();
  Reply endpoints = call("GET", kEndpoints);
  ASSERT_EQ(endpoints.status, 200) << endpoints.text;
  const json::Value& subset = json::array_at(endpoints.body, {"subsets"})->front();
  EXPECT_EQ(json::serialize(*json::find(subset, "addresses")), R"([{"ip":"192.0.2.1"}])");
  EXPECT_EQ(json::serialize(*json::find(subset, "ports")), R"([{"name":"https","port":6443,"protocol":"TCP"}])");
  Reply slice = call("GET", "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices/kubernetes");
  EXPECT_EQ(json::array_at(slice.body, {"endpoints"})->size(), 1u);
}

TEST_F(CrdTest, SurvivesARestart) {
  install();
  call("POST", kFoos, R"({"metadata":{"name":"f"}})");
  server.reset();
  store.reset();
  open();
  EXPECT_EQ(call("GET", std::string(kFoos) + "/f").status, 200);
}

TEST_F(CrdTest, DeletionTakesTheResourcesFirst) {
  install();
  call("POST", kFoos, R"({"metadata":{"name":"f"}})");
  call("POST", kFoos, R"({"metadata":{"name":"held","finalizers":["x.io/hold"]}})");
  Reply going = call("DELETE", std::string(kCrds) + "/foos.x.io");
  EXPECT_EQ(going.status, 200);
  EXPECT_EQ(json::array_at(going.body, {"metadata", "finalizers"})->front(),
            json::Value(kCrdFinalizer));
  simulation.run_for(std::chrono::seconds(1));
  EXPECT_EQ(call("GET", std::string(kFoos) + "/f").status, 404);
  EXPECT_EQ(call("POST", kFoos, R"({"metadata":{"name":"late"}})").status, 405);
  Reply held = call("GET", std::string(kFoos) + "/held");
  EXPECT_FALSE(held.at({"metadata", "deletionTimestamp"}).empty());
  patch(std::string(kFoos) + "/held", R"({"metadata":{"finalizers":null}})");
  simulation.run_for(std::chrono::seconds(1));
  EXPECT_EQ(call("GET", std::string(kCrds) + "/foos.x.io").status, 404);
  EXPECT_EQ(call("GET", kFoos).status, 404);
}

}  // namespace
}  // namespace hekla::apiserver
