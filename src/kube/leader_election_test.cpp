#include "kube/leader_election.h"

#include <gtest/gtest.h>

#include "support/fake_client.h"
#include "support/sim_executor.h"

namespace hekla::kube {
namespace {

using namespace std::chrono_literals;

class LeaderElectionTest : public ::testing::Test {
 protected:
  struct Candidate {
    std::unique_ptr<test::FakeClient> client;
    std::unique_ptr<LeaderElection> election;
    int elected = 0;
    std::string lost;
  };
  std::unique_ptr<Candidate> candidate(const std::string& identity) {
    auto one = std::make_unique<Candidate>();
    one->client = std::make_unique<test::FakeClient>(api_, simulation_.add(identity));
    LeaderElectionOptions options;
    options.lease = {"system", "controllers"};
    options.identity = identity;
    Candidate* raw = one.get();
    one->election = std::make_unique<LeaderElection>(
        *one->client, options, [raw] { ++raw->elected; },
        [raw](const std::string& reason) { raw->lost = reason; });
    one->election->start();
    return one;
  }
  std::string holder() {
    return std::string(json::string_at(*api_.find(resources::leases, {"system", "controllers"}),
                                       {"spec", "holderIdentity"}));
  }
  void pass(Nanos time) { ASSERT_TRUE(simulation_.run_for(time, 100'000)); }

  sim::Simulation simulation_{1};
  test::FakeApi api_{simulation_.clock()};
};

TEST_F(LeaderElectionTest, OneLeadsAndTheNextTakesOverWhenItIsGone) {
  auto a = candidate("a");
  pass(1s);
  auto b = candidate("b");
  pass(60s);
  EXPECT_EQ(a->elected, 1);
  EXPECT_EQ(b->elected, 0);
  EXPECT_EQ(holder(), "a");
  a.reset();  // as a crash
  pass(14s);
  EXPECT_EQ(b->elected, 0);
  pass(6s);
  EXPECT_EQ(b->elected, 1);
  EXPECT_EQ(holder(), "b");
  EXPECT_EQ(json::int_at(*api_.find(resources::leases, {"system", "controllers"}),
                         {"spec", "leaseTransitions"}),
            1);
}

TEST_F(LeaderElectionTest, ALeaseGivenUpIsTakenAtOnce) {
  auto a = candidate("a");
  pass(1s);
  auto b = candidate("b");
  pass(5s);
  bool done = false;
  a->election->release([&] { done = true; });
  pass(3s);
  EXPECT_TRUE(done);
  EXPECT_EQ(b->elected, 1);
  EXPECT_EQ(a->lost, "");
}

TEST_F(LeaderElectionTest, WhoCannotRenewHasLostBeforeAnotherMayLead) {
  auto a = candidate("a");
  pass(1s);
  auto b = candidate("b");
  pass(5s);
  api_.on_write = [](const Write& write) -> std::optional<Error> {
    if (json::string_at(write.body, {"spec", "holderIdentity"}) != "a") return std::nullopt;
    return Error{Code::unavailable, "the network is down"};
  };
  pass(13s);
  EXPECT_EQ(a->lost, "the lease system/controllers could not be renewed within 10s");
  EXPECT_EQ(b->elected, 0);
  pass(10s);
  EXPECT_EQ(b->elected, 1);
}

TEST_F(LeaderElectionTest, WhoFindsAnotherLeadingHasLost) {
  auto a = candidate("a");
  pass(1s);
  ASSERT_TRUE(api_.patch(resources::leases, {"system", "controllers"},
                         json::Object{{"spec", json::Object{{"holderIdentity", "z"}}}}));
  pass(3s);
  EXPECT_EQ(a->lost, "z leads now");
}

}  // namespace
}  // namespace hekla::kube
