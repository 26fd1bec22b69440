#include "apiserver/crd/crd.h"

#include "apiserver/kinds/rules/crd_rules.h"
#include "apiserver/server/server_fixture_test.h"

namespace hekla::apiserver {
namespace {

constexpr const char* kCrds = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
constexpr const char* kFoos = "/apis/x.io/v1/namespaces/default/foos";

const std::string kFooCrd =
    R"({"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition",
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

TEST_F(CrdTest, WatchesEndWithTheirKind) {
  install();
  call("POST", kFoos, R"({"metadata":{"name":"f"}})");
  auto watch = send("GET", std::string(kFoos) + "?watch=true");
  auto maps = send("GET", std::string(kMaps) + "?watch=true");
  EXPECT_FALSE(watch->ended);
  patch(std::string(kCrds) + "/foos.x.io", R"({"metadata":{"labels":{"a":"b"}}})");
  EXPECT_FALSE(watch->ended) << "it is still the same kind";
  call("DELETE", std::string(kCrds) + "/foos.x.io");
  simulation.run_for(std::chrono::seconds(2));
  EXPECT_TRUE(watch->ended);
  EXPECT_EQ(json::string_at(watch->events().back(), {"type"}), "DELETED")
      << "the last events come first";
  EXPECT_FALSE(maps->ended);
}

TEST_F(CrdTest, ColumnsSelectableFieldsAndScaleAreChecked) {
  auto causes = [&](const std::string& more) {
    json::Value crd = json::parse(kFooCrd).value();
    json::Value& version = crd.at("spec").at("versions").get_array()[0];
    const json::Value added = json::parse(more).value();
    for (const auto& one : added.get_object()) version.get_object()[one.key()] = one.value();
    Reply reply = call("POST", kCrds, json::serialize(crd));
    if (reply.status != 422) return std::to_string(reply.status);
    std::string text;
    for (const json::Value& cause : *json::array_at(reply.body, {"details", "causes"}))
      text += json::text_at(cause, {"field"}) + ": " + json::text_at(cause, {"message"}) + "\n";
    return text;
  };
  const std::string at = "spec.versions[0].";
  EXPECT_EQ(
      causes(
          R"({"additionalPrinterColumns":[{"name":"","type":"text","format":"odd","jsonPath":"spec.s"},
      {"name":"b"}]})"),
      at + "additionalPrinterColumns[0].name: Required value\n" + at +
          "additionalPrinterColumns[0].type: Invalid value: \"text\": must be one of "
          "boolean,date,integer,"
          "number,string\n" +
          at +
          "additionalPrinterColumns[0].format: Invalid value: \"odd\": must be one of "
          "byte,date,date-time,"
          "double,float,int32,int64,password\n" +
          at +
          "additionalPrinterColumns[0].JSONPath: Invalid value: \"spec.s\": must be a simple json "
          "path starting "
          "with .\n" +
          at +
          "additionalPrinterColumns[1].type: Required value: must be one of "
          "boolean,date,integer,number,string"
          "\n" +
          at + "additionalPrinterColumns[1].JSONPath: Required value\n");
  const std::string kinds =
      "must point to a field of type string, boolean or integer. Enum string fields and strings "
      "with formats are allowed.";
  const std::string bad = "is an invalid path: ", field = at + "selectableFields[";
  EXPECT_EQ(
      causes(
          R"({"selectableFields":[{},{"jsonPath":"spec.s"},{"jsonPath":".spec.none"},{"jsonPath":".spec"},
      {"jsonPath":".spec.s"},{"jsonPath":".spec.s"},{"jsonPath":".spec.s[0]"}]})"),
      field + "0].jsonPath: Required value\n" + field +
          "1].jsonPath: Invalid value: \"spec.s\": " + bad + "expected [ or . but got: spec\n" +
          field + "2].jsonPath: Invalid value: \".spec.none\": " + bad +
          "does not refer to a valid field\n" + field + "3].jsonPath: Invalid value: \".spec\": " +
          kinds + "\n" + field + "5].jsonPath: Duplicate value: \".spec.s\"\n" + field +
          "6].jsonPath: Invalid value: \".spec.s[0]\": " + bad + "array notation is not allowed\n");
  std::string properties, fields;
  for (char c = 'a'; c < 'a' + 9; ++c) {
    properties += std::string(properties.empty() ? "" : ",") + "\"" + c + R"(":{"type":"string"})";
    fields += std::string(fields.empty() ? "" : ",") + R"({"jsonPath":".)" + c + "\"}";
  }
  EXPECT_EQ(causes(R"({"schema":{"openAPIV3Schema":{"type":"object","properties":{)" + properties +
                   R"(}}},"selectableFields":[)" + fields + "]}"),
            at + "selectableFields: Too many: 9: must have at most 8 items\n");
  const std::string scale = at + "subresources.scale.";
  EXPECT_EQ(
      causes(
          R"({"subresources":{"scale":{"specReplicasPath":".status.n","statusReplicasPath":"status.n",
      "labelSelectorPath":".spec.l"}}})"),
      scale +
          "specReplicasPath: Invalid value: \".status.n\": should be a json path under .spec\n" +
          scale +
          "statusReplicasPath: Invalid value: \"status.n\": must be a simple json path starting "
          "with .\n" +
          scale +
          "labelSelectorPath: Invalid value: \".spec.l\": should be a json path under .status\n");
  EXPECT_EQ(causes(R"({"selectableFields":[{"jsonPath":".spec.s"},{"jsonPath":".spec.size"}],
      "additionalPrinterColumns":[{"name":"S","type":"string","jsonPath":".spec.s"}]})"),
            "201");
}

