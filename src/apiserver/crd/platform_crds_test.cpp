#include "apiserver/crd/platform_crds.h"

#include "apiserver/server/server_fixture_test.h"

namespace hekla::apiserver {
namespace {

constexpr const char* kCrd = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/runs.x.io";
constexpr const char* kRuns = "/apis/x.io/v1/namespaces/default/runs";

constexpr std::string_view kOurs = R"(
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: runs.x.io}
spec:
  group: x.io
  scope: Namespaced
  names: {plural: runs, kind: Run, shortNames: [rn], categories: [all]}
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}}
    additionalPrinterColumns:
    - {name: Phase, type: string, jsonPath: .status.phase}
    - {name: Age, type: date, jsonPath: .metadata.creationTimestamp}
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties:
              mode: {type: string, enum: [fast, careful]}
              retries: {type: integer}
              tasks:
                type: array
                items:
                  type: object
                  properties:
                    name: {type: string}
                    template: {type: object, x-kubernetes-preserve-unknown-fields: true}
          status: {type: object, properties: {phase: {type: string}}}
)";

// Another edition: knows the field `extra` and the mode `slow`, has a column of its own, and lacks
// most of ours.
const std::string kTheirs =
    R"({"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition",
  "metadata":{"name":"runs.x.io"},
  "spec":{"group":"x.io","scope":"Namespaced","names":{"plural":"runs","kind":"Run","shortNames":["r"]},
  "versions":[{"name":"VERSION","served":true,"storage":true,
     "additionalPrinterColumns":[{"name":"Extra","type":"string","jsonPath":".spec.extra"},
                                 {"name":"AGE","type":"date","jsonPath":".metadata.creationTimestamp"}],
     "schema":{"openAPIV3Schema":{"type":"object","properties":{
       "spec":{"type":"object","required":["extra"],"properties":{
         "extra":{"type":"string","maxLength":4},"mode":{"type":"string","enum":["slow"]},
         "tasks":{"type":"array","items":{"type":"object","properties":{
           "template":{"type":"object","properties":{"spec":{"type":"object"}}}}}}}}}}}}]}})";

std::string theirs(const std::string& version) {
  std::string text = kTheirs;
  return text.replace(text.find("VERSION"), 7, version);
}

std::string run(const std::string& name, const std::string& spec) {
  return R"({"apiVersion":"x.io/v1","kind":"Run","metadata":{"name":")" + name + R"("},"spec":)" +
         spec + "}";
}

