#include "controllers/training_controllers.h"

#include <algorithm>

#include "controllers/training/description.h"
#include "framework/kind_controller.h"
#include "kube/cache_set.h"

namespace hekla::controllers {

struct TrainingControllers::Parts {
  kube::CacheSet caches;
  std::vector<std::unique_ptr<framework::KindController>> kinds;

  Parts(kube::Client& client, const Options& options, Metrics* metrics) : caches(client) {
    std::set<std::string> wanted;
    for (const std::string& kind : options.kinds) wanted.insert(training::lowered(kind));
    for (const training::TrainingKind* kind : training::all_training_kinds())
      if (wanted.empty() || wanted.contains(training::lowered(kind->resource.kind)))
        kinds.push_back(std::make_unique<framework::KindController>(
            caches, training::describe(*kind, options.jobs, metrics)));
  }
};

TrainingControllers::TrainingControllers(kube::Client& client, Options options, Metrics* metrics)
    : parts_(std::make_unique<Parts>(client, options, metrics)) {}

TrainingControllers::~TrainingControllers() = default;

void TrainingControllers::start() { parts_->caches.start(); }

bool TrainingControllers::synced() const { return parts_->caches.synced(); }

}  // namespace hekla::controllers
