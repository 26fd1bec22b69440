// The training kinds (kubeflow.org): one reconciler (training_loop.h), one description per kind. A
// kind is one file in kinds/ that exports `const TrainingKind training_kind_<file>`; the build
// makes the table from the file names.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "framework/any_object.h"
#include "kube/client.h"

namespace hekla::controllers::training {

struct Role {
  std::string name;  // "Worker"; keys of the replica map are matched in any case
};

struct Port {
  std::string name;
  std::int32_t number = 0;
};

enum class RestartPolicy { never, on_failure, always, exit_code };

// One role of a job with the kind's defaults filled in.
struct Replicas {
  std::string role;
  std::int32_t count = 1;
  RestartPolicy restart = RestartPolicy::never;
  json::Value pod_template;  // with the kind's port
  std::int32_t port = 0;
  // Of the pods there are.
  std::int32_t active = 0, succeeded = 0, failed = 0;
};

struct TrainingKind;

// A job as its kind's functions see it: roles in the order of the kind's description.
struct TrainingJob {
  const TrainingKind& kind;
  const framework::AnyObject& object;
  std::vector<Replicas> replicas;
  // Phase of each pod by its name.
  std::map<std::string, std::string> pods;

  const Replicas* role(std::string_view name) const;
  std::int32_t size() const;  // all replicas
  // "<job>-worker-0": the name of pod and service.
  std::string member_name(const Replicas& of, std::int32_t index) const;
};

// How a job stands, judged by its kind from the counts.
struct Standing {
  bool running = false, succeeded = false;
  // A role whose failures end the job; null: none.
  const Replicas* failed = nullptr;
};

struct TrainingKind {
  kube::Resource resource;
  std::string replica_map;  // member of spec: "tfReplicaSpecs"
  std::vector<Role> roles;  // in the order in which they are judged
  std::string container;    // the one that counts: "tensorflow"
  Port port;
  RestartPolicy restart = RestartPolicy::never;
  bool services = true;
  // Adds what a member's program reads to its pod.
  void (*environment)(const TrainingJob& job, const Replicas& role, std::int32_t index,
                      json::Value& pod);
  // Whether a member has the label of the master role.
  bool (*is_master)(const TrainingJob& job, const Replicas& role, std::int32_t index);
  Standing (*judge)(const TrainingJob& job);
  // "TFJob default/x is running.": the messages' subject.
  std::string (*subject)(const TrainingJob& job);
};

// Generated from the file names in kinds/.
std::span<const TrainingKind* const> all_training_kinds();

}  // namespace hekla::controllers::training
