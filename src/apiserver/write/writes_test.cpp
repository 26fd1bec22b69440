#include "apiserver/kinds/attach_header.h"
#include "apiserver/server/server_fixture_test.h"

namespace hekla::apiserver {
namespace {

class WritesTest : public ServerFixture {};

TEST_F(WritesTest, CreateFillsWhatTheServerOwns) {
  Reply made = call("POST", kMaps, config_map("m"));
  ASSERT_EQ(made.status, 201) << made.text;
  EXPECT_EQ(made.at({"metadata", "namespace"}), "default");
  EXPECT_EQ(made.at({"metadata", "uid"}).size(), 36u);
  EXPECT_EQ(made.at({"metadata", "creationTimestamp"}), "2026-01-01T00:00:00Z");
  EXPECT_FALSE(made.at({"metadata", "resourceVersion"}).empty());
  EXPECT_FALSE(made.headers.get("Audit-Id").empty());
  EXPECT_EQ(made.headers.get("Cache-Control"), "no-cache, private");
  Reply read = call("GET", std::string(kMaps) + "/m");
  EXPECT_EQ(read.status, 200);
  EXPECT_EQ(read.text, made.text);
}

TEST_F(WritesTest, NothingIsCreatedInANamespaceThatIsDeletedMeanwhile) {
  call("POST", "/api/v1/namespaces", R"({"metadata":{"name":"n"}})");
  auto removal = begin("DELETE", "/api/v1/namespaces/n");
  auto creation = begin("POST", "/api/v1/namespaces/n/configmaps", config_map("m"));
  simulation.run_until_idle();
  EXPECT_EQ(removal->answer.status, 200);
  EXPECT_EQ(creation->answer.status, 403);
  EXPECT_NE(creation->answer.body.find("because it is being terminated"), std::string::npos)
      << creation->answer.body;
  // Any other change of the namespace does not matter.
  auto change = begin("PATCH", "/api/v1/namespaces/default", R"({"metadata":{"labels":{"a":"b"}}})",
                      {{"Content-Type", "application/merge-patch+json"}});
  auto other = begin("POST", kMaps, config_map("m"));
  simulation.run_until_idle();
  EXPECT_EQ(change->answer.status, 200);
  EXPECT_EQ(other->answer.status, 201) << other->answer.body;
}

// The rules are those of today, the object of a server that did not have them.
TEST_F(WritesTest, WhatIsWrongWithTheStoredObjectIsNotTheUpdatesDoing) {
  ASSERT_EQ(call("POST", kPods, pod("p", R"(,"hostname":"HOST")")).status, 422);
  call("POST", kPods, pod("p", R"(,"hostname":"host")"));
  store::Write write;
  write.bucket = store->bucket("pods");
  write.key = "default/p";
  write.value = call("GET", std::string(kPods) + "/p").text;
  write.value.replace(write.value.find("\"host\""), 6, "\"HOST\"");
  const std::size_t revision = write.value.find("\"resourceVersion\":\"") + 19;
  write.value.erase(revision, write.value.find('"', revision) - revision);
  write.revision_at = static_cast<std::uint32_t>(revision);
  write.attachment = attach_header("pods", write.key, write.value);
  store::Batch batch;
  batch.writes.push_back(std::move(write));
  ASSERT_TRUE(store->commit(std::move(batch), [](store::CommitResults) {}));
  simulation.run_until_idle();
  Reply labelled = patch(std::string(kPods) + "/p", R"({"metadata":{"labels":{"a":"b"}}})");
  EXPECT_EQ(labelled.status, 200) << labelled.text;
  EXPECT_EQ(labelled.at({"spec", "hostname"}), "HOST");
  EXPECT_EQ(patch(std::string(kPods) + "/p", R"({"spec":{"activeDeadlineSeconds":0}})").message(),
            "Pod \"p\" is invalid: spec.activeDeadlineSeconds: Invalid value: 0: must be between 1 "
            "and 2147483647, "
            "inclusive");
}

TEST_F(WritesTest, ServicesHaveAddressesOfOneFamily) {
  const auto create = [&](const std::string& more) {
    return call(
        "POST", "/api/v1/namespaces/default/services",
        R"({"metadata":{"generateName":"s-"},"spec":{"ports":[{"port":1}],"selector":{"a":"b"},)" +
            more + "}}");
  };
  EXPECT_EQ(create(R"("ipFamilyPolicy":"PreferDualStack")").status, 201);
  const auto refused = [&](const std::string& more) {
    const std::string message = create(more).message();
    return message.substr(std::min(message.find("spec."), message.size()));
  };
  EXPECT_EQ(refused(R"("ipFamilies":["IPv6"])"),
            "spec.ipFamilies[0]: Invalid value: \"IPv6\": not configured on this cluster");
  EXPECT_EQ(refused(R"("ipFamilies":["IPv4","IPv6"])"),
            "spec.ipFamilyPolicy: Invalid value: \"SingleStack\": must be 'RequireDualStack' or "
            "'PreferDualStack' when "
            "multiple IP families are specified");
  EXPECT_EQ(refused(R"("ipFamilyPolicy":"RequireDualStack")"),
            "spec.ipFamilyPolicy: Invalid value: \"RequireDualStack\": this cluster is not "
            "configured for dual-stack "
            "services");
}

TEST_F(WritesTest, CreateRefusesWhatExistsAndWhatHasARevision) {
  call("POST", kMaps, config_map("m"));
  Reply again = call("POST", kMaps, config_map("m"));
  EXPECT_EQ(again.status, 409);
  EXPECT_EQ(again.reason(), "AlreadyExists");
  EXPECT_EQ(again.message(), "configmaps \"m\" already exists");
  EXPECT_EQ(again.at({"details", "kind"}), "configmaps");
  Reply revised = call("POST", kMaps, config_map("n", R"(,"resourceVersion":"3")"));
  EXPECT_EQ(revised.status, 500);
  EXPECT_EQ(revised.message(), "resourceVersion should not be set on objects to be created");
  Reply invalid = call("POST", kMaps, config_map("No", R"(,"resourceVersion":"3")"));
  EXPECT_EQ(invalid.status, 422);
  Reply tried = call("POST", std::string(kMaps) + "?dryRun=All",
                     config_map("n", R"(,"resourceVersion":"3")"));
  EXPECT_EQ(tried.status, 201) << tried.text;
  EXPECT_EQ(call("GET", std::string(kMaps) + "/n").status, 404);
}

TEST_F(WritesTest, GeneratedNamesAreUnique) {
  const std::string body = R"({"metadata":{"generateName":"g-"},"data":{}})";
  Reply one = call("POST", kMaps, body), two = call("POST", kMaps, body);
  ASSERT_EQ(one.status, 201) << one.text;
  EXPECT_EQ(one.at({"metadata", "name"}).size(), 7u);
  EXPECT_NE(one.at({"metadata", "name"}), two.at({"metadata", "name"}));
}

TEST_F(WritesTest, NamesAndNamespacesMustMatchTheUrl) {
  Reply nameless = call("POST", kMaps, R"({"data":{}})");
  EXPECT_EQ(nameless.status, 422);
  EXPECT_EQ(
      nameless.message(),
      "ConfigMap \"\" is invalid: metadata.name: Required value: name or generateName is required");
  Reply elsewhere = call("POST", kMaps, config_map("m", R"(,"namespace":"other")"));
  EXPECT_EQ(elsewhere.status, 400);
  EXPECT_EQ(
      elsewhere.message(),
      "the namespace of the provided object does not match the namespace sent on the request");
  call("POST", kMaps, config_map("m"));
  Reply renamed = patch(std::string(kMaps) + "/m", R"({"metadata":{"name":"zz"}})");
  EXPECT_EQ(renamed.status, 400);
  EXPECT_EQ(renamed.message(),
            "the name of the object (zz) does not match the name on the URL (m)");
  Reply wrong_kind =
      call("POST", kMaps, R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"x"}})");
  EXPECT_EQ(wrong_kind.status, 400);
  Reply bad_name = call("POST", kMaps, config_map("No"));
  EXPECT_EQ(bad_name.status, 422);
  EXPECT_EQ(bad_name.at({"details", "kind"}), "ConfigMap");
}

