#include "agent/pressure/eviction.h"

#include <gtest/gtest.h>

#include "agent/pressure/eviction_watch.h"
#include "agent/pressure/image_gc.h"
#include "agent/pressure/node_readings.h"
#include "json/codec.h"
#include "support/sim_executor.h"

namespace hekla::agent {
namespace {

constexpr std::int64_t kMi = 1 << 20, kGi = 1 << 30;

std::shared_ptr<model::Pod> pod_of(const std::string& text) {
  Result<model::Pod> pod = json::decode_text<model::Pod>(text);
  EXPECT_TRUE(pod.has_value());
  return std::make_shared<model::Pod>(std::move(*pod));
}

std::shared_ptr<model::Pod> plain_pod(const std::string& memory_request, int priority = 0) {
  std::string requests =
      memory_request.empty() ? "{}" : R"({"memory":")" + memory_request + R"("})";
  return pod_of(R"({"metadata":{"name":"p","namespace":"n"},"spec":{"priority":)" +
                std::to_string(priority) +
                R"(,"containers":[{"name":"c","resources":{"requests":)" + requests + "}}]}}");
}

PodUse use_of(const std::string& uid, const model::Pod& pod, std::int64_t memory,
              std::int64_t disk = 0, std::int64_t processes = 1) {
  PodUse use;
  use.uid = uid;
  use.pod = &pod;
  use.containers = {{"c", memory, disk}};
  use.processes = processes;
  return use;
}

std::string flag_error(EvictionFlags flags) {
  auto parsed = parse_thresholds(flags);
  return parsed ? "" : parsed.error().message;
}

TEST(Eviction, ThresholdsAreReadAsTheKubeletsFlags) {
  EvictionFlags flags;
  flags.hard = "memory.available<100Mi,nodefs.available<10%";
  flags.soft = "memory.available<1Gi";
  flags.soft_grace_period = "memory.available=90s";
  flags.minimum_reclaim = "memory.available=200Mi";
  auto thresholds = parse_thresholds(flags);
  ASSERT_TRUE(thresholds.has_value());
  ASSERT_EQ(thresholds->size(), 3u);
  EXPECT_EQ((*thresholds)[0].value(kGi), 100 * kMi);
  EXPECT_EQ((*thresholds)[1].value(1000), 100);
  EXPECT_EQ((*thresholds)[2].grace, std::chrono::seconds(90));
  EXPECT_EQ((*thresholds)[2].minimum_reclaim, 200 * kMi);
  EXPECT_EQ(parse_thresholds(EvictionFlags{})->size(), 5u);
  EXPECT_TRUE(parse_thresholds(EvictionFlags{.hard = "nodefs.available<0%"})->empty());
}

TEST(Eviction, MistakesInTheFlagsAreNamed) {
  EXPECT_EQ(flag_error({.hard = "memory.available"}),
            "--eviction-hard: invalid eviction threshold syntax memory.available, expected "
            "<signal><<value>");
  EXPECT_EQ(flag_error({.hard = "memory.free<1Gi"}),
            "--eviction-hard: unsupported eviction signal memory.free");
  EXPECT_EQ(flag_error({.hard = "memory.available<120%"}),
            "--eviction-hard: eviction percentage threshold memory.available must be >= 0% and < "
            "100%, was 120%");
  EXPECT_EQ(
      flag_error({.hard = "memory.available<much"}),
      "--eviction-hard: eviction threshold memory.available must be a positive value, was much");
  EXPECT_EQ(flag_error({.hard = "pid.available<1k,pid.available<2k"}),
            "--eviction-hard: found duplicate eviction threshold for signal pid.available");
  EXPECT_EQ(flag_error({.soft = "memory.available<1Gi"}),
            "--eviction-soft-grace-period: grace period must be specified for the soft eviction "
            "threshold memory.available");
}

TEST(Eviction, SoftThresholdsWaitAndConditionsLinger) {
  EvictionFlags flags;
  flags.hard = "memory.available<100Mi";
  flags.soft = "memory.available<500Mi";
  flags.soft_grace_period = "memory.available=1m";
  PressureTracker tracker(*parse_thresholds(flags), std::chrono::minutes(5));
  WallTime now{std::chrono::hours(1)};
  auto judge = [&](std::int64_t available) {
    return tracker.judge({{"memory.available", {available, 8 * kGi}}}, now);
  };
  EXPECT_FALSE(judge(kGi).pressure.memory);
  auto verdict = judge(400 * kMi);
  EXPECT_TRUE(verdict.pressure.memory);
  EXPECT_TRUE(verdict.met.empty()) << "within its grace period";
  now += std::chrono::minutes(1);
  verdict = judge(400 * kMi);
  ASSERT_EQ(verdict.met.size(), 1u);
  EXPECT_FALSE(verdict.met[0].threshold.hard);
  EXPECT_EQ(judge(50 * kMi).met.size(), 2u);
  now += std::chrono::minutes(4);
  verdict = judge(kGi);
  EXPECT_TRUE(verdict.met.empty());
  EXPECT_TRUE(verdict.pressure.memory) << "the condition stays for the transition period";
  now += std::chrono::minutes(2);
  EXPECT_FALSE(judge(kGi).pressure.memory);
}

TEST(Eviction, MoreThanTheThresholdIsReclaimed) {
  EvictionFlags flags;
  flags.hard = "nodefs.available<1Gi";
  flags.minimum_reclaim = "nodefs.available=500Mi";
  PressureTracker tracker(*parse_thresholds(flags), Nanos(0));
  auto met = [&](std::int64_t available) {
    return tracker.judge({{"nodefs.available", {available, 100 * kGi}}}, WallTime{}).met.size();
  };
  EXPECT_EQ(met(1200 * kMi), 0u);
  EXPECT_EQ(met(900 * kMi), 1u);
  EXPECT_EQ(met(1200 * kMi), 1u) << "not yet enough";
  EXPECT_EQ(met(1600 * kMi), 0u);
  EXPECT_EQ(met(1200 * kMi), 0u);
}

TEST(Eviction, VictimsAreRankedByExcessPriorityAndUse) {
  auto modest = plain_pod("1Gi"), important = plain_pod("", 1000), greedy = plain_pod(""),
       small = plain_pod(""), critical = plain_pod("", 2'000'000'000);
  std::vector<PodUse> pods = {use_of("modest", *modest, 900 * kMi, 5, 1),
                              use_of("important", *important, 800 * kMi, 500, 9),
                              use_of("small", *small, 10 * kMi, 700, 2),
                              use_of("greedy", *greedy, 300 * kMi, 50, 3),
                              use_of("critical", *critical, 9 * kGi, 9000, 900)};
  auto order = [&](const std::string& signal) {
    std::string out;
    for (const PodUse* pod : rank_for_eviction(signal, pods)) out += pod->uid + " ";
    return out;
  };
  EXPECT_EQ(order("memory.available"), "greedy small important modest ");
  EXPECT_EQ(order("nodefs.available"), "small greedy modest important ");
  EXPECT_EQ(order("pid.available"), "greedy small modest important ");
}

TEST(Eviction, TheMessageIsTheKubelets) {
  auto pod = plain_pod("10Mi");
  PressureTracker::Met met{{.signal = "memory.available", .quantity = 100 * kMi},
                           {50 * kMi, 8 * kGi}};
  EXPECT_EQ(eviction_message(met, use_of("u", *pod, 20 * kMi)),
            "The node was low on resource: memory. Threshold quantity: 100Mi, available: 50Mi. "
            "Container c was using 20Mi, request is 10Mi, has larger consumption of memory. ");
  met.threshold.signal = "pid.available";
  met.threshold.quantity = 1000;
  met.reading = {900, 30000};
  EXPECT_EQ(eviction_message(met, use_of("u", *pod, 0)),
            "The node was low on resource: pids. Threshold quantity: 1000, available: 900. ");
}

TEST(Eviction, PodsAreHeldToTheirOwnStorageLimits) {
  auto pod = pod_of(R"({"spec":{"containers":[
      {"name":"c","resources":{"limits":{"ephemeral-storage":"1Mi"}}},
      {"name":"d","resources":{"limits":{"ephemeral-storage":"2Mi"}}}],
      "volumes":[{"name":"v","emptyDir":{"sizeLimit":"1Mi"}},
                 {"name":"m","emptyDir":{"medium":"Memory"}}]}})");
  EXPECT_TRUE(has_storage_limits(*pod));
  EXPECT_FALSE(has_storage_limits(*plain_pod("1Gi")));
  PodUse use;
  use.pod = pod.get();
  use.containers = {{"c", 0, kMi / 2}, {"d", 0, kMi}};
  use.volumes = {{"v", kMi / 2}, {"m", 100 * kMi}};
  EXPECT_EQ(exceeded_storage(use), std::nullopt) << "memory is not disk";
  use.volumes["v"] = 2 * kMi;
  EXPECT_EQ(exceeded_storage(use), "Usage of EmptyDir volume \"v\" exceeds the limit \"1Mi\". ");
  use.volumes["v"] = kMi;
  use.containers[1].disk_bytes = 2 * kMi;
  EXPECT_EQ(exceeded_storage(use),
            "Pod ephemeral local storage usage exceeds the total limit of containers 3Mi. ");
  use.volumes["v"] = 0;
  use.containers[1].disk_bytes = kMi;
  use.file_bytes = 3 * kMi;
  EXPECT_EQ(exceeded_storage(use),
            "Pod ephemeral local storage usage exceeds the total limit of containers 3Mi. ")
      << "/etc/hosts is on the node's disk, too";
  use.file_bytes = 0;
  use.containers = {{"c", 0, kMi + 1}, {"d", 0, 0}};
  EXPECT_EQ(exceeded_storage(use),
            "Container c exceeded its local ephemeral storage limit \"1Mi\". ");
}

