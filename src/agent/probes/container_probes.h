// The probes of one run of a container: startup first, then liveness and readiness, each in its own
// rhythm. Lives on the agent's executor.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "agent/probes/probe.h"
#include "base/executor.h"
#include "base/result.h"

namespace hekla::agent {

class ContainerProbes : public std::enable_shared_from_this<ContainerProbes> {
 public:
  struct Callbacks {
    // Carries an action out; the completion comes back on the executor.
    std::function<void(const ProbeAction&, std::move_only_function<void(Result<ProbeOutcome>)>)>
        run;
    // started() or ready() has changed.
    std::function<void()> on_change;
    // "Readiness probe failed: ...", for an event.
    std::function<void(const std::string& message)> on_unhealthy;
    // The container has to go: "liveness" or "startup".
    std::function<void(const std::string& probe, std::optional<std::int64_t> grace_seconds)>
        on_kill;
  };

  // Earlier results of the run: probes of an adopted container go on where an earlier process
  // left them.
  struct Known {
    Nanos age{0};  // since the container's start
    bool started = false, ready = false;
  };
  ContainerProbes(Executor& executor, const model::Container& spec, const Known& known,
                  Callbacks callbacks);
  void start();
  // No callback runs after this.
  void stop() { stopped_ = true; }

  bool started() const { return started_; }
  bool ready() const { return started_ && ready_; }

 private:
  enum class Which { startup, liveness, readiness };
  struct Probe {
    ProbeSpec spec;
    ProbeCounter counter;
  };
  void begin(Which which);
  void schedule(Which which, Nanos delay);
  void run(Which which);
  void on_result(Which which, const Result<ProbeOutcome>& result);
  void on_verdict(Which which, bool success);
  std::optional<Probe>& probe(Which which);

  Executor& executor_;
  Callbacks callbacks_;
  std::optional<Probe> startup_, liveness_, readiness_;
  MonoTime begun_{};  // the container
  bool started_, ready_;
  bool stopped_ = false;
};

}  // namespace hekla::agent
