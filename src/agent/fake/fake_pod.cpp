#include "agent/fake/fake_pod.h"

#include <charconv>

#include "model/time.h"

namespace hekla::agent {
namespace {

std::vector<std::string> words(const std::string& text) {
  std::vector<std::string> found;
  std::string word;
  for (char c : text + " ") {
    if (c != ' ' && c != '\t' && c != '\n') {
      word += c;
    } else if (!word.empty()) {
      found.push_back(std::move(word));
      word.clear();
    }
  }
  return found;
}

std::optional<int> parse_exit(const std::vector<std::string>& line) {
  if (line.size() != 2 || line[0] != "exit") return std::nullopt;
  int code = 0;
  auto [end, error] = std::from_chars(line[1].data(), line[1].data() + line[1].size(), code);
  if (error != std::errc() || end != line[1].data() + line[1].size()) return std::nullopt;
  return code;
}

// "sleep N", "exit K", or both in this order.
std::optional<FakePlan> parse_script(const std::string& script) {
  std::size_t semicolon = script.find_first_of(";\n");
  std::vector<std::string> first = words(script.substr(0, semicolon));
  std::vector<std::string> rest;
  if (semicolon != std::string::npos) rest = words(script.substr(semicolon + 1));
  if (std::optional<int> code = parse_exit(first); code && rest.empty())
    return FakePlan{Nanos(0), *code};
  if (first.size() != 2 || first[0] != "sleep") return std::nullopt;
  FakePlan plan;
  plan.duration = parse_sleep(first[1]);
  if (!plan.duration) return std::nullopt;
  if (rest.empty()) return plan;
  std::optional<int> code = parse_exit(rest);
  if (!code) return std::nullopt;
  plan.exit_code = *code;
  return plan;
}

json::Value container_status(const model::Container& container, const model::Pod& pod,
                             json::Object state, bool running, std::int64_t restarts) {
  return json::Object{{"name", container.name},
                      {"image", container.image},
                      {"imageID", "fake://" + container.image},
                      {"containerID", "fake://" + pod.metadata.uid + "/" + container.name},
                      {"ready", running},
                      {"started", running},
                      {"restartCount", restarts},
                      {"state", std::move(state)},
                      {"lastState", json::Object{}}};
}

std::int64_t restarts_of(const model::Pod& pod) {
  return pod.status.containerStatuses.empty() ? 0
                                              : pod.status.containerStatuses.front().restartCount;
}

json::Object condition(std::string_view type, bool is, const std::string& stamp,
                       std::string_view reason = {}) {
  json::Object made{{"type", type},
                    {"status", is ? "True" : "False"},
                    {"lastProbeTime", nullptr},
                    {"lastTransitionTime", stamp}};
  if (!reason.empty()) made["reason"] = reason;
  return made;
}

json::Array conditions(const model::Pod& pod, bool ready, WallTime now) {
  std::string stamp = model::format_rfc3339(now);
  std::string_view reason = ready ? "" : "PodCompleted";
  std::string scheduled = stamp;
  for (const auto& old : pod.status.conditions)
    if (old.type == "PodScheduled" && old.lastTransitionTime)
      scheduled = model::format_rfc3339(*old.lastTransitionTime.at);
  return json::Array{condition("Initialized", true, stamp, reason),
                     condition("Ready", ready, stamp, reason),
                     condition("ContainersReady", ready, stamp, reason),
                     condition("PodScheduled", true, scheduled)};
}

std::string started_of(const model::Pod& pod, WallTime now) {
  return model::format_rfc3339(pod.status.startTime ? *pod.status.startTime.at : now);
}

json::Object terminated_state(const model::Pod& pod, int exit_code, WallTime now) {
  return json::Object{
      {"terminated", json::Object{{"exitCode", exit_code},
                                  {"reason", exit_code == 0 ? "Completed" : "Error"},
                                  {"startedAt", started_of(pod, now)},
                                  {"finishedAt", model::format_rfc3339(now)}}}};
}

}  // namespace

std::optional<Nanos> parse_sleep(const std::string& text) {
  double number = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || number < 0) return std::nullopt;
  std::string unit(end, text.data() + text.size());
  double seconds = unit.empty() || unit == "s" ? 1
                   : unit == "m"               ? 60
                   : unit == "h"               ? 3600
                   : unit == "d"               ? 86400
                                               : 0;
  if (seconds == 0 || number * seconds > 1e9) return std::nullopt;
  return Nanos(static_cast<std::int64_t>(number * seconds * 1e9));
}

