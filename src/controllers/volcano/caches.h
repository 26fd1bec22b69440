// The objects Volcano's controllers look at, shared by all of them.
#pragma once

#include <string>
#include <vector>

#include "controllers/vocabulary.h"
#include "framework/any_object.h"
#include "kube/cache_set.h"
#include "model/volcano.h"

namespace hekla::controllers {

// Lives on the client's executor.
class Caches {
 public:
  explicit Caches(kube::Client& client);

  std::vector<std::shared_ptr<const model::Pod>> pods_of(const std::string& owner_uid) const;
  std::vector<std::shared_ptr<const model::VcJob>> jobs_of(const std::string& owner_uid) const;
  // By label.
  std::vector<std::shared_ptr<const model::VcJob>> jobs_with(const std::string& key,
                                                             const std::string& value) const;
  std::vector<std::shared_ptr<const model::PodGroup>> groups_in(const std::string& queue) const;
  std::vector<std::shared_ptr<const model::Queue>> children_of(const std::string& queue) const;

  // Starts and overlays the caches below and whatever else was asked of it.
  kube::CacheSet set;
  kube::Informer<model::PriorityClass>& priorities;
  kube::Informer<MetadataOnly>& claims;
  kube::Informer<model::Queue>& queues;
  kube::Informer<model::PodGroup>& groups;
  kube::Informer<model::Pod>& pods;
  kube::Informer<model::VcJob>& jobs;
  kube::Informer<model::Command>& commands;

 private:
  int jobs_by_label_, groups_by_queue_, queues_by_parent_;
};

}  // namespace hekla::controllers
