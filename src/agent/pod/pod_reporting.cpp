// How a pod worker speaks: status, events, timers.
#include "agent/pod/pod_worker.h"
#include "base/log.h"

namespace hekla::agent {
namespace {

constexpr std::chrono::seconds kStatusRetry{1};

}  // namespace

PodFacts PodWorker::facts() const {
  return PodFacts{record_.host_network ? context_.host_ip : record_.address, context_.host_ip,
                  context_.node_name, context_.allocatable};
}

std::string PodWorker::described() const {
  return record_.name + "_" + record_.ns + "(" + record_.uid + ")";
}

void PodWorker::event(const char* type, const char* reason, const std::string& message) {
  kube::EventTarget target{"v1", "Pod", record_.ns, record_.name, record_.uid, 0};
  context_.events.record(target, type, reason, message);
}

void PodWorker::hold(const std::string& container, WaitingReason why, Nanos delay) {
  Hold& held = holds_[container];
  held.until = now() + delay;
  held.why = std::move(why);
  ++held.failures;
  report();
  wake_at(held.until);
}

void PodWorker::wake_at(WallTime when) {
  if (wake_ && *wake_ <= when) return;
  wake_ = when;
  Nanos delay = std::max<Nanos>(Nanos(0), when - now());
  context_.client.executor().post_after(delay, [self = weak_from_this(), when] {
    auto worker = self.lock();
    if (!worker || worker->wake_ != when) return;
    worker->wake_.reset();
    worker->step();
  });
}

void PodWorker::report() {
  std::map<std::string, WaitingReason> waiting;
  for (const auto& [name, held] : holds_)
    if (name != kSandbox) waiting.emplace(name, held.why);
  // A copy: the result replaces what it comes from.
  const std::vector<model::PodCondition> previous =
      status_.conditions.empty() ? pod_->status.conditions : status_.conditions;
  bool was_ready = is_ready(status_);
  std::string old_ip = status_.podIP, old_phase = status_.phase;
  const StatusInput input{
      *pod_, record_,  std::move(waiting), context_.host_ip,      facts().pod_ip,
      now(), previous, probe_views(),      pod_->readiness_gates, resize_};
  status_ = compute_status(input);
  ephemeral_status_ = ephemeral_statuses(input);
  if (was_ready != is_ready(status_) || old_ip != status_.podIP || old_phase != status_.phase)
    context_.on_change();
  json::Value patch = status_patch(record_, status_, ephemeral_status_, pod_->status.conditions,
                                   pod_->metadata.generation);
  if (sent_status_ && json::equal(*sent_status_, patch)) return;
  status_dirty_ = true;
  send_status();
}

void PodWorker::send_status() {
  if (ending_ == Ending::vanished || removed_from_api_) status_dirty_ = false;
  if (status_in_flight_ || !status_dirty_) return;
  status_dirty_ = false;
  status_in_flight_ = true;
  sent_status_ = status_patch(record_, status_, ephemeral_status_, pod_->status.conditions,
                              pod_->metadata.generation);
  kube::Write write;
  write.verb = kube::Write::Verb::patch;
  write.resource = kube::resources::pods;
  write.key = {record_.ns, record_.name};
  write.subresource = "status";
  write.patch_type = kube::PatchType::strategic;
  write.body = *sent_status_;
  context_.client.write(std::move(write), [self = weak_from_this()](kube::WriteResult result) {
    if (auto worker = self.lock()) worker->status_sent(std::move(result));
  });
}

void PodWorker::status_sent(kube::WriteResult result) {
  status_in_flight_ = false;
  // A conflict of the uid is a pod that is gone and followed by another: its watch says so.
  bool heard = result || result.error().code == Code::not_found;
  if (!heard) {
    log_warn("agent", "write a pod's status",
             {{"pod", described()}, {"error", result.error().message}});
    sent_status_.reset();
    // On the way out nobody waits for an API that does not answer: the next agent will find the
    // pod without a record and report it lost.
    status_dirty_ = ending_ != Ending::shutdown;
    if (status_dirty_)
      context_.client.executor().post_after(kStatusRetry, [self = weak_from_this()] {
        if (auto worker = self.lock()) worker->send_status();
      });
    else
      step();
    return;
  }
  send_status();
  if (!status_in_flight_ && ending_ != Ending::no) step();
}

}  // namespace hekla::agent
