#include "kube/rest/flow.h"

#include <algorithm>

namespace hekla::kube {
namespace {

// An answer is slow when it takes so many times as long as the fastest of late, and longer by so
// much: a server at its limit queues requests, and more of them only wait for longer.
constexpr int kQuick = 3, kSlow = 6;
constexpr Nanos kQuickSlack = std::chrono::milliseconds(20);
constexpr Nanos kSlowSlack = std::chrono::milliseconds(80);
constexpr double kRefused = 0.5, kTooSlow = 0.8;
constexpr Nanos kPressedFor = std::chrono::seconds(2);

}  // namespace

Lane lane_of(const Write& write) {
  if (write.resource == resources::leases) return Lane::lease;
  if (write.resource == resources::events) return Lane::event;
  switch (write.verb) {
    case Write::Verb::bind:
      return Lane::bind;
    case Write::Verb::remove:
    case Write::Verb::evict:
      return Lane::remove;
    case Write::Verb::create:
      return Lane::create;
    case Write::Verb::update:
    case Write::Verb::patch:
      return Lane::change;
  }
  return Lane::change;
}

const char* name_of(Lane lane) {
  static constexpr std::array<const char*, kLanes> kNames = {"lease",  "bind",   "remove",
                                                             "create", "change", "event"};
  return kNames[static_cast<std::size_t>(lane)];
}

double Flow::window(Lane lane) const {
  std::lock_guard lock(mutex_);
  return lanes_[static_cast<std::size_t>(lane)].window;
}

bool Flow::is_pressed(MonoTime now) const {
  for (std::size_t i = 0; i < static_cast<std::size_t>(Lane::event); ++i) {
    const State& lane = lanes_[i];
    if (!lane.waiting.empty() || (lane.cut_at != MonoTime{} && now - lane.cut_at < kPressedFor))
      return true;
  }
  return false;
}

bool Flow::submit(Lane lane, Start start) {
  std::vector<Ready> ready;
  {
    std::lock_guard lock(mutex_);
    State& state = at(lane);
    if (lane == Lane::event && state.waiting.size() >= kEventsWaitingMax &&
        is_pressed(clock_.mono()))
      return false;
    state.waiting.push_back(std::move(start));
    ready = take_ready();
  }
  run(std::move(ready));
  return true;
}

// Every lane may have one request under way, so that none stands still; beyond that, whoever is
// more urgent is served first. Leases wait for nobody: a leader that cannot renew has to end.
bool Flow::may_start(std::size_t index, bool urgent_waits) const {
  const State& lane = lanes_[index];
  if (index == static_cast<std::size_t>(Lane::lease) || lane.in_flight == 0) return true;
  return !urgent_waits && lane.in_flight < static_cast<int>(lane.window) && in_flight_ < kTotalMax;
}

std::vector<Flow::Ready> Flow::take_ready() {
  std::vector<Ready> ready;
  bool urgent_waits = false;
  for (std::size_t i = 0; i < kLanes; ++i) {
    State& lane = lanes_[i];
    while (!lane.waiting.empty() && may_start(i, urgent_waits)) {
      ready.push_back({static_cast<Lane>(i), std::move(lane.waiting.front())});
      lane.waiting.pop_front();
      ++lane.in_flight;
      ++in_flight_;
    }
    urgent_waits = urgent_waits || !lane.waiting.empty();
  }
  return ready;
}

void Flow::run(std::vector<Ready> ready) {
  while (!ready.empty()) {
    std::vector<Lane> unused;
    for (Ready& one : ready)
      if (!one.start()) unused.push_back(one.lane);
    ready.clear();
    if (unused.empty()) return;
    std::lock_guard lock(mutex_);
    for (Lane lane : unused) --at(lane).in_flight;
    in_flight_ -= static_cast<int>(unused.size());
    ready = take_ready();
  }
}

// The fastest is forgotten slowly, for a server may have become another one.
void Flow::learn(State& lane, MonoTime started, MonoTime now) {
  const Nanos took = std::max(now - started, Nanos(1));
  lane.usual = lane.usual == Nanos(0) ? took : (lane.usual * 7 + took) / 8;
  const Nanos faded = lane.fastest + lane.fastest / 1000;
  lane.fastest = lane.fastest == Nanos(0) ? took : std::min(faded, took);
  if (std::min(lane.usual, took) > std::max(lane.fastest * kSlow, lane.fastest + kSlowSlack))
    return cut(lane, started, now, kTooSlow);
  if (lane.usual > std::max(lane.fastest * kQuick, lane.fastest + kQuickSlack)) return;
  // Only a window that is used up says that a wider one would do.
  if (lane.waiting.empty() && lane.in_flight + 1 < static_cast<int>(lane.window)) return;
  lane.window = std::min(lane.window + (lane.is_young ? 1 : 1 / lane.window), kWindowMax);
}

// A request that was sent before the last cut says nothing new.
void Flow::cut(State& lane, MonoTime started, MonoTime now, double factor) {
  if (lane.cut_at != MonoTime{} && started < lane.cut_at) return;
  lane.window = std::max(lane.window * factor, 1.0);
  lane.cut_at = now;
  lane.is_young = false;
}

void Flow::finished(Lane lane, MonoTime started, Outcome outcome) {
  std::vector<Ready> ready;
  double window = 0;
  {
    std::lock_guard lock(mutex_);
    const MonoTime now = clock_.mono();
    State& state = at(lane);
    --state.in_flight;
    --in_flight_;
    if (outcome == Outcome::congested)
      cut(state, started, now, kRefused);
    else
      learn(state, started, now);
    window = state.window;
    ready = take_ready();
  }
  if (metrics_ != nullptr) metrics_->gauge("hekla_api_window", window, {{"lane", name_of(lane)}});
  run(std::move(ready));
}

}  // namespace hekla::kube
