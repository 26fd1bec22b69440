#include "agent/pod/pod_status.h"

#include <algorithm>

#include "agent/pod/pod_plan.h"

namespace hekla::agent {
namespace {

constexpr const char* kRuntimePrefix = "hekla://";
constexpr const char *kResizePending = "PodResizePending",
                     *kResizeInProgress = "PodResizeInProgress";

model::Time time_of(std::int64_t ns) { return ns == 0 ? model::Time() : model::Time(from_ns(ns)); }

model::ContainerStateTerminated terminated_state(const ContainerRun& run) {
  model::ContainerStateTerminated out;
  out.exitCode = run.exit_code;
  out.reason = !run.reason.empty() ? run.reason : run.exit_code == 0 ? "Completed" : "Error";
  out.message = run.message;
  out.containerID = kRuntimePrefix + run.id;
  out.startedAt = time_of(run.started_ns);
  out.finishedAt = time_of(run.finished_ns);
  return out;
}

std::string image_of(const model::Pod& pod, const ContainerRecord& record) {
  const model::Container* spec = container_spec(pod, record);
  return spec ? spec->image : std::string();
}

class StatusBuilder {
 public:
  explicit StatusBuilder(const StatusInput& input)
      : in_(input), initialized_(init_finished(input.record) && sidecars_started()) {}

  model::PodStatus build() {
    model::PodStatus status;
    status.phase = phase();
    status.reason = in_.record.reason;
    status.message = in_.record.message;
    status.hostIP = in_.host_ip;
    status.podIP = in_.pod_ip;
    status.qosClass = in_.pod.status.qosClass;
    status.startTime = time_of(in_.record.started_ns);
    if (in_.record.rejected)
      return status;  // kubectl shows its reason as long as no container has one
    for (const ContainerRecord& record : in_.record.containers)
      if (!record.ephemeral)
        (record.init ? status.initContainerStatuses : status.containerStatuses)
            .push_back(container_status(record));
    add_conditions(status);
    return status;
  }
  std::vector<model::ContainerStatus> ephemeral() const {
    std::vector<model::ContainerStatus> out;
    for (const ContainerRecord& record : in_.record.containers)
      if (record.ephemeral) out.push_back(container_status(record));
    return out;
  }

 private:
  std::string phase() const {
    if (!in_.record.outcome.empty()) return in_.record.outcome;
    if (!initialized_) return "Pending";
    bool begun = std::ranges::all_of(in_.record.containers, [](const ContainerRecord& container) {
      return container.init || container.ephemeral ||
             (container.current && container.current->phase != run_phase::starting) ||
             container.previous;
    });
    return begun ? "Running" : "Pending";
  }

  ProbeView view_of(const std::string& name) const {
    auto found = in_.probes.find(name);
    return found == in_.probes.end() ? ProbeView{} : found->second;
  }
  // Later restarts of a sidecar do not make a pod uninitialized again.
  bool sidecars_started() const {
    bool main_begun = std::ranges::any_of(in_.record.containers, [](const ContainerRecord& one) {
      return !one.init && one.current.has_value();
    });
    return main_begun ||
           std::ranges::all_of(in_.record.containers, [&](const ContainerRecord& one) {
             return !one.sidecar || view_of(one.name).started;
           });
  }

  bool is_over() const { return !in_.record.outcome.empty(); }

  WaitingReason waiting_reason(const ContainerRecord& record) const {
    if (auto found = in_.waiting.find(record.name); found != in_.waiting.end())
      return found->second;
    const bool has_init = in_.record.containers.front().init;
    return {has_init ? "PodInitializing" : "ContainerCreating", ""};
  }

