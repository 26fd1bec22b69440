#include "support/sim_executor.h"

namespace hekla::sim {
namespace {

constexpr std::int64_t kEpochSeconds = 1767225600;  // 2026-01-01T00:00:00Z

}  // namespace

std::uint64_t SeededRng::next() {
  constexpr std::uint64_t kGamma = 0x9e3779b97f4a7c15;
  std::uint64_t z = state_.fetch_add(kGamma) + kGamma;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

WallTime SimClock::wall() const {
  return WallTime(std::chrono::seconds(kEpochSeconds) + Nanos(elapsed_ns_) + Nanos(wall_jump_ns_));
}

bool SimExecutor::try_post(Task& task) {
  if (stopped_ || refusing_ || tasks_.size() >= mailbox_limit_) return false;
  tasks_.push_back(std::move(task));
  return true;
}

void SimExecutor::post(Task task) {
  if (!stopped_) tasks_.push_back(std::move(task));
}

void SimExecutor::post_after(Nanos delay, Task task) {
  if (stopped_) return;
  simulation_.timers_.push(
      {clock().mono() + delay, simulation_.timer_order_++, this, std::move(task)});
}

const Clock& SimExecutor::clock() const { return simulation_.clock_; }

void SimExecutor::stop() {
  stopped_ = true;
  std::deque<Task> dropped = std::move(tasks_);  // their destructors may post
  tasks_.clear();
}

Simulation::Simulation(std::uint64_t seed) : rng_(seed) {}

Simulation::~Simulation() {
  for (auto& executor : executors_) executor->stop();
  while (!timers_.empty()) timers_.pop();
}

SimExecutor& Simulation::add(std::string name, std::size_t mailbox_limit) {
  executors_.push_back(std::make_unique<SimExecutor>(*this, std::move(name), mailbox_limit));
  return *executors_.back();
}

bool Simulation::step() {
  release_due_timers();
  runnable_.clear();
  for (auto& executor : executors_)
    if (!executor->tasks_.empty()) runnable_.push_back(executor.get());
  if (runnable_.empty()) return false;
  SimExecutor& chosen = *runnable_[uniform(rng_, runnable_.size())];
  Task task = std::move(chosen.tasks_.front());
  chosen.tasks_.pop_front();
  task();
  return true;
}

void Simulation::release_due_timers() {
  while (!timers_.empty() && timers_.top().when <= clock_.mono()) {
    SimExecutor& executor = *timers_.top().executor;
    Task task = std::move(timers_.top().task);
    timers_.pop();
    executor.post(std::move(task));
  }
}

bool Simulation::advance_to_next_timer() {
  if (timers_.empty()) return false;
  if (timers_.top().when > clock_.mono()) clock_.advance(timers_.top().when - clock_.mono());
  release_due_timers();
  return true;
}

bool Simulation::run_until_idle(std::size_t steps_max) {
  for (std::size_t i = 0; i < steps_max; ++i)
    if (!step()) return true;
  return false;
}

bool Simulation::run_for(Nanos duration, std::size_t steps_max) {
  MonoTime end = clock_.mono() + duration;
  for (std::size_t i = 0; i < steps_max; ++i) {
    if (step()) continue;
    if (timers_.empty() || timers_.top().when > end) {
      clock_.advance(end - clock_.mono());
      return true;
    }
    advance_to_next_timer();
  }
  return false;
}

bool Simulation::run_until(const std::function<bool()>& done, std::size_t steps_max) {
  for (std::size_t i = 0; i < steps_max; ++i) {
    if (done()) return true;
    if (!step() && !advance_to_next_timer()) return done();
  }
  return false;
}

}  // namespace hekla::sim