std::string run_of_container(const std::string& container) {
  return run("r", R"({"tasks":[{"name":"a","template":{"metadata":{"creationTimestamp":null},
      "spec":{"containers":[)" +
                      container + "]}}}]}");
}

class PlatformCrdsTest : public ServerFixture {
 protected:
  PlatformCrdsTest() { begin_with_ours(); }
  // The fixture's server has no CRDs of its own: this one begins with ours.
  void begin_with_ours() {
    restart([](Options& options) { options.crd_yamls = {kOurs}; });
    bootstrap();
  }
  Reply apply(const std::string& crd) {
    return call("PATCH", std::string(kCrd) + "?fieldManager=kubectl", crd,
                {{"Content-Type", "application/apply-patch+yaml"}});
  }
};

TEST_F(PlatformCrdsTest, AnotherEditionIsAcceptedAndChangesNothing) {
  Reply applied = apply(theirs("v1"));
  ASSERT_EQ(applied.status, 200) << applied.text;
  EXPECT_NE(applied.headers.get("Warning").find("runs.x.io is built into Hekla; its schema stays"),
            std::string::npos);
  EXPECT_EQ(call("GET", kCrd).text.find("\"extra\""), std::string::npos);
  Reply made = call("POST", std::string(kRuns) + "?fieldValidation=Strict",
                    run("ours", R"({"mode":"fast","retries":3})"));
  ASSERT_EQ(made.status, 201) << made.text;
  EXPECT_EQ(call("POST", kRuns, run("odd", R"({"mode":"slow"})")).status, 422);
  EXPECT_EQ(patch(std::string(kRuns) + "/ours/status", R"({"status":{"phase":"Running"}})").status,
            200);
  Reply table =
      call("GET", kRuns, "", {{"Accept", "application/json;as=Table;v=v1;g=meta.k8s.io"}});
  std::string names;
  for (const json::Value& column : *json::array_at(table.body, {"columnDefinitions"}))
    names += std::string(json::string_at(column, {"name"})) + " ";
  EXPECT_EQ(names, "Name Phase Age ");
  // Metadata is the writer's.
  EXPECT_EQ(patch(kCrd, R"({"metadata":{"labels":{"mine":"yes"}}})").status, 200);
  EXPECT_EQ(call("GET", kCrd).at({"metadata", "labels", "mine"}), "yes");
}

TEST_F(PlatformCrdsTest, AVersionOfTheOtherEditionIsServedBesideOurs) {
  ASSERT_EQ(call("POST", kRuns, run("old", R"({"retries":1})")).status, 201);
  Reply applied = apply(theirs("v2"));
  ASSERT_EQ(applied.status, 200) << applied.text;
  EXPECT_EQ(json::int_at(call("GET", std::string(kRuns) + "/old").body, {"spec", "retries"}), 1);
  EXPECT_EQ(call("GET", "/apis/x.io/v2/namespaces/default/runs/old").at({"apiVersion"}), "x.io/v2");
  EXPECT_EQ(call("POST", kRuns, run("new", R"({"retries":2})")).status, 201);
  begin_with_ours();
  EXPECT_EQ(call("GET", "/apis/x.io/v2/namespaces/default/runs/old").status, 200);
}

TEST_F(PlatformCrdsTest, GarbageIsRefusedOrTakenWithoutHarm) {
  for (const char* spec :
       {R"({})", R"({"versions":[]})", R"({"versions":[{"name":"v1","served":false}]})",
        R"({"group":"y.io","scope":"Cluster","names":{"plural":"x","kind":"X"}})",
        R"({"conversion":{"strategy":"Webhook"}})"}) {
    patch(kCrd, R"({"spec":)" + std::string(spec) + "}");
    Reply made = call("POST", std::string(kRuns) + "?dryRun=All&fieldValidation=Strict",
                      run("r", R"({"mode":"fast"})"));
    EXPECT_EQ(made.status, 201) << spec << made.text;
  }
}

TEST_F(PlatformCrdsTest, ADeletedOneComesBackAndFindsItsObjects) {
  ASSERT_EQ(call("POST", kRuns, run("kept", R"({"retries":1})")).status, 201);
  const std::string uid = call("GET", kCrd).at({"metadata", "uid"});
  auto watch = send("GET", std::string(kRuns) + "?watch=true");
  Reply deleted = call("DELETE", kCrd);
  ASSERT_EQ(deleted.status, 200) << deleted.text;
  EXPECT_NE(deleted.headers.get("Warning").find("kubectl delete runs.x.io --all"),
            std::string::npos);
  EXPECT_EQ(call("GET", kCrd).status, 404);
  EXPECT_EQ(call("GET", std::string(kRuns) + "/kept").status, 200);
  EXPECT_EQ(call("POST", kRuns, run("meanwhile", "{}")).status, 201);
  simulation.run_for(std::chrono::seconds(1));
  EXPECT_EQ(call("GET", kCrd).status, 404);
  simulation.run_for(std::chrono::seconds(2));
  Reply back = call("GET", kCrd);
  ASSERT_EQ(back.status, 200);
  EXPECT_NE(back.at({"metadata", "uid"}), uid);
  EXPECT_EQ(call("GET", std::string(kRuns) + "/kept").status, 200);
  EXPECT_FALSE(watch->ended);
}

TEST_F(PlatformCrdsTest, NamespacesOfThePlatformComeBack) {
  ASSERT_EQ(call("GET", "/api/v1/namespaces/volcano-system").status, 200);
  ASSERT_LE(call("DELETE", "/api/v1/namespaces/volcano-system").status, 202);
  // This server empties nothing: this is the end of its controller's work.
  call("PUT", "/api/v1/namespaces/volcano-system/finalize",
       R"({"apiVersion":"v1","kind":"Namespace","metadata":{"name":"volcano-system"},"spec":{}})");
  ASSERT_EQ(call("GET", "/api/v1/namespaces/volcano-system").status, 404);
  simulation.run_for(std::chrono::seconds(3));
  EXPECT_EQ(call("GET", "/api/v1/namespaces/volcano-system").status, 200);
}

TEST_F(PlatformCrdsTest, RolesOfThePlatformComeBack) {
  const std::string rbac = "/apis/rbac.authorization.k8s.io/v1/";
  for (const std::string& role : {rbac + "clusterroles/kubeflow-edit",
                                  rbac + "namespaces/kubeflow/rolebindings/default-editor"}) {
    ASSERT_EQ(call("DELETE", role).status, 200) << role;
    ASSERT_EQ(call("GET", role).status, 404);
    simulation.run_for(std::chrono::seconds(3));
    EXPECT_EQ(call("GET", role).status, 200) << role;
  }
  // Kubernetes' own are the administrator's to delete.
  ASSERT_EQ(call("DELETE", rbac + "clusterroles/view").status, 200);
  simulation.run_for(std::chrono::seconds(3));
  EXPECT_EQ(call("GET", rbac + "clusterroles/view").status, 404);
}

TEST_F(PlatformCrdsTest, PodTemplatesAreCheckedFieldByField) {
  const std::string strict = std::string(kRuns) + "?fieldValidation=Strict";
  for (bool replaced : {false, true}) {
    if (replaced) {
      ASSERT_EQ(apply(theirs("v1")).status, 200);
    }
    const std::string typo = run_of_container(R"({"name":"c","comand":["x"]})");
    Reply refused = call("POST", strict, typo);
    EXPECT_EQ(refused.status, 400);
    EXPECT_NE(refused.message().find("strict decoding error: unknown field "
                                     "\"spec.tasks[0].template.spec.containers[0].comand\""),
              std::string::npos)
        << refused.message();
    Reply warned = call("POST", std::string(kRuns) + "?dryRun=All", typo);
    EXPECT_EQ(warned.status, 201) << warned.text;
    EXPECT_NE(warned.headers.get("Warning").find("containers[0].comand"), std::string::npos);
    EXPECT_EQ(warned.text.find("\"comand\""), std::string::npos);
    EXPECT_EQ(call("POST", std::string(kRuns) + "?dryRun=All",
                   run_of_container(R"({"name":"c","resources":{"limits":{"cpu":1,"memory":"1Gi"}},
                       "livenessProbe":{"httpGet":{"port":"http"}},"env":null})"))
                  .status,
              201);
  }
}

TEST_F(PlatformCrdsTest, WrongTypesInPodTemplatesAreNamed) {
  const std::string at = "spec.tasks[0].template.spec.containers[0]";
  Reply typed = call("POST", kRuns, run_of_container(R"({"name":"c","image":7,"command":"sh"})"));
  EXPECT_EQ(typed.status, 422);
  EXPECT_NE(typed.message().find(at + ".image: Invalid value: \"integer\": " + at +
                                 ".image in body must be of type string: \"integer\""),
            std::string::npos)
      << typed.message();
  EXPECT_NE(typed.message().find(at + ".command in body must be of type array: \"string\""),
            std::string::npos)
      << typed.message();
  EXPECT_NE(call("POST", kRuns, run_of_container(R"({"image":"i"})"))
                .message()
                .find(at + ".name: Required value"),
            std::string::npos);
  EXPECT_NE(
      call("POST", kRuns, run_of_container(R"({"name":"c","resources":{"limits":{"cpu":"lots"}}})"))
          .message()
          .find(at + ".resources.limits.cpu in body should match"),
      std::string::npos);
}

TEST_F(PlatformCrdsTest, PodTemplatesArePublished) {
  Reply document = call("GET", "/openapi/v3/apis/x.io/v1");
  EXPECT_NE(document.text.find("#/components/schemas/io.k8s.api.core.v1.PodTemplateSpec"),
            std::string::npos);
  EXPECT_NE(document.text.find("\"io.k8s.api.core.v1.Container\":"), std::string::npos);
}

// v1 counts retries, v2 calls them attempts.
constexpr std::string_view kTwoVersions = R"(
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: runs.x.io}
spec:
  group: x.io
  scope: Namespaced
  names: {plural: runs, kind: Run}
  versions:
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, properties: {
      spec: {type: object, properties: {retries: {type: integer}, mode: {type: string, default: fast}}}}}}}
  - {name: v2, served: true, storage: false, schema: {openAPIV3Schema: {type: object, properties: {
      spec: {type: object, properties: {attempts: {type: integer}}}}}}}
)";

