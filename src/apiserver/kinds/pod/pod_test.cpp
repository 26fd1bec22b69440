// Pods: the printed row, defaults, validation texts and what may change.
#include "apiserver/kinds/kinds_fixture_test.h"
#include "apiserver/kinds/pod/pod_rules.h"

namespace hekla::apiserver {
namespace {

using namespace testing;

std::string with_status(std::string_view status,
                        std::string_view spec = R"({"containers":[{"name":"a"},{"name":"b"}]})",
                        std::string_view meta = "") {
  return R"({"metadata":{"name":"p","creationTimestamp":"2024-01-01T00:00:00Z")" +
         std::string(meta) + R"(},"spec":)" + std::string(spec) + R"(,"status":)" +
         std::string(status) + "}";
}

// The three cells people read: READY STATUS RESTARTS.
std::string row(std::string_view pod) {
  std::string all = cells("pods", pod);
  return all.substr(0, all.find("|60m"));
}

TEST(PodCells, PhaseReasonAndReadiness) {
  EXPECT_EQ(cells("pods", with_status(R"({"phase":"Pending"})")),
            "0/2|Pending|0|60m|<none>|<none>|<none>|<none>");
  EXPECT_EQ(row(with_status(R"({"phase":"Failed","reason":"Evicted"})")), "0/2|Evicted|0");
  EXPECT_EQ(
      row(with_status(R"({"phase":"Pending","conditions":[{"type":"PodScheduled","status":"False",)"
                      R"("reason":"SchedulingGated"}]})")),
      "0/2|SchedulingGated|0");
  EXPECT_EQ(
      row(with_status(R"({"phase":"Running","containerStatuses":[{"name":"a","ready":true,)"
                      R"("state":{"running":{}}},{"name":"b","ready":false,"restartCount":3,)"
                      R"("state":{"waiting":{"reason":"CrashLoopBackOff"}},)"
                      R"("lastState":{"terminated":{"finishedAt":"2024-01-01T00:55:00Z"}}}]})")),
      "1/2|CrashLoopBackOff|3 (5m ago)");
}

TEST(PodCells, WideColumns) {
  std::string all = cells(
      "pods",
      with_status(R"({"phase":"Running","podIPs":[{"ip":"10.0.0.1"}],"nominatedNodeName":"n2",)"
                  R"("conditions":[{"type":"g1","status":"True"}]})",
                  R"({"nodeName":"n1","containers":[{"name":"a"}],)"
                  R"("readinessGates":[{"conditionType":"g1"},{"conditionType":"g2"}]})"));
  EXPECT_EQ(all, "0/1|Running|0|60m|10.0.0.1|n1|n2|1/2");
}

TEST(PodCells, TerminatedContainers) {
  const auto one = [](std::string_view state) {
    return row(with_status(R"({"phase":"Running","containerStatuses":[{"name":"a","state":)" +
                               std::string(state) + "}]}",
                           R"({"containers":[{"name":"a"}]})"));
  };
  EXPECT_EQ(one(R"({"terminated":{"reason":"OOMKilled","exitCode":137}})"), "0/1|OOMKilled|0");
  EXPECT_EQ(one(R"({"terminated":{"exitCode":3}})"), "0/1|ExitCode:3|0");
  EXPECT_EQ(one(R"({"terminated":{"signal":9,"exitCode":137}})"), "0/1|Signal:9|0");
  EXPECT_EQ(one(R"({"waiting":{"reason":"ImagePullBackOff"}})"), "0/1|ImagePullBackOff|0");
}

TEST(PodCells, CompletedBesideRunning) {
  const char* statuses =
      R"("containerStatuses":[{"name":"a","state":{"terminated":{"reason":"Completed",)"
      R"("exitCode":0}}},{"name":"b","ready":true,"state":{"running":{}}}])";
  EXPECT_EQ(
      row(with_status(
          std::string(R"({"phase":"Running","conditions":[{"type":"Ready","status":"True"}],)") +
          statuses + "}")),
      "1/2|Running|0");
  EXPECT_EQ(row(with_status(std::string(R"({"phase":"Running",)") + statuses + "}")),
            "1/2|NotReady|0");
}

TEST(PodCells, InitContainers) {
  const char* spec =
      R"({"initContainers":[{"name":"i"},{"name":"j"}],"containers":[{"name":"a"}]})";
  const auto one = [&](std::string_view statuses) {
    return row(with_status(
        R"({"phase":"Pending","initContainerStatuses":[)" + std::string(statuses) + "]}", spec));
  };
  EXPECT_EQ(one(R"({"name":"i","state":{"running":{}}})"), "0/1|Init:0/2|0");
  EXPECT_EQ(one(R"({"name":"i","state":{"terminated":{"exitCode":0}}},{"name":"j",)"
                R"("state":{"waiting":{"reason":"PodInitializing"}}})"),
            "0/1|Init:1/2|0");
  EXPECT_EQ(
      one(R"({"name":"i","restartCount":2,"state":{"waiting":{"reason":"CrashLoopBackOff"}}})"),
      "0/1|Init:CrashLoopBackOff|2");
  EXPECT_EQ(one(R"({"name":"i","state":{"terminated":{"exitCode":2}}})"), "0/1|Init:ExitCode:2|0");
  EXPECT_EQ(one(R"({"name":"i","state":{"terminated":{"signal":15,"exitCode":2}}})"),
            "0/1|Init:Signal:15|0");
  EXPECT_EQ(one(R"({"name":"i","state":{"terminated":{"reason":"Error","exitCode":2}}})"),
            "0/1|Init:Error|0");
}

TEST(PodCells, SidecarsCount) {
  EXPECT_EQ(
      row(with_status(
          R"({"phase":"Running","initContainerStatuses":[{"name":"s","started":true,"ready":true,)"
          R"("restartCount":1,"state":{"running":{}}}],"containerStatuses":[{"name":"a",)"
          R"("ready":true,"state":{"running":{}}}]})",
          R"({"initContainers":[{"name":"s","restartPolicy":"Always"}],)"
          R"("containers":[{"name":"a"}]})")),
      "2/2|Running|1");
}

TEST(PodCells, Deletion) {
  const char* meta = R"(,"deletionTimestamp":"2024-01-01T00:59:00Z")";
  const char* spec = R"({"containers":[{"name":"a"}]})";
  EXPECT_EQ(row(with_status(R"({"phase":"Running"})", spec, meta)), "0/1|Terminating|0");
  EXPECT_EQ(row(with_status(R"({"phase":"Running","reason":"NodeLost"})", spec, meta)),
            "0/1|Unknown|0");
  EXPECT_EQ(row(with_status(R"({"phase":"Succeeded"})", spec, meta)), "0/1|Succeeded|0");
}

TEST(PodDefaults, AMinimalPod) {
  json::Value pod =
      defaulted("pods", R"({"spec":{"containers":[{"name":"c","image":"busybox"}]}})");
  EXPECT_TRUE(json::equal(
      pod,
      parsed(
          R"({"spec":{"containers":[{"name":"c","image":"busybox","resources":{},)"
          R"("terminationMessagePath":"/dev/termination-log","terminationMessagePolicy":"File",)"
          R"("imagePullPolicy":"Always"}],"restartPolicy":"Always",)"
          R"("terminationGracePeriodSeconds":30,"dnsPolicy":"ClusterFirst","securityContext":{},)"
          R"("schedulerName":"default-scheduler","enableServiceLinks":true}})")))
      << json::serialize(pod);
}

TEST(PodDefaults, PullPolicyFollowsTheTag) {
  const std::pair<const char*, const char*> cases[] = {{"busybox", "Always"},
                                                       {"busybox:latest", "Always"},
                                                       {"busybox:1.36", "IfNotPresent"},
                                                       {"reg:5000/busybox", "Always"},
                                                       {"reg:5000/busybox:1", "IfNotPresent"},
                                                       {"busybox@sha256:abc", "IfNotPresent"}};
  for (const auto& [image, policy] : cases) {
    json::Value pod =
        defaulted("pods", std::string(R"({"spec":{"containers":[{"name":"c","image":")") + image +
                              R"("}]}})");
    EXPECT_EQ(
        json::string_at((*json::array_at(pod, {"spec", "containers"}))[0], {"imagePullPolicy"}),
        policy)
        << image;
  }
}