TEST_F(CrdTest, RulesThatWereNotCheckedAreMentioned) {
  json::Value crd = json::parse(kFooCrd).value();
  crd.at("spec").at("versions").get_array()[0].at("schema") =
      json::parse(R"j({"openAPIV3Schema":{"type":"object",
      "properties":{"spec":{"type":"object","properties":{"s":{"type":"string","enum":["a","b"]},"p":{"type":"string",
      "pattern":"^x"}},"x-kubernetes-validations":[{"rule":"self.s == 'a'","message":"no a"}]}}}})j")
          .value();
  ASSERT_EQ(call("POST", kCrds, json::serialize(crd)).status, 201);
  Reply wrong = call("POST", kFoos, R"({"metadata":{"name":"f"},"spec":{"s":"q"}})");
  EXPECT_EQ(wrong.message(),
            "Foo.x.io \"f\" is invalid: [spec.s: Unsupported value: \"q\": supported values: "
            "\"a\", \"b\", <nil>: "
            "Invalid value: null: some validation rules were not checked because the object was "
            "invalid; correct the "
            "existing errors to complete validation]");
  Reply both = call("POST", kFoos, R"({"metadata":{"name":"f"},"spec":{"s":"b","p":"y"}})");
  EXPECT_NE(both.message().find("should match '^x'"), std::string::npos) << both.message();
  EXPECT_NE(both.message().find("no a"), std::string::npos)
      << "a pattern keeps no rule from running";
}

TEST_F(CrdTest, NothingIsCreatedOfAKindThatIsDeletedMeanwhile) {
  install();
  auto removal = begin("DELETE", std::string(kCrds) + "/foos.x.io");
  auto creation = begin("POST", kFoos, R"({"metadata":{"name":"f"}})");
  simulation.run_until_idle();
  EXPECT_EQ(removal->answer.status, 200);
  EXPECT_TRUE(creation->answer.status == 405 || creation->answer.status == 404)
      << creation->answer.body;
  simulation.run_for(std::chrono::seconds(2));
  EXPECT_EQ(call("GET", std::string(kCrds) + "/foos.x.io").status, 404);
  EXPECT_EQ(store->snapshot().count(store->bucket("foos.x.io")), 0u);
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
  EXPECT_EQ(odd.message(),
            "Foo in version \"v1\" cannot be handled as a Foo: strict decoding error: "
            "unknown field \"metadata.color\"");
  EXPECT_EQ(call("POST", kFoos, R"({"metadata":{"name":"o","labels":{"a":1}}})").status, 400);
  Reply bad = call("POST", kFoos, R"({"metadata":{"name":"g"},"spec":{"s":"q"}})");
  EXPECT_EQ(bad.status, 422);
  EXPECT_EQ(bad.message(),
            "Foo.x.io \"g\" is invalid: spec.s: Unsupported value: \"q\": supported "
            "values: \"a\", \"b\"");
  Reply unguarded =
      call("PUT", std::string(kFoos) + "/f", R"({"metadata":{"name":"f"},"spec":{}})");
  EXPECT_EQ(unguarded.status, 422);
  EXPECT_EQ(patch(std::string(kFoos) + "/f", "{}", "strategic-merge-patch").status, 415);
  Reply changed = patch(std::string(kFoos) + "/f", R"({"spec":{"size":4}})");
  EXPECT_EQ(json::int_at(changed.body, {"metadata", "generation"}), 2);
  Reply status =
      patch(std::string(kFoos) + "/f/status", R"({"status":{"phase":"Up"},"spec":{"size":9}})");
  EXPECT_EQ(status.at({"status", "phase"}), "Up");
  EXPECT_EQ(json::int_at(status.body, {"spec", "size"}), 4);
  EXPECT_EQ(json::int_at(status.body, {"metadata", "generation"}), 2);
  const json::Value item = json::array_at(call("GET", kFoos).body, {"items"})->front();
  EXPECT_EQ(json::string_at(item, {"kind"}), "Foo");
}

