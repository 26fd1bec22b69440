#include "main/standin/standins.h"

#include "base/build_info.h"
#include "base/log.h"
#include "model/in_process.h"

namespace hekla {
namespace {

constexpr std::chrono::seconds kLookPeriod{1};

// The informer may lag behind: the next look will be right.
void report(const kube::WriteResult& result, const std::string& pod) {
  if (result || result.error().code == Code::not_found || result.error().code == Code::conflict)
    return;
  log_warn("main", "write a component's pod", {{"pod", pod}, {"error", result.error().message}});
}

const std::string& part_of(const Component& component, const model::Pod& pod) {
  return pod.spec.restartPolicy == "Always" ? component.part : component.once;
}

}  // namespace

StandIns::StandIns(kube::Client& client, const ComponentTable& table,
                   const kube::InProcessRegistry& registry, Options options)
    : client_(client),
      table_(table),
      registry_(registry),
      options_(options),
      pods_(client, kube::resources::pods, kube::ListOptions{.label_selector = model::kInProcess}),
      events_(client, "hekla") {
  if (options_.show_workloads) shown_.emplace(client_, table_, registry_, pods_);
}

void StandIns::start() {
  pods_.on_change([this](const auto& before, const auto& after) {
    const model::ObjectMeta& meta = (after ? after : before)->metadata;
    const Component* component = after ? table_.find(meta.annotation(model::kInProcess)) : nullptr;
    std::lock_guard lock(mutex_);
    if (component)
      parts_[{meta.ns, meta.name}] = part_of(*component, *after);
    else
      parts_.erase({meta.ns, meta.name});
  });
  pods_.on_settled([this] { settle(); });
  pods_.start();
  look_again();
  if (shown_) shown_->start();
}

// Readiness is the part's own and changes without a write of anybody's.
void StandIns::look_again() {
  client_.executor().post_after(kLookPeriod, [this, alive = std::weak_ptr(alive_)] {
    if (!alive.lock()) return;
    settle();
    look_again();
  });
}

void StandIns::settle() {
  if (!pods_.synced()) return;
  pods_.for_each([this](const auto& pod) { look_at(*pod); });
  if (shown_) shown_->settle();
}

void StandIns::look_at(const model::Pod& pod) {
  const Component* component = table_.find(pod.metadata.annotation(model::kInProcess));
  if (!component || pod.metadata.deletionTimestamp) return remove(pod);
  if (pod.spec.nodeName.empty()) return;
  const auto part = registry_.part(part_of(*component, pod));
  const StandInState state = !part                                ? StandInState::absent
                             : pod.spec.restartPolicy != "Always" ? StandInState::done
                             : kube::is_ready(part->ready)        ? StandInState::ready
                                                                  : StandInState::not_ready;
  std::optional<json::Object> status =
      standin_status(pod, state, part && state != StandInState::done ? part->address : "",
                     options_.started, client_.executor().clock().wall());
  if (!status || !writing_.insert(pod.metadata.uid).second) return;
  if (pod.status.containerStatuses.empty()) announce(pod, *component, state);
  kube::Write write;
  write.verb = kube::Write::Verb::patch;
  write.resource = kube::resources::pods;
  write.key = {pod.metadata.ns, pod.metadata.name};
  write.subresource = "status";
  write.body = json::Object{{"status", std::move(*status)}};
  client_.write(std::move(write), [this, name = pod.metadata.name, uid = pod.metadata.uid,
                                   alive = std::weak_ptr(alive_)](const kube::WriteResult& result) {
    report(result, name);
    if (!alive.lock()) return;
    writing_.erase(uid);
    if (result) pods_.overlay(*result);
  });
}

void StandIns::announce(const model::Pod& pod, const Component& component, StandInState state) {
  const kube::EventTarget target{"v1", "Pod", pod.metadata.ns, pod.metadata.name, pod.metadata.uid};
  if (state == StandInState::absent)
    return events_.record(
        target, "Warning", "NotYetInHekla",
        "component " + component.name + " is not yet in Hekla; its image is not pulled either");
  for (const model::Container& container : pod.spec.containers)
    events_.record(target, "Normal", "InProcess",
                   "built into Hekla " + std::string(build_info().version) + "; image " +
                       container.image + " is not pulled");
}

void StandIns::remove(const model::Pod& pod) {
  kube::Write write;
  write.verb = kube::Write::Verb::remove;
  write.resource = kube::resources::pods;
  write.key = {pod.metadata.ns, pod.metadata.name};
  write.grace_period_seconds = 0;
  write.precondition_uid = pod.metadata.uid;
  client_.write(std::move(write), [name = pod.metadata.name](const kube::WriteResult& result) {
    report(result, name);
  });
}

std::optional<std::string> StandIns::part_behind(const std::string& ns,
                                                 const std::string& pod) const {
  std::lock_guard lock(mutex_);
  const auto found = parts_.find({ns, pod});
  return found == parts_.end() ? std::nullopt : std::optional(found->second);
}

std::string StandIns::address_of(const std::string& ns, const std::string& pod) const {
  std::lock_guard lock(mutex_);
  auto found = parts_.find({ns, pod});
  const auto part = found == parts_.end() ? nullptr : registry_.part(found->second);
  return part ? part->address : "";
}

std::optional<StandIns::Log> StandIns::log_of(const std::string& ns, const std::string& pod) const {
  const std::optional<std::string> name = part_behind(ns, pod);
  if (!name) return std::nullopt;
  if (const auto part = registry_.part(*name)) return Log{part->log, ""};
  return Log{{}, "not yet in Hekla: " + *name};
}

}  // namespace hekla
