#include "support/sim_executor.h"

#include <gtest/gtest.h>

namespace hekla::sim {
namespace {

using std::chrono::seconds;

std::string interleaving(std::uint64_t seed) {
  Simulation simulation(seed);
  SimExecutor& a = simulation.add("a");
  SimExecutor& b = simulation.add("b");
  std::string order;
  for (int i = 0; i < 20; ++i) {
    a.post([&order, i] { order += static_cast<char>('a' + i); });
    b.post([&order, i] { order += static_cast<char>('A' + i); });
  }
  EXPECT_TRUE(simulation.run_until_idle());
  return order;
}

TEST(Simulation, TheSeedDecidesTheInterleaving) {
  EXPECT_EQ(interleaving(1), interleaving(1));
  EXPECT_NE(interleaving(1), interleaving(2));
}

TEST(Simulation, OneLoopKeepsItsOrder) {
  std::string lower, upper;
  for (char c : interleaving(3)) (c >= 'a' ? lower : upper) += c;
  EXPECT_EQ(lower, "abcdefghijklmnopqrst");
  EXPECT_EQ(upper, "ABCDEFGHIJKLMNOPQRST");
}

TEST(Simulation, TimePassesOnlyWhenNobodyIsRunnable) {
  Simulation simulation(1);
  SimExecutor& loop = simulation.add("loop");
  std::vector<int> fired;
  MonoTime start = simulation.clock().mono();
  loop.post_after(seconds(3600), [&] { fired.push_back(2); });
  loop.post_after(seconds(10), [&] { fired.push_back(1); });
  EXPECT_TRUE(simulation.run_until_idle());
  EXPECT_TRUE(fired.empty());
  EXPECT_TRUE(simulation.run_for(seconds(60)));
  EXPECT_EQ(fired, (std::vector<int>{1}));
  EXPECT_EQ(simulation.clock().mono() - start, seconds(60));
  EXPECT_TRUE(simulation.run_until([&] { return fired.size() == 2; }));
  EXPECT_EQ(simulation.clock().mono() - start, seconds(3600));
  EXPECT_FALSE(simulation.run_until([&] { return fired.size() == 3; }));
}

TEST(Simulation, AStoppedLoopDropsItsWorkAndItsTimers) {
  Simulation simulation(1);
  SimExecutor& loop = simulation.add("loop");
  bool ran = false;
  loop.post([&] { ran = true; });
  loop.post_after(seconds(1), [&] { ran = true; });
  loop.stop();
  Task task = [&] { ran = true; };
  EXPECT_FALSE(loop.try_post(task));
  EXPECT_TRUE(simulation.run_for(seconds(2)));
  EXPECT_FALSE(ran);
}

TEST(Simulation, MailboxesAreBounded) {
  Simulation simulation(1);
  SimExecutor& loop = simulation.add("loop", 1);
  Task first = [] {}, second = [] {};
  EXPECT_TRUE(loop.try_post(first));
  EXPECT_FALSE(loop.try_post(second));
  EXPECT_TRUE(second != nullptr) << "a refused task stays with the caller";
  loop.post([] {});
  EXPECT_EQ(loop.queued(), 2u);
}

TEST(Simulation, ASpinningComponentIsFound) {
  Simulation simulation(1);
  SimExecutor& loop = simulation.add("loop");
  std::function<void()> spin = [&] { loop.post(spin); };
  loop.post(spin);
  EXPECT_FALSE(simulation.run_until_idle(1000));
}

TEST(SimClock, WallTimeCanJumpMonotonicTimeCannot) {
  SimClock clock;
  WallTime wall = clock.wall();
  MonoTime mono = clock.mono();
  clock.jump_wall(-seconds(100));
  EXPECT_EQ(clock.wall(), wall - seconds(100));
  EXPECT_EQ(clock.mono(), mono);
}

}  // namespace
}  // namespace hekla::sim
