// hekla simulate: the same scheduler in virtual time, on objects from files.
#include <cstdio>
#include <memory>

#include "base/disk.h"
#include "base/rng.h"
#include "cli/verb.h"
#include "model/time.h"
#include "scheduler/simulate/replay.h"
#include "scheduler/simulate/simulator.h"

namespace hekla::cli {
namespace {

struct SimulateOptions {
  std::vector<std::string> cluster, workload;
  std::string scheduler_conf, report, title = "Simulation", replay, default_duration = "10m";
  std::uint64_t seed = 1;
  bool sessions = false, check = false;
};

// SplitMix64: a seed gives the same numbers each time, so that a simulation can be repeated.
class SeedNumbers final : public Rng {
 public:
  explicit SeedNumbers(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next() override {
    std::uint64_t z = (state_ += 0x9e3779b97f4a7c15ull);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return z ^ (z >> 31);
  }

 private:
  std::uint64_t state_;
};

Result<int> replay_record(const SimulateOptions& options, const std::string& configuration) {
  scheduler::ReplayResult result =
      TRY(scheduler::replay(TRY(read_file(options.replay)), configuration));
  std::fputs(result.text(options.sessions).c_str(), stdout);
  // Decisions under another configuration are meant to differ.
  return configuration.empty() && !result.same() ? kFailed : 0;
}

Result<int> run_simulation(const SimulateOptions& options) {
  std::string configuration;
  if (!options.scheduler_conf.empty()) configuration = TRY(read_file(options.scheduler_conf));
  if (!options.replay.empty()) return replay_record(options, configuration);
  Result<Nanos> otherwise = model::parse_go_duration(options.default_duration);
  if (!otherwise)
    return fail(Code::bad_request, "--default-duration: " + otherwise.error().message);
  SeedNumbers rng(options.seed);
  scheduler::SimulationInput input;
  for (const std::vector<std::string>* files : {&options.cluster, &options.workload})
    for (const std::string& file : *files) {
      Result<void> read =
          scheduler::read_simulation_file(TRY(read_file(file)), rng, *otherwise, input);
      if (!read) return fail(read.error().code, file + ": " + read.error().message);
    }
  scheduler::settle_arrivals(input);
  for (const std::string& warning : input.warnings()) complain(warning);
  scheduler::SimulationResult result =
      TRY(scheduler::simulate(input, configuration, options.check));
  std::fputs(scheduler::report_text(result).c_str(), stdout);
  if (!options.report.empty()) {
    TRY(write_file_atomically(options.report, scheduler::report_html(result, options.title), 0644));
    std::printf("\nreport: %s\n", options.report.c_str());
  }
  return result.broken_invariants.empty() ? 0 : kFailed;
}

int simulate_or_complain(const SimulateOptions& options) {
  const bool invented = !options.cluster.empty() || !options.workload.empty();
  if (!options.replay.empty() && invented) {
    complain("--replay excludes --cluster and --workload");
    return kUsage;
  }
  if (options.replay.empty() && (options.cluster.empty() || options.workload.empty())) {
    complain("simulate needs --cluster and --workload, or --replay");
    return kUsage;
  }
  Result<int> done = run_simulation(options);
  if (!done) complain(done.error().message);
  return done ? *done : kFailed;
}

std::vector<Command> simulate_commands(const Context&) {
  auto options = std::make_shared<SimulateOptions>();
  return {{
      .name = "simulate",
      .summary = "run the scheduler in virtual time on recorded or invented objects",
      .flags =
          {
              Flag("--cluster", options->cluster,
                   "nodes, queues, priority classes: Kubernetes objects or the shorthand "
                   "(repeatable)")
                  .with(existing_file()),
              Flag("--workload", options->workload,
                   "jobs: vcjobs as kubectl prints them, or the shorthand (repeatable)")
                  .with(existing_file()),
              Flag("--replay", options->replay,
                   "run the sessions of a file written by hekla up --record again")
                  .with(existing_file()),
              Flag("--scheduler-conf", options->scheduler_conf, "scheduler configuration file")
                  .with(existing_file()),
              Flag("--report", options->report, "write a page with plots here (HTML)"),
              Flag("--title", options->title, "of the page"),
              Flag("--seed", options->seed, "for what the shorthand leaves to chance"),
              Flag("--default-duration", options->default_duration,
                   "how long jobs run that do not say"),
              Flag("--sessions", options->sessions, "with --replay: print every session"),
              Flag("--check", options->check,
                   "add all accounts up anew after every session (the cheaper invariants always "
                   "hold)"),
          },
      .run = [options] { return simulate_or_complain(*options); },
      .footer = "Example:\n  hekla simulate --cluster cluster.yaml --workload jobs.yaml --report "
                "out.html",
  }};
}

}  // namespace

extern const Verb verb_simulate;
const Verb verb_simulate{"simulate", simulate_commands};

}  // namespace hekla::cli
