// The end of a pod: deadline, deletion, disappearance from the API, shutdown of the agent.
#include <algorithm>
#include <csignal>

#include "agent/pod_worker.h"
#include "base/log.h"

namespace hekla::agent {
namespace {

constexpr std::chrono::seconds kDefaultGrace{30};
constexpr std::chrono::seconds kKillRepeat{5};
constexpr std::chrono::seconds kGraceAfterHook{2};
constexpr std::chrono::seconds kApiRetry{1};
constexpr std::chrono::seconds kEraseRetry{10};

bool all_exited(const PodRecord& record) {
  return std::ranges::none_of(record.containers, [](const ContainerRecord& container) {
    return container.current && container.current->is_live();
  });
}

}  // namespace

bool PodWorker::check_deadline() {
  if (!pod_->spec.activeDeadlineSeconds || !record_.outcome.empty()) return false;
  WallTime deadline =
      from_ns(record_.started_ns) + std::chrono::seconds(*pod_->spec.activeDeadlineSeconds);
  if (deadline > now()) {
    wake_at(deadline);
    return false;
  }
  record_.reason = "DeadlineExceeded";
  record_.message = "Pod was active on the node longer than the specified deadline";
  event("Normal", "DeadlineExceeded", record_.message);
  return true;
}

void PodWorker::evict(const std::string& message, Nanos grace) {
  if (ending_ != Ending::no || !record_.outcome.empty()) return;
  ending_ = Ending::evicted;
  eviction_grace_ = grace;
  record_.reason = kEvicted;
  record_.message = message;
  event("Warning", "Evicted", message);
  step();
}

Nanos PodWorker::grace() const {
  if (ending_ == Ending::vanished) return Nanos(0);
  if (ending_ == Ending::evicted) return eviction_grace_;
  if (pod_->metadata.deletionTimestamp && pod_->metadata.deletionGracePeriodSeconds)
    return std::chrono::seconds(*pod_->metadata.deletionGracePeriodSeconds);
  return std::chrono::seconds(
      pod_->spec.terminationGracePeriodSeconds.value_or(kDefaultGrace.count()));
}

void PodWorker::stop_all(const std::vector<std::size_t>& containers) {
  for (std::size_t i : containers)
    stop_run(i, "Stopping container " + record_.containers[i].name, grace());
}

void PodWorker::stop_run(std::size_t index, const std::string& why, Nanos grace) {
  const ContainerRecord& container = record_.containers[index];
  if (!container.current || container.current->phase != run_phase::running) return;
  if (!stops_.try_emplace(container.name, Stop{now(), grace, {}}).second) return;
  if (auto probes = probes_.find(container.name); probes != probes_.end()) probes->second->stop();
  event("Normal", "Killing", why);
  const std::string id = container.current->id;
  const model::Container* spec = container_spec(*pod_, container);
  std::optional<ProbeAction> hook;
  if (const json::Value* pre_stop = spec ? json::find(spec->lifecycle, "preStop") : nullptr)
    hook = parse_hook(*pre_stop, *spec);
  if (!hook || grace <= Nanos(0)) return send_term(index, id);
  hook->timeout = grace;
  run_action(index, *hook, [this, index, id](Result<ProbeOutcome> done) {
    if (!done || !done->success) event("Warning", "FailedPreStopHook", "PreStopHook failed");
    // A hook that took all the time leaves the container a moment, as in the kubelet.
    auto stop = stops_.find(record_.containers[index].name);
    if (stop == stops_.end()) return;
    stop->second.grace =
        std::max(stop->second.grace, now() - stop->second.begun + Nanos(kGraceAfterHook));
    send_term(index, id);
  });
}

void PodWorker::send_term(std::size_t index, const std::string& run_id) {
  const ContainerRecord& container = record_.containers[index];
  auto stop = stops_.find(container.name);
  if (stop == stops_.end() || !container.current || container.current->id != run_id ||
      container.current->phase != run_phase::running)
    return;
  context_.machine.signal(record_, *container.current,
                          stop->second.grace > Nanos(0) ? container.current->stop_signal : SIGKILL);
}

// SIGKILL when the grace period is over, and again from time to time.
void PodWorker::kill_overdue() {
  for (const ContainerRecord& container : record_.containers) {
    auto found = stops_.find(container.name);
    if (found == stops_.end() || !container.current ||
        container.current->phase != run_phase::running)
      continue;
    Stop& stop = found->second;
    // A pod deleted meanwhile may leave less time than its container had.
    Nanos limit = ending_ == Ending::vanished ? Nanos(0) : stop.grace;
    if (ending_ == Ending::deleted) limit = std::min(limit, grace());
    WallTime due = stop.begun + limit;
    if (stop.last_kill) due = std::max(due, *stop.last_kill + kKillRepeat);
    if (now() < due) {
      wake_at(due);
      continue;
    }
    context_.machine.signal(record_, *container.current, SIGKILL);
    stop.last_kill = now();
    inspected_ = false;  // should the notice of its end get lost
    wake_at(now() + kKillRepeat);
  }
}

void PodWorker::step_end() {
  holds_.clear();
  if (!all_exited(record_)) {
    // Sidecars serve the others to the end.
    bool main_live = std::ranges::any_of(record_.containers, [](const ContainerRecord& container) {
      return !container.sidecar && container.current && container.current->is_live();
    });
    std::vector<std::size_t> ending;
    for (std::size_t i = 0; i < record_.containers.size(); ++i)
      if (!record_.containers[i].sidecar || !main_live) ending.push_back(i);
    stop_all(ending);
    report();
    return kill_overdue();
  }
  if (remove_exited()) return;
  finish_ending();
}

void PodWorker::finish_ending() {
  if (record_.outcome.empty()) {
    bool failed =
        ending_ == Ending::deadline || ending_ == Ending::evicted || ending_ == Ending::shutdown ||
        record_.reason == kEvicted ||
        std::ranges::any_of(record_.containers, [](const ContainerRecord& container) {
          return !container.init && !container.ephemeral &&
                 (!container.current || container.current->exit_code != 0);
        });
    record_.outcome = failed ? "Failed" : "Succeeded";
    if (ending_ == Ending::shutdown) {
      record_.reason = "Terminated";
      record_.message = "Pod was terminated in response to imminent node shutdown.";
    }
  }
  report();
  switch (ending_) {
    case Ending::deadline:
    case Ending::evicted:
      ending_ = Ending::no;  // over; stays in the API until somebody deletes it
      return step();
    case Ending::deleted:
      if (!removed_from_api_) return remove_from_api();
      return erase();
    case Ending::shutdown:
      // The API must hear the end before its only witness is erased.
      if (status_in_flight_ || status_dirty_) return;
      return erase();
    case Ending::vanished:
    case Ending::no:
      return erase();
  }
}

void PodWorker::remove_from_api() {
  if (status_in_flight_ || status_dirty_) return;  // the final status first
  busy_ = true;
  kube::Write write;
  write.verb = kube::Write::Verb::remove;
  write.resource = kube::resources::pods;
  write.key = {record_.ns, record_.name};
  write.grace_period_seconds = 0;
  write.precondition_uid = record_.uid;
  context_.client.write(std::move(write), [self = weak_from_this()](kube::WriteResult result) {
    auto worker = self.lock();
    if (!worker) return;
    worker->busy_ = false;
    bool over =
        result || result.error().code == Code::not_found || result.error().code == Code::conflict;
    if (!over) return worker->wake_at(worker->now() + kApiRetry);
    worker->removed_from_api_ = true;
    worker->step();
  });
}

void PodWorker::erase() {
  if (erase_after_ && *erase_after_ > now()) return wake_at(*erase_after_);
  busy_ = true;
  context_.machine.erase(record_, resume<void>([this](Result<void> done) {
                           if (!done) {
                             log_warn("agent", "remove a pod",
                                      {{"pod", described()}, {"error", done.error().message}});
                             erase_after_ = now() + kEraseRetry;
                             return;
                           }
                           if (!record_.address.empty())
                             context_.machine.release_address(record_.address);
                           record_.address.clear();
                           gone_ = true;
                           context_.client.executor().post([self = shared_from_this()] {
                             self->context_.on_gone(self->record_.uid);
                           });
                         }));
}

}  // namespace hekla::agent
