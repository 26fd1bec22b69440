// Admission steps for Volcano's kinds. A step is one file in steps/ that exports
// `const Step step_<file>`; the table is generated from the file names. main plugs the steps into
// the API server, or serves them as webhooks.
//
// Steps are pure: what they see besides the object comes through AdmissionRequest::reader. They may
// run on any thread.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "kube/admission.h"

namespace hekla::admission {

struct Step {
  std::string_view name;  // the webhook's name in denials
  bool (*matches)(const kube::Resource& resource, kube::Operation operation,
                  std::string_view subresource);
  // One of the two is null.
  Result<void> (*mutate)(const kube::AdmissionRequest& request, json::Value& object);
  Result<void> (*validate)(const kube::AdmissionRequest& request, const json::Value& object);
};

// In alphabetical order of their files.
std::span<const Step* const> all_steps();

// All steps in the form the API server takes.
std::vector<kube::AdmissionStep> admission_steps();

}  // namespace hekla::admission
