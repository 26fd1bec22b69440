// Jobs in a bad world: pods come and go at random, writes fail at random, the controllers die and
// come back. When the trouble is over, what the API shows must make sense again. A failure prints
// its seed.
#include <gtest/gtest.h>

#include "controllers/job/state_machine.h"
#include "controllers/volcano_controllers.h"
#include "json/parse.h"
#include "model/volcano.h"
#include "support/fake_client.h"
#include "support/sim_executor.h"

namespace hekla::controllers {
namespace {

namespace resources = kube::resources;

constexpr const char* kJob = R"(
metadata: {name: j}
spec:
  minAvailable: 3
  queue: default
  maxRetry: 4
  plugins: {svc: [], env: []}
  policies:
  - {event: PodEvicted, action: RestartJob}
  - {exitCode: 7, action: RestartTask}
  - {exitCode: 8, action: RestartPod}
  - {event: PodPending, action: RestartJob, timeout: 5m}
  tasks:
  - {name: a, replicas: 2, minAvailable: 2, template: {spec: {containers: [{name: c, image: i}]}}}
  - name: b
    replicas: 3
    minAvailable: 1
    policies: [{event: TaskCompleted, action: CompleteJob}]
    template: {spec: {containers: [{name: c, image: i}]}}
)";

class World {
 public:
  explicit World(std::uint64_t seed) : simulation_(seed), api_(simulation_.clock()) {
    api_.on_write = [this](const kube::Write& write) -> std::optional<Error> {
      if (!trouble_ || write.resource == resources::events || !rng().chance(10))
        return std::nullopt;
      return Error{rng().chance(50) ? Code::unavailable : Code::conflict, "bad luck"};
    };
    start();
    Result<std::vector<json::YamlDocument>> job = json::parse_yaml(kJob);
    EXPECT_TRUE(job && api_.create(resources::vcjobs, job->front().value));
  }

