#include "controllers/trainer/description.h"

#include "controllers/trainer/train_round.h"

namespace hekla::controllers::trainer {
namespace {

namespace resources = kube::resources;

framework::OwnedKind owned(const kube::Resource& resource) {
  const framework::EventText failed{"Warning", "TrainJobResourcesCreationFailed",
                                    "TrainJob resources reconciliation failed: {error}"};
  framework::OwnedKind kind{.resource = resource};
  kind.words.create_failed = kind.words.change_failed = kind.words.taken = failed;
  return kind;
}

}  // namespace

framework::KindDescription describe(const Options& options) {
  framework::KindDescription made;
  made.name = "trainer-trainjob-controller";
  made.resource = resources::train_jobs;
  made.optional = true;
  made.owns = {owned(resources::job_sets), owned(resources::config_maps),
               owned(resources::secrets)};
  made.owns.front().optional = true;
  for (const kube::Resource& runtimes :
       {resources::training_runtimes, resources::cluster_training_runtimes})
    made.follows.push_back(
        framework::follow<framework::AnyObject>(runtimes, nullptr, {.optional = true}));
  made.reconcile = [options](const framework::AnyObject& object, const framework::View& view) {
    return reconcile_train_job(options, object, view);
  };
  return made;
}

}  // namespace hekla::controllers::trainer
