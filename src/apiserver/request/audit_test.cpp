#include "apiserver/request/audit.h"

#include "apiserver/server/server_fixture_test.h"
#include "base/disk.h"
#include "base/temp_dir_test.h"

namespace hekla::apiserver {
namespace {

RequestInfo about(std::string verb, std::string group, std::string plural, std::string ns = "",
                  std::string name = "", std::string subresource = "") {
  RequestInfo info;
  info.is_resource = true;
  info.verb = std::move(verb);
  info.group = std::move(group);
  info.plural = std::move(plural);
  info.ns = std::move(ns);
  info.name = std::move(name);
  info.subresource = std::move(subresource);
  return info;
}

TEST(AuditPolicy, TheFirstRuleThatMatchesDecides) {
  AuditPolicy policy = AuditPolicy::parse(R"(
apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- {level: None, users: [system:kube-proxy], verbs: [watch]}
- {level: None, nonResourceURLs: [/healthz*, /version]}
- {level: Request, namespaces: [kube-system], resources: [{resources: [configmaps]}], omitStages: [ResponseStarted]}
- {level: RequestResponse, resources: [{resources: [pods, "*/scale"]}, {group: apps, resourceNames: [web]}]}
- {level: Metadata, userGroups: [admins]}
)")
                           .value();
  const kube::UserInfo proxy{"system:kube-proxy", "", {}}, admin{"a", "", {"admins"}},
      jane{"jane", "", {}};
  EXPECT_EQ(policy.decide(proxy, about("watch", "", "pods")).level, AuditLevel::none);
  EXPECT_EQ(policy.decide(proxy, about("get", "", "pods")).level, AuditLevel::request_response);
  EXPECT_EQ(policy.decide(jane, about("get", "", "pods", "n", "p", "log")).level, AuditLevel::none);
  EXPECT_EQ(
      policy.decide(jane, about("get", "", "replicationcontrollers", "n", "p", "scale")).level,
      AuditLevel::request_response);
  EXPECT_EQ(policy.decide(jane, about("get", "apps", "deployments", "n", "web")).level,
            AuditLevel::request_response);
  EXPECT_EQ(policy.decide(jane, about("get", "apps", "deployments", "n", "db")).level,
            AuditLevel::none);
  AuditDecision maps = policy.decide(admin, about("create", "", "configmaps", "kube-system"));
  EXPECT_EQ(maps.level, AuditLevel::request);
  EXPECT_EQ(maps.omitted_stages, (std::vector<std::string>{"ResponseStarted", "RequestReceived"}));
  EXPECT_EQ(policy.decide(admin, about("create", "", "configmaps", "default")).level,
            AuditLevel::metadata);
  RequestInfo path;
  path.verb = "get";
  path.path = "/healthz/ping";
  EXPECT_EQ(policy.decide(admin, path).level, AuditLevel::none);
  path.path = "/metrics";
  EXPECT_EQ(policy.decide(admin, path).level, AuditLevel::metadata);
}

TEST(AuditPolicy, MistakesAreNamed) {
  auto error = [](const std::string& rules) {
    return AuditPolicy::parse("apiVersion: audit.k8s.io/v1\nkind: Policy\nrules: " + rules)
        .error()
        .message;
  };
  EXPECT_EQ(error("[{level: Everything}]"),
            "rules[0].level: \"Everything\" is none of None, Metadata, Request, RequestResponse");
  EXPECT_EQ(error("[{level: None}, {level: None, omitStages: [Late]}]"),
            "rules[1].omitStages: unknown stage \"Late\"");
  EXPECT_EQ(error("[]"), "rules: an audit policy needs at least one");
  EXPECT_EQ(error("[{level: None, users: jane}]"), "rules[0].users: not a list");
  EXPECT_EQ(error("[{level: None, namespaces: [a], nonResourceURLs: [/x]}]"),
            "rules[0]: rules cannot apply to both regular resources and non-resource URLs");
  EXPECT_EQ(AuditPolicy::parse("kind: Pod").error().message,
            "expected kind Policy of audit.k8s.io/v1");
}

class AuditTest : public ServerFixture {
 protected:
  void record(const std::string& rules) {
    restart([&](Options& options) {
      options.audit.log_path = directory + "/audit.log";
      if (!rules.empty())
        options.audit.policy_yaml = "apiVersion: audit.k8s.io/v1\nkind: Policy\nrules: " + rules;
    });
  }
  std::vector<json::Value> events() {
    std::vector<json::Value> found;
    std::string text = read_file(directory + "/audit.log").value();
    for (std::size_t at = 0; at < text.size();) {
      std::size_t end = text.find('\n', at);
      found.push_back(json::parse(std::string_view(text).substr(at, end - at)).value());
      at = end + 1;
    }
    return found;
  }
  static std::string at(const json::Value& event, std::initializer_list<std::string_view> path) {
    return std::string(json::string_at(event, path));
  }
  TempDir temp;
  const std::string& directory = temp.path();
};

TEST_F(AuditTest, WithoutAPolicyTheMetadataOfEveryRequest) {
  record("");
  Reply made = call("POST", std::string(kMaps) + "?fieldManager=me", config_map("x"));
  ASSERT_EQ(made.status, 201);
  std::vector<json::Value> all = events();
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(at(all[0], {"kind"}), "Event");
  EXPECT_EQ(at(all[0], {"apiVersion"}), "audit.k8s.io/v1");
  EXPECT_EQ(at(all[0], {"level"}), "Metadata");
  EXPECT_EQ(at(all[0], {"stage"}), "ResponseComplete");
  EXPECT_EQ(at(all[0], {"auditID"}), made.headers.get("Audit-Id"));
  EXPECT_EQ(at(all[0], {"requestURI"}), std::string(kMaps) + "?fieldManager=me");
  EXPECT_EQ(at(all[0], {"verb"}), "create");
  EXPECT_EQ(at(all[0], {"user", "username"}), "kubernetes-admin");
  EXPECT_EQ(at(all[0], {"userAgent"}), "test-agent/1.0");
  EXPECT_EQ(json::serialize(*json::find(all[0], "objectRef")),
            R"({"resource":"configmaps","namespace":"default","name":"x","apiVersion":"v1"})");
  EXPECT_EQ(json::int_at(all[0], {"responseStatus", "code"}), 201);
  EXPECT_EQ(at(all[0], {"annotations", "authorization.k8s.io/decision"}), "allow");
  EXPECT_EQ(json::find(all[0], "requestObject"), nullptr);
}

TEST_F(AuditTest, BodiesRefusalsAndImpersonation) {
  record("[{level: RequestResponse, omitManagedFields: true}]");
  call("POST", kMaps, config_map("x"));
  call("GET", std::string(kMaps) + "/x", "", {{"Impersonate-User", "jane"}});
  std::vector<json::Value> all = events();
  ASSERT_EQ(all.size(), 4u);
  EXPECT_EQ(at(all[0], {"stage"}), "RequestReceived");
  EXPECT_EQ(json::find(all[0], "requestObject"), nullptr);
  EXPECT_EQ(at(all[1], {"requestObject", "data", "a"}), "1");
  EXPECT_EQ(at(all[1], {"responseObject", "metadata", "name"}), "x");
  EXPECT_EQ(json::find_path(all[1], {"responseObject", "metadata", "managedFields"}), nullptr);
  EXPECT_EQ(at(all[3], {"user", "username"}), "kubernetes-admin");
  EXPECT_EQ(at(all[3], {"impersonatedUser", "username"}), "jane");
  EXPECT_EQ(at(all[3], {"responseStatus", "reason"}), "Forbidden");
  EXPECT_EQ(at(all[3], {"annotations", "authorization.k8s.io/decision"}), "forbid");
}

TEST_F(AuditTest, RefusedCredentialsAreRecorded) {
  record("[{level: RequestResponse}]");
  EXPECT_EQ(call("POST", kMaps, config_map("x"), {{"Authorization", "Bearer wrong"}}).status, 401);
  std::vector<json::Value> all = events();
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(at(all[1], {"stage"}), "ResponseComplete");
  EXPECT_EQ(at(all[1], {"verb"}), "create");
  EXPECT_EQ(at(all[1], {"objectRef", "resource"}), "configmaps");
  EXPECT_EQ(at(all[1], {"user", "username"}), "");
  EXPECT_EQ(json::int_at(all[1], {"responseStatus", "code"}), 401);
  EXPECT_EQ(json::find(all[1], "requestObject"), nullptr)
      << "what somebody unknown sends is not parsed";
}

TEST_F(AuditTest, PodSecurityTellsWhatItEnforced) {
  record("");
  ASSERT_EQ(call("POST", "/api/v1/namespaces", R"({"metadata":{"name":"n","labels":{
      "pod-security.kubernetes.io/audit":"baseline"}}})")
                .status,
            201);
  ASSERT_EQ(call("POST", "/api/v1/namespaces/n/pods", pod("p", R"(,"hostPID":true)")).status, 201);
  const json::Value made = events().back();
  EXPECT_EQ(at(made, {"annotations", "pod-security.kubernetes.io/enforce-policy"}),
            "privileged:latest");
  EXPECT_EQ(at(made, {"annotations", "pod-security.kubernetes.io/audit-violations"}),
            "would violate PodSecurity \"baseline:latest\": host namespaces (hostPID=true)");
}

TEST_F(AuditTest, WatchesHaveABeginningAndAnEnd) {
  record("[{level: None, verbs: [list]}, {level: Metadata}]");
  call("GET", kMaps);
  auto watch = send("GET", std::string(kMaps) + "?watch=1");
  ASSERT_EQ(events().size(), 2u);
  EXPECT_EQ(at(events()[1], {"stage"}), "ResponseStarted");
  watch->closed();
  simulation.run_until_idle();
  ASSERT_EQ(events().size(), 3u);
  EXPECT_EQ(at(events()[2], {"stage"}), "ResponseComplete");
  EXPECT_EQ(json::int_at(events()[2], {"responseStatus", "code"}), 200);
}

}  // namespace
}  // namespace hekla::apiserver
