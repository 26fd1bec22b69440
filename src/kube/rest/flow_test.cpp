#include "kube/rest/flow.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace hekla::kube {
namespace {

using namespace std::chrono_literals;

class TestClock final : public Clock {
 public:
  WallTime wall() const override { return WallTime(Nanos(at.time_since_epoch())); }
  MonoTime mono() const override { return at; }
  MonoTime at{1s};
};

class FlowTest : public testing::Test {
 protected:
  void send(Lane lane, int count = 1) {
    for (int i = 0; i < count; ++i)
      if (!flow.submit(lane, [this, lane] {
            started.push_back(lane);
            return true;
          }))
        ++dropped;
  }
  // The server answers `count` requests of the lane, each `took` after it was sent.
  void answer(Lane lane, Nanos took, int count = 1,
              Flow::Outcome outcome = Flow::Outcome::answered) {
    for (int i = 0; i < count; ++i) {
      const MonoTime sent = clock.at;
      clock.at += took;
      flow.finished(lane, sent, outcome);
    }
  }
  int running(Lane lane) const {
    return static_cast<int>(std::count(started.begin(), started.end(), lane));
  }

  TestClock clock;
  Flow flow{clock, nullptr};
  std::vector<Lane> started;
  int dropped = 0;
};

TEST_F(FlowTest, AWindowGrowsWhileAnswersAreQuickAndTheWindowIsUsed) {
  send(Lane::bind, 200);
  EXPECT_EQ(running(Lane::bind), static_cast<int>(Flow::kFirstWindow));
  answer(Lane::bind, 2ms, 100);
  EXPECT_EQ(flow.window(Lane::bind), Flow::kWindowMax);
  EXPECT_EQ(running(Lane::bind), 100 + static_cast<int>(Flow::kWindowMax));
  EXPECT_EQ(flow.window(Lane::create), Flow::kFirstWindow) << "each kind has a window of its own";
}

TEST_F(FlowTest, AnIdleWindowDoesNotGrow) {
  for (int i = 0; i < 50; ++i) {
    send(Lane::create);
    answer(Lane::create, 2ms);
  }
  EXPECT_EQ(flow.window(Lane::create), Flow::kFirstWindow);
}

TEST_F(FlowTest, TheFirstRefusalHalvesItOnceForAllThatWasUnderWay) {
  send(Lane::bind, 40);
  const MonoTime sent = clock.at;
  clock.at += 10ms;
  for (int i = 0; i < 8; ++i) flow.finished(Lane::bind, sent, Flow::Outcome::congested);
  EXPECT_EQ(flow.window(Lane::bind), Flow::kFirstWindow / 2);
  clock.at += 1ms;
  answer(Lane::bind, 1ms, 1, Flow::Outcome::congested);
  EXPECT_EQ(flow.window(Lane::bind), Flow::kFirstWindow / 4);
}

TEST_F(FlowTest, RisingLatencyShrinksItAndItGrowsBackSlowly) {
  send(Lane::change, 1000);
  answer(Lane::change, 2ms, 20);
  const double before = flow.window(Lane::change);
  answer(Lane::change, 400ms, 20);
  const double shrunk = flow.window(Lane::change);
  EXPECT_LT(shrunk, before / 2);
  answer(Lane::change, 2ms, 60);
  EXPECT_GT(flow.window(Lane::change), shrunk);
  EXPECT_LT(flow.window(Lane::change), shrunk + 20) << "as one that has been refused";
}

TEST_F(FlowTest, BindingsGoBeforeEverythingElse) {
  send(Lane::bind, static_cast<int>(Flow::kFirstWindow) + 1);
  started.clear();
  send(Lane::change, 3);
  send(Lane::create, 3);
  EXPECT_EQ(started, (std::vector{Lane::change, Lane::create})) << "one each, so that none starves";
  answer(Lane::bind, 1ms);
  EXPECT_EQ(running(Lane::bind), 1);
  EXPECT_EQ(running(Lane::create), 3) << "nobody more urgent waits any more";
  EXPECT_EQ(running(Lane::change), 3);
}

TEST_F(FlowTest, AllLanesTogetherHaveALimitThatLeasesDoNotKnow) {
  for (Lane lane : {Lane::bind, Lane::remove, Lane::create, Lane::change}) send(lane, 32);
  EXPECT_EQ(started.size(), static_cast<std::size_t>(Flow::kTotalMax) + 2);
  started.clear();
  send(Lane::lease);
  EXPECT_EQ(started, std::vector{Lane::lease});
}

TEST_F(FlowTest, EventsAreDroppedWhileOthersWait) {
  send(Lane::event, 500);
  EXPECT_EQ(dropped, 0) << "a burst of events alone only waits";
  answer(Lane::event, 1ms, 500);
  send(Lane::bind, 100);
  send(Lane::event, 500);
  EXPECT_EQ(dropped, 500 - 1 - static_cast<int>(Flow::kEventsWaitingMax));
}

TEST_F(FlowTest, EventsAreDroppedAfterARefusal) {
  send(Lane::create);
  answer(Lane::create, 1ms, 1, Flow::Outcome::congested);
  send(Lane::event, 200);
  EXPECT_GT(dropped, 0);
  clock.at += 5s;
  dropped = 0;
  answer(Lane::event, 1ms, 90);
  send(Lane::event, 10);
  EXPECT_EQ(dropped, 0);
}

TEST_F(FlowTest, WhatNobodyWantsAnyMoreMakesRoomForOthers) {
  send(Lane::bind, static_cast<int>(Flow::kFirstWindow));
  int asked = 0;
  for (int i = 0; i < 10'000; ++i)
    EXPECT_TRUE(flow.submit(Lane::bind, [&asked] { return ++asked == 0; }));
  send(Lane::bind);
  started.clear();
  answer(Lane::bind, 1ms);
  EXPECT_EQ(asked, 10'000);
  EXPECT_EQ(running(Lane::bind), 1);
}

TEST_F(FlowTest, LanesOfWrites) {
  auto lane = [](Write::Verb verb, const Resource& resource) {
    return lane_of(Write{.verb = verb, .resource = resource});
  };
  EXPECT_EQ(lane(Write::Verb::bind, resources::pods), Lane::bind);
  EXPECT_EQ(lane(Write::Verb::evict, resources::pods), Lane::remove);
  EXPECT_EQ(lane(Write::Verb::patch, resources::leases), Lane::lease);
  EXPECT_EQ(lane(Write::Verb::create, resources::events), Lane::event);
  EXPECT_EQ(lane(Write::Verb::patch, resources::events), Lane::event);
  EXPECT_EQ(lane(Write::Verb::create, resources::pods), Lane::create);
  EXPECT_EQ(lane(Write::Verb::patch, resources::pods), Lane::change);
}

}  // namespace
}  // namespace hekla::kube
