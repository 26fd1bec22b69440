#include "apiserver/gates/pod_security.h"

#include "apiserver/server/server_fixture_test.h"

namespace hekla::apiserver {
namespace {

std::string found(PodSecurityLevel level, int minor, const std::string& pod) {
  Result<json::Value> object = json::parse(pod);
  EXPECT_TRUE(object.has_value()) << pod;
  if (!object) return "";
  const json::Value* spec = json::find(*object, "spec");
  return finding_details(
      check_pod_security({level, minor}, json::find(*object, "metadata"), *spec));
}

std::string baseline(const std::string& spec, int minor = kLatestPodSecurity) {
  return found(PodSecurityLevel::baseline, minor, R"({"spec":{)" + spec + "}}");
}
// A container that keeps to everything, but for what is given.
std::string restricted(const std::string& more_of_pod, const std::string& context,
                       int minor = kLatestPodSecurity) {
  return found(PodSecurityLevel::restricted, minor,
               R"({"spec":{)" + more_of_pod + R"("containers":[{"name":"c","securityContext":{)" +
                   context + "}}]}}");
}

constexpr const char* kGood = R"("allowPrivilegeEscalation":false,"capabilities":{"drop":["ALL"]},
  "runAsNonRoot":true,"seccompProfile":{"type":"RuntimeDefault"})";

TEST(PodSecurityChecks, BaselineSaysWhatItForbids) {
  EXPECT_EQ(baseline(R"("containers":[{"name":"a","image":"i"}])"), "");
  EXPECT_EQ(baseline(R"("containers":[{"name":"a","securityContext":{"privileged":true}},
                        {"name":"b","securityContext":{"privileged":true}}])"),
            R"(privileged (containers "a", "b" must not set securityContext.privileged=true))");
  EXPECT_EQ(baseline(R"("hostNetwork":true,"hostPID":true,"hostIPC":true,"containers":[])"),
            "host namespaces (hostNetwork=true, hostPID=true, hostIPC=true)");
  EXPECT_EQ(
      baseline(R"("volumes":[{"name":"v","hostPath":{"path":"/"}},{"name":"e","emptyDir":{}}])"),
      R"(hostPath volumes (volume "v"))");
  EXPECT_EQ(baseline(R"("initContainers":[{"name":"i","ports":[{"hostPort":90},{"hostPort":8080}]}],
                        "containers":[{"name":"c","ports":[{"containerPort":1,"hostPort":0}]}])"),
            R"(hostPort (container "i" uses hostPorts 8080, 90))");
  EXPECT_EQ(
      baseline(
          R"("containers":[{"name":"c","securityContext":{"capabilities":{"add":["NET_RAW","CHOWN"]}}}])"),
      "non-default capabilities (container \"c\" must not include \"NET_RAW\" in "
      "securityContext.capabilities.add)");
  EXPECT_EQ(baseline(R"("containers":[{"name":"c","securityContext":{"procMount":"Unmasked"}}])"),
            R"(procMount (container "c" must not set securityContext.procMount to "Unmasked"))");
  EXPECT_EQ(
      baseline(
          R"("securityContext":{"sysctls":[{"name":"kernel.msgmax"},{"name":"net.ipv4.tcp_rmem"}]})"),
      "forbidden sysctls (kernel.msgmax)");
  EXPECT_EQ(baseline(R"("securityContext":{"sysctls":[{"name":"net.ipv4.tcp_rmem"}]})", 31),
            "forbidden sysctls (net.ipv4.tcp_rmem)");
  EXPECT_EQ(baseline(R"("securityContext":{"windowsOptions":{"hostProcess":true}},"containers":[
                        {"name":"c","securityContext":{"windowsOptions":{"hostProcess":true}}}])"),
            "hostProcess (pod and container \"c\" must not set "
            "securityContext.windowsOptions.hostProcess=true)");
}

