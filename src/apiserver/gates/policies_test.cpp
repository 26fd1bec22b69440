#include "apiserver/server/server_fixture_test.h"
#include "base/disk.h"
#include "base/temp_dir_test.h"

namespace hekla::apiserver {
namespace {

constexpr const char* kPolicies =
    "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies";
constexpr const char* kBindings =
    "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings";
constexpr const char* kDeployments = "/apis/apps/v1/namespaces/default/deployments";

class AdmissionPoliciesTest : public ServerFixture {
 protected:
  void policy(const std::string& spec) {
    Reply made = call("POST", kPolicies,
                      R"({"metadata":{"name":"p"},"spec":{"matchConstraints":{"resourceRules":[
      {"apiGroups":["apps"],"apiVersions":["v1"],"operations":["CREATE","UPDATE"],"resources":["deployments"]}]},)" +
                          spec + "}}");
    ASSERT_EQ(made.status, 201) << made.text;
  }
  void bind(const std::string& more) {
    Reply made = call("POST", kBindings,
                      R"({"metadata":{"name":"b"},"spec":{"policyName":"p",)" + more + "}}");
    ASSERT_EQ(made.status, 201) << made.text;
  }
  Reply deploy(const std::string& name, int replicas) {
    return call("POST", kDeployments,
                R"({"metadata":{"name":")" + name + R"("},"spec":{"replicas":)" +
                    std::to_string(replicas) +
                    R"(,"selector":{"matchLabels":{"a":"b"}},
      "template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"i"}]}}}})");
  }
};

TEST_F(AdmissionPoliciesTest, ARuleHoldsOnceItIsBound) {
  policy(R"x("validations":[{"expression":"object.spec.replicas > 1",
    "messageExpression":"'wants more than ' + string(object.spec.replicas)"},
    {"expression":"namespaceObject.metadata.name == 'default'"}])x");
  EXPECT_EQ(deploy("before", 1).status, 201);
  bind(R"("validationActions":["Deny"])");
  Reply denied = deploy("one", 1);
  EXPECT_EQ(denied.status, 422);
  EXPECT_EQ(denied.reason(), "Invalid");
  EXPECT_EQ(denied.message(),
            "deployments.apps \"one\" is forbidden: ValidatingAdmissionPolicy 'p' with binding 'b' "
            "denied "
            "request: wants more than 1");
  EXPECT_EQ(deploy("two", 2).status, 201);
  EXPECT_EQ(
      call("POST", "/api/v1/namespaces/default/configmaps", R"({"metadata":{"name":"m"}})").status,
      201);
  EXPECT_EQ(call("DELETE", std::string(kBindings) + "/b").status, 200);
  EXPECT_EQ(deploy("again", 1).status, 201);
}

TEST_F(AdmissionPoliciesTest, VariablesConditionsAndWarnings) {
  policy(R"x("variables":[{"name":"n","expression":"object.spec.replicas"},
    {"name":"odd","expression":"variables.n % 2 == 1"}],
    "matchConditions":[{"name":"not-free","expression":"!object.metadata.name.startsWith('free')"}],
    "validations":[{"expression":"variables.odd","reason":"Forbidden"}])x");
  bind(R"("validationActions":["Warn"])");
  Reply warned = deploy("even", 2);
  EXPECT_EQ(warned.status, 201);
  EXPECT_NE(warned.headers.get("Warning").find("Validation failed for ValidatingAdmissionPolicy "
                                               "'p' with binding 'b': failed expression: "
                                               "variables.odd"),
            std::string::npos);
  EXPECT_EQ(
      patch(std::string(kBindings) + "/b", R"({"spec":{"validationActions":["Deny"]}})").status,
      200);
  EXPECT_EQ(deploy("even-2", 2).status, 403);
  EXPECT_EQ(deploy("odd", 3).status, 201);
  EXPECT_EQ(deploy("free", 2).status, 201);
}

TEST_F(AdmissionPoliciesTest, FailuresGoByTheirPolicy) {
  policy(R"x("validations":[{"expression":"object.spec.none > 1"}])x");
  bind(
      R"("validationActions":["Deny"],"matchResources":{"objectSelector":{"matchLabels":{"x":"y"}}})");
  EXPECT_EQ(deploy("unselected", 1).status, 201);
  EXPECT_EQ(patch(std::string(kBindings) + "/b", R"({"spec":{"matchResources":null}})").status,
            200);
  Reply failed = deploy("d", 1);
  EXPECT_EQ(failed.status, 422);
  EXPECT_NE(failed.message().find("expression 'object.spec.none > 1' resulted in error: "),
            std::string::npos)
      << failed.message();
  EXPECT_EQ(patch(std::string(kPolicies) + "/p", R"({"spec":{"failurePolicy":"Ignore"}})").status,
            200);
  EXPECT_EQ(deploy("d", 1).status, 201);
}