  model::ContainerStatus container_status(const ContainerRecord& record) const {
    model::ContainerStatus out;
    out.name = record.name;
    out.image = image_of(in_.pod, record);
    out.restartCount = std::max(0, record.attempts - 1);
    if (record.previous) out.lastState.terminated = terminated_state(*record.previous);
    const std::optional<ContainerRun>& run = record.current;
    bool shown = run && (run->phase == run_phase::running || run->phase == run_phase::exited);
    out.started = false;
    if (!shown) {
      WaitingReason why = waiting_reason(record);
      out.state.waiting = model::ContainerStateWaiting{why.reason, why.message};
      return out;
    }
    out.imageID = run->image_id.empty() ? out.image : run->image_id;
    out.containerID = kRuntimePrefix + run->id;
    if (run->phase == run_phase::running) {
      out.state.running = model::ContainerStateRunning{time_of(run->started_ns)};
      out.started = view_of(record.name).started;
      // An init container that works is not done.
      out.ready = view_of(record.name).ready && (!record.init || record.sidecar);
      return out;
    }
    auto waiting = in_.waiting.find(record.name);
    if (waiting != in_.waiting.end() && !is_over()) {
      out.state.waiting =
          model::ContainerStateWaiting{waiting->second.reason, waiting->second.message};
      out.lastState.terminated = terminated_state(*run);
    } else {
      out.state.terminated = terminated_state(*run);
    }
    out.ready = record.init && !record.sidecar && run->exit_code == 0;
    return out;
  }

  static std::string names_where(const std::vector<model::ContainerStatus>& statuses,
                                 const std::function<bool(const model::ContainerStatus&)>& wanted) {
    std::string out;
    for (const model::ContainerStatus& status : statuses)
      if (wanted(status)) out += (out.empty() ? "" : " ") + status.name;
    return "[" + out + "]";
  }

  void add_conditions(model::PodStatus& status) {
    auto unready = [](const model::ContainerStatus& container) { return !container.ready; };
    bool all_ready =
        std::ranges::none_of(status.containerStatuses, unready) && !is_over() && initialized_;
    add(status, "PodReadyToStartContainers", in_.record.sandbox);
    if (in_.record.reason == kEvicted)
      add(status, "DisruptionTarget", true, "TerminationByKubelet", in_.record.message);
    if (in_.record.outcome == "Succeeded") {
      add(status, "Initialized", true, "PodCompleted");
      add(status, "Ready", false, "PodCompleted");
      add(status, "ContainersReady", false, "PodCompleted");
      return;
    }
    if (initialized_)
      add(status, "Initialized", true);
    else
      add(status, "Initialized", false, "ContainersNotInitialized",
          "containers with incomplete status: " +
              names_where(status.initContainerStatuses, unready));
    if (in_.record.outcome == "Failed") {
      add(status, "Ready", false, "PodFailed");
      add(status, "ContainersReady", false, "PodFailed");
      return;
    }
    std::string message = all_ready ? ""
                                    : "containers with unready status: " +
                                          names_where(status.containerStatuses, unready);
    std::string reason = all_ready ? "" : "ContainersNotReady";
    if (std::string missing = missing_gates(); all_ready && !missing.empty())
      add(status, "Ready", false, "ReadinessGatesNotReady", missing);
    else
      add(status, "Ready", all_ready, reason, message);
    add(status, "ContainersReady", all_ready, reason, message);
    if (!in_.resize.pending.empty())
      add(status, kResizePending, true, in_.resize.pending, in_.resize.message);
    if (in_.resize.under_way)
      add(status, kResizeInProgress, true, in_.resize.error.empty() ? "" : "Error",
          in_.resize.error);
  }

  // In the kubelet's words.
  std::string missing_gates() const {
    std::string out;
    for (const std::string& gate : in_.readiness_gates) {
      auto found = std::ranges::find(in_.pod.status.conditions, gate, &model::PodCondition::type);
      std::string why;
      if (found == in_.pod.status.conditions.end())
        why = "corresponding condition of pod readiness gate \"" + gate + "\" does not exist.";
      else if (found->status != "True")
        why = "the status of pod readiness gate \"" + gate + "\" is not \"True\", but " +
              found->status;
      if (!why.empty()) out += (out.empty() ? "" : ", ") + why;
    }
    return out;
  }

  void add(model::PodStatus& status, const char* type, bool value, const std::string& reason = {},
           const std::string& message = {}) {
    model::PodCondition condition{.type = type,
                                  .status = value ? "True" : "False",
                                  .reason = reason,
                                  .message = message,
                                  .lastTransitionTime = model::Time(in_.now)};
    for (const model::PodCondition& old : in_.previous)
      if (old.type == condition.type && old.status == condition.status && old.lastTransitionTime)
        condition.lastTransitionTime = old.lastTransitionTime;
    status.conditions.push_back(std::move(condition));
  }

