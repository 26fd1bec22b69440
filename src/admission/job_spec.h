// The rules a job's spec must keep, for jobs and for the templates of cron jobs.
#pragma once

#include <string>
#include <vector>

#include "admission/step.h"
#include "kube/admission.h"
#include "model/volcano.h"

namespace hekla::admission {

// What one job may ask for (docs/limits.md).
constexpr std::int64_t kPodsMax = 100'000;

struct JobSpecInput {
  const Settings& settings;
  const model::VcJobSpec& spec;
  std::string job;  // empty for a template: pod and job names are not checked then
  const kube::AdmissionReader* reader = nullptr;
  std::vector<std::string>* warnings = nullptr;
};

// Every complaint, one after the other, as users know them; empty when there is none.
std::string job_spec_errors(const JobSpecInput& input);

// What is wrong with how a task is divided; `job` is empty for a template.
std::string partition_errors(const model::TaskSpec& task, const std::string& job);

// The complaint about both limits of a network topology; empty when there is none.
std::string topology_conflict(const std::optional<model::NetworkTopologySpec>& topology);

// A queue whose state has not been written yet counts as open.
bool is_open(const model::Queue& queue);
Result<model::Queue> find_queue(const kube::AdmissionReader& reader, const std::string& name);
Result<std::vector<model::Queue>> child_queues(const kube::AdmissionReader& reader,
                                               const std::string& parent);

}  // namespace hekla::admission
