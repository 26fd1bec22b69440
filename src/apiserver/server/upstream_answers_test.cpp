// Answers that were compared with those of kube-apiserver 1.34 (test/differential), so that they
// stay as they are without it at hand.
#include "apiserver/server/server_fixture_test.h"

namespace hekla::apiserver {
namespace {

class UpstreamAnswers : public ServerFixture {
 protected:
  static std::string in_default(std::string_view group_version, std::string_view plural) {
    return (group_version == "v1" ? "/api/v1" : "/apis/" + std::string(group_version)) +
           "/namespaces/default/" + std::string(plural);
  }
  static constexpr const char* kTemplate =
      R"("template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"i"}]}})";
  std::string deployment(const std::string& name) {
    return R"({"metadata":{"name":")" + name +
           R"("},"spec":{"replicas":0,"selector":{"matchLabels":{"a":"b"}},)" + kTemplate + "}}";
  }
  std::string job(const std::string& name) {
    return R"({"metadata":{"name":")" + name +
           R"("},"spec":{"template":{"spec":{"restartPolicy":"Never","containers":[{"name":"c","image":"i"}]}}}})";
  }
  const std::string deployments = in_default("apps/v1", "deployments");
  const std::string jobs = in_default("batch/v1", "jobs");
};

std::string text_of(const json::Value& body, std::initializer_list<std::string_view> path) {
  const json::Value* found = json::find_path(body, path);
  return found ? json::serialize(*found) : "<absent>";
}

TEST_F(UpstreamAnswers, StatusIsThereBeforeAnybodyWroteIt) {
  EXPECT_EQ(text_of(call("POST", deployments, deployment("d")).body, {"status"}), "{}");
  Reply node = call("POST", "/api/v1/nodes", R"({"metadata":{"name":"n"}})");
  EXPECT_EQ(text_of(node.body, {"status", "daemonEndpoints"}), R"({"kubeletEndpoint":{"Port":0}})");
  EXPECT_EQ(node.at({"status", "nodeInfo", "kubeletVersion"}), "");
  Reply volume = call("POST", "/api/v1/persistentvolumes",
                      R"({"metadata":{"name":"v"},"spec":{"capacity":{"storage":"1Gi"},)"
                      R"("accessModes":["ReadWriteOnce"],"hostPath":{"path":"/x"}}})");
  EXPECT_EQ(volume.at({"status", "lastPhaseTransitionTime"}), "2026-01-01T00:00:00Z");
}

TEST_F(UpstreamAnswers, DeletedObjectsAreShownByTheKindsThatDo) {
  const std::string accounts = in_default("v1", "serviceaccounts");
  call("POST", accounts, R"({"metadata":{"name":"s"}})");
  EXPECT_EQ(call("DELETE", accounts + "/s?dryRun=All").at({"kind"}), "ServiceAccount");
  EXPECT_EQ(call("DELETE", accounts + "/s").at({"metadata", "name"}), "s");
  call("POST", kMaps, config_map("m"));
  EXPECT_EQ(call("DELETE", std::string(kMaps) + "/m").at({"kind"}), "Status");
}

TEST_F(UpstreamAnswers, JobsLeaveTheirPodsUnlessTold) {
  call("POST", jobs, job("j"));
  Reply gone = call("DELETE", jobs + "/j");
  EXPECT_EQ(text_of(gone.body, {"metadata", "finalizers"}), R"(["orphan"])");
  EXPECT_EQ(gone.headers.get("Warning"),
            "299 - \"child pods are preserved by default when jobs are deleted; set "
            "propagationPolicy=Background to remove them or set propagationPolicy=Orphan to "
            "suppress this "
            "warning\"");
  call("POST", jobs, job("k"));
  Reply told = call("DELETE", jobs + "/k", R"({"propagationPolicy":"Background"})");
  EXPECT_EQ(told.at({"kind"}), "Status");
  EXPECT_FALSE(told.headers.has("Warning"));
}

// Texts that kubectl prints as "Warning: ...".
std::vector<std::string> warned(const Reply& reply) {
  EXPECT_LT(reply.status, 300) << reply.text;
  std::vector<std::string> texts;
  for (std::string_view one : reply.headers.get_all("Warning"))
    texts.emplace_back(one.substr(7, one.size() - 8));
  return texts;
}