// Objects written before the CRD changed are read as if they had been written after.
TEST_F(CrdTest, ResourcesOlderThanTheSchemaArePrunedAndDefaultedOnRead) {
  install();
  call("POST", kFoos, R"({"metadata":{"name":"old"},"spec":{"s":"a"}})");
  const std::string before =
      call("GET", std::string(kFoos) + "/old").at({"metadata", "resourceVersion"});
  const std::string properties =
      "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties";
  Reply changed =
      patch(std::string(kCrds) + "/foos.x.io",
            R"([{"op":"remove","path":")" + properties + R"(/s"},{"op":"add","path":")" +
                properties + R"(/color","value":{"type":"string","default":"red"}}])",
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
  Reply table =
      call("GET", kFoos, "", {{"Accept", "application/json;as=Table;v=v1;g=meta.k8s.io"}});
  const json::Array& cells =
      *json::array_at(json::array_at(table.body, {"rows"})->front(), {"cells"});
  EXPECT_EQ(json::serialize(json::Value(cells)), R"(["f",1,"0s"])");
}

// Converted by name alone: what is stored fits the storage version, what is shown the version asked
// for.
TEST_F(CrdTest, VersionsDifferInMembers) {
  const std::string crd = R"({"metadata":{"name":"bars.x.io"},
      "spec":{"group":"x.io","scope":"Cluster","names":{"plural":"bars","kind":"Bar"},"versions":[
      {"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object","properties":{
        "spec":{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"string","default":"bb"}}}}}}},
      {"name":"v1alpha1","served":true,"storage":false,"schema":{"openAPIV3Schema":{"type":"object",
        "properties":{"spec":{"type":"object","properties":{
          "a":{"type":"string"},"old":{"type":"string","default":"o"}}}}}}}]}})";
  const std::string stable = "/apis/x.io/v1/bars", alpha = "/apis/x.io/v1alpha1/bars";
  const auto spec_at = [&](const std::string& path) {
    return json::serialize(json::find_path(call("GET", path).body, {"spec"})->get_object());
  };
  ASSERT_EQ(call("POST", kCrds, crd).status, 201);
  Reply made = call("POST", alpha, R"({"metadata":{"name":"x"},"spec":{"a":"1"}})");
  ASSERT_EQ(made.status, 201) << made.text;
  EXPECT_EQ(spec_at(stable + "/x"), R"({"a":"1","b":"bb"})");
  EXPECT_EQ(spec_at(alpha + "/x"), R"({"a":"1"})");
  const Reply list = call("GET", alpha);
  EXPECT_EQ(json::serialize(*json::find(json::array_at(list.body, {"items"})->front(), "spec")),
            R"({"a":"1"})");
  auto watch = send("GET", alpha + "?watch=1");
  EXPECT_EQ(json::find_path(watch->events().front(), {"object", "spec", "b"}), nullptr);
  // An object stored in a version that is no longer the one for it.
  ASSERT_EQ(patch(std::string(kCrds) + "/bars.x.io",
                  R"([{"op":"replace","path":"/spec/versions/0/storage","value":false},
                      {"op":"replace","path":"/spec/versions/1/storage","value":true}])",
                  "json-patch")
                .status,
            200);
  EXPECT_EQ(spec_at(stable + "/x"), R"({"a":"1","b":"bb"})");
  EXPECT_EQ(spec_at(alpha + "/x"), R"({"a":"1"})");
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

