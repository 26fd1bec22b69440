// The end of a pod: deadline, deletion, disappearance from the API, shutdown of the agent.
#include <algorithm>
#include <csignal>
#include <numeric>

#include "agent/pod/pod_worker.h"
#include "base/log.h"

namespace hekla::agent {
namespace {

constexpr std::chrono::seconds kDefaultGrace{30};
constexpr std::chrono::seconds kKillRepeat{5};
constexpr std::chrono::seconds kGraceWhenLate{2};
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

// All of them within one grace period.
void PodWorker::stop_all(const std::vector<std::size_t>& containers) {
  if (!stop_begun_ && !containers.empty()) stop_begun_ = now();
  for (std::size_t i : containers)
    stop_run(
        i, "Stopping container " + record_.containers[i].name,
        Stop{.begun = *stop_begun_, .grace = grace(), .in_turn = record_.containers[i].sidecar});
}

void PodWorker::stop_run(std::size_t index, const std::string& why, Nanos grace) {
  stop_run(index, why, Stop{.begun = now(), .grace = grace});
}

void PodWorker::stop_run(std::size_t index, const std::string& why, const Stop& how) {
  const ContainerRecord& container = record_.containers[index];
  if (!container.current || container.current->phase != run_phase::running) return;
  auto [entry, fresh] = stops_.try_emplace(container.name, how);
  if (!fresh) return;
  Stop& stop = entry->second;
  if (auto probes = probes_.find(container.name); probes != probes_.end()) probes->second->stop();
  event("Normal", "Killing", why);
  const model::Container* spec = container_spec(*pod_, container);
  std::optional<ProbeAction> hook;
  if (const json::Value* pre_stop = spec ? json::find(spec->lifecycle, "preStop") : nullptr)
    hook = parse_hook(*pre_stop, *spec);
  if (!hook || stop.grace <= Nanos(0)) return send_term(index, stop);
  hook->timeout = stop.grace;
  stop.hook_runs = true;
  run_action(index, *hook, [this, index, id = container.current->id](Result<ProbeOutcome> done) {
    if (!done || !done->success) event("Warning", "FailedPreStopHook", "PreStopHook failed");
    const ContainerRecord& container = record_.containers[index];
    auto found = stops_.find(container.name);
    if (found == stops_.end() || !container.current || container.current->id != id) return;
    found->second.hook_runs = false;
    send_term(index, found->second);
  });
}

// A pod deleted meanwhile may leave less time than its container had.
Nanos PodWorker::limit_of(const Stop& stop) const {
  if (ending_ == Ending::vanished) return Nanos(0);
  return ending_ == Ending::deleted ? std::min(stop.grace, grace()) : stop.grace;
}

void PodWorker::send_term(std::size_t index, Stop& stop) {
  const ContainerRecord& container = record_.containers[index];
  if (stop.signalled || stop.hook_runs || container.current->phase != run_phase::running) return;
  const WallTime end = stop.begun + limit_of(stop);
  // Sidecars serve the containers behind them to the end, as long as there is time.
  if (stop.in_turn && now() < end &&
      std::any_of(record_.containers.begin() + static_cast<std::ptrdiff_t>(index) + 1,
                  record_.containers.end(), [](const ContainerRecord& one) {
                    return !one.ephemeral && one.current && one.current->is_live();
                  }))
    return wake_at(end);
  stop.signalled = true;
  // Who is asked late has a moment nevertheless, as in the kubelet.
  if (now() > stop.begun) stop.earliest_kill = now() + kGraceWhenLate;
  context_.machine.signal(record_, *container.current,
                          stop.grace > Nanos(0) ? container.current->stop_signal : SIGKILL);
}

// SIGKILL when the grace period is over, and again from time to time.
void PodWorker::kill_overdue() {
  for (std::size_t i = 0; i < record_.containers.size(); ++i) {
    const ContainerRecord& container = record_.containers[i];
    auto found = stops_.find(container.name);
    if (found == stops_.end() || !container.current ||
        container.current->phase != run_phase::running)
      continue;
    Stop& stop = found->second;
    send_term(i, stop);
    WallTime due = stop.begun + limit_of(stop);
    if (stop.hook_runs) due += kGraceWhenLate;
    if (stop.earliest_kill && ending_ != Ending::vanished) due = std::max(due, *stop.earliest_kill);
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
    std::vector<std::size_t> all(record_.containers.size());
    std::iota(all.begin(), all.end(), std::size_t{0});
    stop_all(all);
    report();
    return kill_overdue();
  }
  if (remove_exited()) return;
  finish_ending();
}

void PodWorker::finish_ending() {
  if (record_.outcome.empty()) {
    bool failed = ending_ == Ending::deadline || ending_ == Ending::evicted ||
                  ending_ == Ending::shutdown || record_.reason == kEvicted ||
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