TEST_F(AdmissionPoliciesTest, ParametersByNameNamespaceAndSelector) {
  policy(R"x("paramKind":{"apiVersion":"v1","kind":"ConfigMap"},
    "validations":[{"expression":"object.spec.replicas <= int(params.data.max)",
    "messageExpression":"'at most ' + params.data.max + ' by ' + params.metadata.name"}])x");
  bind(
      R"("validationActions":["Deny"],"paramRef":{"name":"limit","parameterNotFoundAction":"Deny"})");
  const std::string head =
      "deployments.apps \"d\" is forbidden: ValidatingAdmissionPolicy 'p' with binding 'b' denied "
      "request: ";
  EXPECT_EQ(deploy("d", 1).message(),
            head +
                "failed to configure binding: no params found for policy binding "
                "with `Deny` parameterNotFoundAction");
  EXPECT_EQ(patch(std::string(kBindings) + "/b",
                  R"({"spec":{"paramRef":{"parameterNotFoundAction":"Allow"}}})")
                .status,
            200);
  EXPECT_EQ(deploy("d0", 9).status, 201) << "no parameter, no rule";
  auto limit = [&](const std::string& ns, const std::string& name, int max) {
    return call("POST", "/api/v1/namespaces/" + ns + "/configmaps",
                R"({"metadata":{"name":")" + name +
                    R"(","labels":{"limit":"yes"}},"data":{"max":")" + std::to_string(max) +
                    R"("}})")
        .status;
  };
  ASSERT_EQ(limit("default", "limit", 3), 201);
  EXPECT_EQ(deploy("d", 4).message(), head + "at most 3 by limit")
      << "the namespace of the object, unless one is named";
  EXPECT_EQ(deploy("d1", 3).status, 201);
  ASSERT_EQ(limit("kube-system", "limit", 2), 201);
  EXPECT_EQ(
      patch(std::string(kBindings) + "/b", R"({"spec":{"paramRef":{"namespace":"kube-system"}}})")
          .status,
      200);
  EXPECT_EQ(deploy("d", 3).message(), head + "at most 2 by limit");
  ASSERT_EQ(limit("default", "lower", 1), 201);
  EXPECT_EQ(
      patch(
          std::string(kBindings) + "/b",
          R"({"spec":{"paramRef":{"name":null,"namespace":null,"selector":{"matchLabels":{"limit":"yes"}}}}})")
          .status,
      200);
  EXPECT_EQ(deploy("d", 2).message(), head + "at most 1 by lower")
      << "each object that is selected";
  EXPECT_EQ(deploy("d2", 1).status, 201);
}

TEST_F(AdmissionPoliciesTest, ParametersThatCannotBe) {
  policy(R"x("paramKind":{"apiVersion":"rules.x.io/v1","kind":"Limit"},
    "validations":[{"expression":"params == null || object.spec.replicas < params.max"}])x");
  bind(
      R"("validationActions":["Deny"],"paramRef":{"name":"limit","parameterNotFoundAction":"Deny"})");
  EXPECT_EQ(deploy("d", 1).message(),
            "deployments.apps \"d\" is forbidden: ValidatingAdmissionPolicy 'p' denied request: "
            "failed to "
            "configure policy: "
            "failed to find resource referenced by paramKind: 'rules.x.io/v1, Kind=Limit'");
  EXPECT_EQ(patch(std::string(kPolicies) + "/p",
                  R"({"spec":{"paramKind":{"apiVersion":"v1","kind":"Namespace"}}})")
                .status,
            200);
  EXPECT_EQ(patch(std::string(kBindings) + "/b", R"({"spec":{"paramRef":{"namespace":"default"}}})")
                .status,
            200);
  EXPECT_NE(deploy("d", 1).message().find(
                "paramRef.namespace must not be provided for a cluster-scoped `paramKind`"),
            std::string::npos);
  EXPECT_EQ(patch(std::string(kBindings) + "/b", R"({"spec":{"paramRef":null}})").status, 200);
  EXPECT_EQ(deploy("d", 1).status, 201) << "a binding without a reference hands over null";
}

