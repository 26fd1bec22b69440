// The objects Volcano's controllers look at, shared by all of them.
#pragma once

#include <functional>
#include <vector>

#include "controllers/framework/writes.h"
#include "kube/informer.h"
#include "model/volcano.h"

namespace hekla::controllers {

// An object of which only the metadata matters.
struct MetadataOnly {
  model::ObjectMeta metadata;
};
BOOST_DESCRIBE_STRUCT(MetadataOnly, (), (metadata))

// Lives on the client's executor.
class Caches {
 public:
  explicit Caches(kube::Client& client);

  // Handlers are registered before start().
  void start();
  bool synced() const;
  // Called once, when every cache has its first list.
  void on_synced(std::function<void()> handler) { synced_handlers_.push_back(std::move(handler)); }

  // Shows the result of an own write to the cache that holds it.
  void overlay(const kube::Write& write, const kube::ObjectPtr& result);

  std::vector<std::shared_ptr<const model::Pod>> pods_of(const std::string& owner_uid) const;
  std::vector<std::shared_ptr<const model::VcJob>> jobs_of(const std::string& owner_uid) const;
  // By label.
  std::vector<std::shared_ptr<const model::VcJob>> jobs_with(const std::string& key,
                                                             const std::string& value) const;
  std::vector<std::shared_ptr<const model::PodGroup>> groups_in(const std::string& queue) const;
  std::vector<std::shared_ptr<const model::Queue>> children_of(const std::string& queue) const;

  kube::Informer<model::VcJob> jobs;
  kube::Informer<model::Pod> pods;
  kube::Informer<model::PodGroup> groups;
  kube::Informer<model::Queue> queues;
  kube::Informer<model::Command> commands;
  kube::Informer<model::PriorityClass> priorities;
  kube::Informer<MetadataOnly> claims;

 private:
  void check_synced();

  int jobs_by_owner_ = 0, jobs_by_label_ = 0, pods_by_owner_ = 0, groups_by_queue_ = 0,
      queues_by_parent_ = 0;
  bool announced_ = false;
  std::vector<std::function<void()>> synced_handlers_;
};

}  // namespace hekla::controllers
