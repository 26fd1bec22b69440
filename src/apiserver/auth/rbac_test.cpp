#include "apiserver/auth/rbac.h"

#include "apiserver/auth/rbac_bootstrap.h"
#include "apiserver/server/server_fixture_test.h"

namespace hekla::apiserver {
namespace {

constexpr const char* kRbacRoot = "/apis/rbac.authorization.k8s.io/v1";

class RbacTest : public ServerFixture {
 protected:
  using As = std::vector<std::pair<std::string, std::string>>;
  static As as(const std::string& user, std::vector<std::string> groups = {}) {
    As headers{{"Impersonate-User", user}};
    for (std::string& group : groups) headers.emplace_back("Impersonate-Group", std::move(group));
    return headers;
  }
  void make_role(const std::string& rules, const std::string& ns = "default") {
    std::string body = R"({"metadata":{"name":"r"},"rules":)" + rules + "}";
    Reply reply = call("POST", std::string(kRbacRoot) + "/namespaces/" + ns + "/roles", body);
    ASSERT_EQ(reply.status, 201) << reply.text;
  }
  void make_cluster_role(const std::string& name, const std::string& rules) {
    Reply reply = call("POST", std::string(kRbacRoot) + "/clusterroles",
                       R"({"metadata":{"name":")" + name + R"("},"rules":)" + rules + "}");
    ASSERT_EQ(reply.status, 201) << reply.text;
  }
  static std::string binding(const std::string& name, const std::string& kind,
                             const std::string& role, const std::string& user) {
    return R"({"metadata":{"name":")" + name +
           R"("},"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":")" + kind +
           R"(","name":")" + role +
           R"("},"subjects":[{"apiGroup":"rbac.authorization.k8s.io","kind":"User","name":")" +
           user + R"("}]})";
  }
  void bind(const std::string& kind, const std::string& role, const std::string& user) {
    Reply reply = call("POST", std::string(kRbacRoot) + "/namespaces/default/rolebindings",
                       binding(role + "-" + user, kind, role, user));
    ASSERT_EQ(reply.status, 201) << reply.text;
  }
  void bind_everywhere(const std::string& role, const std::string& user) {
    Reply reply = call("POST", std::string(kRbacRoot) + "/clusterrolebindings",
                       binding(role + "-" + user, "ClusterRole", role, user));
    ASSERT_EQ(reply.status, 201) << reply.text;
  }
};

TEST_F(RbacTest, AnAggregationRuleIsTakenAwayOnlyByWhoMaySetIt) {
  make_cluster_role("editor", R"([{"verbs":["patch"],"apiGroups":["rbac.authorization.k8s.io"],
                                   "resources":["clusterroles"],"resourceNames":["gathered"]}])");
  bind_everywhere("editor", "jane");
  const std::string gathered = std::string(kRbacRoot) + "/clusterroles/gathered";
  ASSERT_EQ(call("POST", std::string(kRbacRoot) + "/clusterroles",
                 R"({"metadata":{"name":"gathered"},"aggregationRule":{"clusterRoleSelectors":[
                     {"matchLabels":{"to":"it"}}]}})")
                .status,
            201);
  As merge = as("jane");
  merge.emplace_back("Content-Type", "application/merge-patch+json");
  Reply taken = call("PATCH", gathered, R"({"aggregationRule":null})", merge);
  EXPECT_EQ(taken.status, 403);
  EXPECT_NE(taken.message().find("must have cluster-admin privileges to use the aggregationRule"),
            std::string::npos)
      << taken.message();
  EXPECT_EQ(call("PATCH", gathered, R"({"metadata":{"labels":{"a":"b"}}})", merge).status, 200);
}