TEST_F(AdmissionPoliciesTest, WhatCannotWorkIsRefusedAtOnce) {
  auto refused = [&](const char* path, const std::string& spec) {
    const std::string message =
        call("POST", path, R"({"metadata":{"name":"x"},"spec":)" + spec + "}").message();
    const std::size_t at = message.find("is invalid: ");
    return at == std::string::npos ? message : message.substr(at + 12);
  };
  const std::string match =
      R"("matchConstraints":{"resourceRules":[{"apiGroups":["apps"],"apiVersions":["v1"],
    "operations":["CREATE"],"resources":["deployments"]}]})";
  EXPECT_EQ(refused(kPolicies, "{" + match + "}"),
            "[spec.validations: Required value: validations or auditAnnotations must contain at "
            "least one item, "
            "spec.auditAnnotations: Required value: validations or auditAnnotations must contain "
            "at least one "
            "item]");
  EXPECT_EQ(refused(kPolicies, R"({"validations":[{"expression":"true"}]})"),
            "spec.matchConstraints: Required value");
  EXPECT_EQ(refused(kPolicies, "{" + match + R"(,"validations":[{"expression":"params.x == 1"}]})")
                .find("spec.validations[0].expression: Invalid value: \"params.x == 1\": "
                      "compilation failed: ERROR: "
                      "<input>:1:1: undeclared reference to 'params'"),
            0u);
  const std::string actions = R"({"policyName":"p","validationActions":["Deny"],"paramRef":)";
  EXPECT_EQ(refused(kBindings, actions + R"({"parameterNotFoundAction":"Deny"}})"),
            "spec.paramRef: Required value: one of name or selector must be specified");
  EXPECT_EQ(refused(kBindings,
                    actions + R"({"name":"a","selector":{},"parameterNotFoundAction":"Deny"}})"),
            "[spec.paramRef.name: Forbidden: name and selector are mutually exclusive, "
            "spec.paramRef.selector: Forbidden: name and selector are mutually exclusive]");
  EXPECT_EQ(refused(kBindings, actions + R"({"name":"a"}})"),
            "spec.paramRef.parameterNotFoundAction: Required value");
  EXPECT_NE(refused(kBindings, R"({"policyName":"p","validationActions":["Deny","Warn"]})")
                .find("must not contain both"),
            std::string::npos);
  EXPECT_EQ(refused(kBindings, R"({"policyName":"p"})"),
            "spec.validationActions: Required value: at least one validation action is required");
  // Result and variables of an expression are checked beforehand.
  auto refused_rule = [&](const std::string& rule) {
    return refused(kPolicies, "{" + match + R"(,"validations":[)" + rule + "]}");
  };
  EXPECT_EQ(refused_rule(R"({"expression":"object.spec.paused"})"),
            "spec.validations[0].expression: Invalid value: \"object.spec.paused\": must evaluate "
            "to bool but got dyn");
  EXPECT_EQ(refused_rule(R"({"expression":"true","messageExpression":"1"})"),
            "spec.validations[0].messageExpression: Invalid value: \"1\": must evaluate to string "
            "but got int");
  EXPECT_EQ(
      refused_rule(
          R"x({"expression":"true","messageExpression":"authorizer.path('/').check('get').reason()"})x")
          .find("spec.validations[0].messageExpression: Invalid value: "
                "\"authorizer.path('/').check('get').reason()\": compilation failed: ERROR: "
                "<input>:1:1: "
                "undeclared reference to 'authorizer'"),
      0u);
  EXPECT_NE(refused_rule(R"({"expression":"request.foo == 'a'"})").find("undefined field 'foo'"),
            std::string::npos);
  EXPECT_NE(
      refused_rule(R"({"expression":"variables.x"})").find("undeclared reference to 'variables'"),
      std::string::npos);
  EXPECT_EQ(refused(kPolicies,
                    "{" + match + R"(,"auditAnnotations":[{"key":"a","valueExpression":"1"}]})"),
            "spec.auditAnnotations[0].valueExpression: Invalid value: \"1\": must evaluate to one "
            "of [string "
            "null_type] but got int");
  EXPECT_EQ(
      refused(kPolicies,
              "{" + match + R"(,"validations":[{"expression":"variables.x == 'a'"}],"variables":[
      {"name":"in","expression":"1"},{"name":"x","expression":"variables.y"},{"name":"x","expression":"1"}]})"),
      "[spec.variables[0].name: Invalid value: \"in\": must be a valid CEL identifier, "
      "spec.variables[1].expression: Invalid value: \"variables.y\": compilation failed: ERROR: "
      "<input>:1:10: "
      "undefined field 'y'\n | variables.y\n | .........^, "
      "spec.validations[0].expression: Invalid value: \"variables.x == 'a'\": compilation failed: "
      "ERROR: "
      "<input>:1:13: found no matching overload for '_==_' applied to '(int, string)'\n"
      " | variables.x == 'a'\n | ............^]");
  EXPECT_EQ(
      refused(kPolicies, "{" + match + R"(,"validations":[{"expression":"true"}],"matchConditions":[
      {"name":"a","expression":"1"}]})"),
      "spec.matchConditions[0].expression: Invalid value: \"1\": must evaluate to bool but got "
      "int");
}

