#include "agent/probes/container_probes.h"
#include "base/check.h"

namespace hekla::agent {
namespace {

const char* title_of(int which) {
  constexpr const char* kTitles[] = {"Startup", "Liveness", "Readiness"};
  return kTitles[which];
}

}  // namespace

ContainerProbes::ContainerProbes(Executor& executor, const model::Container& spec,
                                 const Known& known, Callbacks callbacks)
    : executor_(executor),
      callbacks_(std::move(callbacks)),
      begun_(executor.clock().mono() - known.age) {
  auto take = [&](const json::Value& value, std::optional<Probe>& probe) {
    if (auto parsed = parse_probe(value, spec))
      probe.emplace(Probe{*parsed, ProbeCounter(*parsed)});
  };
  take(spec.startupProbe, startup_);
  take(spec.livenessProbe, liveness_);
  take(spec.readinessProbe, readiness_);
  started_ = !startup_ || known.started;
  ready_ = !readiness_ || known.ready;
}

std::optional<ContainerProbes::Probe>& ContainerProbes::probe(Which which) {
  if (which == Which::startup) return startup_;
  return which == Which::liveness ? liveness_ : readiness_;
}

void ContainerProbes::start() {
  if (!started_) return begin(Which::startup);
  for (Which which : {Which::liveness, Which::readiness}) begin(which);
}

// Delays count from the container's start.
void ContainerProbes::begin(Which which) {
  if (!probe(which)) return;
  const Nanos passed = executor_.clock().mono() - begun_;
  schedule(which, std::max(Nanos(0), probe(which)->spec.initial_delay - passed));
}

void ContainerProbes::schedule(Which which, Nanos delay) {
  executor_.post_after(delay, [weak = weak_from_this(), which] {
    if (auto self = weak.lock(); self && !self->stopped_) self->run(which);
  });
}

void ContainerProbes::run(Which which) {
  CHECK(probe(which) && (started_ || which == Which::startup), "the startup probe comes first");
  callbacks_.run(probe(which)->spec.action,
                 [weak = weak_from_this(), which](Result<ProbeOutcome> result) {
                   if (auto self = weak.lock(); self && !self->stopped_)
                     self->on_result(which, result);
                 });
}

// A probe that could not be carried out says nothing about the container.
void ContainerProbes::on_result(Which which, const Result<ProbeOutcome>& result) {
  std::optional<bool> verdict;
  const char* title = title_of(static_cast<int>(which));
  if (!result) {
    callbacks_.on_unhealthy(std::string(title) + " probe errored: " + result.error().message);
  } else {
    if (!result->success)
      callbacks_.on_unhealthy(std::string(title) + " probe failed: " + result->output);
    verdict = probe(which)->counter.add(result->success);
  }
  bool startup_over = which == Which::startup && verdict;
  if (!startup_over) schedule(which, probe(which)->spec.period);
  if (verdict) on_verdict(which, *verdict);
}

void ContainerProbes::on_verdict(Which which, bool success) {
  if (which == Which::readiness) {
    if (std::exchange(ready_, success) != success) callbacks_.on_change();
    return;
  }
  if (!success) {
    stopped_ = true;
    ready_ = false;
    callbacks_.on_kill(which == Which::startup ? "startup" : "liveness",
                       probe(which)->spec.grace_seconds);
    return;
  }
  if (which != Which::startup) return;
  started_ = true;
  for (Which next : {Which::liveness, Which::readiness}) begin(next);
  callbacks_.on_change();
}

}  // namespace hekla::agent
