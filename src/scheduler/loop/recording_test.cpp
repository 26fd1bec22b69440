// A record of the running component, replayed, decides the same.
#include "scheduler/loop/recording.h"

#include "scheduler/loop/scheduler_fixture_test.h"
#include "scheduler/simulate/replay.h"

namespace hekla::scheduler {
namespace {

TEST_F(SchedulerTest, ARecordIsReplayedWithTheSameDecisions) {
  std::string record;
  Options options;
  options.record = [&](const std::string& line) { record += line + "\n"; };
  node("{name: n1, cpu: 4, memory: 8Gi}");
  node("{name: n2, cpu: 2, memory: 8Gi}");
  start(options);
  sim::SeededRng dice(3);
  api.on_write = [&](const kube::Write&) -> std::optional<Error> {
    if (!dice.chance(20)) return std::nullopt;
    return Error{Code::unavailable, "no"};
  };
  for (int i = 0; i < 8; ++i) {
    std::string name = "g" + std::to_string(i);
    group("{name: " + name + ", minMember: 2, pods: 3, each: {cpu: 1}}");
    ASSERT_TRUE(simulation.run_for(std::chrono::milliseconds(700)));
    if (i % 3 == 2)
      for (int p = 0; p < 3; ++p)
        api.patch(resources::pods,
                  {"default", "g" + std::to_string(i - 2) + "-" + std::to_string(p)},
                  Bench::yaml("{status: {phase: Succeeded}}"), "status");
  }
  ASSERT_TRUE(simulation.run_for(std::chrono::seconds(20)));
  ASSERT_GE(client.binds.size(), 9u);
  Result<ReplayResult> again = replay(record, "");
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_TRUE(again->same()) << again->text(true);
  EXPECT_EQ(again->binds, client.binds.size());
  EXPECT_EQ(again->sessions, scheduler->sessions());
  // A crash in the middle of a line loses that line alone.
  Result<ReplayResult> cut = replay(record.substr(0, record.size() - 5), "");
  EXPECT_TRUE(cut) << cut.error().message;
  Result<ReplayResult> other = replay(record, "actions: enqueue\n");
  ASSERT_TRUE(other);
  EXPECT_FALSE(other->same());
  EXPECT_FALSE(replay("{\"put\":\"Pod\"}\n", "")) << "a record begins with its header";
}

}  // namespace
}  // namespace hekla::scheduler
