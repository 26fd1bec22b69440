#include "framework/pods.h"

#include <algorithm>
#include <chrono>

namespace hekla::framework {
namespace {

json::Array& array_of(json::Object& object, std::string_view member) {
  json::Value& value = json::member_of(object, member);
  if (!value.is_array()) value = json::Array();
  return value.get_array();
}

bool has_member(const json::Array& list, std::string_view member, std::string_view value) {
  return std::any_of(list.begin(), list.end(), [&](const json::Value& one) {
    return json::string_at(one, {member}) == value;
  });
}

}  // namespace

bool pod_finished(const model::Pod& pod) {
  return pod.status.phase == "Succeeded" || pod.status.phase == "Failed";
}

bool pod_active(const model::Pod& pod) {
  return !pod_finished(pod) && !pod.metadata.deletionTimestamp;
}

bool pod_ready(const model::Pod& pod) {
  return std::any_of(
      pod.status.conditions.begin(), pod.status.conditions.end(),
      [](const model::PodCondition& one) { return one.type == "Ready" && one.status == "True"; });
}

void wake_in(std::optional<Nanos>& wait, Nanos delay) {
  if (!wait || delay < *wait) wait = delay;
}

bool pod_available(const model::Pod& pod, std::int64_t min_ready, WallTime now,
                   std::optional<Nanos>& wait) {
  if (!pod_ready(pod)) return false;
  if (min_ready == 0) return true;
  for (const model::PodCondition& one : pod.status.conditions) {
    if (one.type != "Ready" || !one.lastTransitionTime) continue;
    WallTime from = *one.lastTransitionTime.at + std::chrono::seconds(min_ready);
    if (from <= now) return true;
    wake_in(wait, from - now);
  }
  return false;
}

std::optional<std::int32_t> exit_code_of(const model::Pod& pod, std::string_view container) {
  for (const model::ContainerStatus& one : pod.status.containerStatuses)
    if (one.name == container && one.state.terminated) return one.state.terminated->exitCode;
  return std::nullopt;
}

json::Value pod_from_template(const json::Value& pod_template) {
  json::Object metadata;
  for (std::string_view member : {"labels", "annotations", "finalizers"})
    if (const json::Value* found = json::find_path(pod_template, {"metadata", member}))
      metadata[member] = *found;
  const json::Value* spec = json::find(pod_template, "spec");
  return json::Object{{"metadata", std::move(metadata)},
                      {"spec", spec ? *spec : json::Value(json::Object{})}};
}

void for_each_container(json::Value& pod, bool initialisers,
                        const std::function<void(json::Object& container)>& visit) {
  json::Value& containers =
      json::at_path(pod, {"spec", initialisers ? "initContainers" : "containers"});
  if (!containers.is_array()) {
    pod.get_object()["spec"].get_object().erase(initialisers ? "initContainers" : "containers");
    return;
  }
  for (json::Value& container : containers.get_array())
    if (container.is_object()) visit(container.get_object());
}

void set_env(json::Object& container, std::string_view name, json::Value value_or_source) {
  json::Array& env = array_of(container, "env");
  json::Object entry{{"name", name}};
  entry[value_or_source.is_object() ? "valueFrom" : "value"] = std::move(value_or_source);
  for (json::Value& existing : env)
    if (json::string_at(existing, {"name"}) == name) {
      existing = std::move(entry);
      return;
    }
  env.push_back(std::move(entry));
}

void add_mount(json::Object& container, json::Value mount) {
  json::Array& mounts = array_of(container, "volumeMounts");
  if (!has_member(mounts, "mountPath", json::string_at(mount, {"mountPath"})))
    mounts.push_back(std::move(mount));
}

void add_volume(json::Value& pod, json::Value volume) {
  json::Value& volumes = json::at_path(pod, {"spec", "volumes"});
  if (!volumes.is_array()) volumes = json::Array();
  if (!has_member(volumes.get_array(), "name", json::string_at(volume, {"name"})))
    volumes.get_array().push_back(std::move(volume));
}

void add_port(json::Object& container, std::string_view name, std::int32_t port) {
  json::Array& ports = array_of(container, "ports");
  for (const json::Value& existing : ports)
    if (json::string_at(existing, {"name"}) == name ||
        json::int_at(existing, {"containerPort"}) == port)
      return;
  ports.push_back(json::Object{{"name", name}, {"containerPort", port}, {"protocol", "TCP"}});
}

}  // namespace hekla::framework