TEST_F(WritesTest, APatchIsReadWhereItNamesSomething) {
  ASSERT_EQ(call("POST", kPods, pod("p")).status, 201);
  const std::string status = std::string(kPods) + "/p/status";
  Reply patched = patch(
      status, R"({"status":{"nope":1,"message":"","startTime":"2026-01-01T01:00:00+01:00"}})");
  ASSERT_EQ(patched.status, 200) << patched.text;
  EXPECT_EQ(patched.at({"status", "startTime"}), "2026-01-01T00:00:00Z");
  EXPECT_EQ(patched.text.find("nope"), std::string::npos);
  const std::size_t spec = patched.text.find("\"spec\":");
  ASSERT_NE(spec, std::string::npos);
  EXPECT_LT(patched.text.find("\"metadata\":"), spec);
  EXPECT_LT(spec, patched.text.find("\"status\":{"));
  // The refusal shows the whole outcome, not only what was looked at.
  Reply refused = patch(status, R"({"status":"x"})");
  EXPECT_EQ(refused.status, 422);
  EXPECT_NE(refused.message().find("containers"), std::string::npos) << refused.message();
}

TEST_F(WritesTest, NamespacesMustExist) {
  Reply missing = call("POST", "/api/v1/namespaces/nowhere/configmaps", config_map("m"));
  EXPECT_EQ(missing.status, 404);
  EXPECT_EQ(missing.message(), "namespaces \"nowhere\" not found");
  call("POST", "/api/v1/namespaces", R"({"metadata":{"name":"going"}})");
  Reply going = call("DELETE", "/api/v1/namespaces/going");
  EXPECT_EQ(going.status, 200);
  EXPECT_EQ(going.at({"status", "phase"}), "Terminating");
  Reply late = call("POST", "/api/v1/namespaces/going/configmaps", config_map("m"));
  EXPECT_EQ(late.status, 403);
  EXPECT_EQ(
      late.message(),
      "configmaps \"m\" is forbidden: unable to create new content in namespace going because it "
      "is being terminated");
  Reply finalized = call("PUT", "/api/v1/namespaces/going/finalize",
                         R"({"metadata":{"name":"going"},"spec":{"finalizers":[]}})");
  EXPECT_EQ(finalized.status, 200) << finalized.text;
  EXPECT_EQ(call("GET", "/api/v1/namespaces/going").status, 404);
  Reply immortal = call("DELETE", "/api/v1/namespaces/default");
  EXPECT_EQ(immortal.status, 403);
  EXPECT_EQ(immortal.message(),
            "namespaces \"default\" is forbidden: this namespace may not be deleted");
}

