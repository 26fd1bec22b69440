// defaulter.jobversion.hekla.io: notes on a TFJob or MPIJob in which version it was created, when
// that was not v1. The versions differ in more than their fields: what is not said means something
// else in each, and stored jobs all look alike.
//
// The note is for life, so that a job does not change its ways under somebody's `kubectl apply`. A
// new job of v1 may bring one: so a copy of an old job stays one.
//
// What conversions keep in annotations is for them alone. It stays through every update, so that
// whoever replaces a job in one version takes nothing away that he could not see, and nobody writes
// into a version what he was not asked about.
#include <vector>

#include "admission/conversion.h"
#include "admission/step.h"
#include "admission/training_job.h"

namespace hekla::admission {
namespace {

bool is_kept(std::string_view annotation) { return annotation.starts_with(kKeptPrefix); }

void restore_kept(const json::Value* old, json::Value& job) {
  std::vector<std::string> names;
  if (const json::Object* annotations = json::object_at(job, {"metadata", "annotations"}))
    for (const auto& one : *annotations)
      if (is_kept(one.key())) names.emplace_back(one.key());
  for (const std::string& name : names) take_annotation(job, name);
  const json::Object* before = old ? json::object_at(*old, {"metadata", "annotations"}) : nullptr;
  if (!before) return;
  for (const auto& one : *before)
    if (is_kept(one.key()))
      json::at_path(job, {"metadata", "annotations", one.key()}) = one.value();
}

Result<void> mutate_job_version(const Settings&, const kube::AdmissionRequest& request,
                                json::Value& job) {
  restore_kept(request.old_object, job);
  std::string version;
  if (request.operation == kube::Operation::update)
    version = json::string_at(*request.old_object, {"metadata", "annotations", kCreatedVersion});
  else if (request.resource.version != kHubVersion)
    version = request.resource.version;
  else
    return {};
  if (version.empty())
    take_annotation(job, kCreatedVersion);
  else
    json::at_path(job, {"metadata", "annotations", kCreatedVersion}) = version;
  return {};
}

}  // namespace

extern const Step step_job_versions_mutate;
const Step step_job_versions_mutate{
    .name = "defaulter.jobversion.hekla.io",
    .path = "/jobversions/mutate",
    .resources = {&kube::resources::tf_jobs, &kube::resources::mpi_jobs},
    .every_version = true,
    .when = Step::When::create_or_update,
    .mutate = mutate_job_version,
};

}  // namespace hekla::admission
