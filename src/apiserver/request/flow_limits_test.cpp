#include "apiserver/request/flow_limits.h"

#include "apiserver/server/server_fixture_test.h"

namespace hekla::apiserver {
namespace {

class SteppedClock final : public Clock {
 public:
  MonoTime mono() const override { return MonoTime(now); }
  WallTime wall() const override {
    return WallTime(std::chrono::duration_cast<WallTime::duration>(now));
  }
  Nanos now = std::chrono::seconds(100);
};

class FlowLimitsTest : public ::testing::Test {
 protected:
  FlowLimitsTest() { options.threads = 1; }
  // How many of `tries` requests of the user get through, each costing a millisecond of the one
  // thread.
  int run(FlowLimits& limits, const std::string& user, int tries) {
    int done = 0;
    for (int i = 0; i < tries; ++i) {
      if (!limits.admit({user, "", {}}, false)) continue;
      clock.now += std::chrono::milliseconds(1);
      limits.spent(user, std::chrono::milliseconds(1));
      ++done;
    }
    return done;
  }
  FlowOptions options;
  SteppedClock clock;
};

TEST_F(FlowLimitsTest, AloneOneMayTakeEverything) {
  auto owner = std::make_shared<FlowLimits>(options, clock);
  FlowLimits& limits = *owner;
  EXPECT_EQ(run(limits, "noisy", 10'000), 10'000);
}

TEST_F(FlowLimitsTest, WhoTakesTooMuchMakesRoomForOthers) {
  auto owner = std::make_shared<FlowLimits>(options, clock);
  FlowLimits& limits = *owner;
  run(limits, "noisy", 5000);
  int noisy = 0, quiet = 0, asked = 0;
  for (int round = 0; round < 1000; ++round) {
    noisy += run(limits, "noisy", 50);
    quiet += run(limits, "quiet", 1);
    clock.now += std::chrono::milliseconds(1);
    ++asked;
  }
  EXPECT_EQ(quiet, asked);  // the quiet one never waits
  EXPECT_GT(noisy, 500);
  EXPECT_LT(noisy, 5000);  // of 50,000
  Result<std::shared_ptr<FlowLimits::Ticket>> refused = limits.admit({"noisy", "", {}}, false);
  for (int i = 0; refused && i < 1000; ++i) {
    clock.now += std::chrono::milliseconds(1);
    limits.spent("noisy", std::chrono::milliseconds(1));
    refused = limits.admit({"noisy", "", {}}, false);
  }
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::too_many_requests);
  EXPECT_EQ(refused.error().details.retry_after_seconds, 1);
  EXPECT_TRUE(limits.admit({"noisy", "", {"system:masters"}}, false));
  clock.now += std::chrono::seconds(3);
  EXPECT_TRUE(limits.admit({"noisy", "", {}}, false));
}

TEST_F(FlowLimitsTest, RequestsAndStreamsAreCountedApart) {
  options.requests_per_flow = 2;
  options.streams_per_flow = 1;
  options.streams = 2;
  auto owner = std::make_shared<FlowLimits>(options, clock);
  FlowLimits& limits = *owner;
  auto first = limits.admit({"a", "", {}}, false), second = limits.admit({"a", "", {}}, false);
  EXPECT_TRUE(first && second);
  EXPECT_FALSE(limits.admit({"a", "", {}}, false));
  auto watch = limits.admit({"a", "", {}}, true);
  EXPECT_TRUE(watch);
  EXPECT_FALSE(limits.admit({"a", "", {}}, true));
  EXPECT_TRUE(limits.admit({"b", "", {}}, false));
  auto other = limits.admit({"b", "", {}}, true);
  EXPECT_TRUE(other);
  EXPECT_FALSE(limits.admit({"c", "", {}}, true));
  *first = nullptr;
  EXPECT_TRUE(limits.admit({"a", "", {}}, false));
}

class FlowServerTest : public ServerFixture {
 protected:
  static std::vector<std::pair<std::string, std::string>> as(const std::string& user) {
    return {{"Impersonate-User", user}, {"Impersonate-Group", "viewers"}};
  }
};

TEST_F(FlowServerTest, TooManyWatchesOfOneUserAreRefused) {
  const std::string group = "rbac.authorization.k8s.io";
  call("POST", "/apis/" + group + "/v1/clusterrolebindings",
       R"({"metadata":{"name":"v"},"roleRef":{"apiGroup":")" + group +
           R"(","kind":"ClusterRole",)"
           R"("name":"system:aggregate-to-view"},)"
           R"("subjects":[{"apiGroup":")" +
           group + R"(","kind":"Group","name":"viewers"}]})");
  std::vector<std::shared_ptr<FakeWriter>> watches;
  for (std::size_t i = 0; i < FlowOptions{}.streams_per_flow; ++i)
    watches.push_back(send("GET", std::string(kMaps) + "?watch=1", "", as("greedy")));
  EXPECT_EQ(watches.back()->answer.status, 200);
  Reply refused = call("GET", std::string(kMaps) + "?watch=1", "", as("greedy"));
  EXPECT_EQ(refused.status, 429);
  EXPECT_EQ(refused.headers.get("Retry-After"), "1");
  EXPECT_EQ(refused.reason(), "TooManyRequests");
  EXPECT_EQ(call("GET", kMaps, "", as("greedy")).status, 200);
  EXPECT_EQ(call("GET", std::string(kMaps) + "?watch=1&timeoutSeconds=1", "", as("other")).status,
            200);
  watches.front()->closed();
  simulation.run_until_idle();
  EXPECT_EQ(send("GET", std::string(kMaps) + "?watch=1", "", as("greedy"))->answer.status, 200);
}

}  // namespace
}  // namespace hekla::apiserver
