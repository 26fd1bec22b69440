#include "controllers/volcano/caches.h"

namespace hekla::controllers {

Caches::Caches(kube::Client& client)
    : set(client),
      priorities(set.of<model::PriorityClass>(kube::resources::priority_classes)),
      claims(set.of<MetadataOnly>(kube::resources::persistent_volume_claims)),
      queues(set.of<model::Queue>(kube::resources::queues)),
      groups(set.of<model::PodGroup>(kube::resources::pod_groups)),
      pods(set.indexed_by_controller<model::Pod>(kube::resources::pods)),
      jobs(set.indexed_by_controller<model::VcJob>(kube::resources::vcjobs)),
      commands(set.of<model::Command>(kube::resources::commands)),
      jobs_by_label_(jobs.add_index([](const model::VcJob& job, std::vector<std::string>& keys) {
        for (const auto& [key, value] : job.metadata.labels) keys.push_back(key + "=" + value);
      })),
      groups_by_queue_(
          groups.add_index([](const model::PodGroup& group, std::vector<std::string>& keys) {
            keys.push_back(group.spec.queue);
          })),
      queues_by_parent_(
          queues.add_index([](const model::Queue& queue, std::vector<std::string>& keys) {
            if (!queue.spec.parent.empty()) keys.push_back(queue.spec.parent);
          })) {}

std::vector<std::shared_ptr<const model::Pod>> Caches::pods_of(const std::string& owner_uid) const {
  return set.controlled_by<model::Pod>(kube::resources::pods, owner_uid);
}

std::vector<std::shared_ptr<const model::VcJob>> Caches::jobs_of(
    const std::string& owner_uid) const {
  return set.controlled_by<model::VcJob>(kube::resources::vcjobs, owner_uid);
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
