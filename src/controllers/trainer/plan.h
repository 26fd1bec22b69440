// A TrainJob laid over its runtime: the JobSet that is to run it, while it is being put together.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "framework/any_object.h"

namespace hekla::controllers::trainer {

inline constexpr std::int32_t kPort = 29500;
inline const std::string kStepLabel = "trainer.kubeflow.org/trainjob-ancestor-step";
inline const std::string kIndexPath =
    "metadata.annotations['batch.kubernetes.io/job-completion-index']";

// The pods of one replicated job.
struct PodSet {
  std::string name, step;  // "node", "trainer"
  std::int32_t count = 1;  // pods
  std::size_t index = 0;   // among the replicated jobs
};

struct Plan {
  const framework::AnyObject* job;
  json::Value policy;  // the runtime's mlPolicy, or null
  json::Value set;     // the JobSet: {metadata, spec}
  std::vector<PodSet> pod_sets;
  std::int64_t slots = 1;                 // processes of a node, for MPI's hostfile
  std::vector<std::string> more_command;  // behind the job's own

  const std::string& name() const { return job->metadata.name; }
  // Null without one; so are the next.
  PodSet* by_step(std::string_view step);
  PodSet* by_name(std::string_view name);
  json::Object* container(const PodSet& pods, std::string_view name);
  json::Object* init_container(const PodSet& pods, std::string_view name);
  // The container that trains.
  json::Object* trainer();
  json::Value& replicated_job(const PodSet& pods);
  json::Value& pod(const PodSet& pods);  // the template {metadata, spec}
  // The name of a pod in the network.
  std::string endpoint(std::string_view job, std::int32_t pod = 0) const;
  std::int32_t trainer_count();
};

// `runtime` is a TrainingRuntime or ClusterTrainingRuntime. Fails when it cannot run the job.
Result<Plan> make_plan(const framework::AnyObject& job, const json::Value& runtime);

// The runtime's policy: environment, ports, volumes of the nodes.
Result<void> apply_policy(Plan& plan);
void apply_torch(Plan& plan, const json::Value& policy);
void apply_jax(Plan& plan);
void apply_xgboost(Plan& plan);
Result<void> apply_mpi(Plan& plan, const json::Value& policy);
std::string mpi_hostfile(Plan& plan, const json::Value& policy);
std::string mpi_secret_name(const Plan& plan);
std::string mpi_hostfile_name(const Plan& plan);

// Strategic merge of what a runtime patch may hold: lists of named things by name, mounts by path,
// every other list as a whole.
void merge_runtime_patch(json::Value& target, const json::Value& patch);

// Resources of a node as the job or else its runtime has them.
std::int64_t gpus_per_node(Plan& plan);
std::int64_t cpus_per_node(Plan& plan);

std::vector<std::string> texts_at(const json::Value& value,
                                  std::initializer_list<std::string_view> path);
void put_env(json::Object& container, std::string_view name, const std::string& value);
void add_container_port(json::Object& container, std::int32_t port);
// A fieldRef as an environment variable's source.
json::Value from_field(const std::string& path);

}  // namespace hekla::controllers::trainer