TEST_F(UpstreamAnswers, OddThingsAreAcceptedWithAWarning) {
  using Texts = std::vector<std::string>;
  EXPECT_EQ(warned(call("POST", deployments, deployment("a.b"))),
            (Texts{"metadata.name: this is used in Pod names and hostnames, which can result in "
                   "surprising behavior; a "
                   "DNS label is recommended: [must not contain dots]"}));
  const auto patch = [&](const std::string& body) {
    return warned(call("PATCH", deployments + "/a.b", body,
                       {{"Content-Type", "application/merge-patch+json"}}));
  };
  EXPECT_EQ(
      patch(
          R"({"spec":{"template":{"spec":{"containers":[{"name":"c","image":"i",)"
          R"("env":[{"name":"A","value":"1"},{"name":"A","value":"2"},{"name":"A","value":"$(A)3"}]}]}}}})"),
      (Texts{"spec.template.spec.containers[0].env[1]: hides previous definition of \\\"A\\\", "
             "which may be "
             "dropped when using apply"}));
  EXPECT_EQ(patch(R"({"metadata":{"labels":{"x":"y"}}})"), Texts{}) << "the spec is as it was";
  EXPECT_EQ(
      patch(
          R"({"spec":{"template":{"spec":{"terminationGracePeriodSeconds":-5,"containers":[{"name":"c",)"
          R"("image":"i"}]}}}})"),
      (Texts{"spec.template.spec.terminationGracePeriodSeconds: must be >= 0; negative values are "
             "invalid and "
             "will be treated as 1"}));
  EXPECT_EQ(warned(call(
                "POST", in_default("v1", "services"),
                R"({"metadata":{"name":"s"},"spec":{"clusterIP":"None","ports":[{"port":80}]}})")),
            (Texts{"spec.SessionAffinity is ignored for headless services"}));
  EXPECT_EQ(
      warned(call(
          "POST", kPods,
          R"({"metadata":{"name":"p"},"spec":{"nodeSelector":)"
          R"({"beta.kubernetes.io/os":"linux"},"topologySpreadConstraints":[{"maxSkew":1,"topologyKey":)"
          R"("z","whenUnsatisfiable":"DoNotSchedule"}],"containers":[{"name":"c","image":"i",)"
          R"("resources":{"limits":{"memory":"1500m"}},"ports":[{"containerPort":80,"name":"w"}]},)"
          R"({"name":"d","image":"i","ports":[{"containerPort":80,"name":"w"}]}],"volumes":[{"name":"v",)"
          R"("gitRepo":{"repository":"r"}}]}})")),
      (Texts{
          "spec.nodeSelector[beta.kubernetes.io/os]: deprecated since v1.14; use "
          "\\\"kubernetes.io/os\\\" "
          "instead",
          "spec.topologySpreadConstraints[0].labelSelector: a null labelSelector results in "
          "matching no pod",
          "spec.volumes[0].gitRepo: deprecated in v1.11, and disabled by default in v1.33+",
          "spec.containers[0].resources.limits[memory]: fractional byte value \\\"1500m\\\" is "
          "invalid, "
          "must be an integer",
          "spec.containers[0].resources.requests[memory]: fractional byte value \\\"1500m\\\" is "
          "invalid, "
          "must be an integer",
          "spec.containers[1].ports[0]: duplicate port definition with spec.containers[0].ports[0]",
          "spec.containers[1].ports[0]: duplicate port name \\\"w\\\" with "
          "spec.containers[0].ports[0], "
          "services and probes that select ports by name will use spec.containers[0].ports[0]"}));
  EXPECT_EQ(
      warned(call("POST", in_default("networking.k8s.io/v1", "ingresses"),
                  R"({"metadata":{"name":"i","annotations":{"kubernetes.io/ingress.class":"n"}},)"
                  R"("spec":{"defaultBackend":{"service":{"name":"s","port":{"number":80}}}}})")),
      (Texts{"annotation \\\"kubernetes.io/ingress.class\\\" is deprecated, please use "
             "'spec.ingressClassName' "
             "instead"}));
}

TEST_F(UpstreamAnswers, WhatIsAppliedTwiceUnderOneKeyIsRefused) {
  const auto apply = [&](const std::string& container) {
    return call(
        "PATCH", deployments + "/d?fieldManager=m",
        R"({"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"d"},"spec":{"selector":{)"
        R"("matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[)" +
            container + "]}}}}",
        {{"Content-Type", "application/apply-patch+yaml"}});
  };
  const std::string begin = "failed to create typed patch object (/d; apps/v1, Kind=Deployment): ",
                    containers = ".spec.template.spec.containers";
  Reply twice = apply(R"({"name":"c","image":"i","env":[{"name":"A"},{"name":"B"},{"name":"A"}]})");
  EXPECT_EQ(twice.status, 500);
  EXPECT_EQ(twice.message(),
            begin + containers + R"([name="c"].env: duplicate entries for key [name="A"])");
  EXPECT_EQ(apply(R"({"name":"c","image":"i","bogus":1},{"name":"c","image":"i"})").message(),
            begin + "errors:\n  " + containers +
                R"([name="c"].bogus: field not declared in schema)" + "\n  " + containers +
                R"(: duplicate entries for key [name="c"])" + "\n");
  EXPECT_EQ(
      apply(R"({"name":"c","ports":[{"containerPort":80},{"containerPort":80,"protocol":"UDP"}],)"
            R"("image":"i"})")
          .status,
      201);
}

