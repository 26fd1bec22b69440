#include "agent/pod/pod_plan.h"

#include <gtest/gtest.h>

namespace hekla::agent {
namespace {

using std::chrono::seconds;

const WallTime kNow{seconds(1'000'000)};

std::optional<WallTime> not_held(std::size_t) { return std::nullopt; }

ContainerRun exited(int code, WallTime when = kNow) {
  ContainerRun run;
  run.phase = run_phase::exited;
  run.exit_code = code;
  run.finished_ns = to_ns(when);
  return run;
}
ContainerRun running() {
  ContainerRun run;
  run.phase = run_phase::running;
  return run;
}

struct Case {
  model::PodSpec spec;
  PodRecord record;
  explicit Case(const std::string& policy) { spec.restartPolicy = policy; }
  Case& init(std::optional<ContainerRun> run, bool sidecar = false) {
    record.containers.push_back({.name = "i", .init = true, .sidecar = sidecar, .current = run});
    return *this;
  }
  Case& main(std::optional<ContainerRun> run, int backoff = 0) {
    record.containers.push_back({.name = "c", .backoff = backoff, .current = run});
    return *this;
  }
  PodDecision decision(WallTime now = kNow) { return decide(spec, record, now, not_held); }
};

TEST(PodPlan, InitContainersRunOneAfterTheOther) {
  EXPECT_EQ(Case("Always").init({}).init({}).main({}).decision().start, 0u);
  EXPECT_FALSE(Case("Always").init(running()).init({}).main({}).decision().start);
  EXPECT_EQ(Case("Always").init(exited(0)).init({}).main({}).decision().start, 1u);
  EXPECT_EQ(Case("Always").init(exited(0)).init(exited(0)).main({}).decision().start, 2u);
}

TEST(PodPlan, AFailedInitContainerEndsANeverPod) {
  EXPECT_EQ(Case("Never").init(exited(1)).main({}).decision().finished, false);
  PodDecision retried = Case("OnFailure").init(exited(1)).main({}).decision();
  EXPECT_EQ(retried.start, 0u);
  EXPECT_FALSE(retried.finished);
}

TEST(PodPlan, SidecarsDoNotHoldOthersUp) {
  EXPECT_EQ(Case("Never").init(running(), true).main({}).decision().start, 1u);
  PodDecision over = Case("Never").init(running(), true).main(exited(0)).decision();
  EXPECT_EQ(over.stop, std::vector<std::size_t>{0});
  EXPECT_FALSE(over.finished);
  EXPECT_EQ(Case("Never").init(exited(143), true).main(exited(0)).decision().finished, true);
}

TEST(PodPlan, RestartPoliciesDecideWhatIsOver) {
  EXPECT_EQ(Case("Never").main(exited(0)).decision().finished, true);
  EXPECT_EQ(Case("Never").main(exited(3)).decision().finished, false);
  EXPECT_EQ(Case("OnFailure").main(exited(0)).decision().finished, true);
  EXPECT_EQ(Case("OnFailure").main(exited(1)).decision().start, 0u);
  EXPECT_EQ(Case("Always").main(exited(0)).decision().start, 0u);
  EXPECT_FALSE(Case("Never").main(exited(1)).main(running()).decision().finished);
  EXPECT_EQ(Case("Never").main(exited(1)).main(exited(0)).decision().finished, false);
}

TEST(PodPlan, CrashesBackOff) {
  PodDecision waiting = Case("Always").main(exited(1), 1).decision(kNow + seconds(9));
  EXPECT_FALSE(waiting.start);
  EXPECT_EQ(waiting.backing_off, std::vector<std::size_t>{0});
  EXPECT_EQ(waiting.wake, kNow + seconds(10));
  EXPECT_EQ(Case("Always").main(exited(1), 1).decision(kNow + seconds(10)).start, 0u);
  std::vector<std::int64_t> delays;
  for (int i = 0; i < 8; ++i)
    delays.push_back(std::chrono::duration_cast<seconds>(restart_delay(i)).count());
  EXPECT_EQ(delays, (std::vector<std::int64_t>{0, 10, 20, 40, 80, 160, 300, 300}));
}

TEST(PodPlan, OneBackingOffContainerDoesNotStopAnother) {
  PodDecision both = Case("Always").main(exited(1), 3).main({}).decision();
  EXPECT_EQ(both.start, 1u);
  EXPECT_EQ(both.backing_off, std::vector<std::size_t>{0});
}

TEST(PodPlan, HeldContainersWait) {
  Case held("Never");
  held.main({}).main({});
  PodDecision decision = decide(held.spec, held.record, kNow, [](std::size_t i) {
    return i == 0 ? std::optional<WallTime>(kNow + seconds(5)) : std::nullopt;
  });
  EXPECT_EQ(decision.start, 1u);
  EXPECT_EQ(decision.wake, kNow + seconds(5));
}

TEST(PodPlan, HostPortsClashWhereAddressesOverlap) {
  auto spec = [](std::int32_t port, std::string ip, std::string protocol) {
    model::PodSpec made;
    made.containers.resize(1);
    made.containers[0].ports = {
        {.protocol = std::move(protocol), .hostIP = std::move(ip), .hostPort = port}};
    return made;
  };
  EXPECT_TRUE(host_ports_clash(spec(80, "", ""), spec(80, "127.0.0.1", "TCP")));
  EXPECT_TRUE(host_ports_clash(spec(80, "127.0.0.1", "TCP"), spec(80, "127.0.0.1", "TCP")));
  EXPECT_FALSE(host_ports_clash(spec(80, "127.0.0.1", "TCP"), spec(80, "127.0.0.2", "TCP")));
  EXPECT_FALSE(host_ports_clash(spec(80, "", "UDP"), spec(80, "", "TCP")));
  EXPECT_FALSE(host_ports_clash(spec(0, "", "TCP"), spec(0, "", "TCP")));
}

}  // namespace
}  // namespace hekla::agent