TEST_F(RbacTest, ARoleGrantsInItsNamespaceFromTheMomentItIsBound) {
  make_role(R"([{"verbs":["get","list"],"apiGroups":[""],"resources":["pods"]}])");
  Reply before = call("GET", kPods, "", as("jane"));
  EXPECT_EQ(before.status, 403);
  EXPECT_EQ(
      before.message(),
      "pods is forbidden: User \"jane\" cannot list resource \"pods\" in API group \"\" in the "
      "namespace \"default\"");
  bind("Role", "r", "jane");
  EXPECT_EQ(call("GET", kPods, "", as("jane")).status, 200);
  EXPECT_EQ(call("GET", "/api/v1/namespaces/kube-system/pods", "", as("jane")).status, 403);
  EXPECT_EQ(
      call("GET", "/api/v1/pods", "", as("jane")).message(),
      "pods is forbidden: User \"jane\" cannot list resource \"pods\" in API group \"\" at the "
      "cluster scope");
  EXPECT_EQ(call("POST", kPods, pod("p"), as("jane")).status, 403);
  Reply log = call("GET", std::string(kPods) + "/p/log", "", as("jane"));
  EXPECT_EQ(log.message(),
            "pods \"p\" is forbidden: User \"jane\" cannot get resource \"pods/log\" in "
            "API group \"\" in the namespace \"default\"");
  call("DELETE", std::string(kRbacRoot) + "/namespaces/default/rolebindings/r-jane");
  EXPECT_EQ(call("GET", kPods, "", as("jane")).status, 403);
}

TEST_F(RbacTest, NamesSubresourcesAndWildcards) {
  make_role(
      R"([{"verbs":["get","list","watch"],"apiGroups":[""],"resources":["configmaps"],"resourceNames":["mine"]},
                {"verbs":["*"],"apiGroups":["*"],"resources":["*/scale"]}])");
  bind("Role", "r", "jane");
  call("POST", kMaps, config_map("mine"));
  call("POST", kMaps, config_map("other"));
  EXPECT_EQ(call("GET", std::string(kMaps) + "/mine", "", as("jane")).status, 200);
  EXPECT_EQ(call("GET", std::string(kMaps) + "/other", "", as("jane")).status, 403);
  EXPECT_EQ(call("GET", kMaps, "", as("jane")).status, 403);
  EXPECT_EQ(call("GET", std::string(kMaps) + "?fieldSelector=metadata.name%3Dmine", "", as("jane"))
                .status,
            200);
  EXPECT_EQ(
      call("GET", "/apis/apps/v1/namespaces/default/deployments/d/scale", "", as("jane")).status,
      404);
  EXPECT_EQ(call("GET", "/apis/apps/v1/namespaces/default/deployments/d", "", as("jane")).status,
            403);
}

TEST_F(RbacTest, PathsAreGrantedByPrefixAndOnlyClusterWide) {
  EXPECT_EQ(call("GET", "/apis", "", as("jane")).status, 200);
  EXPECT_EQ(call("GET", "/api/v1", "", as("jane")).status, 200);
  Reply metrics = call("GET", "/metrics", "", as("jane"));
  EXPECT_EQ(metrics.status, 403);
  EXPECT_EQ(metrics.message(), "forbidden: User \"jane\" cannot get path \"/metrics\"");
  make_cluster_role("m", R"([{"verbs":["get"],"nonResourceURLs":["/metr*"]}])");
  bind_everywhere("m", "jane");
  EXPECT_NE(call("GET", "/metrics", "", as("jane")).status, 403);
  EXPECT_EQ(call("GET", "/apis", "", {{"Authorization", ""}}).status, 403);
  EXPECT_EQ(call("GET", "/readyz", "", {{"Authorization", ""}}).status, 200);
}

TEST_F(RbacTest, AMissingRoleIsNamedInTheRefusal) {
  bind("ClusterRole", "absent", "jane");
  EXPECT_EQ(
      call("GET", kPods, "", as("jane")).message(),
      "pods is forbidden: User \"jane\" cannot list resource \"pods\" in API group \"\" in the "
      "namespace \"default\": RBAC: clusterrole.rbac.authorization.k8s.io \"absent\" not found");
}