TEST_F(UpstreamAnswers, NobodyOwnsWhatNobodyTracked) {
  const std::string account = in_default("v1", "serviceaccounts") + "/s";
  call("POST", in_default("v1", "serviceaccounts"), R"({"metadata":{"name":"s"}})");
  Reply noted =
      call("PATCH", account + "?fieldManager=note", R"({"metadata":{"annotations":{"a":"b"}}})",
           {{"Content-Type", "application/merge-patch+json"}});
  EXPECT_EQ(text_of(noted.body, {"metadata", "managedFields"}), "<absent>");
  Reply applied = call(
      "PATCH", account + "?fieldManager=m",
      R"({"apiVersion":"v1","kind":"ServiceAccount","metadata":{"name":"s","annotations":{"a":"c"}}})",
      {{"Content-Type", "application/apply-patch+yaml"}});
  EXPECT_EQ(applied.message(),
            "Apply failed with 1 conflict: conflict with \"before-first-apply\" using v1: "
            ".metadata.annotations.a");
}

TEST_F(UpstreamAnswers, JobsWithoutLabelsHaveThoseOfTheirPods) {
  Reply made = call("POST", jobs, job("j"));
  EXPECT_EQ(made.at({"metadata", "labels", "job-name"}), "j");
  EXPECT_EQ(made.at({"metadata", "labels", "controller-uid"}), made.at({"metadata", "uid"}));
}

TEST_F(UpstreamAnswers, NamespacesAndDefinitionsOnlyBeginToGo) {
  call("POST", "/api/v1/namespaces", R"({"metadata":{"name":"n"}})");
  Reply stale = call("DELETE", "/api/v1/namespaces/n", R"({"preconditions":{"uid":"x"}})");
  EXPECT_EQ(stale.status, 409);
  EXPECT_TRUE(
      stale.message().starts_with("Operation cannot be fulfilled on namespaces \"n\": Precondition "
                                  "failed: UID in precondition: x, UID in object meta: "));
  Reply going = call("DELETE", "/api/v1/namespaces/n");
  EXPECT_EQ(going.at({"metadata", "deletionTimestamp"}), "2026-01-01T00:00:00Z");
  EXPECT_EQ(text_of(going.body, {"metadata", "deletionGracePeriodSeconds"}), "<absent>");
}

TEST_F(UpstreamAnswers, DeprecatedKindsSaySo) {
  for (const char* name : {"", "/none"})
    EXPECT_EQ(
        call("GET", in_default("v1", "endpoints") + name).headers.get("Warning"),
        "299 - \"v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice\"");
}

TEST_F(UpstreamAnswers, DecodingComesBeforeTheVersion) {
  const std::string budgets = in_default("policy/v1", "poddisruptionbudgets");
  call("POST", budgets, R"({"metadata":{"name":"Any_Name"},"spec":{"minAvailable":1}})");
  Reply typed = call("PUT", budgets + "/Any_Name",
                     R"({"metadata":{"name":"Any_Name"},"spec":{"selector":"x"}})");
  EXPECT_EQ(typed.status, 400);
  EXPECT_EQ(typed.message(),
            "PodDisruptionBudget in version \"v1\" cannot be handled as a PodDisruptionBudget: "
            "json: cannot "
            "unmarshal string into Go struct field PodDisruptionBudgetSpec.spec.selector of type "
            "v1.LabelSelector");
  Reply unversioned = call("PUT", budgets + "/Any_Name", R"({"metadata":{"name":"Any_Name"}})");
  EXPECT_EQ(unversioned.message(),
            "poddisruptionbudgets.policy \"Any_Name\" is invalid: metadata.resourceVersion: "
            "Invalid value: 0: "
            "must be specified for an update");
}

TEST_F(UpstreamAnswers, NamedGoTypesAreNamed) {
  Reply quota = call("POST", in_default("v1", "resourcequotas"),
                     R"({"metadata":{"name":"q"},"spec":{"hard":[]}})");
  EXPECT_TRUE(quota.message().ends_with("ResourceQuotaSpec.spec.hard of type v1.ResourceList"))
      << quota.message();
  const std::string claims = in_default("v1", "persistentvolumeclaims");
  Reply modes = call("POST", claims, R"({"metadata":{"name":"c"},"spec":{"accessModes":"x"}})");
  EXPECT_TRUE(modes.message().ends_with("spec.accessModes of type []v1.PersistentVolumeAccessMode"))
      << modes.message();
  Reply mode = call("POST", claims, R"({"metadata":{"name":"c"},"spec":{"accessModes":[1]}})");
  EXPECT_TRUE(mode.message().ends_with("spec.accessModes of type v1.PersistentVolumeAccessMode"))
      << mode.message();
}

