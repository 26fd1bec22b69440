#include "controllers/training/description.h"

#include "base/log.h"
#include "controllers/training/job_round.h"
#include "controllers/training/read_job.h"

namespace hekla::controllers::training {
namespace {

namespace resources = kube::resources;
using framework::ChildWords, framework::EventText, framework::OwnedKind;

ChildWords child_words(const std::string& kind, const std::string& title) {
  return {
      .created = EventText{"Normal", "SuccessfulCreate" + kind, "Created " + title + ": {name}"},
      .create_failed = EventText{"Warning", "FailedCreate" + kind, "Error creating: {error}"},
      .removed = EventText{"Normal", "SuccessfulDelete" + kind, "Deleted " + title + ": {name}"},
      .remove_failed = EventText{"Warning", "FailedDelete" + kind, "Error deleting: {error}"}};
}

std::vector<OwnedKind> owned_kinds(const TrainingKind& kind) {
  ChildWords group_words = child_words("PodGroup", "PodGroup");
  group_words.created = std::nullopt;
  std::vector<OwnedKind> all = {
      {.resource = resources::pods,
       .claim = framework::Claim::selector,
       .words = child_words("Pod", "pod")},
      {.resource = resources::services,
       .claim = framework::Claim::selector,
       .words = child_words("Service", "service")},
      {.resource = resources::pod_groups, .optional = true, .words = std::move(group_words)}};
  for (const TrainingKind* one : {&kind, kind.variant})
    if (one && one->owns)
      for (OwnedKind& more : one->owns()) {
        const bool known = std::any_of(all.begin(), all.end(), [&](const OwnedKind& other) {
          return other.resource == more.resource;
        });
        if (!known) all.push_back(std::move(more));
      }
  return all;
}

bool is_true(const framework::AnyObject* job, std::string_view type) {
  const json::Array* list = job ? json::array_at(job->status, {"conditions"}) : nullptr;
  if (!list) return false;
  return std::any_of(list->begin(), list->end(), [&](const json::Value& one) {
    return json::string_at(one, {"type"}) == type && json::string_at(one, {"status"}) == "True";
  });
}

void count_changes(const TrainingKind& kind, Metrics& metrics, const framework::AnyObject* before,
                   const framework::AnyObject* after) {
  auto count = [&](const char* what) {
    log_info(operator_name(kind), "job " + std::string(what),
             {{"job", (after ? after : before)->metadata.ns + "/" +
                          (after ? after : before)->metadata.name}});
    metrics.count("training_operator_jobs_" + std::string(what) + "_total",
                  {{"job_namespace", (after ? after : before)->metadata.ns},
                   {"framework", std::string(kind.framework)}});
  };
  if (!before) return count("created");
  if (!after) return count("deleted");
  for (const auto& [type, word] :
       {std::pair{"Succeeded", "successful"}, {"Failed", "failed"}, {"Restarting", "restarted"}})
    if (is_true(after, type) && !is_true(before, type)) count(word);
}

}  // namespace

framework::KindDescription describe(const TrainingKind& kind, const Options& options,
                                    Metrics* metrics) {
  framework::KindDescription made;
  made.name = operator_name(kind);
  made.resource = kind.resource;
  made.optional = true;
  made.owns = owned_kinds(kind);
  made.follows = {framework::follow<model::PriorityClass>(resources::priority_classes)};
  made.reconcile = [&kind, options](const framework::AnyObject& object,
                                    const framework::View& view) {
    return reconcile_job(kind, options, object, view);
  };
  made.selector = [&kind](const framework::AnyObject& object) -> std::optional<model::Selector> {
    return model::Selector::of({{labels::operator_name, operator_name(variant_of(kind, object))},
                                {labels::job_name, object.metadata.name}});
  };
  if (metrics)
    made.observe = [&kind, metrics](const framework::AnyObject* before,
                                    const framework::AnyObject* after) {
      count_changes(kind, *metrics, before, after);
    };
  return made;
}

}  // namespace hekla::controllers::training
