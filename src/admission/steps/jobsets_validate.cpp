// vjobset.kb.io: a new JobSet makes Jobs and pods whose names fit and whose policies name what is
// there; the jobs of one that exists stay as they are, except for what a queue may change of their
// pods while the set is held back.
#include "admission/job_set.h"
#include "admission/step.h"
#include "admission/training_job.h"

namespace hekla::admission {
namespace {

json::Value jobs_of(const json::Value& set) {
  const json::Value* jobs = json::find_path(set, {"spec", "replicatedJobs"});
  return jobs ? *jobs : json::Value(json::Array());
}

// The jobs without what a queue may change of their pods.
json::Value without_placement(json::Value jobs) {
  if (!jobs.is_array()) return jobs;
  for (json::Value& job : jobs.get_array()) {
    if (!json::object_at(job, {"template", "spec", "template"})) continue;
    json::Object& pod = json::at_path(job, {"template", "spec", "template"}).get_object();
    for (const auto& [part, member] :
         {std::pair{"metadata", "annotations"}, std::pair{"metadata", "labels"},
          std::pair{"spec", "nodeSelector"}, std::pair{"spec", "tolerations"},
          std::pair{"spec", "schedulingGates"}}) {
      json::Value* holder = pod.if_contains(part);
      if (!holder || !holder->is_object()) continue;
      holder->get_object().erase(member);
      if (holder->get_object().empty()) pod.erase(part);
    }
  }
  return jobs;
}

void check_update(const json::Value& set, const json::Value& old, FieldErrors& errors) {
  json::Value before = jobs_of(old), after = jobs_of(set);
  if (json::bool_at(set, {"spec", "suspend"}) || json::bool_at(old, {"spec", "suspend"})) {
    before = without_placement(std::move(before));
    after = without_placement(std::move(after));
  }
  if (!json::equal(after, before))
    errors.invalid("spec.replicatedJobs", jobs_of(set), "field is immutable");
  auto manager = [](const json::Value& one) {
    const json::Value* found = json::find_path(one, {"spec", "managedBy"});
    return found ? *found : json::Value();
  };
  if (!json::equal(manager(set), manager(old)))
    errors.invalid("spec.managedBy", manager(set), "field is immutable");
}

Result<void> validate_job_set(const Settings&, const kube::AdmissionRequest& request,
                              const json::Value& set) {
  FieldErrors errors;
  if (request.old_object) {
    check_update(set, *request.old_object, errors);
  } else {
    check_set_network(set, errors);
    check_replicated_jobs(set, errors);
    check_set_policies(set, errors);
    check_coordinator(set, errors);
    check_volume_claims(request, set, errors);
  }
  if (errors.empty()) return {};
  return fail(Code::invalid, "JobSet.jobset.x-k8s.io \"" +
                                 json::text_at(set, {"metadata", "name"}) +
                                 "\" is invalid: " + errors.text());
}

}  // namespace

extern const Step step_jobsets_validate;
const Step step_jobsets_validate{
    .name = "vjobset.kb.io",
    .path = "/validate-jobset-x-k8s-io-v1alpha2-jobset",
    .resources = {&kube::resources::job_sets},
    .when = Step::When::create_or_update,
    .validate = validate_job_set,
};

}  // namespace hekla::admission