TEST_F(UpstreamAnswers, BodiesThatAreNoJsonAreQuoted) {
  EXPECT_EQ(call("POST", kMaps, "{not json").message(),
            "the object provided is unrecognized (must be of type ConfigMap): couldn't get "
            "version/kind; json parse "
            "error: invalid character 'n' looking for beginning of object key string ({not json)");
  EXPECT_EQ(call("POST", in_default("v1", "serviceaccounts") + "/default/token").message(),
            "the object provided is unrecognized (must be of type TokenRequest): couldn't get "
            "version/kind; json parse "
            "error: unexpected end of JSON input (<empty>)");
  const auto patched = [&](const std::string& type) {
    const std::string content = "application/" + type + "+json";
    return call("PATCH", std::string(kMaps) + "/m", "{bad", {{"Content-Type", content}}).message();
  };
  EXPECT_EQ(
      patched("merge-patch"),
      "error decoding patch: invalid character 'b' looking for beginning of object key string");
  EXPECT_EQ(patched("strategic-merge-patch"),
            "invalid character 'b' looking for beginning of object key string");
}

TEST_F(UpstreamAnswers, ContinueTokensAreReadAsGoDoes) {
  const std::pair<std::string, std::string> kCases[] = {
      {"bogus", "illegal base64 data at input byte 4"},
      {"AAAA!", "illegal base64 data at input byte 4"},
      {"a-b", "invalid character 'k' looking for beginning of value"},
      {"e30", "server does not recognize this encoded version "},
  };
  for (const auto& [token, why] : kCases)
    EXPECT_EQ(call("GET", std::string(kMaps) + "?limit=1&continue=" + token).message(),
              "invalid continue token: continue key is not valid: " + why);
}

TEST_F(UpstreamAnswers, SlicesCountTheirLabels) {
  const std::string slices = in_default("discovery.k8s.io/v1", "endpointslices");
  call(
      "POST", slices,
      R"({"metadata":{"name":"s"},"addressType":"IPv4","endpoints":[{"addresses":["10.1.2.3"]}]})");
  auto generation = [&](const std::string& change) {
    return json::int_at(patch(slices + "/s", change).body, {"metadata", "generation"});
  };
  EXPECT_EQ(generation(R"({"metadata":{"annotations":{"a":"b"}}})"), 1);
  EXPECT_EQ(generation(R"({"metadata":{"labels":{"a":"b"}}})"), 2);
}

TEST_F(UpstreamAnswers, DeploymentsCountTheirAnnotationsUnlessTheStatusBringsThem) {
  const std::string deployments = in_default("apps/v1", "deployments");
  call("POST", deployments,
       R"({"metadata":{"name":"d"},"spec":{"selector":{"matchLabels":{"a":"b"}},"template":{
      "metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"i"}]}}}})");
  Reply noted = patch(deployments + "/d/status", R"({"metadata":{"annotations":{"a":"b"}}})");
  EXPECT_EQ(noted.at({"metadata", "annotations", "a"}), "b");
  EXPECT_EQ(json::int_at(noted.body, {"metadata", "generation"}), 1);
  Reply changed = patch(deployments + "/d", R"({"metadata":{"annotations":{"a":"c"}}})");
  EXPECT_EQ(json::int_at(changed.body, {"metadata", "generation"}), 2);
}

TEST_F(UpstreamAnswers, EventsReadInTheOtherGroupHaveItsShape) {
  call("POST", in_default("v1", "events"),
       R"({"metadata":{"name":"e"},"involvedObject":{"namespace":"default"}})");
  Reply newer = call("GET", in_default("events.k8s.io/v1", "events") + "/e");
  EXPECT_EQ(text_of(newer.body, {"reportingController"}), "<absent>");
  EXPECT_EQ(text_of(newer.body, {"deprecatedSource"}), "{}");
  EXPECT_EQ(text_of(newer.body, {"deprecatedFirstTimestamp"}), "null");
}