TEST(PodSecurityChecks, BaselineKnowsProfilesAndProbes) {
  EXPECT_EQ(
      baseline(R"("securityContext":{"seccompProfile":{"type":"Unconfined"}})"),
      R"(seccompProfile (pod must not set securityContext.seccompProfile.type to "Unconfined"))");
  EXPECT_EQ(
      baseline(R"("securityContext":{"seLinuxOptions":{"type":"spc_t","user":"u","role":"r"}})"),
      R"(seLinuxOptions (pod set forbidden securityContext.seLinuxOptions: type "spc_t"; user may not be set; )"
      "role may not be set)");
  EXPECT_EQ(baseline(R"("securityContext":{"seLinuxOptions":{"type":"container_engine_t"}})"), "");
  EXPECT_NE(baseline(R"("securityContext":{"seLinuxOptions":{"type":"container_engine_t"}})", 30),
            "");
  EXPECT_EQ(
      baseline(
          R"("containers":[{"name":"c","securityContext":{"appArmorProfile":{"type":"Unconfined"}}}])"),
      R"(forbidden AppArmor profile (container "c" must not set AppArmor profile type to "Unconfined"))");
  EXPECT_EQ(
      found(
          PodSecurityLevel::baseline, kLatestPodSecurity,
          R"({"metadata":{"annotations":{"container.apparmor.security.beta.kubernetes.io/c":"unconfined"}},
                      "spec":{}})"),
      "forbidden AppArmor profile (annotation must not set AppArmor profile type to "
      "\"container.apparmor.security.beta.kubernetes.io/c=\"unconfined\"\")");
  const std::string probe = R"("containers":[{"name":"c","livenessProbe":{"httpGet":{"host":"h"}},
      "lifecycle":{"preStop":{"tcpSocket":{"host":"g"}}}}])";
  EXPECT_EQ(baseline(probe),
            R"(probe or lifecycle host (container "c" uses probe or lifecycle hosts "g", "h"))");
  EXPECT_EQ(baseline(probe, 33), "") << "the check is younger";
  EXPECT_EQ(
      found(
          PodSecurityLevel::baseline, 18,
          R"({"metadata":{"annotations":{"seccomp.security.alpha.kubernetes.io/pod":"unconfined"}},
                      "spec":{}})"),
      "seccompProfile (forbidden annotation "
      "seccomp.security.alpha.kubernetes.io/pod=\"unconfined\")");
}

TEST(PodSecurityChecks, RestrictedWantsEverythingSaid) {
  EXPECT_EQ(restricted("", kGood), "");
  EXPECT_EQ(restricted("", ""),
            "allowPrivilegeEscalation != false (container \"c\" must set "
            "securityContext.allowPrivilegeEscalation=false), unrestricted capabilities (container "
            "\"c\" must set "
            "securityContext.capabilities.drop=[\"ALL\"]), runAsNonRoot != true (pod or container "
            "\"c\" must set "
            "securityContext.runAsNonRoot=true), seccompProfile (pod or container \"c\" must set "
            "securityContext.seccompProfile.type to \"RuntimeDefault\" or \"Localhost\")");
  EXPECT_EQ(restricted(
                R"("securityContext":{"runAsNonRoot":true,"seccompProfile":{"type":"Localhost"}},)",
                R"("allowPrivilegeEscalation":false,
                          "capabilities":{"drop":["ALL"],"add":["NET_BIND_SERVICE"]})"),
            "");
  EXPECT_EQ(restricted(R"("securityContext":{"runAsNonRoot":false,"runAsUser":0},)", kGood),
            "runAsNonRoot != true (pod must not set securityContext.runAsNonRoot=false), "
            "runAsUser=0 (pod must not set runAsUser=0)");
  EXPECT_EQ(
      restricted(
          R"("volumes":[{"name":"v","hostPath":{"path":"/"}},{"name":"n","nfs":{"server":"s"}},
                          {"name":"c","configMap":{"name":"m"}}],)",
          kGood),
      R"(restricted volume types (volumes "v", "n" use restricted volume types "hostPath", "nfs"))");
  EXPECT_EQ(restricted(R"("os":{"name":"windows"},)", R"("runAsNonRoot":true)"), "");
  // Its own word on capabilities stands for that of baseline, since there is one.
  const std::string adds = R"("allowPrivilegeEscalation":false,"runAsNonRoot":true,
      "seccompProfile":{"type":"RuntimeDefault"},"capabilities":{"drop":["ALL"],"add":["SYS_ADMIN"]})";
  EXPECT_EQ(restricted("", adds),
            "unrestricted capabilities (container \"c\" must not include \"SYS_ADMIN\" in "
            "securityContext.capabilities.add)");
  EXPECT_EQ(restricted("", adds, 21),
            "non-default capabilities (container \"c\" must not include \"SYS_ADMIN\" in "
            "securityContext.capabilities.add)");
}

