#include "agent/pod/worker/resize.h"

#include <algorithm>

#include "agent/pod/pod_plan.h"

namespace hekla::agent {
namespace {

constexpr std::chrono::seconds kResizeRetry{10};

// The spec with what the containers have at present, but for the one that is being resized: the pod
// as a whole never has less than one of them.
model::PodSpec spec_in_force(const model::Pod& pod, const PodRecord& record, std::size_t resized) {
  model::PodSpec spec = pod.spec;
  for (std::size_t i = 0; i < record.containers.size(); ++i) {
    const ContainerRecord& container = record.containers[i];
    if (i == resized || !container.current || !container.current->resources) continue;
    for (auto* containers : {&spec.initContainers, &spec.containers})
      for (model::Container& one : *containers)
        if (one.name == container.name) one.resources = *container.current->resources;
  }
  return spec;
}

}  // namespace

std::optional<Resize::Wanted> Resize::find() const {
  for (std::size_t i = 0; i < state_.record.containers.size(); ++i) {
    const model::Container* spec = state_.spec_of(i);
    if (!spec || !state_.is_running(i)) continue;
    const ContainerRun& run = *state_.record.containers[i].current;
    if (run.replaced || !run.resources) continue;
    model::ResourceRequirements wanted = resizable(spec->resources);
    if (!resized(*run.resources, wanted).empty()) return Wanted{i, std::move(wanted)};
  }
  return std::nullopt;
}

bool Resize::advance() {
  const std::optional<Wanted> wanted = find();
  const ResizeView before = view_;
  if (!wanted) {
    view_ = {};
    retry_at_.reset();
    if (view_ != before) state_.report();
    return false;
  }
  if (retry_at_ && *retry_at_ > state_.now()) {
    state_.wake_at(*retry_at_);
    return false;
  }
  view_.pending.clear();
  view_.message.clear();
  if (std::optional<Refusal> why = state_.context.node.resize_refusal(*state_.pod)) {
    view_ = {why->reason, why->message, false, ""};
    retry_at_ = state_.now() + kResizeRetry;
    state_.wake_at(*retry_at_);
  } else {
    view_.under_way = true;
  }
  if (view_ != before) state_.report();
  if (!view_.under_way) return false;
  if (needs_restart(*wanted)) {
    stops_.replace(wanted->container, "resize requires restart");
    return false;
  }
  apply(*wanted);
  return true;
}

bool Resize::needs_restart(const Wanted& wanted) const {
  const ContainerRecord& container = state_.record.containers[wanted.container];
  auto restarts = state_.pod->restart_to_resize.find(container.name);
  return restarts != state_.pod->restart_to_resize.end() &&
         std::ranges::any_of(
             resized(*container.current->resources, wanted.resources),
             [&](const std::string& name) { return restarts->second.contains(name); });
}

void Resize::apply(const Wanted& wanted) {
  const std::size_t index = wanted.container;
  const std::string& qos = state_.pod->status.qosClass;
  PodRecord after = state_.record;
  after.containers[index].current->resources = wanted.resources;
  auto done = state_.work<void>([this, wanted](const Result<void>& resized) {
    ContainerRecord& container = state_.record.containers[wanted.container];
    if (resized) {
      container.current->resources = wanted.resources;
      view_.error.clear();
      state_.event("Normal", "ResizeCompleted", "Resized container " + container.name);
      return;
    }
    if (view_.error != resized.error().message)
      state_.event("Warning", "ResizeError", resized.error().message);
    view_.error = resized.error().message;
    retry_at_ = state_.now() + kResizeRetry;
  });
  state_.context.machine.resize(
      after, *after.containers[index].current,
      limits_of(wanted.resources, qos, state_.context.machine_memory_bytes),
      pod_limits_of(spec_in_force(*state_.pod, state_.record, index), qos), std::move(done));
}

}  // namespace hekla::agent
