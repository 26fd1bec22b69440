#include "cli/train/train_job.h"

#include <algorithm>
#include <filesystem>

#include "base/check.h"
#include "cli/cluster.h"

namespace hekla::cli {
namespace {

namespace resources = kube::resources;

constexpr std::size_t kLongestStem = 30;  // pods' names are longer, and are labels' values

json::Object resources_of(const TrainPlan& plan, bool launcher) {
  json::Object limits, requests;
  if (!launcher && !plan.cpu.empty()) requests["cpu"] = plan.cpu;
  if (!launcher && !plan.memory.empty()) requests["memory"] = limits["memory"] = plan.memory;
  if (!launcher && plan.gpus > 0) limits["nvidia.com/gpu"] = plan.gpus;
  json::Object out;
  if (!requests.empty()) out["requests"] = std::move(requests);
  if (!limits.empty()) out["limits"] = std::move(limits);
  return out;
}

json::Array command_of(const TrainPlan& plan) {
  json::Array words;
  if (plan.framework->kind == &resources::mpi_jobs)
    for (const std::string& word :
         {std::string("mpirun"), std::string("--allow-run-as-root"), std::string("-np"),
          std::to_string(plan.workers), std::string("-x"), std::string("PATH")})
      words.emplace_back(word);
  words.emplace_back(plan.files.venv.empty() ? "python3" : plan.files.venv + "/bin/python3");
  words.emplace_back("-u");
  for (std::string_view word : plan.framework->launcher) words.emplace_back(word);
  words.emplace_back(plan.files.script);
  for (const std::string& argument : plan.arguments) words.emplace_back(argument);
  return words;
}

json::Object pod_template(const TrainPlan& plan, std::string_view role) {
  const bool launcher = role == "Launcher";
  const bool runs_script = plan.framework->kind != &resources::mpi_jobs || launcher;
  json::Object container{{"name", plan.framework->container}, {"image", plan.image}};
  if (runs_script) container["command"] = command_of(plan);
  container["workingDir"] = std::filesystem::path(plan.files.script).parent_path().string();
  if (json::Object wanted = resources_of(plan, launcher); !wanted.empty())
    container["resources"] = std::move(wanted);
  json::Array env;
  env.push_back(json::Object{{"name", "PYTHONUNBUFFERED"}, {"value", "1"}});
  if (!plan.files.venv.empty()) {
    env.push_back(json::Object{{"name", "VIRTUAL_ENV"}, {"value", plan.files.venv}});
    env.push_back(json::Object{
        {"name", "PATH"},
        {"value",
         plan.files.venv + "/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"}});
  }
  container["env"] = std::move(env);
  container["volumeMounts"] = plan.files.mounts;
  json::Object spec{{"containers", json::Array{std::move(container)}},
                    {"volumes", plan.files.volumes}};
  if (plan.files.user) {
    json::Object context{{"runAsUser", *plan.files.user}, {"runAsGroup", *plan.files.group}};
    json::Array groups;
    for (std::uint32_t group : plan.files.groups) groups.emplace_back(group);
    if (!groups.empty()) context["supplementalGroups"] = std::move(groups);
    spec["securityContext"] = std::move(context);
  }
  return {{"spec", std::move(spec)}};
}

// A script that fails would fail again: nothing is restarted.
json::Object role_of(const TrainPlan& plan, std::string_view role, int replicas) {
  return {
      {"replicas", replicas}, {"restartPolicy", "Never"}, {"template", pod_template(plan, role)}};
}

}  // namespace

std::span<const Framework> frameworks() {
  static const std::vector<Framework> all = {
      {"torch",
       &resources::pytorch_jobs,
       "pytorchReplicaSpecs",
       "pytorch",
       "Master",
       "torch",
       "pytorch",
       "pytorch/pytorch:latest",
       {"-m", "torch.distributed.run"}},
      {"tensorflow",
       &resources::tf_jobs,
       "tfReplicaSpecs",
       "tensorflow",
       "",
       "tensorflow",
       "tensorflow",
       "tensorflow/tensorflow:latest",
       {}},
      {"mpi", &resources::mpi_jobs, "mpiReplicaSpecs", "mpi", "Launcher", "mpi4py", "mpi", "", {}},
      {"xgboost",
       &resources::xgboost_jobs,
       "xgbReplicaSpecs",
       "xgboost",
       "Master",
       "xgboost",
       "xgboost",
       "",
       {}},
      {"paddle",
       &resources::paddle_jobs,
       "paddleReplicaSpecs",
       "paddle",
       "",
       "paddle",
       "paddle",
       "paddlepaddle/paddle:latest",
       {"-m", "paddle.distributed.launch"}},
      {"jax", &resources::jax_jobs, "jaxReplicaSpecs", "jax", "", "jax", "jax", "", {}},
  };
  return all;
}

const Framework* find_framework(std::string_view name) {
  for (const Framework& one : frameworks())
    if (one.name == name) return &one;
  return nullptr;
}

json::Value train_job(const TrainPlan& plan) {
  CHECK(plan.framework && plan.workers >= 1, "the command line was checked");
  const Framework& framework = *plan.framework;
  json::Object roles;
  int workers = plan.workers;
  if (!framework.master.empty()) {
    roles[framework.master] = role_of(plan, framework.master, 1);
    // An MPI launcher only starts the others.
    if (framework.kind != &resources::mpi_jobs) --workers;
  }
  if (workers > 0) roles["Worker"] = role_of(plan, "Worker", workers);
  json::Object policy{{"cleanPodPolicy", "Running"}};
  if (!plan.queue.empty()) policy["schedulingPolicy"] = json::Object{{"queue", plan.queue}};
  json::Object spec{{"runPolicy", std::move(policy)}, {framework.roles, std::move(roles)}};
  // One process for each card; "auto" would start one for each core where there is none.
  if (framework.kind == &resources::pytorch_jobs)
    spec["nprocPerNode"] = std::to_string(std::max(plan.gpus, 1));
  return json::Object{{"apiVersion", framework.kind->api_version()},
                      {"kind", framework.kind->kind},
                      {"metadata", json::Object{{"name", plan.name}, {"namespace", plan.ns}}},
                      {"spec", std::move(spec)}};
}

std::string job_name_of(const std::string& script, std::string_view suffix) {
  std::string stem;
  for (char c : lowered(std::filesystem::path(script).stem().string())) {
    const bool letter = c >= 'a' && c <= 'z', digit = c >= '0' && c <= '9';
    if (letter || (digit && !stem.empty()))
      stem += c;
    else if (!stem.empty() && !stem.ends_with('-'))
      stem += '-';
  }
  stem.resize(std::min(stem.size(), kLongestStem));
  while (stem.ends_with('-')) stem.pop_back();
  return (stem.empty() ? "train" : stem) + "-" + std::string(suffix);
}

}  // namespace hekla::cli
