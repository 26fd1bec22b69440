// Refusals of pods, beyond the texts in kinds/pod/pod_test.cpp.
#include "apiserver/kinds/kinds_fixture_test.h"

namespace hekla::apiserver {
namespace {

using namespace testing;

struct Refusal {
  std::string what, expected;
};

void expect_refusals(std::string_view before, std::string_view after,
                     const std::vector<Refusal>& all) {
  for (const auto& [what, expected] : all)
    EXPECT_EQ(complaints("pods", std::string(before) + what + std::string(after)), expected)
        << what;
}

// Members of the only container, beside a volume v.
void expect_of_container(const std::vector<Refusal>& all) {
  expect_refusals(R"({"spec":{"volumes":[{"name":"v"}],"containers":[{"name":"c","image":"i",)",
                  "}]}}", all);
}
void expect_of_spec(const std::vector<Refusal>& all) {
  expect_refusals(R"({"spec":{"containers":[{"name":"c","image":"i"}],)", "}}", all);
}

TEST(PodRefusals, PathsThatLeadOutOfAVolume) {
  const std::string mounts = "spec.containers[0].volumeMounts.";
  expect_of_container({
      {R"("volumeMounts":[{"name":"v","mountPath":"/a","subPath":"a/..b"}])", ""},
      {R"("volumeMounts":[{"name":"v","mountPath":"/a","subPath":"../x"}])",
       mounts + R"(subPath: Invalid value: "../x": must not contain '..')"},
      {R"("volumeMounts":[{"name":"v","mountPath":"/a","subPathExpr":"/x/.."}])",
       mounts + "subPathExpr: Invalid value: \"/x/..\": must be a relative path\n" + mounts +
           R"(subPathExpr: Invalid value: "/x/..": must not contain '..')"},
  });
  const std::string volume = "spec.volumes[0].";
  expect_of_spec({
      {R"("volumes":[{"name":"v","configMap":{"name":"m","items":[{"key":"k","path":"/a"}]}}])",
       volume + R"(configMap.items[0].path: Invalid value: "/a": must be a relative path)"},
      {R"("volumes":[{"name":"v","projected":{"sources":[{"secret":{"name":"s",)"
       R"("items":[{"key":"k","path":"a/../b"}]}}]}}])",
       volume +
           R"(projected.sources[0].secret.items[0].path: Invalid value: "a/../b": must not contain '..')"},
      {R"("volumes":[{"name":"v","downwardAPI":{"items":[{"path":"..a","fieldRef":{"fieldPath":"metadata.name"}}]}}])",
       volume + R"(downwardAPI.path: Invalid value: "..a": must not start with '..')"},
      {R"("volumes":[{"name":"v","projected":{"sources":[{"serviceAccountToken":{"path":"../t"}}]}}])",
       volume + R"(projected.path: Invalid value: "../t": must not contain '..')"},
      {R"("volumes":[{"name":"v","projected":{"sources":[{"configMap":{"name":"a","items":[{"key":"k","path":"x"}]}},
          {"secret":{"name":"b","items":[{"key":"k","path":"x"}]}}]}}])",
       volume + R"(projected: Invalid value: "b": conflicting duplicate paths)"},
  });
}

TEST(PodRefusals, ProjectedSources) {
  const std::string source = "spec.volumes[0].projected.sources[0]";
  const auto volume = [](const std::string& one) {
    return R"("volumes":[{"name":"v","projected":{"sources":[)" + one + "]}}]";
  };
  expect_of_spec({
      {volume(R"({"serviceAccountToken":{"path":"t","expirationSeconds":600}})"), ""},
      {volume(R"({"serviceAccountToken":{"path":"t","expirationSeconds":599}})"),
       source + ".serviceAccountToken.expirationSeconds: Invalid value: 599: may not specify a "
                "duration less than 10 "
                "minutes"},
      {volume(R"({"clusterTrustBundle":{"name":"b","path":"p"}})"),
       source + ".clusterTrustBundle: Forbidden: not supported by this cluster"},
      {volume(R"({"secret":{"name":"s"},"configMap":{"name":"m"}})"),
       source + ": Forbidden: may not specify more than 1 volume type per source"},
  });
}

