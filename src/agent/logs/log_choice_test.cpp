#include "agent/logs/log_choice.h"

#include <gtest/gtest.h>

namespace hekla::agent {
namespace {

PodRecord two_containers() {
  PodRecord record;
  record.name = "p";
  record.containers = {{.name = "i", .init = true}, {.name = "a"}, {.name = "b"}};
  return record;
}

TEST(LogChoice, AsksForAContainer) {
  PodRecord record = two_containers();
  EXPECT_EQ(choose_log_container(record, "").error().message,
            "a container name must be specified for pod p, choose one of: [a b] or one of the init "
            "containers: [i]");
  EXPECT_EQ(choose_log_container(record, "x").error().message,
            "container x is not valid for pod p");
  EXPECT_EQ(*choose_log_container(record, "i"), 0u);
  record.containers.pop_back();
  EXPECT_EQ(*choose_log_container(record, ""), 1u);
}

TEST(LogChoice, WaitingAndPreviousInTheApisWords) {
  PodRecord record = two_containers();
  ContainerRecord& a = record.containers[1];
  EXPECT_EQ(choose_log_run(record, a, {}, false).error().message,
            "container \"a\" in pod \"p\" is waiting to start: ContainerCreating");
  EXPECT_EQ(choose_log_run(record, a, {}, true).error().message,
            "previous terminated container \"a\" in pod \"p\" not found");
  a.previous = ContainerRun{.attempt = 0, .phase = run_phase::exited};
  a.current = ContainerRun{.attempt = 1, .phase = run_phase::starting};
  EXPECT_EQ((*choose_log_run(record, a, {}, false))->attempt, 0);
  a.current->phase = run_phase::running;
  EXPECT_EQ((*choose_log_run(record, a, {}, false))->attempt, 1);
  EXPECT_EQ((*choose_log_run(record, a, {}, true))->attempt, 0);
}

}  // namespace
}  // namespace hekla::agent
