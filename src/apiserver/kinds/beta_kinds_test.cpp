#include "apiserver/kinds/beta_kinds.h"

#include "apiserver/server/server_fixture_test.h"

namespace hekla::apiserver {
namespace {

constexpr const char* kBudgets = "/apis/policy/v1/namespaces/default/poddisruptionbudgets";
constexpr const char* kOldBudgets = "/apis/policy/v1beta1/namespaces/default/poddisruptionbudgets";

class BetaKinds : public ServerFixture {
 protected:
  BetaKinds() {
    restart([](Options& options) { options.beta_kinds = true; });
    bootstrap();
  }
};

TEST_F(BetaKinds, AreOtherFacesOfTheSameObjects) {
  const Reply made = call("POST", kOldBudgets, R"({"metadata":{"name":"a"},"spec":{
      "minAvailable":1,"selector":{"matchLabels":{"app":"istiod"}}}})");
  ASSERT_EQ(made.status, 201) << made.text;
  EXPECT_EQ(made.at({"apiVersion"}), "policy/v1beta1");
  EXPECT_EQ(made.headers.get("Warning"),
            "299 - \"policy/v1beta1 PodDisruptionBudget is deprecated in v1.21+, unavailable in "
            "v1.25+; use policy/v1 PodDisruptionBudget\"");
  const Reply now = call("GET", std::string(kBudgets) + "/a");
  EXPECT_EQ(now.at({"apiVersion"}), "policy/v1");
  EXPECT_EQ(now.at({"spec", "selector", "matchLabels", "app"}), "istiod");
  const Reply changed = patch(std::string(kOldBudgets) + "/a", R"({"spec":{"minAvailable":2}})");
  EXPECT_EQ(changed.status, 200) << changed.text;
  EXPECT_EQ(json::int_at(call("GET", std::string(kBudgets) + "/a").body, {"spec", "minAvailable"}),
            2);
  EXPECT_EQ(call("DELETE", std::string(kOldBudgets) + "/a").status, 200);
  EXPECT_EQ(call("GET", std::string(kBudgets) + "/a").status, 404);
}

TEST_F(BetaKinds, AnEmptySelectorOfAnOldBudgetChoosesNoPods) {
  call("POST", kOldBudgets, R"({"metadata":{"name":"a"},"spec":{"minAvailable":1,"selector":{}}})");
  const Reply now = call("GET", std::string(kBudgets) + "/a");
  ASSERT_EQ(now.status, 200);
  EXPECT_FALSE(json::find_path(now.body, {"spec", "selector"}));
}

TEST_F(BetaKinds, OldWebhooksMayLeaveOutWhatIsAskedForNow) {
  const Reply made =
      call("POST", "/apis/admissionregistration.k8s.io/v1beta1/validatingwebhookconfigurations",
           R"({"metadata":{"name":"a"},"webhooks":[{"name":"a.example.com",
               "clientConfig":{"service":{"namespace":"a","name":"b"}}}]})");
  ASSERT_EQ(made.status, 201) << made.text;
  const json::Value& webhook = json::array_at(made.body, {"webhooks"})->front();
  EXPECT_EQ(json::string_at(webhook, {"failurePolicy"}), "Ignore");
  EXPECT_EQ(json::string_at(webhook, {"sideEffects"}), "Unknown");
  EXPECT_EQ(json::int_at(webhook, {"timeoutSeconds"}), 30);
}

TEST_F(BetaKinds, ThePreferredVersionsAreTodays) {
  EXPECT_EQ(call("GET", "/apis/policy").at({"preferredVersion", "version"}), "v1");
  EXPECT_EQ(call("GET", "/apis/autoscaling").at({"preferredVersion", "version"}), "v2");
  const std::string schema = call("GET", "/openapi/v2").text;
  EXPECT_NE(schema.find("io.k8s.api.policy.v1beta1.PodDisruptionBudget"), std::string::npos);
}

TEST_F(BetaKinds, AreNotServedUnlessAskedFor) {
  restart([](Options&) {});
  EXPECT_EQ(call("GET", kOldBudgets).status, 404);
  EXPECT_EQ(call("GET", "/apis/autoscaling/v2beta2").status, 404);
}

}  // namespace
}  // namespace hekla::apiserver