TEST_F(RbacTest, NobodyGrantsWhatTheyDoNotHold) {
  make_cluster_role("roler", R"([{"verbs":["*"],"apiGroups":["rbac.authorization.k8s.io"],
    "resources":["roles","rolebindings"]},{"verbs":["get"],"apiGroups":[""],"resources":["pods"]}])");
  bind("ClusterRole", "roler", "jane");
  const std::string roles = std::string(kRbacRoot) + "/namespaces/default/roles";
  // "*" includes escalate, so take a narrower set of verbs.
  make_cluster_role("narrow",
                    R"([{"verbs":["create","update"],"apiGroups":["rbac.authorization.k8s.io"],
    "resources":["roles","rolebindings"]},{"verbs":["get"],"apiGroups":[""],"resources":["pods"]}])");
  bind("ClusterRole", "narrow", "bob");
  auto role = [](const std::string& name, const std::string& verbs) {
    return R"({"metadata":{"name":")" + name + R"("},"rules":[{"verbs":)" + verbs +
           R"(,"apiGroups":[""],"resources":["pods"]}]})";
  };
  EXPECT_EQ(call("POST", roles, role("a", R"(["get"])"), as("bob")).status, 201);
  Reply more = call("POST", roles, role("b", R"(["get","delete","list"])"), as("bob"));
  EXPECT_EQ(more.status, 403);
  EXPECT_EQ(
      more.message(),
      "roles.rbac.authorization.k8s.io \"b\" is forbidden: user \"bob\" "
      "(groups=[\"system:authenticated\"]) is attempting to grant RBAC permissions not currently "
      "held:\n{APIGroups:[\"\"], Resources:[\"pods\"], Verbs:[\"delete\" \"list\"]}");
  EXPECT_EQ(call("POST", roles, role("b", R"(["delete"])"), as("jane")).status, 201);
  const std::string bindings = std::string(kRbacRoot) + "/namespaces/default/rolebindings";
  EXPECT_EQ(call("POST", bindings, binding("x", "Role", "a", "eve"), as("bob")).status, 201);
  EXPECT_EQ(
      call("POST", bindings, binding("y", "ClusterRole", "cluster-admin", "eve"), as("bob")).status,
      403);
  EXPECT_EQ(call("POST", bindings, binding("z", "Role", "nowhere", "eve"), as("bob")).status, 404);
}

TEST_F(RbacTest, ReviewsTellTheReasonAndTheRules) {
  make_role(R"([{"verbs":["get"],"apiGroups":[""],"resources":["pods"]}])");
  bind("Role", "r", "jane");
  Reply review =
      call("POST", "/apis/authorization.k8s.io/v1/subjectaccessreviews",
           R"({"spec":{"user":"jane","resourceAttributes":{"verb":"get","resource":"pods",
                          "namespace":"default"}}})");
  EXPECT_TRUE(json::bool_at(review.body, {"status", "allowed"}));
  EXPECT_EQ(review.at({"status", "reason"}),
            "RBAC: allowed by RoleBinding \"r-jane/default\" of Role \"r\" to User \"jane\"");
  Reply no = call("POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
                  R"({"spec":{"resourceAttributes":{"verb":"get","resource":"secrets",
                      "namespace":"default"}}})",
                  as("jane"));
  EXPECT_EQ(no.status, 201);
  EXPECT_FALSE(json::bool_at(no.body, {"status", "allowed"}, true));
  Reply empty =
      call("POST", "/apis/authorization.k8s.io/v1/subjectaccessreviews", R"({"spec":{}})");
  EXPECT_EQ(empty.status, 422);
  Reply local =
      call("POST", "/apis/authorization.k8s.io/v1/namespaces/kube-system/localsubjectaccessreviews",
           R"({"spec":{"user":"jane","resourceAttributes":{"verb":"get","resource":"pods",
                         "namespace":"default"}}})");
  EXPECT_EQ(local.status, 422);
  Reply rules = call("POST", "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews",
                     R"({"spec":{"namespace":"default"}})", as("jane"));
  ASSERT_EQ(rules.status, 201);
  const std::string text =
      json::serialize(*json::find_path(rules.body, {"status", "resourceRules"}));
  EXPECT_NE(text.find(R"({"verbs":["get"],"apiGroups":[""],"resources":["pods"]})"),
            std::string::npos);
}

