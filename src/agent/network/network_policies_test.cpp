#include "agent/network/network_policies.h"

#include <gtest/gtest.h>

#include "json/parse.h"
#include "support/fake_client.h"
#include "support/sim_executor.h"

namespace hekla::agent {
namespace {

// Rules that name port 666 cannot be set.
class NetworkPoliciesTest : public ::testing::Test {
 protected:
  NetworkPoliciesTest() {
    pod_.metadata.ns = "default";
    create_policy("bad", 666);
    create_policy("good", 80);
    policies_.start();
  }
  static json::Value policy(const std::string& name, int port) {
    return json::parse(R"({"metadata":{"name":")" + name +
                       R"(","namespace":"default"},"spec":{"podSelector":{},)" +
                       R"("policyTypes":["Ingress"],"ingress":[{"ports":[{"port":)" +
                       std::to_string(port) + "}]}]}}")
        .value();
  }
  void create_policy(const std::string& name, int port) {
    ASSERT_TRUE(api_.create(kube::resources::network_policies, policy(name, port)));
  }
  Result<void> judge(const std::string& rules) {
    if (nft_is_missing_ || rules.find("666") != std::string::npos)
      return fail(Code::internal, "no such port");
    return {};
  }

  sim::Simulation simulation_{1};
  Executor& executor_ = simulation_.add("agent");
  test::FakeApi api_{simulation_.clock()};
  test::FakeClient client_{api_, executor_};
  model::Pod pod_;
  bool nft_is_missing_ = false;
  std::string in_force_, refused_;
  NetworkPolicies policies_{client_,
                            {[this] { return std::vector<PolicyInput::Pod>{{"10.0.0.1", &pod_}}; },
                             [this](std::string rules, Done<void> done) {
                               Result<void> judged = judge(rules);
                               if (judged) in_force_ = rules;
                               done(judged);
                             },
                             [this](std::string rules, Done<void> done) { done(judge(rules)); },
                             [this](const NetworkPolicy& policy, const std::string& why) {
                               refused_ += policy.metadata.name + ": " + why + "; ";
                             },
                             ""}};
};

TEST_F(NetworkPoliciesTest, OneThatCannotBeSetIsLeftOutAndAdmitsNothing) {
  bool holds = false;
  policies_.await(pod_, [&](Result<void> done) { holds = done.has_value(); });
  simulation_.run_until_idle();
  EXPECT_TRUE(holds);
  EXPECT_EQ(refused_, "bad: no such port; ");
  EXPECT_NE(in_force_.find("tcp dport { 80 } return\n    drop\n"), std::string::npos) << in_force_;
  // Alone it still isolates.
  ASSERT_TRUE(api_.remove(kube::resources::network_policies, {"default", "good"}));
  simulation_.run_until_idle();
  EXPECT_NE(in_force_.find("chain ingress_10_0_0_1 {\n    drop\n"), std::string::npos) << in_force_;
  // Mended it counts again.
  ASSERT_TRUE(api_.patch(kube::resources::network_policies, {"default", "bad"}, policy("bad", 81)));
  simulation_.run_until_idle();
  EXPECT_NE(in_force_.find("tcp dport { 81 } return\n    drop\n"), std::string::npos) << in_force_;
}

TEST_F(NetworkPoliciesTest, NoPolicyIsBlamedWhereNothingCanBeSet) {
  nft_is_missing_ = true;
  std::string why;
  policies_.await(pod_, [&](Result<void> done) { why = done ? "" : done.error().message; });
  simulation_.run_for(std::chrono::seconds(1));
  EXPECT_EQ(why, "no such port");
  EXPECT_EQ(refused_, "");
}

}  // namespace
}  // namespace hekla::agent