TEST(Eviction, UnderPressureNewPodsAreTurnedAway) {
  auto best_effort = plain_pod(""), burstable = plain_pod("1Mi");
  best_effort->status.qosClass = "BestEffort";
  burstable->status.qosClass = "Burstable";
  EXPECT_EQ(refusal_under({}, *best_effort), std::nullopt);
  EXPECT_EQ(refusal_under({.memory = true}, *best_effort),
            "The node had condition: [MemoryPressure]. ");
  EXPECT_EQ(refusal_under({.memory = true}, *burstable), std::nullopt);
  EXPECT_EQ(refusal_under({.memory = true, .disk = true}, *burstable),
            "The node had condition: [MemoryPressure DiskPressure]. ");
  EXPECT_EQ(refusal_under({.disk = true}, *plain_pod("", 2'000'000'000)), std::nullopt);
  best_effort->spec.tolerations.push_back(
      {"node.kubernetes.io/memory-pressure", "Exists", "", "", {}});
  EXPECT_EQ(refusal_under({.memory = true}, *best_effort), std::nullopt);
}

// A node whose readings the test makes up.
class EvictionWatchTest : public ::testing::Test {
 protected:
  EvictionHooks hooks() {
    EvictionHooks out;
    out.read = [this](Done<NodeReadings> done) { done(readings_); };
    out.measure = [this](std::set<std::string> disk_of, Done<EvictionHooks::Uses> done) {
      measured_ = std::move(disk_of);
      EvictionHooks::Uses uses;
      for (const auto& [uid, use] : pods_)
        if (running_.contains(uid)) uses.pods.push_back(use);
      done(std::move(uses));
    };
    out.running_pods = [this] { return running_; };
    out.limited_pods = [this] { return limited_; };
    out.reclaim_disk = [this](Done<void> done) {
      ++reclaimed_;
      readings_["nodefs.available"].available += reclaimable_;
      done({});
    };
    out.evict = [this](const std::string& uid, const std::string& message, Nanos grace) {
      evicted_ += uid + " ";
      message_ = message;
      grace_ = grace;
    };
    out.report = [this](const NodePressure& pressure) { reported_.push_back(pressure); };
    out.event = [this](const std::string& reason, const std::string& message) {
      events_ += reason + ": " + message + "; ";
    };
    return out;
  }
  void start(const EvictionFlags& flags) {
    watch_ = std::make_unique<EvictionWatch>(executor_, *parse_thresholds(flags), flags, hooks());
    watch_->start();
  }
  void add(const std::string& uid, std::int64_t memory, int priority = 0) {
    specs_.push_back(plain_pod("", priority));
    pods_.emplace(uid, use_of(uid, *specs_.back(), memory));
    running_.insert(uid);
  }

  sim::Simulation simulation_{1};
  Executor& executor_ = simulation_.add("agent");
  NodeReadings readings_{{"memory.available", {4 * kGi, 8 * kGi}},
                         {"nodefs.available", {50 * kGi, 100 * kGi}}};
  std::vector<std::shared_ptr<model::Pod>> specs_;
  std::map<std::string, PodUse> pods_;
  std::set<std::string> running_, limited_, measured_;
  std::int64_t reclaimable_ = 0;
  int reclaimed_ = 0;
  std::string evicted_, message_, events_;
  Nanos grace_{};
  std::vector<NodePressure> reported_;
  std::unique_ptr<EvictionWatch> watch_;
};

TEST_F(EvictionWatchTest, OnePodAtATimeGoesWhenMemoryIsShort) {
  add("small", 10 * kMi);
  add("large", 100 * kMi);
  start({});
  simulation_.run_for(std::chrono::seconds(15));
  EXPECT_EQ(evicted_, "");
  ASSERT_EQ(reported_.size(), 1u);
  EXPECT_EQ(reported_[0], NodePressure{});
  readings_["memory.available"].available = 50 * kMi;
  simulation_.run_for(std::chrono::seconds(12));
  EXPECT_EQ(evicted_, "large ");
  EXPECT_EQ(grace_, std::chrono::seconds(1));
  EXPECT_EQ(events_, "EvictionThresholdMet: Attempting to reclaim memory; ");
  EXPECT_EQ(reported_.back(), NodePressure{.memory = true});
  simulation_.run_for(std::chrono::seconds(12));
  EXPECT_EQ(evicted_, "large ") << "the next one waits until the first is gone";
  running_.erase("large");
  simulation_.run_for(std::chrono::seconds(12));
  EXPECT_EQ(evicted_, "large small ");
  readings_["memory.available"].available = 4 * kGi;
  running_.clear();
  simulation_.run_for(std::chrono::minutes(6));
  EXPECT_EQ(reported_.back(), NodePressure{});
}

TEST_F(EvictionWatchTest, UnusedImagesGoBeforePods) {
  add("pod", 10 * kMi);
  readings_["nodefs.available"].available = 5 * kGi;
  reclaimable_ = 10 * kGi;
  start({});
  simulation_.run_for(std::chrono::seconds(5));
  EXPECT_EQ(reclaimed_, 1);
  EXPECT_EQ(evicted_, "");
  readings_["nodefs.available"].available = 5 * kGi;
  reclaimable_ = 0;
  simulation_.run_for(std::chrono::seconds(10));
  EXPECT_EQ(evicted_, "pod ");
  EXPECT_EQ(measured_, std::set<std::string>{"pod"});
  EXPECT_TRUE(reported_.back().disk);
}

TEST_F(EvictionWatchTest, ASoftThresholdLeavesAGracePeriod) {
  add("pod", 10 * kMi);
  EvictionFlags flags;
  flags.soft = "memory.available<1Gi";
  flags.soft_grace_period = "memory.available=30s";
  flags.max_pod_grace_seconds = 12;
  readings_["memory.available"].available = 500 * kMi;
  start(flags);
  simulation_.run_for(std::chrono::seconds(25));
  EXPECT_EQ(evicted_, "");
  simulation_.run_for(std::chrono::seconds(10));
  EXPECT_EQ(evicted_, "pod ");
  EXPECT_EQ(grace_, std::chrono::seconds(12));
}

TEST_F(EvictionWatchTest, StorageLimitsHoldOnANodeWithPlenty) {
  specs_.push_back(pod_of(R"({"spec":{"containers":[{"name":"c"}],
      "volumes":[{"name":"v","emptyDir":{"sizeLimit":"1Mi"}}]}})"));
  PodUse use;
  use.uid = "full";
  use.pod = specs_.back().get();
  use.volumes = {{"v", 2 * kMi}};
  pods_.emplace("full", use);
  running_.insert("full");
  add("other", kGi);
  limited_ = {"full"};
  start({});
  simulation_.run_for(std::chrono::seconds(5));
  EXPECT_EQ(evicted_, "full ");
  EXPECT_EQ(message_, "Usage of EmptyDir volume \"v\" exceeds the limit \"1Mi\". ");
  EXPECT_EQ(measured_, limited_) << "only pods with limits are counted";
}

StoredImage image_of(const std::string& name, std::int64_t size, int used_minutes_ago, WallTime now,
                     int added_minutes_ago = 600) {
  StoredImage image;
  image.name = name;
  image.id = name + "@x";
  image.size = size;
  image.last_used = now - std::chrono::minutes(used_minutes_ago);
  image.added_ns = (now - std::chrono::minutes(added_minutes_ago)).time_since_epoch().count();
  return image;
}

TEST(ImageGc, TheLongestUnusedGoFirstUntilThereIsRoom) {
  const WallTime now{std::chrono::hours(1000)};
  std::vector<StoredImage> images = {image_of("used", 40, 900, now), image_of("old", 3, 500, now),
                                     image_of("older", 4, 550, now), image_of("recent", 9, 5, now),
                                     image_of("fresh", 9, 800, now, 1)};
  auto plan = plan_image_gc({}, {16, 100}, images, {"used@x"}, now);
  EXPECT_EQ(plan.bytes_to_free, 0) << "84 % are in use";
  plan = plan_image_gc({}, {14, 100}, images, {"used@x"}, now);
  EXPECT_EQ(plan.bytes_to_free, 6);
  EXPECT_EQ(plan.names, (std::vector<std::string>{"older", "old"}));
  plan = plan_image_gc({}, {1, 100}, images, {"used@x"}, now);
  EXPECT_EQ(plan.names, (std::vector<std::string>{"older", "old", "recent"}))
      << "what is in use or new stays";
  EXPECT_LT(plan.bytes_freed, plan.bytes_to_free);
  EXPECT_TRUE(plan_image_gc({.high_percent = 100}, {1, 100}, images, {}, now).names.empty());
}

TEST(ImageGc, BadThresholdsAreRefused) {
  EXPECT_EQ(check_image_gc({.high_percent = 101}).error().message,
            "invalid HighThresholdPercent 101, must be in range [0-100]");
  EXPECT_EQ(check_image_gc({.low_percent = -1}).error().message,
            "invalid LowThresholdPercent -1, must be in range [0-100]");
  EXPECT_EQ(check_image_gc({.high_percent = 70}).error().message,
            "LowThresholdPercent 80 can not be higher than HighThresholdPercent 70");
}

TEST(ImageGc, FailuresAreEventsOfTheNode) {
  sim::Simulation simulation{1};
  Executor& executor = simulation.add("agent");
  std::string events;
  std::vector<std::string> removed;
  std::size_t reported = 0;
  bool broken = false;
  ImageGcHooks hooks;
  hooks.read_disk = [&](Done<SignalReading> done) {
    if (broken) return done(fail(Code::internal, "no statistics"));
    done(SignalReading{5, 100});
  };
  hooks.list = [&](Done<std::vector<StoredImage>> done) {
    done(std::vector{image_of("one", 3, 60, executor.clock().wall())});
  };
  hooks.in_use = [] { return std::set<std::string>(); };
  hooks.remove = [&](std::vector<std::string> names, Done<Removed> done) {
    removed.insert(removed.end(), names.begin(), names.end());
    done(Removed{names, 3});
  };
  hooks.report = [&](const std::vector<StoredImage>& images) { reported = images.size(); };
  hooks.event = [&](const std::string& reason, const std::string& message) {
    events += reason + ": " + message + "\n";
  };
  ImageGc gc(executor, {}, hooks);
  gc.start();
  simulation.run_for(std::chrono::seconds(1));
  EXPECT_EQ(reported, 1u);
  EXPECT_EQ(removed, std::vector<std::string>{"one"});
  EXPECT_EQ(events,
            "FreeDiskSpaceFailed: Failed to garbage collect required amount of images. Attempted "
            "to free 15 bytes, but only found 3 bytes eligible to free.\n");
  events.clear();
  broken = true;
  simulation.run_for(std::chrono::minutes(6));
  EXPECT_EQ(events, "ImageGCFailed: no statistics\n");
}

TEST(NodeReadings, TheKernelsFiles) {
  SignalReading memory = parse_memory("MemTotal:  1000 kB\nMemFree: 1 kB\nMemAvailable:  400 kB\n");
  EXPECT_EQ(memory.capacity, 1000 * 1024);
  EXPECT_EQ(memory.available, 400 * 1024);
  SignalReading processes = parse_processes("0.1 0.2 0.3 2/345 999\n", "4194304\n", "1000\n");
  EXPECT_EQ(processes.capacity, 1000);
  EXPECT_EQ(processes.available, 655);
  auto node = read_node("/tmp", "/tmp");
  ASSERT_TRUE(node.has_value());
  for (const char* signal :
       {"memory.available", "nodefs.available", "imagefs.available", "pid.available"}) {
    EXPECT_GT(node->at(signal).capacity, 0) << signal;
    EXPECT_LE(node->at(signal).available, node->at(signal).capacity) << signal;
  }
}

}  // namespace
}  // namespace hekla::agent
