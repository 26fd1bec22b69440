// mjobset.kb.io: what a JobSet leaves out. Upstream looks at new ones alone, and then refuses the
// second `kubectl apply` of a document: kubectl sends its lists as they stand there, and the jobs
// without what was filled in are not the jobs they were.
#include "admission/step.h"
#include "admission/training_job.h"

namespace hekla::admission {
namespace {

json::Value& default_to(json::Value& object, std::initializer_list<std::string_view> path,
                        json::Value value) {
  json::Value& slot = json::at_path(object, path);
  if (slot.is_null()) slot = std::move(value);
  return slot;
}

void default_job(json::Value& job) {
  default_to(job, {"template", "spec", "completionMode"}, "Indexed");
  json::Value& policy =
      default_to(job, {"template", "spec", "template", "spec", "restartPolicy"}, "OnFailure");
  if (json::equal(policy, "")) policy = "OnFailure";
}

// Calls `edit(item, index)` for the objects of a list, if there is one.
template <class Edit>
void each(json::Value& object, std::initializer_list<std::string_view> path, Edit edit) {
  if (!json::array_at(object, path)) return;
  json::Array& list = json::at_path(object, path).get_array();
  for (std::size_t i = 0; i < list.size(); ++i)
    if (list[i].is_object()) edit(list[i], i);
}

Result<void> mutate_job_set(const Settings&, const kube::AdmissionRequest&, json::Value& set) {
  default_to(set, {"spec", "successPolicy"}, json::Object{{"operator", "All"}});
  default_to(set, {"spec", "startupPolicy"}, json::Object{{"startupPolicyOrder", "AnyOrder"}});
  each(set, {"spec", "replicatedJobs"}, [](json::Value& job, std::size_t) { default_job(job); });
  default_to(set, {"spec", "network", "enableDNSHostnames"}, true);
  default_to(set, {"spec", "network", "publishNotReadyAddresses"}, true);
  each(set, {"spec", "failurePolicy", "rules"}, [](json::Value& rule, std::size_t index) {
    if (is_left_out(rule, {"name"}))
      rule.get_object()["name"] = "failurePolicyRule" + std::to_string(index);
  });
  each(set, {"spec", "volumeClaimPolicies"}, [](json::Value& policy, std::size_t) {
    default_to(policy, {"retentionPolicy"}, json::Object{{"whenDeleted", "Delete"}});
  });
  return {};
}

}  // namespace

extern const Step step_jobsets_mutate;
const Step step_jobsets_mutate{
    .name = "mjobset.kb.io",
    .path = "/mutate-jobset-x-k8s-io-v1alpha2-jobset",
    .resources = {&kube::resources::job_sets},
    .when = Step::When::create_or_update,
    .mutate = mutate_job_set,
};

}  // namespace hekla::admission