class PodSecurityTest : public ServerFixture {
 protected:
  Reply make_namespace(const std::string& name, const std::string& labels) {
    return call("POST", "/api/v1/namespaces",
                R"({"metadata":{"name":")" + name + R"(","labels":{)" + labels + "}}}");
  }
  static std::string label(const std::string& mode, const std::string& value) {
    return "\"pod-security.kubernetes.io/" + mode + "\":\"" + value + "\"";
  }
  static std::string pods(const std::string& ns) { return "/api/v1/namespaces/" + ns + "/pods"; }
  static std::vector<std::string> warnings(const Reply& reply) {
    std::vector<std::string> found;
    for (std::string_view one : reply.headers.get_all("Warning")) found.emplace_back(one);
    return found;
  }
  static constexpr const char* kPrivileged = R"({"metadata":{"name":"p"},"spec":{
      "containers":[{"name":"c","image":"i","securityContext":{"privileged":true}}]}})";
};

TEST_F(PodSecurityTest, WhatIsEnforcedIsRefused) {
  ASSERT_EQ(make_namespace("strict", label("enforce", "restricted")).status, 201);
  Reply refused = call("POST", pods("strict"), pod("x"));
  EXPECT_EQ(refused.status, 403);
  EXPECT_EQ(refused.reason(), "Forbidden");
  EXPECT_TRUE(refused.message().starts_with(
      "pods \"x\" is forbidden: violates PodSecurity \"restricted:latest\": "
      "allowPrivilegeEscalation != false "
      "(container \"c\" must set securityContext.allowPrivilegeEscalation=false), unrestricted "
      "capabilities"))
      << refused.message();
  EXPECT_TRUE(warnings(refused).empty());
  EXPECT_EQ(call("POST", "/api/v1/namespaces/default/pods", kPrivileged).status, 201)
      << "no labels, no standard";
}

TEST_F(PodSecurityTest, TemplatesAreWarnedOf) {
  const std::string labels = label("enforce", "baseline") + "," + label("enforce-version", "v1.30");
  ASSERT_EQ(make_namespace("careful", labels).status, 201);
  Reply made = call("POST", "/apis/apps/v1/namespaces/careful/deployments",
                    R"({"metadata":{"name":"d"},"spec":{
      "selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}},"spec":{"hostNetwork":true,
      "containers":[{"name":"c","image":"i"}]}}}})");
  ASSERT_EQ(made.status, 201) << made.text;
  EXPECT_EQ(
      warnings(made),
      (std::vector<std::string>{
          R"x(299 - "would violate PodSecurity \"baseline:v1.30\": host namespaces (hostNetwork=true)")x"}));
}

TEST_F(PodSecurityTest, WarningsAloneRefuseNothing) {
  ASSERT_EQ(make_namespace("soft", label("warn", "baseline")).status, 201);
  Reply made = call("POST", pods("soft"), kPrivileged);
  EXPECT_EQ(made.status, 201);
  ASSERT_EQ(warnings(made).size(), 1u);
  EXPECT_NE(
      warnings(made).front().find(R"(would violate PodSecurity \"baseline:latest\": privileged)"),
      std::string::npos);
  // A change without consequence is not judged again.
  const std::string enforced = R"({"metadata":{"labels":{)" + label("enforce", "baseline") + "}}}";
  ASSERT_EQ(patch("/api/v1/namespaces/soft", enforced).status, 200);
  EXPECT_EQ(patch(pods("soft") + "/p", R"({"metadata":{"labels":{"a":"b"}}})").status, 200);
  EXPECT_EQ(patch(pods("soft") + "/p", R"({"spec":{"containers":[{"name":"c","image":"j"}]}})",
                  "strategic-merge-patch")
                .status,
            403);
}

TEST_F(PodSecurityTest, LabelsMustSaySomething) {
  Reply refused =
      make_namespace("odd", label("enforce", "strict") + "," + label("warn-version", "1.2"));
  EXPECT_EQ(refused.status, 422);
  EXPECT_EQ(refused.message(),
            "Namespace \"odd\" is invalid: [metadata.labels[pod-security.kubernetes.io/enforce]: "
            "Invalid value: "
            "\"strict\": must be one of privileged, baseline, restricted, "
            "metadata.labels[pod-security.kubernetes.io/warn-version]: Invalid value: \"1.2\": "
            "must be \"latest\" or "
            "\"v1.x\"]");
}

TEST_F(PodSecurityTest, TighteningTellsOfPodsThatAreThere) {
  ASSERT_EQ(make_namespace("full", "").status, 201);
  for (const char* name : {"b", "a"})
    ASSERT_EQ(call("POST", pods("full"), pod(name, R"(,"hostNetwork":true)")).status, 201);
  ASSERT_EQ(call("POST", pods("full"), kPrivileged).status, 201);
  Reply tightened = patch("/api/v1/namespaces/full",
                          R"({"metadata":{"labels":{)" + label("enforce", "baseline") + "}}}");
  EXPECT_EQ(tightened.status, 200);
  EXPECT_EQ(
      warnings(tightened),
      (std::vector<std::string>{
          R"(299 - "existing pods in namespace \"full\" violate the new PodSecurity enforce level )"
          R"(\"baseline:latest\"")",
          R"(299 - "a (and 1 other pod): host namespaces")", R"(299 - "p: privileged")"}));
}