TEST(PodRefusals, WhatVariablesAndFilesMaySay) {
  const std::string from = "spec.containers[0].env[0].valueFrom.";
  const auto variable = [](const std::string& source) {
    return R"("env":[{"name":"A","valueFrom":)" + source + "}]";
  };
  expect_of_container({
      {variable(R"({"fieldRef":{"fieldPath":"metadata.labels['a/b']"}})"), ""},
      {variable(R"({"fieldRef":{"fieldPath":"status.foo"}})"),
       from +
           R"(fieldRef.fieldPath: Invalid value: "status.foo": error converting fieldPath: field label not )"
           "supported: status.foo"},
      {variable(R"({"fieldRef":{"fieldPath":"metadata.labels"}})"),
       from +
           R"(fieldRef.fieldPath: Unsupported value: "metadata.labels": supported values: "metadata.name", )"
           R"("metadata.namespace", "metadata.uid", "spec.nodeName", "spec.serviceAccountName", "status.hostIP", )"
           R"("status.hostIPs", "status.podIP", "status.podIPs")"},
      {variable(R"({"fieldRef":{"fieldPath":"spec.x['a']"}})"),
       from +
           R"(fieldRef.fieldPath: Invalid value: "spec.x['a']": error converting fieldPath: field label does not )"
           "support subscript: spec.x['a']"},
      {variable(R"({"resourceFieldRef":{"resource":"limits.hugepages-2Mi"}})"), ""},
      {variable(R"({"resourceFieldRef":{"resource":"limits.foo"}})"),
       from +
           R"(resourceFieldRef.resource: Unsupported value: "limits.foo": supported values: "limits.cpu", )"
           R"("limits.ephemeral-storage", "limits.memory", "requests.cpu", "requests.ephemeral-storage", )"
           R"("requests.memory")"},
      {variable(R"({"resourceFieldRef":{"resource":"limits.cpu","divisor":"2"}})"),
       from +
           R"(resourceFieldRef.divisor: Invalid value: "limits.cpu": only divisor's values 1m and 1 are supported )"
           "with the cpu resource"},
  });
  expect_of_spec({
      {R"("volumes":[{"name":"v","downwardAPI":{"items":[{"path":"a","fieldRef":{"fieldPath":"status.podIP"}}]}}])",
       R"(spec.volumes[0].downwardAPI.fieldRef.fieldPath: Unsupported value: "status.podIP": supported values: )"
       R"("metadata.annotations", "metadata.labels", "metadata.name", "metadata.namespace", "metadata.uid")"},
      {R"("volumes":[{"name":"v","downwardAPI":{"items":[{"path":"a",)"
       R"("resourceFieldRef":{"resource":"limits.cpu"}}]}}])",
       "spec.volumes[0].downwardAPI.resourceFieldRef.containerName: Required value"},
      {R"("volumes":[{"name":"v","downwardAPI":{"items":[{"path":"a"}]}}])",
       "spec.volumes[0].downwardAPI: Required value: one of fieldRef and resourceFieldRef is "
       "required"},
  });
}

TEST(PodRefusals, HooksMountsAndResizing) {
  const std::string at = "spec.containers[0].";
  expect_of_container({
      {R"("lifecycle":{"preStop":{"sleep":{"seconds":30}}})", ""},
      {R"("lifecycle":{"preStop":{"sleep":{"seconds":31}}})",
       at + "lifecycle.preStop.sleep: Invalid value: 31: must be non-negative and less than "
            "terminationGracePeriodSeconds (30)"},
      {R"("livenessProbe":{"httpGet":{"port":1,"httpHeaders":[{"name":"a b","value":"c"}]}})",
       at +
           R"(livenessProbe.httpGet.httpHeaders: Invalid value: "a b": a valid HTTP header must consist of )"
           "alphanumeric characters or '-' (e.g. 'X-Header-Name', regex used for validation is "
           "'[-A-Za-z0-9]+')"},
      {R"("resizePolicy":[{"resourceName":"foo","restartPolicy":"NotRequired"}])",
       at + R"(resizePolicy: Unsupported value: "foo": supported values: "cpu", "memory")"},
      {R"("resizePolicy":[{"resourceName":"cpu","restartPolicy":"foo"}])",
       at +
           R"(resizePolicy: Unsupported value: "foo": supported values: "NotRequired", "RestartContainer")"},
      {R"("volumeMounts":[{"name":"v","mountPath":"/a","mountPropagation":"Bidirectional"}])",
       at + "volumeMounts.mountPropagation: Forbidden: Bidirectional mount propagation is "
            "available only to privileged "
            "containers"},
      {R"("securityContext":{"privileged":true},
          "volumeMounts":[{"name":"v","mountPath":"/a","mountPropagation":"Bidirectional"}])",
       ""},
      {R"("volumeMounts":[{"name":"v","mountPath":"/a","recursiveReadOnly":"Enabled"}])",
       at + "volumeMounts.recursiveReadOnly: Forbidden: may only be specified when readOnly is "
            "true"},
  });
}