FakePlan fake_plan(const model::Pod& pod) {
  const std::string& duration = pod.metadata.annotation("hekla.io/run-duration");
  const std::string& exit_code = pod.metadata.annotation("hekla.io/exit-code");
  if (!duration.empty() || !exit_code.empty()) {
    FakePlan plan;
    plan.duration = model::parse_go_duration(duration.empty() ? "0s" : duration).value_or(Nanos(0));
    std::from_chars(exit_code.data(), exit_code.data() + exit_code.size(), plan.exit_code);
    return plan;
  }
  if (pod.spec.containers.empty()) return {};
  std::vector<std::string> line = pod.spec.containers.front().command;
  const auto& args = pod.spec.containers.front().args;
  line.insert(line.end(), args.begin(), args.end());
  if (line.size() == 3 && (line[0] == "sh" || line[0] == "/bin/sh" || line[0] == "bash") &&
      line[1] == "-c")
    return parse_script(line[2]).value_or(FakePlan{});
  if (line.size() == 2 && line[0] == "sleep") return FakePlan{parse_sleep(line[1]), 0};
  return {};
}

bool fake_restarts(const model::Pod& pod, int exit_code) {
  if (pod.spec.restartPolicy == "Never") return false;
  return pod.spec.restartPolicy != "OnFailure" || exit_code != 0;
}

json::Value fake_running_status(const model::Pod& pod, const std::string& pod_ip,
                                const std::string& host_ip, WallTime now) {
  std::string stamp = model::format_rfc3339(now);
  json::Array statuses;
  for (const auto& container : pod.spec.containers)
    statuses.push_back(container_status(
        container, pod, json::Object{{"running", json::Object{{"startedAt", stamp}}}}, true, 0));
  return json::Object{{"status", json::Object{{"phase", "Running"},
                                              {"conditions", conditions(pod, true, now)},
                                              {"containerStatuses", std::move(statuses)},
                                              {"hostIP", host_ip},
                                              {"podIP", pod_ip},
                                              {"podIPs", json::Array{json::Object{{"ip", pod_ip}}}},
                                              {"startTime", stamp}}}};
}

json::Value fake_finished_status(const model::Pod& pod, int exit_code, WallTime now) {
  json::Array statuses;
  for (const auto& container : pod.spec.containers)
    statuses.push_back(container_status(container, pod, terminated_state(pod, exit_code, now),
                                        false, restarts_of(pod)));
  return json::Object{{"status", json::Object{{"phase", exit_code == 0 ? "Succeeded" : "Failed"},
                                              {"conditions", conditions(pod, false, now)},
                                              {"containerStatuses", std::move(statuses)}}}};
}

json::Value fake_restarted_status(const model::Pod& pod, int exit_code, WallTime now) {
  json::Array statuses;
  for (const auto& container : pod.spec.containers) {
    json::Value status = container_status(
        container, pod,
        json::Object{{"running", json::Object{{"startedAt", model::format_rfc3339(now)}}}}, true,
        restarts_of(pod) + 1);
    status.as_object()["lastState"] = terminated_state(pod, exit_code, now);
    statuses.push_back(std::move(status));
  }
  return json::Object{{"status", json::Object{{"containerStatuses", std::move(statuses)}}}};
}

}  // namespace hekla::agent
