#include "controllers/workload/caches.h"

namespace hekla::controllers {

WorkloadLoop::WorkloadLoop(WorkloadCaches& caches, kube::Informer<Workload>& objects,
                           const std::string& name, Plan plan)
    : caches_(caches),
      objects_(objects),
      plan_(std::move(plan)),
      events_(caches.client, name + "-controller"),
      loop_(
          caches.client, kube::ReconcileOptions{.name = name},
          [this](const kube::Key& key, WallTime now) { return round(key, now); },
          [this](const kube::Write& write, const kube::ObjectPtr& result) {
            caches_.overlay(write, result);
          }) {
  objects_.on_change([this](const WorkloadRef& before, const WorkloadRef& after) {
    loop_.add(key_of((after ? after : before)->metadata));
  });
  caches_.pods.on_change(
      [this](const WorkloadPod& before, const WorkloadPod& after) { pod_changed(before, after); });
  caches_.on_synced([this] { loop_.enable(); });
}

void WorkloadLoop::add_all() {
  objects_.for_each([this](const WorkloadRef& one) { loop_.add(key_of(one->metadata)); });
}

void WorkloadLoop::pod_changed(const WorkloadPod& before, const WorkloadPod& after) {
  for (const WorkloadPod& pod : {before, after}) {
    if (!pod) continue;
    const model::OwnerReference* owner = pod->metadata.controller();
    if (owner && owner->kind == objects_.resource().kind)
      loop_.add({pod->metadata.ns, owner->name});
  }
  if (!after || after->metadata.controller() || after->metadata.deletionTimestamp) return;
  // Whoever wants such an orphan has seen it.
  if (before && !before->metadata.controller() && before->metadata.labels == after->metadata.labels)
    return;
  for (const WorkloadRef& one : objects_.in_namespace(after->metadata.ns)) {
    std::optional<model::Selector> selector = one->selector();
    if (selector && selector->matches(after->metadata.labels)) loop_.add(key_of(one->metadata));
  }
}

kube::EventTarget WorkloadLoop::target(const Workload& object) const {
  const kube::Resource& resource = objects_.resource();
  return {resource.api_version(), resource.kind, object.metadata.ns, object.metadata.name,
          object.metadata.uid};
}

kube::Round WorkloadLoop::round(const kube::Key& key, WallTime now) {
  kube::Round round;
  WorkloadRef object = objects_.get(key);
  if (!object) {
    failures_.erase(key);
    return round;
  }
  auto failure = failures_.find(key);
  WorkloadPlan plan = plan_(object, now, failure == failures_.end() ? nullptr : &failure->second);
  kube::EventTarget about = target(*object);
  for (const EventText& event : plan.events)
    events_.record(about, event.type, event.reason, event.message);
  round.again_after = plan.again_after;
  std::vector<Sent> sent;
  for (const kube::Write& write : plan.writes)
    sent.push_back({write.verb, write.resource, write.key.name});
  round.writes = std::move(plan.writes);
  round.settle = [this, key, about,
                  sent = std::move(sent)](const std::vector<kube::WriteResult>& results) {
    return settle(key, about, sent, results);
  };
  return round;
}

Result<void> WorkloadLoop::settle(const kube::Key& key, const kube::EventTarget& target,
                                  const std::vector<Sent>& sent,
                                  const std::vector<kube::WriteResult>& results) {
  using Verb = kube::Write::Verb;
  std::optional<Error> first;
  bool tried = false, refused = false;
  // A StatefulSet has its own words for what it does to its pods.
  bool ordinal = target.kind == "StatefulSet";
  for (std::size_t i = 0; i < results.size(); ++i) {
    bool pod = sent[i].resource == kube::resources::pods || sent[i].resource.kind == "Job";
    std::string what = sent[i].resource.kind == "Job" ? "job" : "pod";
    bool creates = sent[i].verb == Verb::create, removes = sent[i].verb == Verb::remove;
    if (pod && creates) tried = true;
    if (results[i]) {
      if (!pod || (!creates && !removes)) continue;
      const std::string& name = (*results[i])->name;
      if (ordinal) {
        std::string verb = creates ? "create" : "delete";
        events_.record(target, "Normal", creates ? "SuccessfulCreate" : "SuccessfulDelete",
                       verb + " Pod " + name + " in StatefulSet " + target.name + " successful");
      } else {
        events_.record(
            target, "Normal", creates ? "SuccessfulCreate" : "SuccessfulDelete",
            (creates ? "Created " : "Deleted ") + what + (what == "job" ? " " : ": ") + name);
      }
      continue;
    }
    const Error& error = results[i].error();
    if (removes && error.code == Code::not_found) continue;
    if (creates && error.code == Code::already_exists && !pod) continue;
    if (pod && creates) {
      refused = true;
      failures_[key] = error.message;
      events_.record(target, "Warning", "FailedCreate",
                     ordinal ? "create Pod " + sent[i].name + " in StatefulSet " + target.name +
                                   " failed error: " + error.message
                             : "Error creating: " + error.message);
    }
    if (!first) first = error;
  }
  if (tried && !refused) failures_.erase(key);
  if (first) return std::unexpected(*first);
  return {};
}

}  // namespace hekla::controllers
