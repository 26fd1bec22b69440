// One training kind as data and a few pure functions; everything else (pods, services, conditions,
// restarts, limits, clean-up, gangs) is shared (job_round.h). A new kind is one file in kinds/ that
// exports `const TrainingKind training_kind_<file name>`, one CRD in api/crds and one folder of
// scenarios; there is no list to edit.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "controllers/training/training_job.h"
#include "framework/kind_description.h"

namespace hekla::controllers::training {

class JobRound;
struct RoleState;

struct Role {
  std::string_view name;  // "Worker"; spelled in any case by users
  std::int32_t replicas = 1;
  // Runs beside the others (TensorBoard): not part of the cluster they form, not of its gang, and
  // how it ends means nothing to the job.
  bool bystander = false;
  // Instead of the kind's.
  std::optional<RestartPolicy> restart = {};
  // Its pods' names have no index, since there is only one.
  bool numbered = true;
  // False: companions make what runs it.
  bool pods = true;
  // Instead of the kind's; a bystander's container is its first.
  std::string_view port_name = {};
  std::int32_t port = 0;
};

// Texts of conditions. {kind} and {job} are kind and name, {key} is namespace/name, {count} and
// {role} are of the replicas that failed.
struct Words {
  std::string_view running, succeeded, restarting = {}, failed = {};
  std::string_view created = "{kind} {job} is created.";
  std::string_view suspended = "{kind} {job} is suspended.", resumed = "{kind} {job} is resumed.";
};

// What failed replicas mean when nothing in this round has restarted them.
enum class OnFailed {
  fail,     // the job fails
  restart,  // it restarts, unless the role's policy is Never
};

enum class Stage { running, suspended, ended };

struct TrainingKind {
  kube::Resource resource;
  std::string_view framework;     // in metrics: "tensorflow"
  std::string_view roles_member;  // of spec: "tfReplicaSpecs"
  // In the order in which they are made and judged. Roles that are not named here run all the same,
  // after these.
  std::vector<Role> roles;
  std::string_view container, port_name;
  std::int32_t port = 0;
  RestartPolicy restart = RestartPolicy::never;
  // spec.<roles_member> has `scale`: its status needs a selector.
  bool scales = false;
  // A Service for every pod.
  bool services = true;
  // The first of these that a job has decides when it runs and when it has succeeded. Empty: any
  // role does.
  std::vector<std::string_view> deciders;
  Words words;
  OnFailed on_failed = OnFailed::restart;
  // Failed replicas count only while fewer than wanted run or have succeeded.
  bool missing_counts = false;
  // Running is said before the end, also of a job that nobody has seen running.
  bool always_ran = false;
  // No pods until the gang is admitted.
  bool waits_for_gang = true;
  // Deadline, back-off limit and time to live are those of a child.
  bool child_has_limits = false;
  // The first era's prefix of labels ("tf": tf-job-name); empty: none.
  std::string_view old_prefix = {};

  // Whether this pod is the one that SDKs read the log of.
  bool (*is_master)(const TrainingJob& job, const Replica& replica, std::int32_t index);
  // Completes the pod: environment, init containers, volumes.
  void (*complete)(const Place& place, json::Value& pod);

  // Optional; null means the default.
  // Succeeded although not every replica of the deciding role has.
  bool (*succeeded_early)(const TrainingJob& job, const RoleState& decider) = nullptr;
  // Failed replicas of this role mean nothing.
  bool (*tolerates)(const TrainingJob& job, const Replica& replica) = nullptr;
  // Words of jobs whose deciding role is not the first of `deciders`.
  const Words* words_without_master = nullptr;
  // What is wrong with the job, as it was sent; empty: nothing. For kinds that upstream validates
  // here and not at admission.
  std::string (*invalid)(const framework::AnyObject& job) = nullptr;
  // Objects beside pods and services: a ConfigMap, an autoscaler. Called before pods are made and,
  // to say what shall go, while the job is suspended and once it has ended.
  void (*companions)(JobRound& round, Stage stage) = nullptr;
  std::vector<framework::OwnedKind> (*owns)() = nullptr;  // the kinds of companions
  // Decides everything after the pods were counted, instead of the shared rules.
  void (*conclude)(JobRound& round) = nullptr;
  // The same resource as another version of it meant it: by the annotation hekla.io/api-version.
  std::string_view variant_version = {};
  const TrainingKind* variant = nullptr;
  // Instead of <kind lower>-controller in the label operator-name.
  std::string_view operator_name = {};
  // Labels of a pod beside operator-name and job-name, instead of the usual ones.
  void (*label)(const Place& place, json::Object& labels) = nullptr;
};

}  // namespace hekla::controllers::training
