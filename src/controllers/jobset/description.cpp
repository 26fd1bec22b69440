#include "controllers/jobset/description.h"

#include "controllers/jobset/set_round.h"
#include "model/core.h"

namespace hekla::controllers::jobset {
namespace {

namespace resources = kube::resources;
using framework::EventText, framework::OwnedKind;

OwnedKind owned(const kube::Resource& resource, const std::string& reason,
                const std::string& message) {
  OwnedKind kind{.resource = resource};
  kind.words.create_failed = EventText{"Warning", reason, message};
  kind.words.taken = EventText{"Warning", reason, message};
  return kind;
}

bool has_ended(const framework::AnyObject* set, std::string_view how) {
  return set && json::string_at(set->status, {"terminalState"}) == how;
}

void count_end(Metrics& metrics, const framework::AnyObject* before,
               const framework::AnyObject* after) {
  for (const auto& [state, name] :
       {std::pair{"Completed", "jobset_completed_total"}, {"Failed", "jobset_failed_total"}})
    if (before && has_ended(after, state) && !has_ended(before, state))
      metrics.count(name,
                    {{"jobset_name", after->metadata.name}, {"namespace", after->metadata.ns}});
}

}  // namespace

framework::KindDescription describe(const Options& options, Metrics* metrics) {
  framework::KindDescription made;
  made.name = "jobset-controller";
  made.event_source = "jobset";
  made.resource = resources::job_sets;
  made.optional = true;
  made.owns = {owned(resources::batch_jobs, "JobCreationFailed",
                     "job \"{name}\" creation failed with error: {error}"),
               owned(resources::services, "HeadlessServiceCreationFailed", "{error}"),
               owned(resources::persistent_volume_claims, "PVCCreationFailed", "{error}"),
               {.resource = resources::pod_groups, .optional = true}};
  made.follows = {framework::follow<model::PriorityClass>(resources::priority_classes)};
  made.reconcile = [options](const framework::AnyObject& object, const framework::View& view) {
    return reconcile_set(options, object, view);
  };
  if (metrics)
    made.observe = [metrics](const framework::AnyObject* before,
                             const framework::AnyObject* after) {
      count_end(*metrics, before, after);
    };
  return made;
}

}  // namespace hekla::controllers::jobset
