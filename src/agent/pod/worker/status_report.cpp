#include "agent/pod/worker/status_report.h"

#include "base/check.h"
#include "base/log.h"

namespace hekla::agent {
namespace {

constexpr std::chrono::seconds kStatusRetry{1};

}  // namespace

void StatusReport::update(std::map<std::string, ProbeView> probes, const ResizeView& resize) {
  std::map<std::string, WaitingReason> waiting;
  for (const auto& [name, held] : state_.holds) waiting.emplace(name, held.why);
  // A copy: the result replaces what it comes from.
  const std::vector<model::PodCondition> previous =
      status_.conditions.empty() ? state_.pod->status.conditions : status_.conditions;
  const bool was_ready = is_ready(status_);
  const std::string old_ip = status_.podIP, old_phase = status_.phase;
  const StatusInput input{*state_.pod,
                          state_.record,
                          std::move(waiting),
                          state_.context.host_ip,
                          state_.facts().pod_ip,
                          state_.now(),
                          previous,
                          std::move(probes),
                          state_.pod->readiness_gates,
                          resize};
  status_ = compute_status(input);
  ephemeral_ = ephemeral_statuses(input);
  if (was_ready != is_ready(status_) || old_ip != status_.podIP || old_phase != status_.phase)
    state_.context.observer.pod_changed();
  if (sent_ && json::equal(*sent_, patch())) return;
  dirty_ = true;
  send();
}

json::Value StatusReport::patch() const {
  return status_patch(state_.record, status_, ephemeral_, state_.pod->status.conditions,
                      state_.pod->metadata.generation);
}

void StatusReport::send() {
  if (state_.ending == Ending::vanished || silent_) dirty_ = false;
  if (in_flight_ || !dirty_) return;
  dirty_ = false;
  in_flight_ = true;
  sent_ = patch();
  kube::Write write;
  write.verb = kube::Write::Verb::patch;
  write.resource = kube::resources::pods;
  write.key = {state_.record.ns, state_.record.name};
  write.subresource = "status";
  write.patch_type = kube::PatchType::strategic;
  write.body = *sent_;
  state_.context.client.write(
      std::move(write),
      state_.guarded([this](const kube::WriteResult& result) { on_sent(result); }));
}

void StatusReport::on_sent(const kube::WriteResult& result) {
  CHECK(in_flight_, "an answer has a question");
  in_flight_ = false;
  // A conflict of the uid is a pod that is gone and followed by another: its watch says so.
  const bool heard = result || result.error().code == Code::not_found;
  if (!heard) {
    log_warn("agent", "write a pod's status",
             {{"pod", state_.described()}, {"error", result.error().message}});
    sent_.reset();
    // On the way out nobody waits for an API that does not answer: the next agent will find the
    // pod without a record and report it lost.
    dirty_ = state_.ending != Ending::shutdown;
    if (dirty_)
      state_.context.client.executor().post_after(kStatusRetry, state_.guarded([this] { send(); }));
    else
      state_.step();
    return;
  }
  send();
  if (!in_flight_ && state_.ending != Ending::no) state_.step();
}

}  // namespace hekla::agent