TEST_F(UpstreamAnswers, NamesAreJudgedAsTheKindWants) {
  EXPECT_EQ(call("POST", in_default("v1", "events"),
                 R"({"metadata":{"name":"Not_OK"},"involvedObject":{"namespace":"default"}})")
                .status,
            201);
  Reply unnamed = call("POST", in_default("v1", "limitranges"), R"({"metadata":{}})");
  EXPECT_EQ(unnamed.status, 201);
  EXPECT_EQ(unnamed.at({"metadata", "name"}).size(), 36u);
  EXPECT_EQ(
      call("POST", "/api/v1/namespaces", R"({"metadata":{"name":"n","namespace":"other"}})").status,
      201);
}

TEST_F(UpstreamAnswers, OnlySomeKindsKnowTheirFinalizers) {
  const std::string held = R"({"metadata":{"name":"x","finalizers":["bare"]}})";
  EXPECT_EQ(call("POST", in_default("coordination.k8s.io/v1", "leases"), held).status, 201);
  EXPECT_EQ(call("POST", kMaps, held).status, 422);
}

TEST_F(UpstreamAnswers, EventsOfEitherGroupAreJudgedByCore) {
  Reply bad = call(
      "POST", in_default("events.k8s.io/v1", "events"),
      R"({"metadata":{"name":"e","labels":{"a":"not ok"}},"regarding":{"namespace":"default"},)"
      R"("eventTime":"2024-01-01T00:00:00.000000Z","reportingController":"x.io/c",)"
      R"("reportingInstance":"i","action":"a","reason":"r","type":"Normal"})");
  EXPECT_TRUE(bad.message().starts_with("Event \"e\" is invalid: metadata.labels: "))
      << bad.message();
}

TEST_F(UpstreamAnswers, DaemonSetsCountTheirTemplates) {
  const std::string sets = in_default("apps/v1", "daemonsets");
  auto counted = [](const Reply& reply) {
    return reply.at({"metadata", "annotations", "deprecated.daemonset.template.generation"});
  };
  EXPECT_EQ(
      counted(call("POST", sets,
                   R"({"metadata":{"name":"d"},"spec":{"selector":{"matchLabels":{"a":"b"}},)" +
                       std::string(kTemplate) + "}}")),
      "1");
  EXPECT_EQ(counted(patch(sets + "/d", R"({"metadata":{"labels":{"x":"y"}}})")), "1");
  EXPECT_EQ(
      counted(patch(sets + "/d", R"({"spec":{"template":{"metadata":{"labels":{"c":"d"}}}}})")),
      "2");
}

TEST_F(UpstreamAnswers, StatusOfADeploymentDoesNotLabelIt) {
  call("POST", deployments, deployment("d"));
  Reply done = patch(deployments + "/d/status",
                     R"({"metadata":{"labels":{"st":"1"},"annotations":{"an":"1"}}})");
  EXPECT_EQ(text_of(done.body, {"metadata", "labels"}), "<absent>");
  EXPECT_EQ(done.at({"metadata", "annotations", "an"}), "1");
}

