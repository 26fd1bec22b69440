#include "agent/pod/worker/container_stops.h"

#include <algorithm>
#include <csignal>

namespace hekla::agent {
namespace {

constexpr std::chrono::seconds kKillRepeat{5};
constexpr std::chrono::seconds kGraceWhenLate{2};

}  // namespace

void ContainerStops::stop_all(const std::vector<std::size_t>& containers) {
  if (!begun_ && !containers.empty()) begun_ = state_.now();
  for (std::size_t i : containers) {
    const ContainerRecord& container = state_.record.containers[i];
    begin(i, "Stopping container " + container.name,
          Stop{.begun = *begun_, .grace = state_.grace(), .in_turn = container.sidecar});
  }
}

void ContainerStops::stop(std::size_t index, const std::string& why, Nanos grace) {
  begin(index, why, Stop{.begun = state_.now(), .grace = grace});
}

void ContainerStops::replace(std::size_t index, const std::string& why) {
  if (!state_.is_running(index)) return;
  ContainerRecord& container = state_.record.containers[index];
  container.current->replaced = true;
  stop(index, "Container " + container.name + " " + why + ", will be restarted", state_.grace());
}

void ContainerStops::begin(std::size_t index, const std::string& why, const Stop& how) {
  if (!state_.is_running(index)) return;
  const ContainerRecord& container = state_.record.containers[index];
  auto [entry, fresh] = stops_.try_emplace(container.name, how);
  if (!fresh) return;
  Stop& stop = entry->second;
  probes_.pause(container.name);
  state_.event("Normal", "Killing", why);
  const model::Container* spec = state_.spec_of(index);
  std::optional<ProbeAction> hook;
  if (const json::Value* pre_stop = spec ? json::find(spec->lifecycle, "preStop") : nullptr)
    hook = parse_hook(*pre_stop, *spec);
  if (!hook || stop.grace <= Nanos(0)) return send_term(index, stop);
  hook->timeout = stop.grace;
  stop.hook_runs = true;
  auto over = [this, index, id = container.current->id](Result<ProbeOutcome> done) {
    if (!done || !done->success) state_.event("Warning", "FailedPreStopHook", "PreStopHook failed");
    const ContainerRecord& container = state_.record.containers[index];
    auto found = stops_.find(container.name);
    if (found == stops_.end() || !container.current || container.current->id != id) return;
    found->second.hook_runs = false;
    send_term(index, found->second);
  };
  probes_.run_action(index, *hook, std::move(over));
}

// A pod deleted meanwhile may leave less time than its container had.
Nanos ContainerStops::limit_of(const Stop& stop) const {
  if (state_.ending == Ending::vanished) return Nanos(0);
  return state_.ending == Ending::deleted ? std::min(stop.grace, state_.grace()) : stop.grace;
}

// A container behind it still runs.
bool ContainerStops::serves_others(std::size_t index) const {
  const std::vector<ContainerRecord>& all = state_.record.containers;
  return std::any_of(all.begin() + static_cast<std::ptrdiff_t>(index) + 1, all.end(),
                     [](const ContainerRecord& one) {
                       return !one.ephemeral && one.current && one.current->is_live();
                     });
}

void ContainerStops::send_term(std::size_t index, Stop& stop) {
  if (stop.signalled || stop.hook_runs || !state_.is_running(index)) return;
  const WallTime now = state_.now(), end = stop.begun + limit_of(stop);
  // Sidecars serve the containers behind them to the end, as long as there is time.
  if (stop.in_turn && now < end && serves_others(index)) return state_.wake_at(end);
  stop.signalled = true;
  // A container that is asked late has a moment nevertheless, as in the kubelet.
  if (now > stop.begun) stop.earliest_kill = now + kGraceWhenLate;
  const ContainerRun& run = *state_.record.containers[index].current;
  state_.context.machine.signal(state_.record, run,
                                stop.grace > Nanos(0) ? run.stop_signal : SIGKILL);
}

void ContainerStops::signal_due() {
  for (std::size_t i = 0; i < state_.record.containers.size(); ++i) {
    const ContainerRecord& container = state_.record.containers[i];
    auto found = stops_.find(container.name);
    if (found == stops_.end() || !state_.is_running(i)) continue;
    Stop& stop = found->second;
    send_term(i, stop);
    WallTime due = stop.begun + limit_of(stop);
    if (stop.hook_runs) due += kGraceWhenLate;
    if (stop.earliest_kill && state_.ending != Ending::vanished)
      due = std::max(due, *stop.earliest_kill);
    if (stop.last_kill) due = std::max(due, *stop.last_kill + kKillRepeat);
    if (state_.now() < due) {
      state_.wake_at(due);
      continue;
    }
    state_.context.machine.signal(state_.record, *container.current, SIGKILL);
    stop.last_kill = state_.now();
    state_.inspected = false;  // should the notice of its end get lost
    state_.wake_at(state_.now() + kKillRepeat);
  }
}

}  // namespace hekla::agent
