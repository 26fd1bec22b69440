#include "agent/streams/stream_source.h"

#include <algorithm>

#include "agent/logs/log_choice.h"
#include "agent/record/pod_paths.h"

namespace hekla::agent {
namespace {

Error no_such_pod(const kube::PodRef& pod) {
  return Error{Code::not_found, "pods \"" + pod.name + "\" not found"};
}

}  // namespace

Result<StreamTarget> StreamSource::find(const kube::PodRef& pod,
                                        const std::string& container) const {
  const PodWorker* worker = pods_.find(pod);
  if (!worker) return std::unexpected(no_such_pod(pod));
  StreamTarget target{worker->record(), 0};
  if (container.empty()) return target;
  target.container = TRY(choose_log_container(target.record, container));
  return target;
}

Result<LogTarget> StreamSource::find_log(const kube::PodRef& pod,
                                         const kube::LogOptions& options) const {
  const PodWorker* worker = pods_.find(pod);
  std::optional<KeptPod> kept;
  if (!worker) kept = machine_.kept_logs().find(pod);
  if (!worker && !kept) return std::unexpected(no_such_pod(pod));
  const PodRecord& record = worker ? worker->record() : kept->record;
  const ContainerRecord& container =
      record.containers[TRY(choose_log_container(record, options.container))];
  const ContainerRun* run = TRY(choose_log_run(
      record, container, worker ? worker->status() : model::PodStatus{}, options.previous));
  const std::string containers = worker ? containers_dir(machine_.paths(), record.uid)
                                        : machine_.kept_logs().containers_dir(record.uid);
  return LogTarget{log_path(containers, container.name, run->attempt), record.uid, run->id};
}

bool StreamSource::is_live(const LogTarget& target) const {
  const PodWorker* worker = pods_.find(target.pod_uid);
  return worker &&
         std::ranges::any_of(worker->record().containers, [&](const ContainerRecord& container) {
           return container.current && container.current->id == target.container_id &&
                  container.current->is_live();
         });
}

std::vector<KeptPod> StreamSource::kept(const std::string& ns) const {
  return machine_.kept_logs().list(ns);
}

void StreamSource::measure(Done<kube::NodeUsage> done) {
  std::vector<MeasuredPod> pods;
  std::vector<std::string> cgroups;
  for (const auto& [uid, worker] : pods_.workers()) {
    const PodRecord& record = worker->record();
    MeasuredPod pod{record.ns, record.name, uid, {}};
    for (const ContainerRecord& container : record.containers) {
      if (!container.current || container.current->phase != run_phase::running) continue;
      pod.containers.push_back(
          {container.name, container.current->id, from_ns(container.current->started_ns)});
      cgroups.push_back(machine_.cgroup_of(record, *container.current));
    }
    if (!pod.containers.empty()) pods.push_back(std::move(pod));
  }
  auto report = [weak = weak_from_this(), pods = std::move(pods),
                 done = std::move(done)](Result<UsageReading> read) mutable {
    auto self = weak.lock();
    if (!self) return done(fail(Code::unavailable, "the agent is stopping"));
    if (!read) return done(std::unexpected(read.error()));
    kube::NodeUsage usage =
        self->usage_.report(pods, *read, self->client_.executor().clock().wall());
    usage.node = self->node_name_;
    done(std::move(usage));
  };
  machine_.measure(std::move(cgroups), std::move(report));
}

}  // namespace hekla::agent