TEST_F(UpstreamAnswers, ReviewsRecordTheirFields) {
  Reply mine = call("POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
                    R"({"apiVersion":"authorization.k8s.io/v1","kind":"SelfSubjectAccessReview",)"
                    R"("spec":{"resourceAttributes":{"verb":"get","resource":"pods"}}})");
  const json::Array* fields = json::array_at(mine.body, {"metadata", "managedFields"});
  ASSERT_TRUE(fields && fields->size() == 1) << mine.text;
  EXPECT_EQ(json::serialize(*json::find(fields->front(), "fieldsV1")),
            R"({"f:spec":{"f:resourceAttributes":{".":{},"f:resource":{},"f:verb":{}}}})");
  EXPECT_EQ(call("GET", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews").status, 405);
}

TEST_F(UpstreamAnswers, DiscoveryLeavesTheGroupOfItsOwnKindsOpen) {
  Reply core =
      call("GET", "/api", "",
           {{"Accept", "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"}});
  EXPECT_NE(core.text.find(R"("responseKind":{"group":"","version":"","kind":"ConfigMap"})"),
            std::string::npos);
  EXPECT_NE(core.text.find(R"("responseKind":{"group":"policy","version":"v1","kind":"Eviction"})"),
            std::string::npos);
  EXPECT_EQ(text_of(call("GET", "/api/v1").body, {"apiVersion"}), "<absent>");
}

TEST_F(UpstreamAnswers, NullsInListsAndMapsAreZeroValues) {
  Reply made = call("POST", in_default("rbac.authorization.k8s.io/v1", "roles"),
                    R"({"metadata":{"name":"r","labels":{"a":null}},)"
                    R"("rules":[{"apiGroups":[null],"resources":["pods"],"verbs":["get"]}]})");
  EXPECT_EQ(text_of(made.body, {"rules"}),
            R"([{"apiGroups":[""],"resources":["pods"],"verbs":["get"]}])")
      << made.text;
  EXPECT_EQ(text_of(made.body, {"metadata", "labels"}), R"({"a":""})");
}

TEST_F(UpstreamAnswers, ARefusedWriteIsWarnedOf) {
  Reply refused =
      call("POST", deployments,
           R"({"metadata":{"name":"d"},"spec":{"nosuch":1,"selector":{"matchLabels":{"a":"c"}},)" +
               std::string(kTemplate) + "}}");
  EXPECT_EQ(refused.status, 422);
  EXPECT_EQ(refused.headers.get("Warning"), "299 - \"unknown field \\\"spec.nosuch\\\"\"");
}

TEST_F(UpstreamAnswers, WhoAppliesThroughTheScaleMeetsOtherOwners) {
  const std::vector<std::pair<std::string, std::string>> apply{
      {"Content-Type", "application/apply-patch+yaml"}};
  const std::string whole =
      R"({"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"d"},"spec":{)"
      R"("replicas":3,"selector":{"matchLabels":{"a":"b"}},)" +
      std::string(kTemplate) + "}}";
  ASSERT_EQ(call("PATCH", deployments + "/d?fieldManager=one", whole, apply).status, 201);
  const std::string scale =
      R"({"apiVersion":"autoscaling/v1","kind":"Scale","metadata":{"name":"d"},"spec":{"replicas":7}})";
  Reply conflict = call("PATCH", deployments + "/d/scale?fieldManager=two", scale, apply);
  EXPECT_EQ(conflict.status, 409);
  EXPECT_EQ(conflict.message(),
            "Apply failed with 1 conflict: conflict with \"one\": .spec.replicas");
  Reply forced = call("PATCH", deployments + "/d/scale?fieldManager=two&force=true", scale, apply);
  EXPECT_EQ(text_of(forced.body, {"spec", "replicas"}), "7") << forced.text;
  Reply back = call("PATCH", deployments + "/d?fieldManager=one", whole, apply);
  EXPECT_EQ(back.message(),
            "Apply failed with 1 conflict: conflict with \"two\" with subresource \"scale\": "
            ".spec.replicas");
}

TEST_F(UpstreamAnswers, ConfigurationsToApplyAreCheckedForTheirKeys) {
  const std::vector<std::pair<std::string, std::string>> apply{
      {"Content-Type", "application/apply-patch+yaml"}};
  call("POST", deployments, deployment("d"));
  auto applied = [&](const std::string& container) {
    return call("PATCH", deployments + "/d?fieldManager=m",
                R"({"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"d"},)"
                R"("spec":{"template":{"spec":{"containers":[)" +
                    container + "]}}}}",
                apply);
  };
  const std::string refused =
      "failed to create typed patch object (/d; apps/v1, Kind=Deployment): ";
  Reply ports = applied(
      R"({"name":"c","ports":[{"containerPort":80},{"containerPort":80,"protocol":"TCP"}]})");
  EXPECT_EQ(ports.status, 500);
  EXPECT_EQ(ports.message(),
            refused +
                ".spec.template.spec.containers[name=\"c\"].ports: duplicate entries for key "
                "[containerPort=80,protocol=\"TCP\"]");
  EXPECT_EQ(applied("null").message(),
            refused +
                ".spec.template.spec.containers: element 0: associative list with "
                "keys may not have a null element");
  EXPECT_EQ(call("PATCH", deployments + "/d?fieldManager=m",
                 R"({"apiVersion":"apps/v1","kind":"ReplicaSet","metadata":{"name":"d"}})", apply)
                .message(),
            "invalid object type: apps/v1, Kind=ReplicaSet");
  EXPECT_EQ(call("PATCH", deployments + "/d?fieldManager=a%0ab", "{}", apply).message(),
            "PatchOptions.meta.k8s.io \"\" is invalid: fieldManager: Invalid value: \"a\\nb\": "
            "invalid character "
            "U+000A (at position 1)");
}

TEST_F(UpstreamAnswers, WatchesThatCannotBegin) {
  const std::string list =
      "&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true";
  auto future = send("GET", std::string(kMaps) + "?watch=1&resourceVersion=99999" + list);
  EXPECT_EQ(future->answer.status, 200);
  ASSERT_EQ(future->events().size(), 1u);
  EXPECT_EQ(json::string_at(future->events()[0], {"type"}), "ERROR");
  EXPECT_EQ(json::int_at(future->events()[0], {"object", "code"}), 504);
  EXPECT_EQ(call("GET", std::string(kMaps) + "?watch=1&continue=x").status, 422);
}