TEST_F(RbacTest, ImpersonationIsCheckedPartByPart) {
  make_cluster_role("imp", R"([{"verbs":["impersonate"],"apiGroups":[""],"resources":["users"],
    "resourceNames":["jane"]}])");
  bind_everywhere("imp", "bob");
  // Every header of the fixture is sent by the administrator, so the authorizer is asked itself.
  RequestInfo need;
  need.is_resource = true;
  need.verb = "impersonate";
  need.plural = "users";
  need.name = "jane";
  RbacAuthorizer authorizer(*store, *static_cast<Registry*>(&server->discovery()));
  EXPECT_TRUE(authorizer.allows({"bob", "", {}}, need, nullptr));
  need.name = "eve";
  EXPECT_FALSE(authorizer.allows({"bob", "", {}}, need, nullptr));
  Reply who = call("POST", "/apis/authentication.k8s.io/v1/selfsubjectreviews", "{}",
                   {{"Impersonate-User", "system:serviceaccount:default:builder"},
                    {"Impersonate-Uid", "u1"},
                    {"Impersonate-Extra-scopes", "a"},
                    {"Impersonate-Extra-scopes", "b"}});
  EXPECT_EQ(
      json::serialize(*json::find_path(who.body, {"status", "userInfo"})),
      R"({"username":"system:serviceaccount:default:builder","uid":"u1","groups":["system:serviceaccounts",)"
      R"("system:serviceaccounts:default","system:authenticated"],"extra":{"scopes":["a","b"]}})");
  EXPECT_EQ(call("GET", kPods, "", {{"Impersonate-Group", "system:masters"}}).status, 500);
}

TEST_F(RbacTest, OtherPartsOfTheProcessGetTheSameDecision) {
  make_cluster_role("reader",
                    R"([{"verbs":["get","list"],"apiGroups":[""],"resources":["pods","pods/log"]},
    {"verbs":["get"],"nonResourceURLs":["/metrics"]}])");
  const kube::User ann{.name = "ann", .uid = {}, .groups = {"system:authenticated"}};
  auto answer = [&](const kube::User& user, const kube::Access& access) {
    std::string text = "no answer";
    server->authorizer().may(user, access, [&](Result<kube::Decision> decision) {
      text = !decision ? decision.error().message : decision->allowed ? "yes" : "no";
      EXPECT_TRUE(text != "yes" || decision->reason.contains("reader")) << decision->reason;
    });
    return text;
  };
  const kube::Access get{"get", kube::resources::pods, {"ns", "p"}};
  EXPECT_EQ(answer(ann, get), "no");
  bind_everywhere("reader", "ann");
  EXPECT_EQ(answer(ann, get), "yes");
  EXPECT_EQ(answer(ann, {"list", kube::resources::pods, {"ns", ""}}), "yes");
  EXPECT_EQ(answer(ann, {"get", kube::resources::pods, {"ns", "p"}, "log"}), "yes");
  EXPECT_EQ(answer(ann, {"get", kube::resources::pods, {"ns", "p"}, "exec"}), "no");
  EXPECT_EQ(answer(ann, {"delete", kube::resources::pods, {"ns", "p"}}), "no");
  EXPECT_EQ(answer(ann, {"get", {}, {}, {}, "/metrics"}), "yes");
  EXPECT_EQ(answer(ann, {"get", {}, {}, {}, "/logs"}), "no");
  EXPECT_EQ(answer({.name = "bob", .uid = {}, .groups = {}}, get), "no");
  ASSERT_EQ(call("DELETE", std::string(kRbacRoot) + "/clusterroles/reader", "").status, 200);
  EXPECT_EQ(answer(ann, get), "no");
}