TEST(PodDefaults, ProbesPortsEnvAndRequests) {
  json::Value pod = defaulted(
      "pods", R"({"spec":{"hostNetwork":true,"containers":[{"name":"c","image":"x:1",)"
              R"("ports":[{"containerPort":80}],"env":[{"name":"A",)"
              R"("valueFrom":{"fieldRef":{"fieldPath":"metadata.name"}}}],)"
              R"("livenessProbe":{"httpGet":{"port":80}},"readinessProbe":{"grpc":{"port":1}},)"
              R"("lifecycle":{"preStop":{"httpGet":{"port":1}}},"resources":{"limits":{"cpu":"1",)"
              R"("memory":"1Gi"},"requests":{"cpu":"500m"}}}]}})");
  const json::Value& c = (*json::array_at(pod, {"spec", "containers"}))[0];
  EXPECT_TRUE(json::equal(*json::find(c, "ports"),
                          parsed(R"([{"containerPort":80,"protocol":"TCP","hostPort":80}])")));
  EXPECT_TRUE(
      json::equal(*json::find(c, "env"),
                  parsed(R"([{"name":"A","valueFrom":{"fieldRef":{"fieldPath":"metadata.name",)"
                         R"("apiVersion":"v1"}}}])")));
  EXPECT_TRUE(
      json::equal(*json::find(c, "livenessProbe"),
                  parsed(R"({"httpGet":{"port":80,"path":"/","scheme":"HTTP"},"timeoutSeconds":1,)"
                         R"("periodSeconds":10,"successThreshold":1,"failureThreshold":3})")));
  EXPECT_EQ(json::string_at(c, {"lifecycle", "preStop", "httpGet", "path"}), "/");
  EXPECT_TRUE(json::equal(*json::find_path(c, {"readinessProbe", "grpc"}),
                          parsed(R"({"port":1,"service":""})")));
  EXPECT_TRUE(json::equal(*json::find_path(c, {"resources", "requests"}),
                          parsed(R"({"cpu":"500m","memory":"1Gi"})")));
}

