// Members of batches fail at random and the process dies between two writes: no pod is bound twice,
// and in the end every gang has its minimum or nothing.
#include "scheduler/loop/scheduler_fixture_test.h"

namespace hekla::scheduler {
namespace {

class SchedulerChaosTest : public SchedulerTest, public testing::WithParamInterface<int> {
 protected:
  sim::SeededRng dice{static_cast<std::uint64_t>(GetParam())};
  std::map<std::string, std::pair<int, int>> gangs;  // name: minimum, pods

  void restart() {
    scheduler.reset();
    client.dead = false;
    client.dies_after.reset();
    start();
  }
  void add_gang(int number) {
    int pods = 2 + static_cast<int>(uniform(dice, 5));
    int minimum = 2 + static_cast<int>(uniform(dice, static_cast<std::uint64_t>(pods) - 1));
    std::string name = "g" + std::to_string(number);
    gangs[name] = {minimum, pods};
    group("{name: " + name + ", minMember: " + std::to_string(minimum) +
          ", pods: " + std::to_string(pods) + ", each: {cpu: 1}}");
  }
  int bound(const std::string& gang) {
    int count = 0;
    for (int i = 0; i < gangs[gang].second; ++i) {
      std::string node = node_of(gang + "-" + std::to_string(i));
      count += node != "(absent)" && node != "(no object)";
    }
    return count;
  }
  // As the node agent and the job controller do: deleted pods go, and come again.
  void look_after_pods() {
    std::vector<std::pair<std::string, std::string>> ended;
    for (const json::Value* pod : api.list(resources::pods)) {
      if (!json::find_path(*pod, {"metadata", "deletionTimestamp"})) continue;
      std::string name(json::string_at(*pod, {"metadata", "name"}));
      ended.emplace_back(name, name.substr(0, name.find('-')));
    }
    for (const auto& [name, gang] : ended) {
      api.finish_termination({"default", name});
      pod("{name: " + name + ", group: " + gang + ", cpu: 1}");
    }
  }
  void live(Nanos time) {
    for (Nanos step = std::chrono::milliseconds(500); time.count() > 0; time -= step) {
      ASSERT_TRUE(simulation.run_for(step));
      look_after_pods();
    }
  }
};

TEST_P(SchedulerChaosTest, GangsAreWholeInTheEndAndNoPodIsBoundTwice) {
  for (int i = 0; i < 3; ++i) node("{name: n" + std::to_string(i) + ", cpu: 4, memory: 8Gi}");
  start();
  unsigned failing = 0;
  api.on_write = [&](const kube::Write&) -> std::optional<Error> {
    if (!dice.chance(failing)) return std::nullopt;
    return Error{dice.chance(50) ? Code::unavailable : Code::internal, "as the dice say"};
  };
  for (int i = 0; i < 6; ++i) {
    failing = 30;
    if (dice.chance(60)) client.dies_after = uniform(dice, 4);
    add_gang(i);
    live(std::chrono::seconds(1));
    if (client.dead || dice.chance(20)) restart();
  }
  failing = 0;
  restart();
  live(std::chrono::minutes(2));
  int total = 0;
  for (const auto& [name, size] : gangs) {
    int placed = bound(name);
    total += placed;
    EXPECT_TRUE(placed == 0 || placed >= size.first)
        << name << " has " << placed << " of at least " << size.first;
    if (placed == 0) {
      EXPECT_EQ(phase_of_group(name), "Inqueue") << name;
    }
  }
  EXPECT_EQ(client.bound_twice, 0);
  EXPECT_LE(total, 12);
  EXPECT_GE(total, 6) << "the cluster is used";
}

INSTANTIATE_TEST_SUITE_P(Seeds, SchedulerChaosTest, testing::Range(1, 13));

}  // namespace
}  // namespace hekla::scheduler