TEST_F(PodSecurityTest, TheAdministratorsDefaultHoldsWithoutLabels) {
  restart([](Options& options) { options.pod_security_default = PodSecurityLevel::baseline; });
  Reply refused = call("POST", pods("default"), kPrivileged);
  EXPECT_EQ(refused.message(),
            "pods \"p\" is forbidden: violates PodSecurity \"baseline:latest\": privileged "
            "(container \"c\" must not "
            "set securityContext.privileged=true)");
  EXPECT_EQ(call("POST", pods("kube-system"), kPrivileged).status, 201);
  ASSERT_EQ(make_namespace("free", label("enforce", "privileged")).status, 201);
  EXPECT_EQ(call("POST", pods("free"), kPrivileged).status, 201);
}

TEST_F(PodSecurityTest, NoVolumeShowsTheDataDirectory) {
  restart([](Options& options) {
    options.host_paths = {{"/var/lib/hekla", "/run/hekla"}, {"/var/lib/hekla/storage"}};
  });
  auto at = [](const std::string& path) {
    return pod("v", R"(,"volumes":[{"name":"e","emptyDir":{}},{"name":"h","hostPath":{"path":")" +
                        path + R"("}}])");
  };
  for (const char* path : {"/var/lib/hekla", "/var/lib/hekla/pki", "/var//lib/./hekla/",
                           "/run/hekla/x", "/var/lib/hekla/storage"}) {
    Reply refused = call("POST", pods("default"), at(path));
    EXPECT_EQ(refused.status, 403) << path;
    EXPECT_EQ(refused.message(),
              "pods \"v\" is forbidden: spec.volumes[1].hostPath.path: Forbidden: the path belongs "
              "to Hekla itself and "
              "cannot be a volume");
  }
  EXPECT_EQ(call("POST", pods("default"), at("/var/lib/hekla-other")).status, 201);
  auto volume = [](const std::string& name, const std::string& path) {
    return R"({"metadata":{"name":")" + name + R"("},"spec":{"capacity":{"storage":"1Gi"},
      "accessModes":["ReadWriteOnce"],"hostPath":{"path":")" +
           path + R"("}}})";
  };
  EXPECT_EQ(call("POST", "/api/v1/persistentvolumes", volume("k", "/var/lib/hekla/pki")).message(),
            "persistentvolumes \"k\" is forbidden: spec.hostPath.path: Forbidden: the path belongs "
            "to Hekla itself and "
            "cannot be a volume");
  EXPECT_EQ(
      call("POST", "/api/v1/persistentvolumes", volume("s", "/var/lib/hekla/storage/pvc-1")).status,
      201);
}

}  // namespace
}  // namespace hekla::apiserver
