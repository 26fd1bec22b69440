// A training job as its controller reads it: the defaults of its kind filled in, the older forms
// brought into the newest. Defaults are never written back.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "controllers/training/options.h"
#include "framework/any_object.h"
#include "framework/pod_group.h"
#include "framework/run_policy.h"

namespace hekla::controllers::training {

struct TrainingKind;

// In which version the job was created, when that was not v1; written at admission.
inline const std::string kCreatedVersion = "hekla.io/api-version";
using framework::kGangAnnotation;
// "gang": when a member is made again, all are.
inline const std::string kRestartAnnotation = "hekla.io/restart";

namespace labels {
inline const std::string operator_name = "training.kubeflow.org/operator-name";
inline const std::string job_name = "training.kubeflow.org/job-name";
inline const std::string replica_type = "training.kubeflow.org/replica-type";
inline const std::string replica_index = "training.kubeflow.org/replica-index";
inline const std::string job_role = "training.kubeflow.org/job-role";
}  // namespace labels

enum class RestartPolicy { never, on_failure, always, exit_code };

// One role of a job.
struct Replica {
  std::string type, lower;  // "Worker", "worker"
  std::int32_t replicas = 1;
  RestartPolicy restart = RestartPolicy::never;
  // The policy was given twice, and the template's is not used.
  bool template_restart_lost = false;
  bool bystander = false, numbered = true, pods = true;  // as its Role
  std::string port_name;
  std::int32_t port = 0;
  const json::Value* pod_template = nullptr;  // borrowed from the job
  std::string scheduler_name;                 // the template's, or else the job's
};

struct Elastic {
  std::int32_t min = 0, max = 0;
};

// Borrows from its arguments.
struct TrainingJob {
  const TrainingKind* kind;
  const Options* options;
  const framework::AnyObject* object;
  std::string name, ns;
  std::string operator_name;  // "tfjob-controller"
  std::string version = "v1";
  std::vector<Replica> replicas;
  framework::RunPolicy policy;
  std::optional<Elastic> elastic;

  const json::Value& spec() const { return object->spec; }
  // Null without such a role.
  const Replica* find(std::string_view type) const;
  // Of all roles that are not bystanders.
  std::int32_t total() const;
  std::string pod_name(const Replica& replica, std::int32_t index) const;
  // The index of a pod of that role by its name; absent for others.
  std::optional<std::int32_t> index_of(const Replica& replica, std::string_view pod_name) const;
  // The labels by which pods and services are known to be the job's.
  std::map<std::string, std::string> selector() const;
};

// One pod's place in its job.
struct Place {
  const TrainingJob& job;
  const Replica& replica;
  std::int32_t index = 0;
};

std::string lowered(std::string_view text);

// Appends to the variables of a container: of two with one name the last one counts.
void append_env(json::Object& container, std::string_view name, std::string_view value);
// From a field of the pod: "status.podIP".
void append_env_field(json::Object& container, std::string_view name, std::string_view field_path);

}  // namespace hekla::controllers::training