TEST_F(RbacTest, DefaultRolesAreMendedAtEveryStart) {
  const std::string roles = std::string(kRbacRoot) + "/clusterroles/";
  const std::string bindings = std::string(kRbacRoot) + "/clusterrolebindings/";
  const std::string view = roles + "system:aggregate-to-view",
                    edit = roles + "system:aggregate-to-edit";
  const std::string own = R"({"verbs":["get"],"apiGroups":["x.io"],"resources":["things"]})";
  ASSERT_EQ(patch(view, R"({"rules":[)" + own + "]}").status, 200);
  ASSERT_EQ(
      patch(
          edit,
          R"({"metadata":{"annotations":{"rbac.authorization.kubernetes.io/autoupdate":"false"}},)"
          R"("rules":[]})")
          .status,
      200);
  ASSERT_EQ(patch(roles + "admin", R"({"aggregationRule":null})").status, 200);
  ASSERT_EQ(call("DELETE", roles + "cluster-admin").status, 200);
  ASSERT_EQ(patch(bindings + "system:discovery", R"({"subjects":[]})").status, 200);
  ASSERT_EQ(call("DELETE", bindings + "system:basic-user").status, 200);
  std::string moved = binding("system:basic-user", "ClusterRole", "view", "jane");
  ASSERT_EQ(call("POST", std::string(kRbacRoot) + "/clusterrolebindings", moved).status, 201);
  server.reset();
  store.reset();
  open();
  bootstrap();
  Reply mended = call("GET", view);
  const std::string rules = json::serialize(*json::find(mended.body, "rules"));
  EXPECT_TRUE(rules.find("configmaps") != std::string::npos &&
              rules.find("things") != std::string::npos)
      << rules;
  EXPECT_EQ(json::serialize(*json::find(call("GET", edit).body, "rules")), "[]");
  EXPECT_EQ(
      json::array_at(call("GET", roles + "admin").body, {"aggregationRule", "clusterRoleSelectors"})
          ->size(),
      1u);
  EXPECT_EQ(call("GET", roles + "cluster-admin").status, 200);
  EXPECT_EQ(json::array_at(call("GET", bindings + "system:discovery").body, {"subjects"})->size(),
            1u);
  EXPECT_EQ(call("GET", bindings + "system:basic-user").at({"roleRef", "name"}),
            "system:basic-user");
  const std::string before = call("GET", view).at({"metadata", "resourceVersion"});
  server.reset();
  store.reset();
  open();
  bootstrap();
  EXPECT_EQ(call("GET", view).at({"metadata", "resourceVersion"}), before);
}

TEST(BootstrapRoles, EveryBindingFindsItsRole) {
  std::set<std::string> roles;
  std::size_t bindings = 0;
  for (const json::Value& object : bootstrap_roles())
    if (json::array_at(object, {"rules"}))
      roles.insert(std::string(json::string_at(object, {"metadata", "namespace"})) + "/" +
                   std::string(json::string_at(object, {"metadata", "name"})));
  for (const json::Value& object : bootstrap_roles()) {
    if (json::array_at(object, {"rules"})) continue;
    ++bindings;
    std::string ns = json::string_at(object, {"roleRef", "kind"}) == "Role"
                         ? std::string(json::string_at(object, {"metadata", "namespace"}))
                         : "";
    EXPECT_TRUE(
        roles.contains(ns + "/" + std::string(json::string_at(object, {"roleRef", "name"}))))
        << json::serialize(object);
  }
  EXPECT_GE(roles.size(), 30U);
  EXPECT_GE(bindings, 15U);
  EXPECT_EQ(parse_bootstrap_roles("clusterrole a\n  get core pods\nwhat is this").error().message,
            "line 3: not a role, a rule of one or a binding");
}

TEST(PolicyRules, CoverageKnowsNamesAndStars) {
  const PolicyRule all{{"*"}, {"*"}, {"*"}, {}, {}};
  const PolicyRule one{{"get"}, {""}, {"secrets"}, {"s"}, {}};
  EXPECT_TRUE(missing_rules({all}, {one}).empty());
  EXPECT_EQ(missing_rules({one}, {all}).size(), 1U);
  EXPECT_TRUE(missing_rules({{{"get"}, {""}, {"secrets"}, {}, {}}}, {one}).empty());
  EXPECT_FALSE(missing_rules({one}, {{{"get"}, {""}, {"secrets"}, {}, {}}}).empty());
  EXPECT_TRUE(
      missing_rules({{{"get"}, {}, {}, {}, {"/a/*"}}}, {{{"get"}, {}, {}, {}, {"/a/b"}}}).empty());
}

}  // namespace
}  // namespace hekla::apiserver
