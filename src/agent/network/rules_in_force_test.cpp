#include "agent/network/rules_in_force.h"

#include <gtest/gtest.h>

#include "support/sim_executor.h"

namespace hekla::agent {
namespace {

class RulesInForceTest : public ::testing::Test {
 protected:
  void settle() { simulation_.run_until_idle(); }
  Done<void> noted(const std::string& name) {
    return [this, name](const Result<void>& done) {
      told_ += name + (done ? " holds, " : " failed, ");
    };
  }

  sim::Simulation simulation_{1};
  std::optional<std::string> wanted_ = "a";
  std::vector<std::pair<std::string, Done<void>>> setting_;
  std::string told_;
  RulesInForce rules_{simulation_.add("agent"),
                      {[this] { return wanted_; },
                       [this](std::string rules, Done<void> done) {
                         setting_.emplace_back(std::move(rules), std::move(done));
                       },
                       "", "they are not"}};
};

TEST_F(RulesInForceTest, WhoeverWaitsIsToldOnceRulesMadeAfterwardsAreSet) {
  rules_.when_in_force(noted("first"));
  settle();
  ASSERT_EQ(setting_.size(), 1u);
  wanted_ = "b";
  rules_.when_in_force(noted("second"));  // "a" was made without it
  setting_[0].second({});
  EXPECT_EQ(told_, "first holds, ");
  settle();
  ASSERT_EQ(setting_.size(), 2u);
  EXPECT_EQ(setting_[1].first, "b");
  setting_[1].second({});
  settle();
  rules_.when_in_force(noted("third"));
  settle();
  EXPECT_EQ(told_, "first holds, second holds, third holds, ");
  EXPECT_EQ(setting_.size(), 2u);
}

TEST_F(RulesInForceTest, FailuresAreToldAndWhatIsNotYetKnownIsWaitedFor) {
  wanted_.reset();
  rules_.when_in_force(noted("pod"));
  settle();
  EXPECT_TRUE(setting_.empty());
  wanted_ = "a";
  rules_.changed();
  settle();
  ASSERT_EQ(setting_.size(), 1u);
  setting_[0].second(fail(Code::internal, "no"));
  EXPECT_EQ(told_, "pod failed, ");
  simulation_.run_for(std::chrono::seconds(6));
  EXPECT_EQ(setting_.size(), 2u);
}

}  // namespace
}  // namespace hekla::agent
