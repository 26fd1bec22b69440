#include "agent/pod/worker/pod_probes.h"
#include "base/check.h"

namespace hekla::agent {
namespace {

// The API sets no limit; ours keeps a hook that hangs from holding a thread for ever.
constexpr std::chrono::minutes kPostStartLimit{10};

}  // namespace

void PodProbes::run_action(std::size_t container, const ProbeAction& action,
                           Done<ProbeOutcome> done) {
  auto guarded = state_.guarded(std::move(done));
  if (action.kind != ProbeAction::Kind::sleep)
    return state_.context.machine.probe(state_.record, container, action, std::move(guarded));
  state_.context.client.executor().post_after(
      action.sleep, [guarded = std::move(guarded)]() mutable { guarded(ProbeOutcome{true, ""}); });
}

void PodProbes::end(const std::string& container) {
  pause(container);
  probes_.erase(container);
  post_starting_.erase(container);
}

void PodProbes::pause(const std::string& container) {
  if (auto probes = probes_.find(container); probes != probes_.end()) probes->second->stop();
}

// The API's word on the run that goes on here.
ContainerProbes::Known PodProbes::known_of(const ContainerRun& run, const std::string& name) const {
  ContainerProbes::Known known;
  if (run.started_ns > 0) known.age = std::max(Nanos(0), state_.now() - from_ns(run.started_ns));
  const model::PodStatus& status = state_.pod->status;
  for (const auto* list : {&status.containerStatuses, &status.initContainerStatuses})
    for (const model::ContainerStatus& one : *list)
      if (one.name == name && one.containerID.ends_with(run.id)) {
        known.started = one.started.value_or(false);
        known.ready = one.ready;
      }
  return known;
}

ContainerProbes::Callbacks PodProbes::callbacks_for(std::size_t index) {
  ContainerProbes::Callbacks callbacks;
  callbacks.run = [this, index](const ProbeAction& action, auto done) {
    run_action(index, action, std::move(done));
  };
  callbacks.on_change = [this] { state_.step(); };
  callbacks.on_unhealthy = [this](const std::string& message) {
    state_.event("Warning", "Unhealthy", message);
  };
  callbacks.on_kill = [this, index](const std::string& probe,
                                    std::optional<std::int64_t> grace_seconds) {
    const Nanos given =
        grace_seconds ? Nanos(std::chrono::seconds(*grace_seconds)) : state_.grace();
    const std::string& name = state_.record.containers[index].name;
    stop_(index, "Container " + name + " failed " + probe + " probe, will be restarted", given);
    state_.step();
  };
  return callbacks;
}

void PodProbes::begin(std::size_t index) {
  CHECK(state_.is_running(index), "only a running container is probed");
  const std::string& name = state_.record.containers[index].name;
  if (probes_.contains(name) || post_starting_.contains(name)) return;
  const model::Container* spec = state_.spec_of(index);
  if (!spec) return;
  const ContainerRun& run = *state_.record.containers[index].current;
  auto probes = std::make_shared<ContainerProbes>(state_.context.client.executor(), *spec,
                                                  known_of(run, name), callbacks_for(index));
  probes_[name] = probes;
  probes->start();
}

bool PodProbes::post_start(std::size_t index) {
  const ContainerRecord& container = state_.record.containers[index];
  const model::Container* spec = state_.spec_of(index);
  std::optional<ProbeAction> hook;
  if (const json::Value* start = spec ? json::find(spec->lifecycle, "postStart") : nullptr)
    hook = parse_hook(*start, *spec);
  if (!hook) return false;
  hook->timeout = kPostStartLimit;
  post_starting_.insert(container.name);
  state_.report();
  run_action(index, *hook, [this, index, id = container.current->id](Result<ProbeOutcome> done) {
    const ContainerRecord& container = state_.record.containers[index];
    if (!container.current || container.current->id != id) return;
    post_starting_.erase(container.name);
    if (!done || !done->success) {
      state_.event("Warning", "FailedPostStartHook", "PostStartHook failed");
      stop_(index, "FailedPostStartHook", state_.grace());
    }
    state_.step();
  });
  return true;
}

bool PodProbes::is_started(std::size_t index) const {
  auto probes = probes_.find(state_.record.containers[index].name);
  return probes != probes_.end() && probes->second->started();
}

std::map<std::string, ProbeView> PodProbes::views() const {
  std::map<std::string, ProbeView> views;
  for (std::size_t i = 0; i < state_.record.containers.size(); ++i) {
    const ContainerRecord& container = state_.record.containers[i];
    auto probes = probes_.find(container.name);
    if (probes != probes_.end())
      views[container.name] = {probes->second->started(), probes->second->ready()};
    else if (!is_plain_init(container) && state_.is_running(i))
      views[container.name] = {false, false};  // its hook runs, or its probes have yet to begin
  }
  return views;
}

}  // namespace hekla::agent
