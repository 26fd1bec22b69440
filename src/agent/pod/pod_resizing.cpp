// pods/resize on the node: cgroups of running containers follow the spec, or containers are
// replaced where the spec wants that.
#include <algorithm>

#include "agent/pod/pod_worker.h"

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

bool PodWorker::resize() {
  std::optional<std::size_t> first;
  model::ResourceRequirements wanted;
  for (std::size_t i = 0; i < record_.containers.size() && !first; ++i) {
    const ContainerRecord& container = record_.containers[i];
    const model::Container* spec = container_spec(*pod_, container);
    if (!spec || !container.current || container.current->phase != run_phase::running ||
        container.current->replaced || !container.current->resources)
      continue;
    wanted = resizable(spec->resources);
    if (!resized(*container.current->resources, wanted).empty()) first = i;
  }
  const ResizeView before = resize_;
  if (!first) {
    resize_ = {};
    resize_after_.reset();
    if (resize_ != before) report();
    return false;
  }
  if (resize_after_ && *resize_after_ > now()) {
    wake_at(*resize_after_);
    return false;
  }
  resize_.pending.clear();
  resize_.message.clear();
  if (auto refusal = context_.resize_refusal ? context_.resize_refusal(*pod_) : std::nullopt) {
    resize_ = {refusal->first, refusal->second, false, ""};
    resize_after_ = now() + kResizeRetry;
    wake_at(*resize_after_);
  } else {
    resize_.under_way = true;
  }
  if (resize_ != before) report();
  return resize_.under_way && resize_run(*first, wanted);
}

bool PodWorker::resize_run(std::size_t index, const model::ResourceRequirements& wanted) {
  const ContainerRecord& container = record_.containers[index];
  auto restarts = pod_->restart_to_resize.find(container.name);
  const bool anew =
      restarts != pod_->restart_to_resize.end() &&
      std::ranges::any_of(resized(*container.current->resources, wanted),
                          [&](const std::string& name) { return restarts->second.contains(name); });
  if (anew) {
    replace(index, "resize requires restart");
    return false;
  }
  busy_ = true;
  const Limits limits = limits_of(wanted, pod_->status.qosClass, context_.machine_memory_bytes);
  PodRecord after = record_;
  after.containers[index].current->resources = wanted;
  context_.machine.resize(
      after, *after.containers[index].current, limits,
      pod_limits_of(spec_in_force(*pod_, record_, index), pod_->status.qosClass),
      resume<void>([this, index, wanted](Result<void> done) {
        ContainerRun& run = *record_.containers[index].current;
        if (done) {
          run.resources = wanted;
          resize_.error.clear();
          event("Normal", "ResizeCompleted", "Resized container " + record_.containers[index].name);
          return;
        }
        if (resize_.error != done.error().message)
          event("Warning", "ResizeError", done.error().message);
        resize_.error = done.error().message;
        resize_after_ = now() + kResizeRetry;
      }));
  return true;
}

}  // namespace hekla::agent