// Its resources are out of reach, not lost, and go with it.
TEST_F(CrdTest, NoVersionNeedBeServed) {
  std::string unserved = kFooCrd;
  for (std::size_t at = 0; (at = unserved.find("\"served\":true", at)) != std::string::npos;)
    unserved.replace(at, 13, "\"served\":false");
  ASSERT_EQ(call("POST", kCrds, unserved).status, 201);
  EXPECT_EQ(call("GET", kFoos).status, 404);
  EXPECT_EQ(call("GET", "/apis/x.io/v1").status, 404);
  const std::string path = std::string(kCrds) + "/foos.x.io";
  const auto serve = [&](const char* value) {
    return patch(
        path,
        std::string(R"([{"op":"replace","path":"/spec/versions/0/served","value":)") + value + "}]",
        "json-patch");
  };
  ASSERT_EQ(serve("true").status, 200);
  ASSERT_EQ(call("POST", kFoos, R"({"metadata":{"name":"f"}})").status, 201);
  ASSERT_EQ(serve("false").status, 200);
  EXPECT_EQ(call("GET", std::string(kFoos) + "/f").status, 404);
  ASSERT_EQ(serve("true").status, 200);
  EXPECT_EQ(call("GET", std::string(kFoos) + "/f").status, 200);
  ASSERT_EQ(serve("false").status, 200);
  EXPECT_EQ(call("DELETE", path).status, 200);
  simulation.run_for(std::chrono::seconds(1));
  EXPECT_EQ(call("GET", path).status, 404);
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
  EXPECT_EQ(json::serialize(*json::find(subset, "ports")),
            R"([{"name":"https","port":6443,"protocol":"TCP"}])");
  Reply slice =
      call("GET", "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices/kubernetes");
  EXPECT_EQ(json::array_at(slice.body, {"endpoints"})->size(), 1u);
}

TEST_F(CrdTest, TheServerBringsItsServiceBack) {
  advertise_address = "192.0.2.1";
  restart([](Options&) {});
  bootstrap();
  const std::string paths[]{
      "/api/v1/namespaces/default/services/kubernetes",
      "/api/v1/namespaces/default/endpoints/kubernetes",
      "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices/kubernetes"};
  for (const std::string& path : paths) {
    const Reply before = call("GET", path);
    ASSERT_EQ(before.status, 200) << path;
    EXPECT_EQ(call("DELETE", path).status, 200);
    const Reply after = call("GET", path);
    ASSERT_EQ(after.status, 200) << path;
    EXPECT_NE(after.at({"metadata", "uid"}), before.at({"metadata", "uid"}));
    EXPECT_EQ(after.at({"spec", "clusterIP"}), before.at({"spec", "clusterIP"}));
  }
  patch(paths[1], R"({"subsets":[]})");
  EXPECT_EQ(json::array_at(call("GET", paths[1]).body, {"subsets"})->size(), 1u);
  const Reply labelled = patch(paths[0], R"({"metadata":{"labels":{"mine":"too"}}})");
  EXPECT_EQ(call("GET", paths[0]).at({"metadata", "resourceVersion"}),
            labelled.at({"metadata", "resourceVersion"}))
      << "what others write beside stays";
}

// It may be another address and port after each start.
TEST_F(CrdTest, TheServerTellsWhereItIsNow) {
  constexpr const char* kService = "/api/v1/namespaces/default/services/kubernetes";
  constexpr const char* kEndpoints = "/api/v1/namespaces/default/endpoints/kubernetes";
  constexpr const char* kSlice =
      "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices/kubernetes";
  ASSERT_EQ(patch(kService, R"({"metadata":{"labels":{"mine":"too"}}})").status, 200);
  auto start_at = [&](const std::string& address, std::uint16_t port) {
    restart([&](Options& options) {
      options.advertise_address = address;
      options.advertise_port = port;
    });
    bootstrap();
  };
  start_at("192.0.2.1", 7443);
  start_at("192.0.2.2", 8443);
  Reply service = call("GET", kService);
  EXPECT_EQ(json::int_at(json::array_at(service.body, {"spec", "ports"})->front(), {"targetPort"}),
            8443);
  EXPECT_EQ(service.at({"metadata", "labels", "mine"}), "too");
  const json::Value subset = json::array_at(call("GET", kEndpoints).body, {"subsets"})->front();
  EXPECT_EQ(json::serialize(*json::find(subset, "addresses")), R"([{"ip":"192.0.2.2"}])");
  EXPECT_EQ(json::serialize(*json::find(subset, "ports")),
            R"([{"name":"https","port":8443,"protocol":"TCP"}])");
  const Reply slice = call("GET", kSlice);
  EXPECT_EQ(
      json::serialize(*json::find(json::array_at(slice.body, {"endpoints"})->front(), "addresses")),
      R"(["192.0.2.2"])");
  EXPECT_EQ(json::int_at(json::array_at(slice.body, {"ports"})->front(), {"port"}), 8443);
  const std::string revision = slice.at({"metadata", "resourceVersion"});
  start_at("192.0.2.2", 8443);
  EXPECT_EQ(call("GET", kSlice).at({"metadata", "resourceVersion"}), revision)
      << "nothing has changed";
  EXPECT_NE(call("GET", "/api").text.find("\"serverAddress\":\"192.0.2.2:8443\""),
            std::string::npos);
  start_at("127.0.0.1", 8443);
  EXPECT_EQ(call("GET", kEndpoints).status, 404);
  EXPECT_EQ(call("GET", kSlice).status, 404);
}

