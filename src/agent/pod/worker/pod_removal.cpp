#include "agent/pod/worker/pod_removal.h"

#include "base/log.h"

namespace hekla::agent {
namespace {

constexpr std::chrono::seconds kApiRetry{1};
constexpr std::chrono::seconds kMachineRetry{10};

}  // namespace

bool PodRemoval::is_early(const std::optional<WallTime>& due) const {
  if (!due || *due <= state_.now()) return false;
  state_.wake_at(*due);
  return true;
}

void PodRemoval::check_ended() const {
  CHECK(!state_.record.outcome.empty(), "only a pod that is over is taken apart");
  for (const ContainerRecord& container : state_.record.containers)
    CHECK(!container.current || !container.current->is_live(), container.name + " still runs");
}

void PodRemoval::release_address() {
  state_.context.machine.release_address(state_.record.address);
  state_.record.address.clear();
}

void PodRemoval::dismantle() {
  check_ended();
  if (dismantled_ || is_early(dismantle_after_)) return;
  auto done = state_.work<void>([this](const Result<void>& dismantled) {
    if (!dismantled) {
      log_warn("agent", "dismantle a pod",
               {{"pod", state_.described()}, {"error", dismantled.error().message}});
      dismantle_after_ = state_.now() + kMachineRetry;
      return;
    }
    dismantled_ = true;
    release_address();
    state_.record.sandbox = false;
  });
  state_.context.machine.dismantle(state_.record, std::move(done));
}

void PodRemoval::remove() {
  if (removed_from_api_) return erase();
  if (!status_.is_settled()) return;  // the final status first
  state_.begin_work();
  kube::Write write;
  write.verb = kube::Write::Verb::remove;
  write.resource = kube::resources::pods;
  write.key = {state_.record.ns, state_.record.name};
  write.grace_period_seconds = 0;
  write.precondition_uid = state_.record.uid;
  auto written = [this](const kube::WriteResult& result) {
    state_.end_work();
    const bool over =
        result || result.error().code == Code::not_found || result.error().code == Code::conflict;
    if (!over) return state_.wake_at(state_.now() + kApiRetry);
    removed_from_api_ = true;
    status_.silence();
    state_.step();
  };
  state_.context.client.write(std::move(write), state_.guarded(std::move(written)));
}

void PodRemoval::erase() {
  check_ended();
  if (is_early(erase_after_)) return;
  auto done = state_.work<void>([this](const Result<void>& erased) {
    if (!erased) {
      log_warn("agent", "remove a pod",
               {{"pod", state_.described()}, {"error", erased.error().message}});
      erase_after_ = state_.now() + kMachineRetry;
      return;
    }
    if (!state_.record.address.empty()) release_address();
    over_ = true;
    auto gone = [this] { state_.context.observer.pod_gone(state_.record.uid); };
    state_.context.client.executor().post(state_.guarded(std::move(gone)));
  });
  state_.context.machine.erase(state_.record, std::move(done));
}

}  // namespace hekla::agent