TEST_F(AdmissionPoliciesTest, TheAuthorizerAnswersForTheUser) {
  ASSERT_EQ(call("POST", "/apis/rbac.authorization.k8s.io/v1/clusterroles",
                 R"({"metadata":{"name":"deployer"},"rules":[
      {"apiGroups":["apps"],"resources":["deployments"],"verbs":["create","break-glass"],"resourceNames":[]},
      {"nonResourceURLs":["/secret"],"verbs":["get"]}]})")
                .status,
            201);
  auto grant = [&](const std::string& name, const std::string& subject) {
    return call(
               "POST", "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
               R"({"metadata":{"name":")" + name + R"("},"subjects":[)" + subject +
                   R"(],"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"ClusterRole","name":"deployer"}})")
        .status;
  };
  auto deploy_as = [&](const std::string& user, const std::string& name) {
    return call("POST", kDeployments, R"({"metadata":{"name":")" + name + R"("},"spec":{"selector":{
        "matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}},
        "spec":{"containers":[{"name":"c","image":"i"}]}}}})",
                {{"Impersonate-User", user}});
  };
  ASSERT_EQ(
      grant("jane", R"({"kind":"User","apiGroup":"rbac.authorization.k8s.io","name":"jane"})"),
      201);
  ASSERT_EQ(call("POST", "/apis/rbac.authorization.k8s.io/v1/clusterroles",
                 R"({"metadata":{"name":"maker"},"rules":[
      {"apiGroups":["apps"],"resources":["deployments"],"verbs":["create"]}]})")
                .status,
            201);
  ASSERT_EQ(call("POST", "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
                 R"({"metadata":{"name":"joe"},
      "subjects":[{"kind":"User","apiGroup":"rbac.authorization.k8s.io","name":"joe"}],
      "roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"ClusterRole","name":"maker"}})")
                .status,
            201);
  policy(
      R"x("matchConditions":[{"name":"c","expression":"!authorizer.path('/free').check('get').allowed()"}],
    "variables":[{"name":"robot","expression":"authorizer.serviceAccount('default', 'robot').group('apps'))x"
      R"x(.resource('deployments').check('break-glass').allowed()"}],
    "validations":[{"expression":"authorizer.requestResource.check('break-glass').allowed()",
      "message":"break the glass first"},
    {"expression":"authorizer.group('apps').resource('deployments').namespace('default').check('create').allowed()"},
    {"expression":"authorizer.path('/secret').check('get').allowed()"},
    {"expression":"variables.robot","message":"no robots"}])x");
  bind(R"("validationActions":["Deny"])");
  const std::string head =
      "is forbidden: ValidatingAdmissionPolicy 'p' with binding 'b' denied request: ";
  EXPECT_NE(deploy_as("joe", "d").message().find(head + "break the glass first"),
            std::string::npos);
  EXPECT_NE(deploy_as("jane", "d").message().find(head + "no robots"), std::string::npos);
  ASSERT_EQ(grant("robot", R"({"kind":"ServiceAccount","name":"robot","namespace":"default"})"),
            201);
  EXPECT_EQ(deploy_as("jane", "d").status, 201);
}