TEST_F(WritesTest, UpdatesAreGuardedByTheRevision) {
  Reply made = call("POST", kMaps, config_map("m"));
  const std::string url = std::string(kMaps) + "/m";
  json::Value body = made.body;
  json::at_path(body, {"data", "a"}) = "2";
  Reply updated = call("PUT", url, json::serialize(body));
  EXPECT_EQ(updated.status, 200);
  EXPECT_EQ(updated.at({"data", "a"}), "2");
  EXPECT_NE(updated.at({"metadata", "resourceVersion"}), made.at({"metadata", "resourceVersion"}));
  json::at_path(body, {"data", "a"}) = "3";
  Reply stale = call("PUT", url, json::serialize(body));
  EXPECT_EQ(stale.status, 409);
  EXPECT_EQ(
      stale.message(),
      "Operation cannot be fulfilled on configmaps \"m\": the object has been modified; please "
      "apply your changes to the latest version and try again");
  Reply other_uid = patch(url, R"({"metadata":{"uid":"x"}})");
  EXPECT_EQ(other_uid.status, 422);
  EXPECT_EQ(other_uid.message(),
            "ConfigMap \"m\" is invalid: metadata.uid: Invalid value: \"x\": field is immutable");
  EXPECT_EQ(call("PUT", std::string(kMaps) + "/none", config_map("none")).status, 404);
}

TEST_F(WritesTest, WhoNamesNoRevisionNeverHearsOfALostRace) {
  call("POST", kMaps, config_map("m"));
  const std::string url = std::string(kMaps) + "/m";
  std::vector<std::shared_ptr<FakeWriter>> writers;
  for (int i = 0; i < 20; ++i) {
    std::string data =
        R"({"apiVersion":"v1","kind":"ConfigMap","data":{"k)" + std::to_string(i) + R"(":"v"}})";
    std::string manager = "?fieldManager=m" + std::to_string(i);
    const char* kind = i % 2 ? "application/apply-patch+yaml" : "application/merge-patch+json";
    writers.push_back(begin("PATCH", url + manager, data, {{"Content-Type", kind}}));
  }
  simulation.run_until_idle();
  for (const auto& writer : writers) EXPECT_EQ(writer->answer.status, 200) << writer->answer.body;
  EXPECT_EQ(json::find(call("GET", url).body, "data")->as_object().size(), 21u);
}