TEST_F(UpstreamAnswers, WhatClientsMayAskToSee) {
  call("POST", kMaps, config_map("m"));
  const std::string map = std::string(kMaps) + "/m";
  EXPECT_EQ(call("GET", map, "", {{"Accept", "application/json;q=0.1, application/yaml"}})
                .headers.get("Content-Type"),
            "application/yaml");
  Reply table = call("GET", map + "?includeObject=All", "",
                     {{"Accept", "application/json;as=Table;v=v1;g=meta.k8s.io"}});
  EXPECT_EQ(table.status, 400);
  EXPECT_EQ(
      table.message(),
      "Unable to convert to Table as requested: includeObject: Invalid value: \"All\": must be "
      "'Metadata', 'Object', 'None', or empty");
  EXPECT_EQ(call("POST", kMaps, config_map("n"), {{"Content-Type", "application/json-patch+json"}})
                .status,
            415);
  EXPECT_EQ(call("GET", std::string(kMaps) + "?limit=99999999999999999999").message(),
            "strconv.ParseInt: parsing \"99999999999999999999\": value out of range");
  call("POST", kPods, pod("p"));
  Reply bound = call("POST", std::string(kPods) + "/p/binding",
                     R"({"metadata":{"name":"q"},"target":{"name":"n"}})");
  EXPECT_EQ(bound.message(), "name in URL does not match name in Binding object");
}

TEST_F(UpstreamAnswers, CountsOfAStatusAreWithinEachOther) {
  call("POST", deployments, deployment("d"));
  auto status = [&](const std::string& text) {
    return patch(deployments + "/d/status", R"({"status":)" + text + "}").message();
  };
  EXPECT_EQ(status(R"({"replicas":1,"readyReplicas":2})"),
            "Deployment.apps \"d\" is invalid: status.readyReplicas: Invalid value: 2: cannot be "
            "greater than "
            "status.replicas");
  EXPECT_EQ(status(R"({"replicas":2,"readyReplicas":1,"availableReplicas":2})"),
            "Deployment.apps \"d\" is invalid: status.availableReplicas: Invalid value: 2: cannot "
            "be greater than "
            "readyReplicas");
  EXPECT_EQ(status(R"({"observedGeneration":-1})"),
            "Deployment.apps \"d\" is invalid: status.observedGeneration: Invalid value: -1: must "
            "be greater than or "
            "equal to 0");
  EXPECT_EQ(status(R"({"collisionCount":1})"), "");
  EXPECT_EQ(status(R"({"collisionCount":null})"),
            "Deployment.apps \"d\" is invalid: status.collisionCount: Invalid value: 0: cannot be "
            "decremented");
}

TEST_F(UpstreamAnswers, StatusesOfPodsAreChecked) {
  call("POST", kPods, pod("p"));
  auto status = [&](const std::string& text) {
    return patch(std::string(kPods) + "/p/status", R"({"status":)" + text + "}").message();
  };
  EXPECT_EQ(status(R"({"hostIP":"10.0.0.1","hostIPs":[{"ip":"10.0.0.2"}]})"),
            "Pod \"p\" is invalid: status.hostIPs[0].ip: Invalid value: \"10.0.0.2\": must be "
            "equal to `hostIP`");
  EXPECT_EQ(status(R"({"podIP":"x","podIPs":[{"ip":"x"}]})"),
            "Pod \"p\" is invalid: status.podIPs[0]: Invalid value: \"x\": must be a valid IP "
            "address, (e.g. 10.9.8.7 "
            "or 2001:db8::ffff)");
  EXPECT_EQ(
      status(R"({"qosClass":"Guaranteed"})"),
      "Pod \"p\" is invalid: status.qosClass: Invalid value: \"Guaranteed\": field is immutable");
  EXPECT_EQ(status(R"({"podIP":"10.1.0.1","podIPs":[{"ip":"10.1.0.1"}],)"
                   R"("hostIP":"10.0.0.1","hostIPs":[{"ip":"10.0.0.1"}]})"),
            "");
}

