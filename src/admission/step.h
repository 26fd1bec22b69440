// Admission steps for Volcano's kinds and Kubeflow's. A step is one file in steps/ that exports
// `const Step step_<file>`; the table is generated from the file names. main plugs the steps into
// the API server, or serves them as webhooks (webhook_server.h).
//
// Steps are pure: what they see besides the object comes through AdmissionRequest::reader, which is
// always given, and the settings. They may run on any thread.
#pragma once

#include <array>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kube/admission.h"

namespace hekla::admission {

// What an installation decides; the defaults are vc-webhook-manager's.
struct Settings {
  std::vector<std::string> scheduler_names{"volcano"};  // the first is given to jobs that name none
  int queue_depth_max = 5;
  bool queue_allocated_pods_check = false;  // queues with pods cannot be deleted
  bool root_queue_protection = true;        // root's amounts cannot be changed
  // What core validation says about a pod template, paths beginning with "template"; unset:
  // nothing.
  std::function<std::vector<std::string>(const json::Value& pod_template)> pod_template_errors;
  // The text of volcano-admission.conf; unset: that of the ConfigMap (resource_groups.h).
  std::function<Result<std::string>()> read_configuration;

  bool names_our_scheduler(const json::Value& pod) const;
};

struct Step {
  std::string_view name;                           // the webhook's name in denials
  std::string_view path;                           // where upstream serves it
  std::array<const kube::Resource*, 2> resources;  // the second may be null
  bool every_version = false;                      // of the resources, not only the one named
  enum class When { create, create_or_update, any } when;
  // One of the two is null.
  Result<void> (*mutate)(const Settings& settings, const kube::AdmissionRequest& request,
                         json::Value& object) = nullptr;
  Result<void> (*validate)(const Settings& settings, const kube::AdmissionRequest& request,
                           const json::Value& object) = nullptr;

  // Only the object itself is anybody's business here, no subresource of it.
  bool matches(const kube::Resource& asked, kube::Operation operation,
               std::string_view subresource) const;
};

// Whether a member is absent, null or an empty text, and so to be filled in. Anything else stays as
// it is, of whatever type: the schema says what is wrong with it.
bool is_left_out(const json::Value& object, std::initializer_list<std::string_view> path);

// In alphabetical order of their files.
std::span<const Step* const> all_steps();

// All steps in the form the API server takes.
std::vector<kube::AdmissionStep> admission_steps(const Settings& settings = {});

}  // namespace hekla::admission
