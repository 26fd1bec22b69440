// The very same scheduler over a cluster of the imagination, in virtual time: jobs arrive, are let
// in, placed, run for their time and end. Deterministic.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "scheduler/simulate/workload.h"

namespace hekla::scheduler {

struct SimulatedOutcome {
  std::string ns, name, queue;
  std::int32_t pods = 0;
  Nanos arrival{0}, start{-1}, end{-1};
  int evictions = 0;  // how often it lost pods to others
  std::string waits;  // if it never started: hekla explain's words
  bool started() const { return start.count() >= 0; }
  Nanos wait() const { return start - arrival; }
};

// What was in use after something changed, per resource and queue.
struct SimulationSample {
  Nanos at{0};
  std::vector<std::vector<double>> used;  // [resource][queue]
  std::int64_t waiting = 0, running = 0;  // jobs
};

struct QueueFigures {
  std::string name;
  double weight = 1;
  std::size_t jobs = 0, started = 0;
  Nanos mean_wait{0}, median_wait{0}, p95_wait{0}, longest_wait{0};
  double used_hours = 0;  // of the first resource
};

struct SimulationResult {
  std::vector<std::string> resources;  // names; cpu in cores, memory in GiB, others in units
  std::vector<double> capacity;        // by resource
  std::vector<std::string> queues;
  std::vector<SimulatedOutcome> jobs;
  std::vector<SimulationSample> samples;
  std::vector<QueueFigures> figures;
  Nanos makespan{0};
  std::vector<double> utilisation;  // by resource, over the makespan
  // Jain's index of used hours by weight over the queues that had jobs: 1 is equal.
  double fairness = 1;
  std::uint64_t sessions = 0;
  std::map<std::string, std::uint64_t>
      broken_invariants;  // what (session/invariants.h), and after how many sessions
};

// Invariants are checked after every session; `check_everything` adds those that add all accounts
// up anew.
Result<SimulationResult> simulate(const SimulationInput& input, std::string_view configuration,
                                  bool check_everything = false);

// Wait times, utilisation and fairness as a table for people.
std::string report_text(const SimulationResult& result);
// One self-contained page with plots.
std::string report_html(const SimulationResult& result, const std::string& title);

}  // namespace hekla::scheduler