TEST(PodDefaults, Volumes) {
  json::Value pod = defaulted(
      "pods",
      R"({"spec":{"containers":[],"volumes":[{"name":"e"},{"name":"s",)"
      R"("secret":{"secretName":"x"}},{"name":"h","hostPath":{"path":"/x"}},{"name":"p",)"
      R"("projected":{"sources":[{"serviceAccountToken":{"path":"t"}},)"
      R"({"downwardAPI":{"items":[{"path":"n","fieldRef":{"fieldPath":"metadata.name"}}]}}]}})"
      R"(]}})");
  EXPECT_TRUE(json::equal(
      *json::find_path(pod, {"spec", "volumes"}),
      parsed(R"([{"name":"e","emptyDir":{}},{"name":"s","secret":{"secretName":"x",)"
             R"("defaultMode":420}},{"name":"h","hostPath":{"path":"/x","type":""}},{"name":"p",)"
             R"("projected":{"defaultMode":420,"sources":[{"serviceAccountToken":{"path":"t",)"
             R"("expirationSeconds":3600}},{"downwardAPI":{"items":[{"path":"n",)"
             R"("fieldRef":{"fieldPath":"metadata.name","apiVersion":"v1"}}]}}]}}])")));
}

TEST(PodDefaults, ServiceAccountIsMirroredAndNegativeGraceIsOne) {
  json::Value pod = defaulted(
      "pods",
      R"({"spec":{"serviceAccount":"sa","terminationGracePeriodSeconds":-5,"containers":[]}})");
  EXPECT_EQ(json::string_at(pod, {"spec", "serviceAccountName"}), "sa");
  EXPECT_EQ(json::int_at(pod, {"spec", "terminationGracePeriodSeconds"}), 1);
}

TEST(PodDefaults, FieldsOfDisabledFeaturesAreDropped) {
  json::Value pod = defaulted(
      "pods",
      R"({"spec":{"containers":[{"name":"c","lifecycle":{"stopSignal":"SIGUSR1"},"env":[{"name":"A",)"
      R"("valueFrom":{"fileKeyRef":{"path":"f","volumeName":"v","key":"k"}}}]},{"name":"d",)"
      R"("lifecycle":{"stopSignal":"SIGUSR1","preStop":{"sleep":{"seconds":1}}}}]}})");
  const json::Array& containers = *json::array_at(pod, {"spec", "containers"});
  EXPECT_EQ(json::find(containers[0], "lifecycle"), nullptr);
  EXPECT_EQ(json::serialize(*json::find(containers[0], "env")), R"([{"name":"A","valueFrom":{}}])");
  EXPECT_EQ(json::serialize(*json::find(containers[1], "lifecycle")),
            R"({"preStop":{"sleep":{"seconds":1}}})");
}