void convert_run(json::Value& object, std::string_view version) {
  const std::string_view from = version == "v1" ? "attempts" : "retries",
                         to = version == "v1" ? "retries" : "attempts";
  if (json::string_at(object, {"apiVersion"}) == "x.io/" + std::string(version)) return;
  const json::Value* count = json::find_path(object, {"spec", from});
  if (count) json::at_path(object, {"spec", to}) = json::Value(*count);
}

class PlatformConversionTest : public ServerFixture {
 protected:
  PlatformConversionTest() {
    restart([](Options& options) {
      static constexpr kube::Conversion conversion{"runs.x.io", convert_run};
      options.crd_yamls = {kTwoVersions};
      options.conversions = {&conversion, 1};
    });
    bootstrap();
  }
  static std::string in_v2(const std::string& attempts) {
    return R"({"apiVersion":"x.io/v2","kind":"Run","metadata":{"name":"r"},"spec":{"attempts":)" +
           attempts + "}}";
  }
  static constexpr const char* kNew = "/apis/x.io/v2/namespaces/default/runs";
};

TEST_F(PlatformConversionTest, AVersionIsShownAndStoredInItsShape) {
  Reply made = call("POST", kNew, in_v2("3"));
  ASSERT_EQ(made.status, 201) << made.text;
  EXPECT_EQ(json::int_at(made.body, {"spec", "attempts"}), 3);
  EXPECT_FALSE(json::find_path(made.body, {"spec", "retries"}));
  EXPECT_FALSE(json::find_path(made.body, {"spec", "mode"}));
  Reply stored = call("GET", std::string(kRuns) + "/r");
  EXPECT_EQ(json::int_at(stored.body, {"spec", "retries"}), 3);
  EXPECT_EQ(json::string_at(stored.body, {"spec", "mode"}), "fast");
  EXPECT_FALSE(json::find_path(stored.body, {"spec", "attempts"}));
  const Reply list = call("GET", kNew);
  EXPECT_EQ(json::int_at(json::array_at(list.body, {"items"})->at(0), {"spec", "attempts"}), 3);
}

