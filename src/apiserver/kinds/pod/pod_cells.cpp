// The pod row: what kubectl calls a pod's status is put together from phase, conditions and
// containers.
#include <algorithm>
#include <optional>

#include "apiserver/kinds/cells.h"
#include "apiserver/kinds/pod/pod_rules.h"
#include "model/time.h"

namespace hekla::apiserver {
namespace {

const json::Array kNone;

const json::Array& list(const json::Value& pod, Path path) {
  const json::Array* found = json::array_at(pod, path);
  return found != nullptr ? *found : kNone;
}

struct Row {
  std::string reason;
  std::int64_t restarts = 0, ready = 0, total = 0;
  std::optional<WallTime> last_restart;
};

void note_restart(const json::Value& status, std::int64_t& restarts,
                  std::optional<WallTime>& last) {
  restarts += json::int_at(status, {"restartCount"});
  auto finished =
      model::parse_rfc3339(json::string_at(status, {"lastState", "terminated", "finishedAt"}));
  if (finished && (!last || *last < *finished)) last = *finished;
}

std::string terminated_reason(const json::Value& terminated) {
  if (std::string_view reason = json::string_at(terminated, {"reason"}); !reason.empty())
    return std::string(reason);
  if (std::int64_t signal = json::int_at(terminated, {"signal"}); signal != 0)
    return "Signal:" + std::to_string(signal);
  return "ExitCode:" + std::to_string(json::int_at(terminated, {"exitCode"}));
}

bool is_sidecar(const json::Value& pod, std::string_view name) {
  for (const json::Value& container : list(pod, {"spec", "initContainers"}))
    if (json::string_at(container, {"name"}) == name)
      return json::string_at(container, {"restartPolicy"}) == "Always";
  return false;
}

// True while an init container is not done; the row then tells of it.
bool look_at_init(const json::Value& pod, Row& row, Row& sidecars) {
  const json::Array& statuses = list(pod, {"status", "initContainerStatuses"});
  for (std::size_t i = 0; i < statuses.size(); ++i) {
    const json::Value& status = statuses[i];
    bool sidecar = is_sidecar(pod, json::string_at(status, {"name"}));
    note_restart(status, row.restarts, row.last_restart);
    if (sidecar) note_restart(status, sidecars.restarts, sidecars.last_restart);
    const json::Value* terminated = json::find_path(status, {"state", "terminated"});
    if (terminated != nullptr && json::int_at(*terminated, {"exitCode"}) == 0) continue;
    if (sidecar && json::bool_at(status, {"started"})) {
      if (json::bool_at(status, {"ready"})) ++row.ready;
      continue;
    }
    std::string_view waiting = json::string_at(status, {"state", "waiting", "reason"});
    if (terminated != nullptr)
      row.reason = "Init:" + terminated_reason(*terminated);
    else if (!waiting.empty() && waiting != "PodInitializing")
      row.reason = "Init:" + std::string(waiting);
    else
      row.reason = "Init:" + std::to_string(i) + "/" +
                   std::to_string(count(pod, {"spec", "initContainers"}));
    return true;
  }
  return false;
}

void look_at_containers(const json::Value& pod, Row& row) {
  bool running = false;
  const json::Array& statuses = list(pod, {"status", "containerStatuses"});
  for (std::size_t i = statuses.size(); i-- > 0;) {
    const json::Value& status = statuses[i];
    note_restart(status, row.restarts, row.last_restart);
    std::string_view waiting = json::string_at(status, {"state", "waiting", "reason"});
    const json::Value* terminated = json::find_path(status, {"state", "terminated"});
    if (!waiting.empty()) {
      row.reason = waiting;
    } else if (terminated != nullptr) {
      row.reason = terminated_reason(*terminated);
    } else if (json::bool_at(status, {"ready"}) &&
               json::find_path(status, {"state", "running"}) != nullptr) {
      running = true;
      ++row.ready;
    }
  }
  if (row.reason == "Completed" && running)
    row.reason = has_condition(pod, "Ready") ? "Running" : "NotReady";
}

std::string readiness_gates(const json::Value& pod) {
  const json::Array& gates = list(pod, {"spec", "readinessGates"});
  if (gates.empty()) return "<none>";
  auto passed = std::count_if(gates.begin(), gates.end(), [&](const json::Value& gate) {
    return has_condition(pod, json::string_at(gate, {"conditionType"}));
  });
  return std::to_string(passed) + "/" + std::to_string(gates.size());
}

Row row_of(const json::Value& pod) {
  Row row, sidecars;
  std::string_view phase = json::string_at(pod, {"status", "phase"});
  std::string_view why = json::string_at(pod, {"status", "reason"});
  row.reason = why.empty() ? phase : why;
  for (const json::Value& condition : list(pod, {"status", "conditions"}))
    if (json::string_at(condition, {"type"}) == "PodScheduled" &&
        json::string_at(condition, {"reason"}) == "SchedulingGated")
      row.reason = "SchedulingGated";
  row.total = count(pod, {"spec", "containers"});
  for (const json::Value& container : list(pod, {"spec", "initContainers"}))
    row.total += json::string_at(container, {"restartPolicy"}) == "Always";
  bool initializing = look_at_init(pod, row, sidecars);
  if (!initializing || has_condition(pod, "Initialized")) {
    row.restarts = sidecars.restarts;
    row.last_restart = sidecars.last_restart;
    look_at_containers(pod, row);
  }
  if (!json::string_at(pod, {"metadata", "deletionTimestamp"}).empty()) {
    if (why == "NodeLost")
      row.reason = "Unknown";
    else if (phase != "Succeeded" && phase != "Failed")
      row.reason = "Terminating";
  }
  return row;
}

}  // namespace

json::Array pod_cells(const json::Value& pod, WallTime now) {
  Row row = row_of(pod);
  std::string restarts = std::to_string(row.restarts);
  if (row.restarts != 0 && row.last_restart)
    restarts += " (" + model::human_duration(now - *row.last_restart) + " ago)";
  const json::Array& addresses = list(pod, {"status", "podIPs"});
  std::string address = addresses.empty() ? text_or(pod, {"status", "podIP"}, "<none>")
                                          : text_or(addresses[0], {"ip"}, "<none>");
  return {json::Value(std::to_string(row.ready) + "/" + std::to_string(row.total)),
          json::Value(row.reason),
          json::Value(restarts),
          json::Value(age(pod, now)),
          json::Value(address),
          json::Value(text_or(pod, {"spec", "nodeName"}, "<none>")),
          json::Value(text_or(pod, {"status", "nominatedNodeName"}, "<none>")),
          json::Value(readiness_gates(pod))};
}

}  // namespace hekla::apiserver