TEST_F(WritesTest, NoChangeIsNoWrite) {
  Reply made = call("POST", kMaps, config_map("m"));
  const store::Revision before = store->snapshot().revision();
  Reply same = call("PUT", std::string(kMaps) + "/m", made.text);
  EXPECT_EQ(same.status, 200);
  EXPECT_EQ(same.at({"metadata", "resourceVersion"}), made.at({"metadata", "resourceVersion"}));
  EXPECT_EQ(patch(std::string(kMaps) + "/m", R"({"data":{"a":"1"}})").status, 200);
  EXPECT_EQ(store->snapshot().revision(), before);
}

TEST_F(WritesTest, PatchTypes) {
  call("POST", kMaps, config_map("m"));
  const std::string url = std::string(kMaps) + "/m";
  EXPECT_EQ(patch(url, R"({"metadata":{"labels":{"x":"y"}}})").at({"metadata", "labels", "x"}),
            "y");
  EXPECT_EQ(
      patch(url, R"([{"op":"add","path":"/data/b","value":"2"}])", "json-patch").at({"data", "b"}),
      "2");
  EXPECT_EQ(patch(url, R"({"data":{"c":"3"}})", "strategic-merge-patch").at({"data", "c"}), "3");
  Reply failed = patch(url, R"([{"op":"test","path":"/data/b","value":"9"}])", "json-patch");
  EXPECT_EQ(failed.status, 422);
  EXPECT_EQ(failed.message(), "the server rejected our request due to an error in our request");
  EXPECT_EQ(patch(url, R"({"data":{}})", "json-patch").status, 400);
  EXPECT_EQ(call("PATCH", url, "{}", {{"Content-Type", "text/plain"}}).status, 415);
  Reply stale = patch(url, R"({"metadata":{"resourceVersion":"1"},"data":{"a":"9"}})");
  EXPECT_EQ(stale.status, 409);
}

// YAML's decoder names lines, and a configuration that is applied is decoded by it alone.
TEST_F(WritesTest, RepeatedKeysOfYamlBodies) {
  const std::string body =
      "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: 'y'\ndata:\n  a: '1'\n  a: '2'\n";
  const std::string said = "yaml: unmarshal errors:\n  line 7: key \"a\" already set in map";
  Reply created = call("POST", std::string(kMaps) + "?fieldValidation=Strict", body,
                       {{"Content-Type", "application/yaml"}});
  EXPECT_EQ(created.status, 400);
  EXPECT_EQ(
      created.message(),
      "ConfigMap in version \"v1\" cannot be handled as a ConfigMap: strict decoding error: " +
          said);
  const std::string url = std::string(kMaps) + "/y?fieldManager=m&fieldValidation=";
  const std::vector<std::pair<std::string, std::string>> apply{
      {"Content-Type", "application/apply-patch+yaml"}};
  Reply applied = call("PATCH", url + "Strict", body, apply);
  EXPECT_EQ(applied.status, 400);
  EXPECT_EQ(applied.message(),
            "error strict decoding YAML: error converting YAML to JSON: " + said);
  Reply warned = call("PATCH", url + "Warn", body, apply);
  EXPECT_EQ(warned.status, 201) << warned.text;
  EXPECT_EQ(warned.headers.get_all("Warning").size(), 1u);
  EXPECT_EQ(warned.at({"data", "a"}), "2");
}

TEST_F(WritesTest, FieldValidation) {
  const std::string body =
      R"({"metadata":{"name":"p"},"spec":{"foo":1,"containers":[{"name":"c","name":"c","image":"i"}]}})";
  Reply strict = call("POST", std::string(kPods) + "?fieldValidation=Strict", body);
  EXPECT_EQ(strict.status, 400);
  EXPECT_EQ(
      strict.message(),
      "Pod in version \"v1\" cannot be handled as a Pod: strict decoding error: unknown field "
      "\"spec.foo\", duplicate field \"spec.containers[0].name\"");
  Reply warned = call("POST", kPods, body);
  EXPECT_EQ(warned.status, 201) << warned.text;
  std::vector<std::string_view> warnings = warned.headers.get_all("Warning");
  ASSERT_EQ(warnings.size(), 2u);
  EXPECT_EQ(warnings[0], "299 - \"unknown field \\\"spec.foo\\\"\"");
  EXPECT_EQ(json::find_path(warned.body, {"spec", "foo"}), nullptr);
  Reply unknown = call("POST", std::string(kPods) + "?fieldValidation=Loose", body);
  EXPECT_EQ(unknown.status, 422);
  Reply mistyped = call("POST", std::string(kPods) + "?fieldValidation=Strict",
                        R"({"metadata":{"name":"q"},"spec":{"foo":1,"containers":"none"}})");
  EXPECT_EQ(mistyped.status, 400);
}

