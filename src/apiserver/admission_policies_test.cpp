#include "apiserver/server_fixture_test.h"

namespace hekla::apiserver {
namespace {

constexpr const char* kPolicies = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies";
constexpr const char* kBindings = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings";
constexpr const char* kDeployments = "/apis/apps/v1/namespaces/default/deployments";

class AdmissionPoliciesTest : public ServerFixture {
 protected:
  void policy(const std::string& spec) {
    Reply made = call("POST", kPolicies, R"({"metadata":{"name":"p"},"spec":{"matchConstraints":{"resourceRules":[
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
    return call("POST", kDeployments, R"({"metadata":{"name":")" + name + R"("},"spec":{"replicas":)" +
                                          std::to_string(replicas) + R"(,"selector":{"matchLabels":{"a":"b"}},
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
            "deployments.apps \"one\" is forbidden: ValidatingAdmissionPolicy 'p' with binding 'b' denied "
            "request: wants more than 1");
  EXPECT_EQ(deploy("two", 2).status, 201);
  EXPECT_EQ(call("POST", "/api/v1/namespaces/default/configmaps", R"({"metadata":{"name":"m"}})").status, 201);
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
  EXPECT_NE(warned.headers.get("Warning").find(
                "Validation failed for ValidatingAdmissionPolicy 'p' with binding 'b': failed expression: "
                "variables.odd"),
            std::string::npos);
  EXPECT_EQ(patch(std::string(kBindings) + "/b", R"({"spec":{"validationActions":["Deny"]}})").status, 200);
  EXPECT_EQ(deploy("even-2", 2).status, 403);
  EXPECT_EQ(deploy("odd", 3).status, 201);
  EXPECT_EQ(deploy("free", 2).status, 201);
}

TEST_F(AdmissionPoliciesTest, FailuresGoByTheirPolicy) {
  policy(R"x("validations":[{"expression":"object.spec.none > 1"}])x");
  bind(R"("validationActions":["Deny"],"matchResources":{"objectSelector":{"matchLabels":{"x":"y"}}})");
  EXPECT_EQ(deploy("unselected", 1).status, 201);
  EXPECT_EQ(patch(std::string(kBindings) + "/b", R"({"spec":{"matchResources":null}})").status, 200);
  Reply failed = deploy("d", 1);
  EXPECT_EQ(failed.status, 422);
  EXPECT_NE(failed.message().find("expression 'object.spec.none > 1' resulted in error: "), std::string::npos)
      << failed.message();
  EXPECT_EQ(patch(std::string(kPolicies) + "/p", R"({"spec":{"failurePolicy":"Ignore"}})").status, 200);
  EXPECT_EQ(deploy("d", 1).status, 201);
}

}  // namespace
}  // namespace hekla::apiserver
