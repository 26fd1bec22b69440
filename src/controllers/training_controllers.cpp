#include "controllers/training_controllers.h"

#include <algorithm>

#include "base/check.h"
#include "base/ssh_key.h"
#include "controllers/jobset/description.h"
#include "controllers/trainer/description.h"
#include "controllers/training/description.h"
#include "framework/kind_controller.h"
#include "kube/cache_set.h"

namespace hekla::controllers {
namespace {

template <class Key>
Key ecdsa_key() {
  Result<SshKeyPair> made = make_ecdsa_ssh_key();
  CHECK(made, "OpenSSL makes keys");
  return {made->private_pem, made->public_line};
}

}  // namespace

struct TrainingControllers::Parts {
  kube::CacheSet caches;
  std::vector<std::unique_ptr<framework::KindController>> kinds;

  Parts(kube::Client& client, Options options, Metrics* metrics) : caches(client) {
    if (!options.jobs.make_ssh_key) options.jobs.make_ssh_key = ecdsa_key<training::SshKey>;
    std::set<std::string> wanted;
    for (const std::string& kind : options.kinds) wanted.insert(training::lowered(kind));
    for (const training::TrainingKind* kind : training::all_training_kinds())
      if (wanted.empty() || wanted.contains(training::lowered(kind->resource.kind)))
        kinds.push_back(std::make_unique<framework::KindController>(
            caches, training::describe(*kind, options.jobs, metrics)));
    if (wanted.empty() || wanted.contains("jobset"))
      kinds.push_back(std::make_unique<framework::KindController>(
          caches, jobset::describe({options.jobs.gang_scheduler}, metrics)));
    if (wanted.empty() || wanted.contains("trainjob"))
      kinds.push_back(std::make_unique<framework::KindController>(
          caches, trainer::describe({ecdsa_key<trainer::SshKey>})));
  }
};

TrainingControllers::TrainingControllers(kube::Client& client, Options options, Metrics* metrics)
    : parts_(std::make_unique<Parts>(client, std::move(options), metrics)) {}

TrainingControllers::~TrainingControllers() = default;

void TrainingControllers::start() { parts_->caches.start(); }

bool TrainingControllers::synced() const { return parts_->caches.synced(); }

}  // namespace hekla::controllers
