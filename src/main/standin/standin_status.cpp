#include "main/standin/standin_status.h"

#include <algorithm>

#include "base/build_info.h"
#include "model/time.h"

namespace hekla {
namespace {

using model::ContainerStatus;

constexpr std::string_view kNotYet = "NotYetInHekla";

json::Object condition(std::string_view type, bool is_true, const std::string& at,
                       std::string_view reason) {
  json::Object out{
      {"type", type}, {"status", is_true ? "True" : "False"}, {"lastTransitionTime", at}};
  if (!reason.empty() && type != "PodScheduled") out["reason"] = reason;
  return out;
}

json::Array conditions_of(StandInState state, const std::string& at) {
  const bool ready = state == StandInState::ready;
  const std::string_view reason = state == StandInState::done     ? "PodCompleted"
                                  : state == StandInState::absent ? kNotYet
                                                                  : "";
  json::Array out;
  out.push_back(condition("Initialized", true, at, state == StandInState::done ? reason : ""));
  out.push_back(condition("Ready", ready, at, ready ? "" : reason));
  out.push_back(condition("ContainersReady", ready, at, ready ? "" : reason));
  out.push_back(condition("PodScheduled", true, at, ""));
  return out;
}

json::Object ended(const std::string& at) {
  return {{"exitCode", 0}, {"reason", "Completed"}, {"startedAt", at}, {"finishedAt", at}};
}

json::Object container_status(const model::Container& container, StandInState state,
                              const std::string& at, const ContainerStatus* before, bool again) {
  const bool runs = state == StandInState::ready || state == StandInState::not_ready;
  json::Object how;
  if (runs)
    how["running"] = json::Object{{"startedAt", at}};
  else if (state == StandInState::done)
    how["terminated"] = ended(at);
  else
    how["waiting"] = json::Object{{"reason", kNotYet}, {"message", "not yet in Hekla"}};
  json::Object out{{"name", container.name},
                   {"image", container.image},
                   {"imageID", std::string("hekla:") + build_info().version},
                   {"ready", state == StandInState::ready},
                   {"started", runs},
                   {"restartCount", (before ? before->restartCount : 0) + (again ? 1 : 0)},
                   {"state", std::move(how)}};
  if (again) {
    // How the process before ended is not known.
    json::Object last{{"exitCode", 255}, {"reason", "Unknown"}, {"finishedAt", at}};
    out["lastState"] = json::Object{{"terminated", std::move(last)}};
  }
  return out;
}

std::string_view phase_of(StandInState state) {
  return state == StandInState::done     ? "Succeeded"
         : state == StandInState::absent ? "Pending"
                                         : "Running";
}

const ContainerStatus* status_of(const model::Pod& pod, const std::string& container) {
  auto found = std::ranges::find(pod.status.containerStatuses, container, &ContainerStatus::name);
  return found == pod.status.containerStatuses.end() ? nullptr : &*found;
}

}  // namespace

std::optional<json::Object> standin_status(const model::Pod& pod, StandInState state,
                                           const std::string& address, WallTime since,
                                           WallTime now) {
  // Times of objects are whole seconds.
  since = std::chrono::floor<std::chrono::seconds>(since);
  const ContainerStatus* first =
      pod.spec.containers.empty() ? nullptr : status_of(pod, pod.spec.containers[0].name);
  const bool ran = first && first->state.running && first->state.running->startedAt.at;
  const bool again = ran && *first->state.running->startedAt.at < since &&
                     (state == StandInState::ready || state == StandInState::not_ready);
  const bool is_shown = pod.status.phase == phase_of(state) && first && !again &&
                        first->ready == (state == StandInState::ready) &&
                        pod.status.podIP == address;
  if (is_shown || pod.status.phase == "Succeeded") return std::nullopt;
  const std::string at = model::format_rfc3339(now);
  const std::string started =
      ran && !again ? model::format_rfc3339(*first->state.running->startedAt.at) : at;
  json::Array containers, inits;
  for (const model::Container& container : pod.spec.containers)
    containers.push_back(
        container_status(container, state, started, status_of(pod, container.name), again));
  if (state != StandInState::absent)
    for (const model::Container& container : pod.spec.initContainers)
      inits.push_back(container_status(container, StandInState::done, started, nullptr, false));
  json::Object out{
      {"phase", phase_of(state)},
      {"startTime", pod.status.startTime ? model::format_rfc3339(*pod.status.startTime.at) : at},
      {"conditions", conditions_of(state, at)},
      {"containerStatuses", std::move(containers)}};
  if (!inits.empty()) out["initContainerStatuses"] = std::move(inits);
  if (!address.empty()) {
    out["podIP"] = address;
    out["podIPs"] = json::Array{json::Object{{"ip", address}}};
  }
  return out;
}

}  // namespace hekla