TEST_F(WritesTest, DryRunStoresNothing) {
  Reply made = call("POST", std::string(kMaps) + "?dryRun=All", config_map("m"));
  EXPECT_EQ(made.status, 201);
  EXPECT_EQ(made.at({"metadata", "uid"}).size(), 36u);
  EXPECT_EQ(made.at({"metadata", "resourceVersion"}), "");
  EXPECT_EQ(call("GET", std::string(kMaps) + "/m").status, 404);
  Reply bad = call("POST", std::string(kMaps) + "?dryRun=yes", config_map("m"));
  EXPECT_EQ(bad.status, 422);
  EXPECT_EQ(bad.message(),
            "CreateOptions.meta.k8s.io \"\" is invalid: dryRun: Unsupported value: "
            "[\"yes\"]: supported values: \"All\"");
}

TEST_F(WritesTest, PodsGetTheirDefaultsAndAdmission) {
  Reply made = call("POST", kPods, pod("p"));
  ASSERT_EQ(made.status, 201) << made.text;
  EXPECT_EQ(made.at({"status", "phase"}), "Pending");
  EXPECT_EQ(made.at({"status", "qosClass"}), "BestEffort");
  EXPECT_EQ(made.at({"spec", "serviceAccountName"}), "default");
  EXPECT_EQ(made.at({"spec", "preemptionPolicy"}), "PreemptLowerPriority");
  EXPECT_EQ(json::int_at(made.body, {"spec", "priority"}, -1), 0);
  EXPECT_EQ(json::array_at(made.body, {"spec", "tolerations"})->size(), 2u);
  EXPECT_EQ(json::int_at(made.body, {"metadata", "generation"}), 1);
  Reply critical = call("POST", kPods, pod("q", R"(,"priorityClassName":"system-node-critical")"));
  EXPECT_EQ(json::int_at(critical.body, {"spec", "priority"}), 2000001000);
  Reply unknown = call("POST", kPods, pod("r", R"(,"priorityClassName":"none")"));
  EXPECT_EQ(unknown.status, 403);
  EXPECT_EQ(unknown.message(),
            "pods \"r\" is forbidden: no PriorityClass with name none was found");
}

TEST_F(WritesTest, AManifestMayReplaceItsOwnPod) {
  const std::string manifest =
      pod("p", R"(,"serviceAccountName":"default","automountServiceAccountToken":false,)"
               R"("priorityClassName":"system-node-critical")");
  ASSERT_EQ(call("POST", kPods, manifest).status, 201);
  Reply replaced = call("PUT", std::string(kPods) + "/p", manifest);
  ASSERT_EQ(replaced.status, 200) << replaced.text;
  EXPECT_EQ(json::int_at(replaced.body, {"spec", "priority"}), 2000001000);
  EXPECT_EQ(replaced.at({"spec", "preemptionPolicy"}), "PreemptLowerPriority");
  EXPECT_EQ(json::array_at(replaced.body, {"spec", "tolerations"})->size(), 2u);
}

TEST_F(WritesTest, StatusAndSpecAreSeparateEndpoints) {
  call("POST", kPods, pod("p"));
  const std::string url = std::string(kPods) + "/p";
  EXPECT_EQ(patch(url, R"({"status":{"phase":"Running"}})").at({"status", "phase"}), "Pending");
  Reply status =
      patch(url + "/status", R"({"status":{"phase":"Running"},"spec":{"nodeName":"n"}})");
  EXPECT_EQ(status.at({"status", "phase"}), "Running");
  EXPECT_EQ(status.at({"spec", "nodeName"}), "");
  EXPECT_EQ(json::int_at(status.body, {"metadata", "generation"}), 1);
}