TEST_F(CrdTest, DeprecatedVersionsWarn) {
  auto crd = [](const std::string& old, const std::string& newer) {
    const std::string any = R"("schema":{"openAPIV3Schema":{"type":"object"}})";
    return R"({"metadata":{"name":"bars.y.io"},"spec":{"group":"y.io","scope":"Cluster",
        "names":{"plural":"bars","kind":"Bar"},"versions":[
        {"name":"v1beta1","served":true,"storage":false,)" +
           old + any + R"(},
        {"name":"v1beta2","served":true,"storage":false,)" +
           any + R"(},
        {"name":"v1","served":)" +
           newer + R"(,"storage":true,)" + any + "}]}}";
  };
  constexpr const char* kBars = "/apis/y.io/v1beta1/bars";
  ASSERT_EQ(call("POST", kCrds, crd(R"("deprecated":true,)", "true")).status, 201);
  EXPECT_EQ(call("GET", kBars).headers.get("Warning"),
            "299 - \"y.io/v1beta1 Bar is deprecated; use y.io/v1 Bar\"");
  EXPECT_FALSE(call("GET", "/apis/y.io/v1beta2/bars").headers.has("Warning"));
  const std::string one = std::string(kCrds) + "/bars.y.io";
  ASSERT_EQ(
      call("PATCH", one, R"([{"op":"replace","path":"/spec/versions/2/served","value":false}])",
           {{"Content-Type", "application/json-patch+json"}})
          .status,
      200);
  EXPECT_EQ(call("GET", kBars).headers.get("Warning"),
            "299 - \"y.io/v1beta1 Bar is deprecated; use y.io/v1beta2 Bar\"");
  ASSERT_EQ(call("PATCH", one,
                 R"([{"op":"add","path":"/spec/versions/0/deprecationWarning","value":"go on"}])",
                 {{"Content-Type", "application/json-patch+json"}})
                .status,
            200);
  EXPECT_EQ(call("GET", kBars).headers.get("Warning"), "299 - \"go on\"");
}

TEST_F(CrdTest, ACollectionIsDeletedInItsNamespaceOnly) {
  install();
  call("POST", kFoos, R"({"metadata":{"name":"f"}})");
  Reply custom = call("DELETE", "/apis/x.io/v1/foos");
  EXPECT_EQ(custom.status, 404);
  EXPECT_EQ(custom.text, "404 page not found\n");
  EXPECT_EQ(call("GET", "/apis/x.io/v1/foos").status, 200);
  call("POST", kMaps, config_map("m"));
  Reply refused = call("DELETE", "/api/v1/configmaps");
  EXPECT_EQ(refused.status, 405);
  EXPECT_EQ(refused.message(), "the server does not allow this method on the requested resource");
  EXPECT_EQ(call("GET", std::string(kMaps) + "/m").status, 200);
  EXPECT_EQ(call("DELETE", kMaps).status, 200);
  EXPECT_EQ(call("GET", std::string(kMaps) + "/m").status, 404);
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

TEST_F(CrdTest, NoAdmissionHoldsTheResourcesOfACrdThatGoes) {
  install();
  call("POST", kFoos, R"({"metadata":{"name":"f"}})");
  const auto on_foos = [](const kube::Resource& resource, kube::Operation, std::string_view) {
    return resource.plural == "foos";
  };
  const auto refuse = [](const kube::AdmissionRequest&, const json::Value&) -> Result<void> {
    return fail(Code::forbidden, "it stays");
  };
  restart([&](Options& options) {
    options.admission = {{"refuse.test.io", on_foos, nullptr, refuse}};
  });
  EXPECT_EQ(call("DELETE", std::string(kFoos) + "/f").status, 403);
  EXPECT_EQ(call("DELETE", std::string(kCrds) + "/foos.x.io").status, 200);
  simulation.run_for(std::chrono::seconds(1));
  EXPECT_EQ(call("GET", std::string(kCrds) + "/foos.x.io").status, 404);
}

}  // namespace
}  // namespace hekla::apiserver