TEST(PodDefaults, RequestsOfThePodAreThoseOfItsContainersOrItsLimits) {
  const auto requests = [](const std::string& resources) {
    json::Value pod = defaulted(
        "pods", R"({"spec":{"containers":[{"name":"a","resources":{"requests":{"cpu":"1"}}},)"
                R"({"name":"b","resources":{"requests":{"cpu":"500m"}}}],"resources":)" +
                    resources + "}}");
    const json::Value* found = json::find_path(pod, {"spec", "resources", "requests"});
    return found ? json::serialize(*found) : "";
  };
  EXPECT_EQ(requests(R"({"limits":{"cpu":"4","memory":"1Gi"}})"),
            R"({"cpu":"1500m","memory":"1Gi"})");
  EXPECT_EQ(requests(R"({"limits":{"cpu":"4"},"requests":{"cpu":"2"}})"), R"({"cpu":"2"})");
  EXPECT_EQ(requests("{}"), "");
}

TEST(PodCreate, StatusIsPendingWithItsClass) {
  const auto status = [](const char* spec) {
    json::Value pod = created("pods", std::string(R"({"spec":)") + spec + "}");
    return json::serialize(*json::find(pod, "status"));
  };
  EXPECT_EQ(status(R"({"containers":[{"name":"c"}]})"),
            R"({"phase":"Pending","qosClass":"BestEffort"})");
  EXPECT_EQ(status(R"({"containers":[{"name":"c","resources":{"requests":{"cpu":"1"}}}]})"),
            R"({"phase":"Pending","qosClass":"Burstable"})");
  EXPECT_EQ(
      status(R"({"containers":[{"name":"c","resources":{"limits":{"cpu":"1","memory":"1Gi"}}}]})"),
      R"({"phase":"Pending","qosClass":"Guaranteed"})");
  EXPECT_EQ(
      status(R"({"resources":{"limits":{"cpu":"1","memory":"1Gi"}},"containers":[{"name":"c"}]})"),
      R"({"phase":"Pending","qosClass":"Guaranteed"})");
  EXPECT_EQ(status(R"({"resources":{"requests":{"cpu":"1"}},"containers":[{"name":"c"}]})"),
            R"({"phase":"Pending","qosClass":"Burstable"})");
  EXPECT_NE(status(R"({"schedulingGates":[{"name":"g"}],"containers":[{"name":"c"}]})")
                .find("SchedulingGated"),
            std::string::npos);
}