TEST_F(WritesTest, GenerationCountsChangesOfTheSpec) {
  const std::string url = "/apis/apps/v1/namespaces/default/deployments";
  Reply made =
      call("POST", url, R"({"metadata":{"name":"d"},"spec":{"selector":{"matchLabels":{"a":"b"}},
      "template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"i"}]}}}})");
  ASSERT_EQ(made.status, 201) << made.text;
  EXPECT_EQ(json::int_at(made.body, {"metadata", "generation"}), 1);
  Reply labelled = patch(url + "/d", R"({"metadata":{"labels":{"x":"y"}}})");
  EXPECT_EQ(json::int_at(labelled.body, {"metadata", "generation"}), 1);
  Reply scaled = patch(url + "/d/scale", R"({"spec":{"replicas":3}})");
  EXPECT_EQ(scaled.status, 200) << scaled.text;
  EXPECT_EQ(scaled.at({"kind"}), "Scale");
  EXPECT_EQ(json::int_at(scaled.body, {"spec", "replicas"}), 3);
  EXPECT_EQ(scaled.at({"status", "selector"}), "a=b");
  Reply now = call("GET", url + "/d");
  EXPECT_EQ(json::int_at(now.body, {"metadata", "generation"}), 2);
  EXPECT_EQ(json::int_at(now.body, {"spec", "replicas"}), 3);
}

TEST_F(WritesTest, ServicesGetAddresses) {
  const std::string url = "/api/v1/namespaces/default/services";
  const std::string ports = R"("ports":[{"port":80}])";
  Reply made = call("POST", url, R"({"metadata":{"name":"s"},"spec":{)" + ports + "}}");
  ASSERT_EQ(made.status, 201) << made.text;
  EXPECT_TRUE(made.at({"spec", "clusterIP"}).starts_with("10.96."));
  Reply headless =
      call("POST", url, R"({"metadata":{"name":"h"},"spec":{"clusterIP":"None",)" + ports + "}}");
  EXPECT_EQ(headless.at({"spec", "clusterIP"}), "None");
  Reply taken = call("POST", url,
                     R"({"metadata":{"name":"t"},"spec":{"clusterIP":")" +
                         made.at({"spec", "clusterIP"}) + "\"," + ports + "}}");
  EXPECT_EQ(taken.status, 422);
  Reply node =
      call("POST", url, R"({"metadata":{"name":"n"},"spec":{"type":"NodePort",)" + ports + "}}");
  ASSERT_EQ(node.status, 201) << node.text;
  const std::int64_t port =
      json::int_at(json::array_at(node.body, {"spec", "ports"})->front(), {"nodePort"});
  EXPECT_GE(port, 30000);
  EXPECT_LE(port, 32767);
  Reply balanced = call("POST", url,
                        R"({"metadata":{"name":"b"},"spec":{"type":"LoadBalancer",)"
                        R"("externalTrafficPolicy":"Local",)" +
                            ports + "}}");
  const std::int64_t health = json::int_at(balanced.body, {"spec", "healthCheckNodePort"});
  EXPECT_GE(health, 30000) << balanced.text;
  EXPECT_EQ(patch(url + "/b", R"({"spec":{"healthCheckNodePort":31999}})").message(),
            R"(Service "b" is invalid: spec.healthCheckNodePort: Forbidden: field is immutable)");
  EXPECT_EQ(
      patch(url + "/n", R"({"spec":{"healthCheckNodePort":31999}})").message(),
      R"(Service "n" is invalid: spec.healthCheckNodePort: Invalid value: 31999: may only be set when `type` is )"
      R"('LoadBalancer' and `externalTrafficPolicy` is 'Local')");
  Reply anywhere = patch(url + "/b", R"({"spec":{"externalTrafficPolicy":"Cluster"}})");
  EXPECT_EQ(json::int_at(anywhere.body, {"spec", "healthCheckNodePort"}), 0) << anywhere.text;
  Reply kept =
      call("PUT", url + "/s", R"({"metadata":{"name":"s"},"spec":{"ports":[{"port":81}]}})");
  EXPECT_EQ(kept.status, 200) << kept.text;
  EXPECT_EQ(kept.at({"spec", "clusterIP"}), made.at({"spec", "clusterIP"}));
}

}  // namespace
}  // namespace hekla::apiserver