  void live(int steps) {
    for (int i = 0; i < steps; ++i) {
      happen();
      ASSERT_TRUE(simulation_.run_for(std::chrono::milliseconds(uniform(rng(), 3000)), 100'000))
          << "spinning";
      observe();
      if (::testing::Test::HasFailure()) return;
    }
  }

  // No more accidents: pods that are deleted go, groups are let in.
  void heal() {
    trouble_ = false;
    for (int i = 0; i < 12; ++i) {
      finish_terminating();
      admit_group();
      ASSERT_TRUE(simulation_.run_for(std::chrono::minutes(1), 200'000)) << "spinning";
      observe();
    }
    for (int i = 0; i < 3; ++i) {  // whatever the last minute's timers have set off
      finish_terminating();
      admit_group();
      ASSERT_TRUE(simulation_.run_for(std::chrono::seconds(1), 200'000)) << "spinning";
    }
  }

  void check() {
    model::VcJob job = job_now();
    Phase phase = parse_phase(job.status.state.phase);
    std::map<std::string, int> counts;
    for (const json::Value* pod : api_.list(resources::pods)) ++counts[phase_of(*pod)];
    EXPECT_EQ(job.status.pending, counts["Pending"]);
    EXPECT_EQ(job.status.running, counts["Running"]);
    EXPECT_EQ(job.status.succeeded, counts["Succeeded"]);
    EXPECT_EQ(job.status.failed, counts["Failed"]);
    EXPECT_EQ(job.status.terminating, 0);
    EXPECT_LE(job.status.retryCount, job.spec.maxRetry);
    bool over = is_finished(phase) || phase == Phase::aborted;
    EXPECT_TRUE(over || phase == Phase::running || phase == Phase::pending)
        << job.status.state.phase;
    EXPECT_EQ(api_.find(resources::pod_groups, {"default", "j-u-j"}) != nullptr, !over);
    // A crash in the middle of a clean-up leaves these to the garbage collector.
    bool service = api_.find(resources::services, {"default", "j"}) != nullptr;
    bool hosts = api_.find(resources::config_maps, {"default", "j-svc"}) != nullptr;
    EXPECT_TRUE(over ? crashes_ > 0 || !(service || hosts) : service && hosts);
    if (over) {
      EXPECT_EQ(counts["Pending"] + counts["Running"], 0);
    } else {
      EXPECT_EQ(api_.list(resources::pods).size(), 5u);
    }
  }

  std::string phase() const { return job_now().status.state.phase; }

 private:
  sim::SeededRng& rng() { return simulation_.rng(); }

  void start() {
    controllers_.reset();
    client_ = std::make_unique<test::FakeClient>(api_, simulation_.add("controllers"));
    controllers_ =
        std::make_unique<VolcanoControllers>(*client_, VolcanoControllers::Options{}, nullptr);
    controllers_->start();
  }

  void crash() {
    ++crashes_;
    start();
  }

  static std::string phase_of(const json::Value& pod) {
    if (!json::string_at(pod, {"metadata", "deletionTimestamp"}).empty()) return "terminating";
    std::string phase(json::string_at(pod, {"status", "phase"}));
    return phase.empty() ? "Pending" : phase;
  }

  model::VcJob job_now() const {
    const json::Value* found = api_.find(resources::vcjobs, {"default", "j"});
    EXPECT_TRUE(found);
    Result<model::VcJob> job = json::decode<model::VcJob>(*found);
    EXPECT_TRUE(job);
    return *job;
  }

  void admit_group() {
    const json::Value* group = api_.find(resources::pod_groups, {"default", "j-u-j"});
    if (group && json::string_at(*group, {"status", "phase"}).empty()) {
      EXPECT_TRUE(api_.patch(resources::pod_groups, {"default", "j-u-j"},
                             json::Object{{"status", json::Object{{"phase", "Inqueue"}}}}));
    }
  }

  void finish_terminating() {
    std::vector<std::string> ended;
    for (const json::Value* pod : api_.list(resources::pods))
      if (phase_of(*pod) == "terminating")
        ended.emplace_back(json::string_at(*pod, {"metadata", "name"}));
    for (const std::string& name : ended) api_.finish_termination({"default", name});
  }

  void happen() {
    std::uint64_t dice = uniform(rng(), 100);
    if (dice < 20) return admit_group();
    if (dice < 35) return finish_terminating();
    if (dice < 38) return crash();
    if (dice < 40) return command();
    std::vector<const json::Value*> pods = api_.list(resources::pods);
    if (pods.empty()) return;
    const json::Value& pod = *pods[uniform(rng(), pods.size())];
    kube::Key key{"default", std::string(json::string_at(pod, {"metadata", "name"}))};
    std::string phase = phase_of(pod);
    if (phase == "Pending") {
      run(key);
    } else if (phase == "Running" && dice < 60) {
      end(key, dice < 50 ? "Succeeded" : "Failed", static_cast<int>(6 + uniform(rng(), 4)));
    } else if (phase != "terminating" && dice >= 97) {
      EXPECT_TRUE(api_.remove(resources::pods, key));
    }
  }

  void command() {
    static constexpr const char* kActions[] = {"AbortJob", "ResumeJob", "RestartJob", "SyncJob"};
    EXPECT_TRUE(api_.create(
        resources::commands,
        json::Object{{"metadata", json::Object{{"generateName", "c-"}}},
                     {"action", kActions[uniform(rng(), 4)]},
                     {"target", json::Object{{"kind", "Job"}, {"name", "j"}, {"uid", "u-j"}}}}));
  }

  void run(const kube::Key& pod) {
    EXPECT_TRUE(
        api_.patch(resources::pods, pod, json::Object{{"spec", json::Object{{"nodeName", "n"}}}}));
    EXPECT_TRUE(api_.patch(resources::pods, pod,
                           json::Object{{"status", json::Object{{"phase", "Running"}}}}, "status"));
  }

  void end(const kube::Key& pod, const char* phase, int code) {
    json::Object state{{"terminated", json::Object{{"exitCode", code}}}};
    json::Array statuses{json::Object{{"name", "c"}, {"state", std::move(state)}}};
    EXPECT_TRUE(api_.patch(
        resources::pods, pod,
        json::Object{{"status", json::Object{{"phase", phase}, {"containerStatuses", statuses}}}},
        "status"));
  }

  // What must hold at any time.
  void observe() {
    model::VcJob job = job_now();
    EXPECT_GE(job.status.version, version_) << "the version went back";
    version_ = job.status.version;
    if (is_finished(parse_phase(finished_))) {
      EXPECT_EQ(job.status.state.phase, finished_) << "a finished job moved";
    }
    if (is_finished(parse_phase(job.status.state.phase))) finished_ = job.status.state.phase;
  }

  sim::Simulation simulation_;
  test::FakeApi api_;
  std::unique_ptr<test::FakeClient> client_;
  std::unique_ptr<VolcanoControllers> controllers_;
  bool trouble_ = true;
  int crashes_ = 0;
  std::int32_t version_ = 0;
  std::string finished_;
};

TEST(JobsUnderChaos, ComeToRestInAStateThatMakesSense) {
  std::map<std::string, int> ends;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    World world(seed);
    world.live(80);
    world.heal();
    world.check();
    ++ends[world.phase()];
    if (::testing::Test::HasFailure()) return;
  }
  // The world is bad, but not so bad that every job meets the same end.
  EXPECT_GE(ends.size(), 3u);
}

}  // namespace
}  // namespace hekla::controllers
