// Probes and lifecycle hooks of a pod's containers.
#include "agent/pod/pod_worker.h"

namespace hekla::agent {
namespace {

// The API sets no limit; ours keeps a hook that hangs from holding a thread for ever.
constexpr std::chrono::minutes kPostStartLimit{10};

}  // namespace

void PodWorker::run_action(std::size_t container, const ProbeAction& action,
                           std::move_only_function<void(Result<ProbeOutcome>)> done) {
  // `done` may use `this`.
  auto guarded = [self = weak_from_this(),
                  done = std::move(done)](Result<ProbeOutcome> outcome) mutable {
    if (auto worker = self.lock()) done(std::move(outcome));
  };
  if (action.kind != ProbeAction::Kind::sleep)
    return context_.machine.probe(record_, container, action, std::move(guarded));
  context_.client.executor().post_after(
      action.sleep, [guarded = std::move(guarded)]() mutable { guarded(ProbeOutcome{true, ""}); });
}

// Probes follow the runs: those of ended containers go, running ones get theirs, also after an
// adoption.
void PodWorker::tend_probes() {
  for (std::size_t i = 0; i < record_.containers.size(); ++i) {
    const ContainerRecord& container = record_.containers[i];
    if (!container.current || container.current->phase != run_phase::running) {
      if (auto probes = probes_.find(container.name); probes != probes_.end()) {
        probes->second->stop();
        probes_.erase(probes);
      }
      stops_.erase(container.name);
      post_starting_.erase(container.name);
      continue;
    }
    bool plain_init = container.init && !container.sidecar;
    if (!plain_init && !probes_.contains(container.name) && !stops_.contains(container.name) &&
        !post_starting_.contains(container.name))
      start_probes(i);
  }
}

// What the API says of the run that goes on here.
ContainerProbes::Known PodWorker::known_of(const ContainerRun& run, const std::string& name) const {
  ContainerProbes::Known known;
  if (run.started_ns > 0) known.age = std::max(Nanos(0), now() - from_ns(run.started_ns));
  for (const auto* list : {&pod_->status.containerStatuses, &pod_->status.initContainerStatuses})
    for (const model::ContainerStatus& status : *list)
      if (status.name == name && status.containerID.ends_with(run.id)) {
        known.started = status.started.value_or(false);
        known.ready = status.ready;
      }
  return known;
}

void PodWorker::start_probes(std::size_t index) {
  const std::string name = record_.containers[index].name;
  const model::Container* spec = container_spec(*pod_, record_.containers[index]);
  if (!spec) return;
  ContainerProbes::Callbacks callbacks;
  callbacks.run = [this, index](const ProbeAction& action, auto done) {
    run_action(index, action, std::move(done));
  };
  callbacks.on_change = [this] { step(); };
  callbacks.on_unhealthy = [this](const std::string& message) {
    event("Warning", "Unhealthy", message);
  };
  callbacks.on_kill = [this, index, name](const std::string& probe,
                                          std::optional<std::int64_t> grace_seconds) {
    Nanos given = grace_seconds ? Nanos(std::chrono::seconds(*grace_seconds)) : grace();
    stop_run(index, "Container " + name + " failed " + probe + " probe, will be restarted", given);
    step();
  };
  auto probes = std::make_shared<ContainerProbes>(
      context_.client.executor(), *spec, known_of(*record_.containers[index].current, name),
      std::move(callbacks));
  probes_[name] = probes;
  probes->start();
}

void PodWorker::post_start(std::size_t index) {
  const ContainerRecord& container = record_.containers[index];
  const model::Container* spec = container_spec(*pod_, container);
  std::optional<ProbeAction> hook;
  if (const json::Value* start = spec ? json::find(spec->lifecycle, "postStart") : nullptr)
    hook = parse_hook(*start, *spec);
  if (!hook) {
    tend_probes();
    return report();
  }
  hook->timeout = kPostStartLimit;
  post_starting_.insert(container.name);
  report();
  run_action(index, *hook, [this, index, id = container.current->id](Result<ProbeOutcome> done) {
    const ContainerRecord& container = record_.containers[index];
    if (!container.current || container.current->id != id) return;
    post_starting_.erase(container.name);
    if (!done || !done->success) {
      event("Warning", "FailedPostStartHook", "PostStartHook failed");
      stop_run(index, "FailedPostStartHook", grace());
    }
    step();
  });
}

bool PodWorker::is_started(std::size_t index) const {
  const std::string& name = record_.containers[index].name;
  auto probes = probes_.find(name);
  return probes != probes_.end() && probes->second->started();
}

std::map<std::string, ProbeView> PodWorker::probe_views() const {
  std::map<std::string, ProbeView> views;
  for (const ContainerRecord& container : record_.containers) {
    auto probes = probes_.find(container.name);
    const bool plain_init = container.init && !container.sidecar;
    if (probes != probes_.end())
      views[container.name] = {probes->second->started(), probes->second->ready()};
    else if (!plain_init && container.current && container.current->phase == run_phase::running)
      views[container.name] = {false, false};  // its hook runs, or its probes have yet to begin
  }
  return views;
}

}  // namespace hekla::agent