TEST_F(AdmissionPoliciesTest, AVariableThatFailsSaysSo) {
  policy(
      R"x("variables":[{"name":"a","expression":"object.spec.none"},{"name":"b","expression":"variables.a + 1"}],
    "validations":[{"expression":"object.spec.replicas == 1 || variables.b > 1"}])x");
  bind(R"("validationActions":["Deny"])");
  EXPECT_EQ(deploy("one", 1).status, 201) << "nobody asked for the variable";
  EXPECT_NE(deploy("two", 2).message().find("expression 'object.spec.replicas == 1 || variables.b "
                                            "> 1' resulted in error: composited variable "
                                            "\"b\" fails to evaluate: composited variable \"a\" "
                                            "fails to evaluate: no such key: none"),
            std::string::npos);
}

TEST_F(AdmissionPoliciesTest, MessagesDoNotAskTheAuthorizer) {
  policy(
      R"x("variables":[{"name":"why","expression":"authorizer.requestResource.check('create').reason()"}],
    "validations":[{"expression":"variables.why == '?'","messageExpression":"'because ' + variables.why"}])x");
  bind(R"("validationActions":["Deny"])");
  EXPECT_NE(
      deploy("d", 1).message().find("denied request: failed expression: variables.why == '?'"),
      std::string::npos);
}

TEST_F(AdmissionPoliciesTest, ExpressionsMayNotSpendWhatTheyLike) {
  policy(R"x("validations":[
    {"expression":"['a','b','c'].all(x, authorizer.requestResource.check(x).allowed() || true)"}])x");
  bind(R"("validationActions":["Deny"])");
  EXPECT_NE(deploy("d", 1).message().find(
                "resulted in error: operation cancelled: actual cost limit exceeded"),
            std::string::npos);
}

class PolicyTypesTest : public AdmissionPoliciesTest {
 protected:
  PolicyTypesTest() {
    restart([](Options& options) { options.components = {"controller-manager"}; });
    bootstrap();
  }
  std::string status() {
    return json::serialize(*json::find(call("GET", std::string(kPolicies) + "/p").body, "status"));
  }
  std::string made(const std::string& rules, const std::string& rest) {
    call("DELETE", std::string(kPolicies) + "/p");
    Reply reply = call("POST", kPolicies,
                       R"({"metadata":{"name":"p"},"spec":{"matchConstraints":{"resourceRules":[)" +
                           rules + "]}," + rest + "}}");
    EXPECT_EQ(reply.status, 201) << reply.text;
    return status();
  }
  static constexpr const char* kPodRule =
      R"({"apiGroups":[""],"apiVersions":["v1"],"operations":["*"],"resources":["pods","pods/status"]})";
};

TEST_F(PolicyTypesTest, TheStatusSaysWhatCannotBeRight) {
  EXPECT_EQ(
      made(kPodRule,
           R"x("validations":[{"expression":"object.spec.hostNetwork == true && has(object.spec)"},
      {"expression":"object.metadata.creationTimestamp.getFullYear() > 2000 && object.metadata.namespace == 'a'"}])x"),
      R"({"observedGeneration":1,"typeChecking":{}})");
  EXPECT_EQ(
      made(kPodRule, R"("validations":[{"expression":"object.foo == 1"}])"),
      R"({"observedGeneration":1,"typeChecking":{"expressionWarnings":[)"
      R"({"fieldRef":"spec.validations[0].expression","warning":"/v1, Kind=Pod: ERROR: <input>:1:7: )"
      R"(undefined field 'foo'\n | object.foo == 1\n | ......^\n"}]}})");
  EXPECT_EQ(patch(std::string(kPolicies) + "/p",
                  R"x({"spec":{"validations":[{"expression":"has(object.spec)"}]}})x")
                .status,
            200);
  EXPECT_EQ(status(), R"({"observedGeneration":2,"typeChecking":{}})");
}