TEST(PodValidation, Texts) {
  const std::pair<const char*, const char*> cases[] = {
      {R"({"containers":[{"name":"c","image":"i"}]})", ""},
      {R"({})", "spec.containers: Required value"},
      {R"({"containers":[{"image":"i"}]})", "spec.containers[0].name: Required value"},
      {R"({"containers":[{"name":"c"}]})", "spec.containers[0].image: Required value"},
      {R"({"containers":[{"name":"c","image":" i"}]})",
       R"(spec.containers[0].image: Invalid value: " i": must not have leading or trailing )"
       R"(whitespace)"},
      {R"({"containers":[{"name":"c","image":"i"},{"name":"c","image":"i"}]})",
       R"(spec.containers[1].name: Duplicate value: "c")"},
      {R"({"containers":[{"name":"c","image":"i"}],"restartPolicy":"Sometimes"})",
       R"(spec.restartPolicy: Unsupported value: "Sometimes": supported values: "Always", )"
       R"("OnFailure", "Never")"},
      {R"({"containers":[{"name":"c","image":"i","volumeMounts":[{"name":"v",)"
       R"("mountPath":"/x"}]}]})",
       R"(spec.containers[0].volumeMounts[0].name: Not found: "v")"},
      {R"({"containers":[{"name":"c","image":"i","ports":[{"containerPort":70000}]}]})",
       "spec.containers[0].ports[0].containerPort: Invalid value: 70000: must be between 1 and "
       "65535, inclusive"},
      {R"({"containers":[{"name":"c","image":"i","ports":[{"name":"toolongportname1",)"
       R"("containerPort":1}]}]})",
       R"(spec.containers[0].ports[0].name: Invalid value: "toolongportname1": must be no )"
       R"(more than 15 characters)"},
      {R"({"containers":[{"name":"c","image":"i","ports":[{"name":"a","containerPort":1},)"
       R"({"name":"a","containerPort":2}]}]})",
       R"(spec.containers[0].ports[1].name: Duplicate value: "a")"},
      {R"({"containers":[{"name":"c","image":"i","env":[{"value":"x"}]}]})",
       "spec.containers[0].env[0].name: Required value"},
      {R"({"containers":[{"name":"c","image":"i","env":[{"name":"A","value":"x",)"
       R"("valueFrom":{"secretKeyRef":{"name":"s","key":"k"}}}]}]})",
       R"(spec.containers[0].env[0].valueFrom: Invalid value: "": may not be specified when )"
       R"(`value` is not empty)"},
      {R"({"containers":[{"name":"c","image":"i","resources":{"limits":{"cpu":"1"},)"
       R"("requests":{"cpu":"2"}}}]})",
       R"(spec.containers[0].resources.requests: Invalid value: "2": must be less than or )"
       R"(equal to cpu limit of 1)"},
      {R"({"containers":[{"name":"c","image":"i","resources":{"limits":{"cpu":"-1"},)"
       R"("requests":{"cpu":"-1"}}}]})",
       "spec.containers[0].resources.limits[cpu]: Invalid value: \"-1\": must be greater than or "
       "equal to 0\n"
       "spec.containers[0].resources.requests[cpu]: Invalid value: \"-1\": must be greater than or "
       "equal to 0"},
      {R"({"containers":[{"name":"c","image":"i","resources":{"requests":{"nvidia.com/gpu":"1")"
       R"(}}}]})",
       "spec.containers[0].resources.limits: Required value: Limit must be set for non "
       "overcommitable resources"},
      {R"({"containers":[{"name":"c","image":"i","resources":{"limits":{"nvidia.com/gpu":"500m)"
       R"("}}}]})",
       "spec.containers[0].resources.limits[nvidia.com/gpu]: Invalid value: \"500m\": must be an "
       "integer\n"
       "spec.containers[0].resources.requests[nvidia.com/gpu]: Invalid value: \"500m\": must be an "
       "integer"},
      {R"({"containers":[{"name":"c","image":"i","imagePullPolicy":"Maybe"}]})",
       R"(spec.containers[0].imagePullPolicy: Unsupported value: "Maybe": supported values: )"
       R"("Always", "IfNotPresent", "Never")"},
      {R"({"containers":[{"name":"c","image":"i","livenessProbe":{}}]})",
       "spec.containers[0].livenessProbe: Required value: must specify a handler type"},
      {R"({"containers":[{"name":"c","image":"i","livenessProbe":{"exec":{"command":["a"]},)"
       R"("periodSeconds":-1}}]})",
       "spec.containers[0].livenessProbe.periodSeconds: Invalid value: -1: must be greater than or "
       "equal to 0"},
      {R"({"initContainers":[{"name":"j","image":"i",)"
       R"("readinessProbe":{"exec":{"command":["a"]}}}],"containers":[{"name":"c",)"
       R"("image":"i"}]})",
       "spec.initContainers[0].readinessProbe: Forbidden: may not be set for init containers "
       "without restartPolicy=Always"},
      {R"({"containers":[{"name":"c","image":"i"}],"volumes":[{"name":"v","emptyDir":{},)"
       R"("hostPath":{"path":"/"}}]})",
       "spec.volumes[0].hostPath: Forbidden: may not specify more than 1 volume type"},
      {R"({"containers":[{"name":"c","image":"i"}],"volumes":[{"name":"v"},{"name":"v"}]})",
       R"(spec.volumes[1].name: Duplicate value: "v")"},
      {R"({"containers":[{"name":"c","image":"i"}],"tolerations":[{"operator":"Equal"}]})",
       R"(spec.tolerations[0].operator: Invalid value: "Equal": operator must be Exists when )"
       R"(`key` is empty, which means "match all values and all keys")"},
      {R"({"containers":[{"name":"c","image":"i"}],)"
       R"("topologySpreadConstraints":[{"maxSkew":0,"topologyKey":"z","whenUnsatisfiable":"Odd"}]})",
       "spec.topologySpreadConstraints[0].maxSkew: Invalid value: 0: must be greater than zero\n"
       "spec.topologySpreadConstraints[0].whenUnsatisfiable: Unsupported value: \"Odd\": supported "
       "values: \"DoNotSchedule\", \"ScheduleAnyway\""},
      {R"({"containers":[{"name":"c","image":"i","securityContext":{"runAsUser":-1}}]})",
       "spec.containers[0].securityContext.runAsUser: Invalid value: -1: must be between 0 and "
       "2147483647, inclusive"},
      {R"({"containers":[{"name":"c","image":"i"}],)"
       R"("securityContext":{"sysctls":[{"name":"a.b_c/d-e"},{"name":"bar.."}]}})",
       "spec.securityContext.sysctls[1].name: Invalid value: \"bar..\": must have at most 253 "
       "characters and "
       "match regex ^([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\\./])*([a-z0-9][-_a-z0-9]*)?[a-z0-9]$"},
      {R"({"containers":[{"name":"c","image":"i"}],"activeDeadlineSeconds":0})",
       "spec.activeDeadlineSeconds: Invalid value: 0: must be between 1 and 2147483647, inclusive"},
      {R"({"containers":[{"name":"c","image":"i"}],"affinity":{"podAntiAffinity":{"preferredDu)"
       R"(ringSchedulingIgnoredDuringExecution":[{"weight":101,)"
       R"("podAffinityTerm":{"topologyKey":"k"}}]}}})",
       "spec.affinity.podAntiAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].weight: "
       "Invalid value: 101: must be in the range 1-100"},
      {R"({"containers":[{"name":"c","image":"i","ports":[{"containerPort":1,"hostPort":9}]},)"
       R"({"name":"d","image":"i","ports":[{"containerPort":1,"hostPort":9}]}]})",
       R"(spec.containers[1].ports[0].hostPort: Duplicate value: "TCP//9")"},
  };
  for (const auto& [spec, expected] : cases)
    EXPECT_EQ(complaints("pods", std::string(R"({"spec":)") + spec + "}"), expected) << spec;
}

