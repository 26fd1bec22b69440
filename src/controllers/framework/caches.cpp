#include "controllers/framework/caches.h"

namespace hekla::controllers {

Caches::Caches(kube::Client& client)
    : jobs(client, kube::resources::vcjobs),
      pods(client, kube::resources::pods),
      groups(client, kube::resources::pod_groups),
      queues(client, kube::resources::queues),
      commands(client, kube::resources::commands),
      priorities(client, kube::resources::priority_classes),
      claims(client, kube::resources::persistent_volume_claims) {
  jobs_by_owner_ = jobs.add_index([](const model::VcJob& job, std::vector<std::string>& keys) {
    if (const model::OwnerReference* owner = job.metadata.controller()) keys.push_back(owner->uid);
  });
  jobs_by_label_ = jobs.add_index([](const model::VcJob& job, std::vector<std::string>& keys) {
    for (const auto& [key, value] : job.metadata.labels) keys.push_back(key + "=" + value);
  });
  pods_by_owner_ = pods.add_index([](const model::Pod& pod, std::vector<std::string>& keys) {
    if (const model::OwnerReference* owner = pod.metadata.controller()) keys.push_back(owner->uid);
  });
  groups_by_queue_ =
      groups.add_index([](const model::PodGroup& group, std::vector<std::string>& keys) {
        keys.push_back(group.spec.queue);
      });
  queues_by_parent_ =
      queues.add_index([](const model::Queue& queue, std::vector<std::string>& keys) {
        if (!queue.spec.parent.empty()) keys.push_back(queue.spec.parent);
      });
  jobs.on_settled([this] { check_synced(); });
  pods.on_settled([this] { check_synced(); });
  groups.on_settled([this] { check_synced(); });
  queues.on_settled([this] { check_synced(); });
  commands.on_settled([this] { check_synced(); });
  priorities.on_settled([this] { check_synced(); });
  claims.on_settled([this] { check_synced(); });
}

void Caches::start() {
  priorities.start();
  claims.start();
  queues.start();
  groups.start();
  pods.start();
  jobs.start();
  commands.start();
}

bool Caches::synced() const {
  return jobs.synced() && pods.synced() && groups.synced() && queues.synced() &&
         commands.synced() && priorities.synced() && claims.synced();
}

void Caches::check_synced() {
  if (announced_ || !synced()) return;
  announced_ = true;
  for (const auto& handler : synced_handlers_) handler();
}

void Caches::overlay(const kube::Write& write, const kube::ObjectPtr& result) {
  auto show = [&](auto& informer) { controllers::overlay(informer, write, result); };
  show(jobs);
  show(pods);
  show(groups);
  show(queues);
  show(commands);
  show(claims);
}

std::vector<std::shared_ptr<const model::Pod>> Caches::pods_of(const std::string& owner_uid) const {
  return pods.by(pods_by_owner_, owner_uid);
}

std::vector<std::shared_ptr<const model::VcJob>> Caches::jobs_of(
    const std::string& owner_uid) const {
  return jobs.by(jobs_by_owner_, owner_uid);
}

std::vector<std::shared_ptr<const model::VcJob>> Caches::jobs_with(const std::string& key,
                                                                   const std::string& value) const {
  return jobs.by(jobs_by_label_, key + "=" + value);
}

std::vector<std::shared_ptr<const model::PodGroup>> Caches::groups_in(
    const std::string& queue) const {
  return groups.by(groups_by_queue_, queue);
}

std::vector<std::shared_ptr<const model::Queue>> Caches::children_of(
    const std::string& queue) const {
  return queues.by(queues_by_parent_, queue);
}

}  // namespace hekla::controllers