TEST_F(PolicyTypesTest, EachKindHasItsOwnMistakes) {
  EXPECT_EQ(
      made(R"({"apiGroups":["apps",""],"apiVersions":["v1"],"operations":["*"],
                 "resources":["deployments","pods"]})",
           R"("validations":[{"expression":"object.spec.replicas > '1' && object.x",
                 "messageExpression":"'a' + object.spec.nope"}])"),
      R"({"observedGeneration":1,"typeChecking":{"expressionWarnings":[)"
      R"({"fieldRef":"spec.validations[0].expression",)"
      R"("warning":"/v1, Kind=Pod: ERROR: <input>:1:12: undefined field 'replicas'\n)"
      R"( | object.spec.replicas > '1' && object.x\n | ...........^\n)"
      R"(ERROR: <input>:1:37: undefined field 'x'\n)"
      R"( | object.spec.replicas > '1' && object.x\n | ....................................^\n\n)"
      R"(apps/v1, Kind=Deployment: ERROR: <input>:1:22: found no matching overload for '_>_' applied to )"
      R"('(int, string)'\n | object.spec.replicas > '1' && object.x\n | .....................^\n)"
      R"(ERROR: <input>:1:37: undefined field 'x'\n)"
      R"( | object.spec.replicas > '1' && object.x\n | ....................................^\n"},)"
      R"({"fieldRef":"spec.validations[0].messageExpression",)"
      R"("warning":"/v1, Kind=Pod: ERROR: <input>:1:18: undefined field 'nope'\n)"
      R"( | 'a' + object.spec.nope\n | .................^\n\n)"
      R"(apps/v1, Kind=Deployment: ERROR: <input>:1:18: undefined field 'nope'\n)"
      R"( | 'a' + object.spec.nope\n | .................^\n"}]}})");
}

TEST_F(PolicyTypesTest, VariablesParametersAndWildcards) {
  EXPECT_NE(made(kPodRule, R"("variables":[{"name":"a","expression":"object.spec.nodeName"}],
      "validations":[{"expression":"variables.a == 1"}])")
                .find("found no matching overload for '_==_' applied to '(string, int)'"),
            std::string::npos);
  EXPECT_NE(made(kPodRule, R"("paramKind":{"apiVersion":"v1","kind":"ConfigMap"},
      "validations":[{"expression":"params.data['x'] == 1 || params.foo"}])")
                .find("<input>:1:32: undefined field 'foo'"),
            std::string::npos);
  EXPECT_NE(
      made(kPodRule, R"("validations":[{"expression":"object.metadata.creationTimestamp == 1"}])")
          .find("'(timestamp, int)'"),
      std::string::npos);
  EXPECT_NE(
      made(kPodRule,
           R"("validations":[{"expression":"object.metadata.managedFields[0].fieldsV1.x == 1"}])")
          .find("<input>:1:42: undefined field 'x'"),
      std::string::npos)
      << "nothing is known of what a schema leaves open";
  EXPECT_EQ(
      made(R"({"apiGroups":["*"],"apiVersions":["v1"],"operations":["*"],"resources":["pods"]})",
           R"("validations":[{"expression":"object.foo == 1"}])"),
      R"({"observedGeneration":1,"typeChecking":{}})");
}

class AuditedPoliciesTest : public AdmissionPoliciesTest {
 protected:
  AuditedPoliciesTest() {
    restart([this](Options& options) { options.audit.log_path = directory.path() + "/audit.log"; });
  }
  std::string last_annotation(std::string_view key) {
    std::string text = read_file(directory.path() + "/audit.log").value();
    text.pop_back();
    const json::Value event = json::parse(text.substr(text.rfind('\n') + 1)).value();
    return std::string(json::string_at(event, {"annotations", key}));
  }
  TempDir directory;
};

TEST_F(AuditedPoliciesTest, FailuresAndAnnotationsGoIntoTheAuditLog) {
  policy(
      R"x("validations":[{"expression":"true"},{"expression":"object.spec.replicas < 3","message":"too many"}],
    "auditAnnotations":[{"key":"replicas","valueExpression":"'asked for ' + string(object.spec.replicas)"},
    {"key":"none","valueExpression":"null"}])x");
  bind(R"("validationActions":["Audit"])");
  EXPECT_EQ(deploy("few", 2).status, 201);
  EXPECT_EQ(last_annotation("p/replicas"), "asked for 2");
  EXPECT_EQ(last_annotation("p/none"), "");
  EXPECT_EQ(last_annotation("validation.policy.admission.k8s.io/validation_failure"), "");
  EXPECT_EQ(deploy("many", 4).status, 201);
  EXPECT_EQ(
      last_annotation("validation.policy.admission.k8s.io/validation_failure"),
      R"([{"message":"too many","policy":"p","binding":"b","expressionIndex":1,"validationActions":["Audit"]}])");
  EXPECT_EQ(
      patch(std::string(kBindings) + "/b", R"({"spec":{"validationActions":["Deny","Audit"]}})")
          .status,
      200);
  EXPECT_EQ(deploy("more", 5).status, 422);
  EXPECT_EQ(last_annotation("p/replicas"), "asked for 5") << "of a request that was refused too";
}

}  // namespace
}  // namespace hekla::apiserver