  const StatusInput& in_;
  bool initialized_;
};

json::Array addresses(const std::string& ip) {
  json::Object entry;
  entry["ip"] = ip;
  json::Array out;
  out.emplace_back(std::move(entry));
  return out;
}

// Kubernetes always sends these members, zero or not; clients read them without asking.
json::Array container_statuses(const std::vector<model::ContainerStatus>& statuses,
                               const PodRecord& record) {
  json::Array out;
  for (const model::ContainerStatus& status : statuses) {
    json::Value value = json::encode(status);
    json::Object& object = value.as_object();
    object["image"] = status.image;
    object["imageID"] = status.imageID;
    object["ready"] = status.ready;
    object["restartCount"] = status.restartCount;
    auto found = std::ranges::find(record.containers, status.name, &ContainerRecord::name);
    if (status.state.running && found != record.containers.end() && found->current &&
        found->current->resources) {
      object["resources"] = json::encode(*found->current->resources);
      if (const auto& requests = found->current->resources->requests; !requests.empty())
        object["allocatedResources"] = json::encode(requests);
    }
    for (const char* state : {"state", "lastState"}) {
      json::Object& holder = object[state].as_object();
      if (json::Value* ended = holder.if_contains("terminated"))
        ended->as_object().insert_or_assign(
            "exitCode", state == std::string_view("state") ? status.state.terminated->exitCode
                                                           : status.lastState.terminated->exitCode);
    }
    out.push_back(std::move(value));
  }
  return out;
}

}  // namespace

model::PodStatus compute_status(const StatusInput& input) { return StatusBuilder(input).build(); }

std::vector<model::ContainerStatus> ephemeral_statuses(const StatusInput& input) {
  return StatusBuilder(input).ephemeral();
}

bool is_ready(const model::PodStatus& status) {
  return std::ranges::any_of(status.conditions, [](const model::PodCondition& condition) {
    return condition.type == "Ready" && condition.status == "True";
  });
}

json::Value status_patch(const PodRecord& record, const model::PodStatus& status,
                         const std::vector<model::ContainerStatus>& ephemeral,
                         const std::vector<model::PodCondition>& known, std::int64_t generation) {
  json::Object body;
  body["phase"] = status.phase;
  if (generation > 0) body["observedGeneration"] = generation;
  auto optional_text = [&](const char* name, const std::string& text) {
    if (text.empty())
      body[name] = nullptr;
    else
      body[name] = text;
  };
  optional_text("reason", status.reason);
  optional_text("message", status.message);
  body["startTime"] = status.startTime.to_json();
  if (!status.hostIP.empty()) {
    body["hostIP"] = status.hostIP;
    body["hostIPs"] = addresses(status.hostIP);
  }
  if (!status.podIP.empty()) {
    body["podIP"] = status.podIP;
    body["podIPs"] = addresses(status.podIP);
  }
  json::Array conditions;
  for (const model::PodCondition& condition : status.conditions) {
    json::Value value = json::encode(condition);
    json::Object& object = value.as_object();
    object["lastProbeTime"] = nullptr;
    if (generation > 0) object["observedGeneration"] = generation;
    // A patch merges: what no longer holds has to be taken away by name.
    if (condition.reason.empty()) object["reason"] = nullptr;
    if (condition.message.empty()) object["message"] = nullptr;
    conditions.push_back(std::move(value));
  }
  for (const char* passing : {kResizePending, kResizeInProgress}) {
    auto is_it = [&](const model::PodCondition& one) { return one.type == passing; };
    if (std::ranges::any_of(known, is_it) && std::ranges::none_of(status.conditions, is_it))
      conditions.push_back(json::Object{{"$patch", "delete"}, {"type", passing}});
  }
  body["conditions"] = std::move(conditions);
  if (!record.rejected)
    body["containerStatuses"] = container_statuses(status.containerStatuses, record);
  if (!status.initContainerStatuses.empty())
    body["initContainerStatuses"] = container_statuses(status.initContainerStatuses, record);
  if (!ephemeral.empty())
    body["ephemeralContainerStatuses"] = container_statuses(ephemeral, record);
  json::Object metadata;
  metadata["uid"] = record.uid;  // a pod of the same name made since must not get it
  json::Object patch;
  patch["metadata"] = std::move(metadata);
  patch["status"] = std::move(body);
  return patch;
}

}  // namespace hekla::agent
