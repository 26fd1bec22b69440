// A whole system in one thread: every component's Executor, one virtual clock and one seeded source
// of randomness. The seed decides which component runs next; a component's own tasks keep their
// posting order. Time stands still while anything is runnable and then jumps to the next timer, so
// a test of a one-hour timeout takes microseconds, and a failure is replayed from its seed.
//
//   sim::Simulation simulation(seed);
//   sim::SimExecutor& committer = simulation.add("committer");
//   ... build components on their executors, post work ...
//   simulation.run_until_idle();          // until nobody has anything to do now
//   simulation.run_for(std::chrono::hours(1));
//
// Not thread-safe, except that the clock and the randomness keep their interfaces' promise.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <queue>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/executor.h"
#include "base/rng.h"

namespace hekla::sim {

// The same numbers for the same seed, on every machine (SplitMix64).
class SeededRng final : public Rng {
 public:
  explicit SeededRng(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next() override;
  // True in `percent` of all calls.
  bool chance(unsigned percent) { return uniform(*this, 100) < percent; }

 private:
  std::atomic<std::uint64_t> state_;
};

// Stands still until told otherwise. Begins at 2026-01-01T00:00:00Z.
class SimClock final : public Clock {
 public:
  WallTime wall() const override;
  MonoTime mono() const override { return MonoTime(Nanos(elapsed_ns_)); }
  void advance(Nanos by) { elapsed_ns_ += by.count(); }
  // Moves wall time alone, in either direction: an administrator sets the machine's clock.
  void jump_wall(Nanos by) { wall_jump_ns_ += by.count(); }

 private:
  std::atomic<std::int64_t> elapsed_ns_ = 0;
  std::atomic<std::int64_t> wall_jump_ns_ = 0;
};

class Simulation;

// One component's loop. Made by Simulation::add and owned by the simulation.
class SimExecutor final : public Executor {
 public:
  SimExecutor(Simulation& simulation, std::string name, std::size_t mailbox_limit)
      : simulation_(simulation), name_(std::move(name)), mailbox_limit_(mailbox_limit) {}

  [[nodiscard]] bool try_post(Task& task) override;
  void post(Task task) override;
  void post_after(Nanos delay, Task task) override;
  const Clock& clock() const override;

  // Ends the loop as a crash of its component would: what is queued is dropped, later posts fail.
  void stop();
  // As if the mailbox were full: try_post fails, post still succeeds.
  void refuse_posts(bool refuse) { refusing_ = refuse; }
  std::size_t queued() const { return tasks_.size(); }
  const std::string& name() const { return name_; }

 private:
  friend class Simulation;

  Simulation& simulation_;
  const std::string name_;
  const std::size_t mailbox_limit_;
  std::deque<Task> tasks_;
  bool stopped_ = false;
  bool refusing_ = false;
};

class Simulation {
 public:
  explicit Simulation(std::uint64_t seed);
  ~Simulation();
  Simulation(const Simulation&) = delete;
  Simulation& operator=(const Simulation&) = delete;

  // The reference is good for the simulation's life.
  SimExecutor& add(std::string name, std::size_t mailbox_limit = 65536);
  SimClock& clock() { return clock_; }
  SeededRng& rng() { return rng_; }

  // Runs one task of a runnable component. False when nobody is runnable; timers are not waited
  // for.
  bool step();
  // Jumps to the next timer and makes it runnable. False when there is none.
  bool advance_to_next_timer();
  // Steps until nobody is runnable, without letting time pass. False when `steps_max` did not
  // suffice: somebody is spinning.
  bool run_until_idle(std::size_t steps_max = 1'000'000);
  // Runs everything that falls due within `duration`; afterwards exactly that much time has passed.
  bool run_for(Nanos duration, std::size_t steps_max = 1'000'000);
  // Steps, letting time pass as needed, until `done` holds. False when it never does.
  bool run_until(const std::function<bool()>& done, std::size_t steps_max = 1'000'000);

 private:
  friend class SimExecutor;
  struct Timer {
    MonoTime when;
    std::uint64_t order;
    SimExecutor* executor;
    mutable Task task;
    bool operator>(const Timer& other) const {
      return when != other.when ? when > other.when : order > other.order;
    }
  };
  void release_due_timers();

  SeededRng rng_;
  SimClock clock_;
  std::vector<std::unique_ptr<SimExecutor>> executors_;
  std::vector<SimExecutor*> runnable_;  // scratch of step()
  std::priority_queue<Timer, std::vector<Timer>, std::greater<>> timers_;
  std::uint64_t timer_order_ = 0;
};

}  // namespace hekla::sim