TEST_F(UpstreamAnswers, DevicesClaimsAndReferencesOfPods) {
  auto refusal = [&](const std::string& container, const std::string& spec) {
    const std::string whole =
        R"({"metadata":{"name":"p"},"spec":{"containers":[{"name":"c","image":"i")" + container +
        "}]" + spec + "}}";
    const std::string made = call("POST", std::string(kPods) + "?dryRun=All", whole).message();
    return made.substr(std::min(made.size(), std::string_view("Pod \"p\" is invalid: ").size()));
  };
  EXPECT_EQ(refusal(R"(,"volumeDevices":[{"name":"v","devicePath":"/dev/x"}])", ""),
            "spec.containers[0].volumeDevices[0].name: Not found: \"v\"");
  EXPECT_EQ(refusal(R"(,"volumeDevices":[{"name":"v","devicePath":"/dev/x"}])",
                    R"(,"volumes":[{"name":"v"}])"),
            "spec.containers[0].volumeDevices[0].name: Invalid value: \"v\": can only use volume "
            "source type of "
            "PersistentVolumeClaim or Ephemeral for block mode");
  EXPECT_EQ(refusal(R"(,"resources":{"claims":[{"name":"a"}]})", ""),
            "spec.containers[0].resources.claims[0]: Not found: \"a\": must be one of the names in "
            "pod.spec.resourceClaims which is empty");
  EXPECT_EQ(refusal(R"(,"resources":{"claims":[{"name":"a"},{"name":"a"}]})",
                    R"(,"resourceClaims":[{"name":"a","resourceClaimName":"r"}])"),
            "spec.containers[0].resources.claims[1]: Duplicate value: \"a\"");
  EXPECT_TRUE(
      refusal(
          R"(,"env":[{"name":"A","valueFrom":{"configMapKeyRef":{"name":"m","key":"not ok"}}}])",
          "")
          .starts_with("spec.containers[0].env[0].valueFrom.configMapKeyRef.key: Invalid value: "
                       "\"not ok\""));
  EXPECT_EQ(refusal("", R"(,"volumes":[{"name":"v","hostPath":{"path":"/x"},"emptyDir":{}}])"),
            "spec.volumes[0].hostPath: Forbidden: may not specify more than 1 volume type");
  EXPECT_EQ(refusal("", R"(,"volumes":[{"name":"v","ephemeral":{}}])"),
            "spec.volumes[0].ephemeral.volumeClaimTemplate: Required value");
  EXPECT_EQ(refusal("", R"(,"volumes":[{"name":"v","fc":{"targetWWNs":["w"]}}])"),
            "spec.volumes[0].fc.lun: Required value: lun is required if targetWWNs is specified");
}

TEST_F(UpstreamAnswers, WhatIsBehindAVolumeStays) {
  const std::string volumes = "/api/v1/persistentvolumes";
  Reply made = call("POST", volumes,
                    R"({"metadata":{"name":"v"},"spec":{"capacity":{"storage":"1Gi"},)"
                    R"("accessModes":["ReadWriteOnce"],"hostPath":{"path":"/x"}}})");
  ASSERT_EQ(made.status, 201) << made.text;
  EXPECT_EQ(patch(volumes + "/v", R"({"spec":{"hostPath":{"path":"/y"}}})").message(),
            "PersistentVolume \"v\" is invalid: spec.persistentvolumesource: Forbidden: "
            "spec.persistentvolumesource is "
            "immutable after creation\n");
  EXPECT_EQ(patch(volumes + "/v", R"({"spec":{"volumeMode":"Block"}})").message(),
            "PersistentVolume \"v\" is invalid: volumeMode: Invalid value: \"Block\": field is "
            "immutable");
  EXPECT_EQ(patch(volumes + "/v", R"({"spec":{"capacity":{"storage":"2Gi"}}})").status, 200);
}

TEST_F(UpstreamAnswers, ClaimsNameTheirSourceInBothWays) {
  const std::string claims = in_default("v1", "persistentvolumeclaims");
  const std::string spec =
      R"("accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"1Gi"}})";
  Reply old = call("POST", claims,
                   R"({"metadata":{"name":"a"},"spec":{)" + spec +
                       R"(,"dataSource":{"kind":"PersistentVolumeClaim","name":"x"}}})");
  EXPECT_EQ(text_of(old.body, {"spec", "dataSourceRef"}),
            R"({"kind":"PersistentVolumeClaim","name":"x","apiGroup":null})")
      << old.text;
  Reply wrong = call("POST", claims,
                     R"({"metadata":{"name":"b"},"spec":{)" + spec +
                         R"(,"dataSourceRef":{"kind":"Thing","name":"x"}}})");
  EXPECT_EQ(wrong.status, 422) << wrong.text;
}

TEST_F(UpstreamAnswers, NumbersOrTextsAreOf32Bits) {
  Reply refused = call("POST", deployments,
                       R"({"spec":{"strategy":{"rollingUpdate":{"maxSurge":2147483648}}}})");
  EXPECT_EQ(refused.message(),
            "Deployment in version \"v1\" cannot be handled as a Deployment: json: cannot "
            "unmarshal number 2147483648 "
            "into Go struct field RollingUpdateDeployment.spec.strategy.rollingUpdate.maxSurge of "
            "type int32");
}

}  // namespace
}  // namespace hekla::apiserver
