// The scheduler as it runs against an API server to which every write is a request.
#include "scheduler/loop/scheduler_fixture_test.h"

namespace hekla::scheduler {
namespace {

using namespace std::chrono_literals;

class HeldConditionsTest : public SchedulerTest {
 protected:
  void start_remote() {
    Options options;
    options.condition_delay = 1s;
    options.events_by_gang = true;
    start(options);
  }
  std::size_t condition_writes() {
    std::size_t count = 0;
    for (const kube::Write& write : api.log())
      count += write.resource == resources::pods && write.subresource == "status";
    return count;
  }
  void pass(Nanos time) { ASSERT_TRUE(simulation.run_for(time)); }
};

TEST_F(HeldConditionsTest, APodThatIsPlacedAMomentLaterIsNeverToldToWait) {
  start_remote();
  pod("{name: p, schedulerName: default-scheduler, cpu: 1}");
  pass(500ms);
  node("{name: n1, cpu: 4}");
  pass(3s);
  EXPECT_EQ(node_of("p"), "n1");
  EXPECT_EQ(condition_writes(), 0u);
  EXPECT_EQ(events_about("p"),
            std::vector<std::string>{"default-scheduler Scheduled: Successfully assigned default/p "
                                     "to n1"});
}

TEST_F(HeldConditionsTest, APodThatGoesOnWaitingIsToldOnce) {
  start_remote();
  node("{name: n1, cpu: 1}");
  pod("{name: p, schedulerName: default-scheduler, cpu: 2}");
  pass(500ms);
  EXPECT_EQ(condition_writes(), 0u);
  pass(9s);
  EXPECT_EQ(condition_writes(), 1u);
  EXPECT_EQ(events_about("p"),
            std::vector<std::string>{"default-scheduler FailedScheduling: 0/1 nodes are available: "
                                     "1 Insufficient cpu."});
}

TEST_F(HeldConditionsTest, AnotherNumberForTheSameReasonWaitsItsTurn) {
  start_remote();
  node("{name: n1, cpu: 1}");
  pod("{name: p, schedulerName: default-scheduler, cpu: 2}");
  pass(2s);
  EXPECT_EQ(condition_writes(), 1u);
  for (int i = 2; i < 7; ++i) {
    node("{name: n" + std::to_string(i) + ", cpu: 1}");
    pass(1s);
  }
  EXPECT_EQ(condition_writes(), 1u);
  pass(12s);
  EXPECT_EQ(condition_writes(), 2u) << "the last number, once";
}

TEST_F(HeldConditionsTest, AGangIsOneEvent) {
  start_remote();
  node("{name: n1, cpu: 40}");
  group("{name: g, minMember: 20, pods: 20, each: {cpu: 1}}");
  pass(2s);
  EXPECT_EQ(client.binds.size(), 20u);
  EXPECT_TRUE(events_about("g-3").empty());
  std::size_t scheduled = 0;
  for (const std::string& event : events_about("g"))
    scheduled += event.find("20 pods: Successfully assigned") != std::string::npos;
  EXPECT_EQ(scheduled, 1u);
}

}  // namespace
}  // namespace hekla::scheduler
