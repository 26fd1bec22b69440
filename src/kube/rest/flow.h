// Limits of how many requests the clients of one process have under way at an API server, and the
// order in which they are sent. Each kind of write has a window that grows while the server answers
// quickly, and shrinks when it refuses, runs out of time or grows slow: the server is the limit,
// and is kept from drowning. Bindings go before everything else, events come last and are dropped
// while others wait.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "base/clock.h"
#include "base/metrics.h"
#include "kube/client.h"

namespace hekla::kube {

// The most urgent first.
enum class Lane : std::uint8_t { lease, bind, remove, create, change, event };
inline constexpr std::size_t kLanes = 6;

Lane lane_of(const Write& write);
const char* name_of(Lane lane);

// Thread-safe.
class Flow {
 public:
  // Sends the request. False: nobody wants it any more, and nothing was sent.
  using Start = std::move_only_function<bool()>;
  enum class Outcome : std::uint8_t {
    answered,   // whatever the answer was
    congested,  // 429, 503, 504, or none at all
  };
  static constexpr double kFirstWindow = 32, kWindowMax = 64, kTotalMax = 64;
  static constexpr std::size_t kEventsWaitingMax = 64;  // while others wait

  // `metrics` may be null.
  Flow(const Clock& clock, Metrics* metrics) : clock_(clock), metrics_(metrics) {}

  // Runs `start` now, or when its turn comes, on the thread of an answer. False: it never runs.
  [[nodiscard]] bool submit(Lane lane, Start start);
  // For each start that has sent something, once.
  void finished(Lane lane, MonoTime started, Outcome outcome);

  MonoTime now() const { return clock_.mono(); }
  Metrics* metrics() const { return metrics_; }
  double window(Lane lane) const;

 private:
  struct Ready {
    Lane lane;
    Start start;
  };
  struct State {
    std::deque<Start> waiting;
    double window = kFirstWindow;
    int in_flight = 0;
    bool is_young = true;  // it doubles, as nothing is known of the server yet
    Nanos fastest{0};      // of late; 0: nothing known
    Nanos usual{0};        // a running mean
    MonoTime cut_at{};
  };
  State& at(Lane lane) { return lanes_[static_cast<std::size_t>(lane)]; }
  void learn(State& lane, MonoTime started, MonoTime now);
  void cut(State& lane, MonoTime started, MonoTime now, double factor);
  bool is_pressed(MonoTime now) const;
  bool may_start(std::size_t index, bool urgent_waits) const;
  std::vector<Ready> take_ready();
  void run(std::vector<Ready> ready);

  const Clock& clock_;
  Metrics* const metrics_;
  mutable std::mutex mutex_;
  std::array<State, kLanes> lanes_;
  int in_flight_ = 0;
};

}  // namespace hekla::kube