TEST_F(PlatformConversionTest, EditsOfEitherVersionMeet) {
  ASSERT_EQ(call("POST", kRuns, run("r", R"({"retries":1})")).status, 201);
  Reply patched = patch(std::string(kNew) + "/r", R"({"spec":{"attempts":5}})");
  ASSERT_EQ(patched.status, 200) << patched.text;
  EXPECT_EQ(json::int_at(patched.body, {"spec", "attempts"}), 5);
  EXPECT_EQ(json::int_at(call("GET", std::string(kRuns) + "/r").body, {"spec", "retries"}), 5);
  Reply same = patch(std::string(kNew) + "/r", R"({"spec":{"attempts":5}})");
  EXPECT_EQ(same.at({"metadata", "resourceVersion"}), patched.at({"metadata", "resourceVersion"}));
}

// Somebody installs an edition that stores another version: ours is stored, both are shown.
TEST_F(PlatformConversionTest, WhatIsStoredInAnotherVersionIsConvertedToo) {
  ASSERT_EQ(call("POST", kRuns, run("r", R"({"retries":2})")).status, 201);
  const std::string crd =
      R"({"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition",
      "metadata":{"name":"runs.x.io"},"spec":{"group":"x.io","scope":"Namespaced",
      "names":{"plural":"runs","kind":"Run"},"versions":[
      {"name":"v1","served":false,"storage":false,"schema":{"openAPIV3Schema":{"type":"object"}}},
      {"name":"v2","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object",
       "properties":{"spec":{"type":"object","properties":{"attempts":{"type":"integer"}}}}}}}]}})";
  Reply applied = call("PATCH", std::string(kCrd) + "?fieldManager=kubectl&force=true", crd,
                       {{"Content-Type", "application/apply-patch+yaml"}});
  ASSERT_EQ(applied.status, 200) << applied.text;
  EXPECT_EQ(json::int_at(call("GET", std::string(kNew) + "/r").body, {"spec", "attempts"}), 2);
  EXPECT_EQ(json::int_at(call("GET", std::string(kRuns) + "/r").body, {"spec", "retries"}), 2);
  ASSERT_EQ(call("POST", kRuns, run("s", R"({"retries":4})")).status, 201);
  EXPECT_EQ(json::int_at(call("GET", std::string(kNew) + "/s").body, {"spec", "attempts"}), 4);
  EXPECT_EQ(json::int_at(call("GET", std::string(kRuns) + "/s").body, {"spec", "retries"}), 4);
}

}  // namespace
}  // namespace hekla::apiserver
