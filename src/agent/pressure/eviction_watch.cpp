#include "agent/pressure/eviction_watch.h"

#include <algorithm>

#include "base/log.h"

namespace hekla::agent {
namespace {

constexpr std::chrono::seconds kLook{10};
// Until a victim's resources show in the readings, none follows it.
constexpr std::chrono::seconds kAfterEviction{30};
constexpr std::chrono::seconds kImmediate{1};
constexpr std::chrono::seconds kStoragePeriod{30};

bool is_disk(const std::string& signal) {
  return signal.starts_with("nodefs.") || signal.starts_with("imagefs.");
}

}  // namespace

struct EvictionWatch::State : std::enable_shared_from_this<EvictionWatch::State> {
  State(Executor& executor, std::vector<EvictionThreshold> thresholds, const EvictionFlags& flags,
        EvictionHooks hooks)
      : executor(executor),
        tracker(std::move(thresholds), flags.pressure_transition),
        most_grace(std::chrono::seconds(flags.max_pod_grace_seconds)),
        hooks(std::move(hooks)) {}

  Executor& executor;
  PressureTracker tracker;
  Nanos most_grace;
  EvictionHooks hooks;
  std::optional<NodePressure> reported;
  std::string victim;  // the last one, until it is gone
  WallTime evicted_at{};
  WallTime storage_looked_at{};
  bool stopped = false;

  WallTime now() const { return executor.clock().wall(); }

  template <class T, class Next>
  Done<T> then(Next next) {
    return [self = weak_from_this(), next = std::move(next)](Result<T> result) mutable {
      auto state = self.lock();
      if (state && !state->stopped) next(*state, std::move(result));
    };
  }

  void later() {
    executor.post_after(kLook, [self = weak_from_this()] {
      auto state = self.lock();
      if (state && !state->stopped) state->look();
    });
  }

  void look() {
    hooks.read(then<NodeReadings>([](State& state, Result<NodeReadings> readings) {
      if (!readings) {
        log_warn("agent", "read what the machine has left", {{"error", readings.error().message}});
        return state.later();
      }
      state.judge(*readings);
    }));
  }

  void judge(const NodeReadings& readings) {
    PressureTracker::Verdict verdict = tracker.judge(readings, now());
    if (!reported || *reported != verdict.pressure) {
      reported = verdict.pressure;
      hooks.report(verdict.pressure);
    }
    if (verdict.met.empty()) return check_storage();
    const PressureTracker::Met met = verdict.met.front();
    const std::string resource = starved_resource(met.threshold.signal);
    if (!victim.empty() && hooks.running_pods().contains(victim) &&
        now() - evicted_at < kAfterEviction)
      return later();
    victim.clear();
    hooks.event("EvictionThresholdMet", "Attempting to reclaim " + resource);
    log_warn(
        "agent", "the node is low on a resource",
        {{"signal", met.threshold.signal}, {"available", std::to_string(met.reading.available)}});
    if (!is_disk(met.threshold.signal)) return choose_victim(met);
    hooks.reclaim_disk(then<void>([met](State& state, Result<void> done) {
      if (!done) log_warn("agent", "reclaim disk space", {{"error", done.error().message}});
      state.look_again(met);
    }));
  }

  // After unused images have gone: is it enough?
  void look_again(const PressureTracker::Met& met) {
    hooks.read(then<NodeReadings>([met](State& state, Result<NodeReadings> readings) {
      auto reading = readings ? readings->find(met.threshold.signal) : NodeReadings::iterator{};
      if (readings && reading != readings->end() &&
          reading->second.available >=
              met.threshold.value(reading->second.capacity) + met.threshold.minimum_reclaim)
        return state.later();
      state.choose_victim(met);
    }));
  }

  void choose_victim(const PressureTracker::Met& met) {
    std::set<std::string> disk_of;
    if (is_disk(met.threshold.signal)) disk_of = hooks.running_pods();
    hooks.measure(std::move(disk_of),
                  then<EvictionHooks::Uses>([met](State& state, Result<EvictionHooks::Uses> uses) {
                    if (uses) state.evict_worst(met, *uses);
                    state.later();
                  }));
  }

  void evict_worst(const PressureTracker::Met& met, const EvictionHooks::Uses& uses) {
    std::vector<const PodUse*> ranked = rank_for_eviction(met.threshold.signal, uses.pods);
    if (ranked.empty()) {
      log_warn("agent", "no pod could be evicted", {{"signal", met.threshold.signal}});
      return;
    }
    const PodUse& worst = *ranked.front();
    Nanos grace = kImmediate;
    if (!met.threshold.hard)
      grace = std::min<Nanos>(
          most_grace,
          std::chrono::seconds(worst.pod->spec.terminationGracePeriodSeconds.value_or(30)));
    victim = worst.uid;
    evicted_at = now();
    hooks.evict(worst.uid, eviction_message(met, worst), grace);
  }

  // Limits of single pods hold whether the node is short of anything or not.
  void check_storage() {
    std::set<std::string> limited = hooks.limited_pods();
    if (limited.empty() || now() - storage_looked_at < kStoragePeriod) return later();
    storage_looked_at = now();
    hooks.measure(limited, then<EvictionHooks::Uses>(
                               [limited](State& state, Result<EvictionHooks::Uses> uses) {
                                 if (uses)
                                   for (const PodUse& pod : uses->pods)
                                     if (limited.contains(pod.uid) && !is_critical(*pod.pod))
                                       if (std::optional<std::string> why = exceeded_storage(pod))
                                         state.hooks.evict(pod.uid, *why, kImmediate);
                                 state.later();
                               }));
  }
};

EvictionWatch::EvictionWatch(Executor& executor, std::vector<EvictionThreshold> thresholds,
                             const EvictionFlags& flags, EvictionHooks hooks)
    : state_(std::make_shared<State>(executor, std::move(thresholds), flags, std::move(hooks))) {}

EvictionWatch::~EvictionWatch() { state_->stopped = true; }

void EvictionWatch::start() { state_->look(); }

}  // namespace hekla::agent