TEST(PodRefusals, Identity) {
  const std::string own = "spec.containers[0].securityContext.", pod = "spec.securityContext.";
  expect_of_container({
      {R"("securityContext":{"seccompProfile":{"type":"Localhost"}})",
       own + "seccompProfile.localhostProfile: Required value: must be set when seccomp type is "
             "Localhost"},
      {R"("securityContext":{"procMount":"X"})",
       own + R"(procMount: Unsupported value: "X": supported values: "Default", "Unmasked")"},
      {R"("securityContext":{"procMount":"Unmasked"})",
       own +
           R"(procMount: Invalid value: "Unmasked": `hostUsers` must be false to use `Unmasked`)"},
      {R"("securityContext":{"appArmorProfile":{"type":"Localhost"}})",
       own + "appArmorProfile.localhostProfile: Required value: must be set when AppArmor type is "
             "Localhost"},
  });
  expect_of_spec({
      {R"("hostPID":true,"shareProcessNamespace":true)",
       pod + "shareProcessNamespace: Invalid value: true: ShareProcessNamespace and HostPID cannot "
             "both be enabled"},
      {R"("hostUsers":false,"hostNetwork":true,"hostPID":true,"hostIPC":true)",
       "spec.hostNetwork: Forbidden: when `hostUsers` is false\nspec.HostPID: Forbidden: when "
       "`hostUsers` is false\n"
       "spec.HostIPC: Forbidden: when `hostUsers` is false"},
      {R"("securityContext":{"fsGroupChangePolicy":"Foo"})",
       pod +
           R"(fsGroupChangePolicy: Unsupported value: "Foo": supported values: "Always", "OnRootMismatch")"},
      {R"("securityContext":{"supplementalGroups":[1,-5]})",
       pod +
           "supplementalGroups[1]: Invalid value: -5: must be between 0 and 2147483647, inclusive"},
      {R"("hostNetwork":true,"securityContext":{"sysctls":[{"name":"net.ipv4.tcp_syncookies","value":"0"}]})",
       pod +
           R"(sysctls[0].name: Invalid value: "net.ipv4.tcp_syncookies": may not be specified when 'hostNetwork' is )"
           "true"},
  });
}

TEST(PodRefusals, Amounts) {
  const std::string own = "spec.containers[0].resources";
  expect_of_container({
      {R"("resources":{"limits":{"hugepages-2Mi":"4Mi"}})",
       own + ": Forbidden: HugePages require cpu or memory"},
      {R"("resources":{"limits":{"hugepages-2Mi":"3Mi","cpu":"1"}})",
       own +
           R"(.limits[hugepages-2Mi]: Invalid value: "3Mi": 3Mi is not positive integer multiple of hugepages-2Mi)"
           "\n" +
           own +
           R"(.requests[hugepages-2Mi]: Invalid value: "3Mi": 3Mi is not positive integer multiple of hugepages-2Mi)"},
  });
  expect_of_spec({
      {R"("resources":{"limits":{"cpu":"2"},"requests":{"cpu":"1"}})", ""},
      {R"("resources":{"limits":{"cpu":"1"},"requests":{"cpu":"2"}})",
       R"(spec.resources.requests: Invalid value: "2": must be less than or equal to cpu limit of 1)"},
      {R"("resources":{"limits":{"nvidia.com/gpu":"1"}})",
       R"(spec.resources.limits[nvidia.com/gpu]: Unsupported value: "nvidia.com/gpu": supported values: "cpu", )"
       R"("memory")"},
  });
  EXPECT_EQ(
      complaints("pods", R"({"spec":{"resources":{"requests":{"cpu":"1"}},"containers":[
                {"name":"c","image":"i","resources":{"requests":{"cpu":"700m"}}},
                {"name":"d","image":"i","resources":{"requests":{"cpu":"700m"}}}]}})"),
      R"(spec.resources.requests[cpu]: Invalid value: "1": must be greater than or equal to aggregate container )"
      "requests of 1400m");
}

TEST(PodRefusals, Placement) {
  const std::string spread = "spec.topologySpreadConstraints[0].";
  expect_of_spec({
      {R"("affinity":{"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":{"nodeSelectorTerms":[
          {"matchFields":[{"key":"spec.x","operator":"Exists"}]}]}}})",
       "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution."
       "nodeSelectorTerms[0].matchFields[0]."
       "operator: Invalid value: \"Exists\": not a valid selector operator\n"
       "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution."
       "nodeSelectorTerms[0].matchFields[0]."
       "key: Invalid value: \"spec.x\": not a valid field selector key"},
      {R"("topologySpreadConstraints":[{"maxSkew":1,"topologyKey":"z","whenUnsatisfiable":"ScheduleAnyway",
          "minDomains":2,"nodeTaintsPolicy":"Foo","matchLabelKeys":["a"]}])",
       spread +
           "minDomains: Invalid value: 2: can only use minDomains if "
           "whenUnsatisfiable=DoNotSchedule, not "
           "ScheduleAnyway\n" +
           spread +
           R"(nodeTaintsPolicy: Unsupported value: "Foo": supported values: "Honor", "Ignore")"
           "\n" +
           spread +
           "matchLabelKeys: Forbidden: must not be specified when labelSelector is not set"},
      {R"("dnsConfig":{"nameservers":["1.1.1.1","1.1.1.2","1.1.1.3","1.1.1.4"]})",
       R"(spec.dnsConfig.nameservers: Invalid value: ["1.1.1.1","1.1.1.2","1.1.1.3","1.1.1.4"]: must not have more )"
       "than 3 nameservers"},
      {R"("os":{"name":"plan9"})",
       R"(spec.os: Unsupported value: "plan9": supported values: "linux", "windows")"},
  });
}

}  // namespace
}  // namespace hekla::apiserver