TEST(PodValidation, OnlyOfNewPods) {
  EXPECT_EQ(complaints("pods", R"({"spec":{"containers":[{"name":"c","image":"i"}],)"
                               R"("ephemeralContainers":[{"name":"e","image":"i"}]}})"),
            "spec.ephemeralContainers: Forbidden: cannot be set on create");
  EXPECT_EQ(complaints("pods", R"({"spec":{"containers":[{"name":"c","image":"i"}],"nodeName":"n",)"
                               R"("schedulingGates":[{"name":"g"}]}})"),
            "spec.nodeName: Forbidden: cannot be set until all schedulingGates have been cleared");
}

TEST(PodUpdate, WhatMayChange) {
  const std::string base =
      R"({"spec":{"containers":[{"name":"c","image":"i"}],"tolerations":[{"key":"a",)"
      R"("operator":"Exists"}]MORE}})";
  const auto with = [&](std::string more, std::string text = {}) {
    std::string out = text.empty() ? base : text;
    out.replace(out.find("MORE"), 4, more);
    return out;
  };
  const std::string old = with("");
  EXPECT_EQ(
      update_complaints(
          "pods",
          with("", R"({"spec":{"containers":[{"name":"c","image":"j","imagePullPolicy":"Always"}],)"
                   R"("tolerations":[{"key":"a","operator":"Exists"},{"key":"b",)"
                   R"("operator":"Exists"}]MORE}})"),
          old),
      "");
  EXPECT_EQ(update_complaints("pods", with(R"(,"nodeName":"n")"), old)
                .find("spec: Forbidden: pod updates may not change fields other than "
                      "`spec.containers[*].image`"),
            0u);
  EXPECT_EQ(update_complaints("pods", R"({"spec":{"containers":[{"name":"c","image":"i"}]}})", old),
            "spec.tolerations: Forbidden: existing toleration can not be modified except its "
            "tolerationSeconds");
  EXPECT_EQ(update_complaints("pods", R"({"spec":{"containers":[]}})", old),
            "spec.containers: Forbidden: pod updates may not add or remove containers");
  EXPECT_EQ(update_complaints("pods", with(R"(,"activeDeadlineSeconds":10)"),
                              with(R"(,"activeDeadlineSeconds":5)")),
            "spec.activeDeadlineSeconds: Invalid value: 10: must be less than or equal to previous "
            "value");
  EXPECT_EQ(update_complaints("pods", with(R"(,"activeDeadlineSeconds":5)"), old), "");
  EXPECT_EQ(update_complaints("pods", old, with(R"(,"schedulingGates":[{"name":"g"}])")), "");
  EXPECT_EQ(update_complaints("pods", with(R"(,"schedulingGates":[{"name":"g"}])"), old),
            "spec.schedulingGates[0].name: Forbidden: only deletion is allowed, but found new "
            "scheduling gate 'g'");
  EXPECT_EQ(update_complaints("pods",
                              with(R"(,"schedulingGates":[{"name":"g"}],"nodeSelector":{"a":"b"})"),
                              with(R"(,"schedulingGates":[{"name":"g"}])")),
            "");
}

}  // namespace
}  // namespace hekla::apiserver
