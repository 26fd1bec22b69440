#include "agent/record/pod_record.h"

#include <csignal>
#include <set>

#include "base/check.h"
#include "base/crypto.h"

namespace hekla::agent {

namespace {

// Job, TFJob, PyTorchJob: its pods' logs outlive them.
std::optional<model::OwnerReference> job_of(const model::ObjectMeta& meta) {
  const model::OwnerReference* owner = meta.controller();
  if (!owner || !owner->kind.ends_with("Job")) return std::nullopt;
  return *owner;
}

}  // namespace

PodRecord new_record(const model::Pod& pod, WallTime now) {
  PodRecord record;
  record.uid = pod.metadata.uid;
  record.ns = pod.metadata.ns;
  record.name = pod.metadata.name;
  record.host_network = pod.spec.hostNetwork;
  record.share_processes = pod.spec.shareProcessNamespace.value_or(false);
  record.job = job_of(pod.metadata);
  record.started_ns = to_ns(pod.status.startTime ? *pod.status.startTime.at : now);
  for (const model::Container& container : pod.spec.initContainers)
    record.containers.push_back(
        {.name = container.name, .init = true, .sidecar = container.restartPolicy == "Always"});
  for (const model::Container& container : pod.spec.containers)
    record.containers.push_back({.name = container.name});
  return record;
}

std::optional<std::string> record_fault(const PodRecord& record) {
  if (record.uid.empty() || record.ns.empty() || record.name.empty()) return "no name";
  if (!record.outcome.empty() && record.outcome != "Succeeded" && record.outcome != "Failed")
    return "outcome " + record.outcome;
  if (record.rejected && record.outcome != "Failed") return "rejected without having failed";
  if (record.sandbox && !record.host_network && record.address.empty())
    return "a network without an address";
  std::set<std::string> names;
  bool main_seen = false;
  for (const ContainerRecord& container : record.containers) {
    if (container.name.empty() || !names.insert(container.name).second)
      return "container name \"" + container.name + "\"";
    if (container.init && main_seen) return "init container " + container.name + " behind others";
    main_seen = main_seen || !container.init;
    if (container.previous && container.previous->is_live())
      return "container " + container.name + " runs twice";
    if (!container.current) continue;
    const ContainerRun& run = *container.current;
    if (run.phase != run_phase::starting && run.phase != run_phase::running &&
        run.phase != run_phase::exited)
      return "container " + container.name + " is " + run.phase;
    if (run.id.empty() || run.attempt < 0 || run.attempt >= container.attempts)
      return "attempt " + std::to_string(run.attempt) + " of container " + container.name;
  }
  return std::nullopt;
}

void mark_lost(PodRecord& record, const model::Pod& pod) {
  auto mark = [&](const std::vector<model::ContainerStatus>& statuses, bool init) {
    for (const model::ContainerStatus& status : statuses) {
      if (status.containerID.empty()) continue;
      for (ContainerRecord& container : record.containers) {
        if (container.name != status.name || container.init != init) continue;
        ContainerRun run;
        run.attempt = status.restartCount;
        run.id = status.containerID.substr(status.containerID.find("//") + 2);
        run.removed = true;
        if (const auto& ended = status.state.terminated) {
          run.phase = run_phase::exited;
          run.exit_code = ended->exitCode;
          run.reason = ended->reason;
          run.message = ended->message;
          if (ended->startedAt) run.started_ns = to_ns(*ended->startedAt.at);
          if (ended->finishedAt) run.finished_ns = to_ns(*ended->finishedAt.at);
        } else {
          if (const auto& running = status.state.running; running && running->startedAt)
            run.started_ns = to_ns(*running->startedAt.at);
          set_unknown_exit(run, from_ns(record.started_ns));
        }
        container.attempts = status.restartCount + 1;
        container.current = std::move(run);
      }
    }
  };
  mark(pod.status.initContainerStatuses, true);
  mark(pod.status.containerStatuses, false);
}

std::string container_id(const std::string& pod_uid, const std::string& container, int attempt) {
  CHECK(!pod_uid.empty() && !container.empty() && attempt >= 0, "a run is that of a container");
  return sha256_hex(pod_uid + "/" + container + "/" + std::to_string(attempt));
}

bool holds_gpus(const ContainerRecord& container) {
  const bool done =
      container.current && !container.current->is_live() && container.current->exit_code == 0;
  return !container.init || container.sidecar || !done;
}

const model::Container* container_spec(const model::Pod& pod, const ContainerRecord& record) {
  const auto& list = record.init ? pod.spec.initContainers : pod.spec.containers;
  for (const model::Container& container : list)
    if (container.name == record.name) return &container;
  return nullptr;
}

void set_unknown_exit(ContainerRun& run, WallTime now) {
  run.phase = run_phase::exited;
  run.exit_code = 128 + SIGKILL;
  run.reason = "ContainerStatusUnknown";
  run.message = "The container could not be located when the pod was terminated";
  run.finished_ns = to_ns(now);
}

}  // namespace hekla::agent
