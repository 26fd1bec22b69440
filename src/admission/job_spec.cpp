#include "admission/job_spec.h"

#include <algorithm>
#include <map>
#include <set>

#include "admission/pod_template.h"
#include "admission/policies.h"
#include "admission/text.h"
#include "model/names.h"
#include "model/time.h"

namespace hekla::admission {
namespace {

// The job plugins of controllers/volcano/job/plugins; admission does not see that module.
const std::set<std::string> kPlugins = {"env", "hcclrank", "mpi", "pytorch",
                                        "ray", "ssh",      "svc", "tensorflow"};

// -name=value or -name value among plugin arguments.
std::string argument(const std::vector<std::string>& arguments, std::string_view name,
                     std::string otherwise) {
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    std::string_view one = arguments[i];
    if (!one.starts_with('-')) continue;
    one.remove_prefix(one.starts_with("--") ? 2 : 1);
    if (one == name && i + 1 < arguments.size()) return arguments[i + 1];
    if (one.starts_with(name) && one.substr(name.size()).starts_with('='))
      return std::string(one.substr(name.size() + 1));
  }
  return otherwise;
}

bool has_task(const model::VcJobSpec& spec, const std::string& name) {
  return std::any_of(spec.tasks.begin(), spec.tasks.end(),
                     [&](const model::TaskSpec& task) { return task.name == name; });
}

std::string duration_error(const std::string& field, const std::string& text) {
  if (text.empty()) return {};
  Result<Nanos> duration = model::parse_go_duration(text);
  if (!duration) return invalid_field(field, text, duration.error().message);
  if (*duration < Nanos(0)) return invalid_field(field, text, "must be greater than or equal to 0");
  return {};
}

// Durations are texts to the schema; Volcano cannot even decode an object with a bad one.
std::string first_duration_error(const model::VcJobSpec& spec) {
  std::string error = duration_error("spec.runningEstimate", spec.runningEstimate);
  auto look = [&](const std::vector<model::LifecyclePolicy>& policies, const std::string& path) {
    for (std::size_t i = 0; i < policies.size() && error.empty(); ++i)
      error = duration_error(path + ".policies[" + std::to_string(i) + "].timeout",
                             policies[i].timeout);
  };
  look(spec.policies, "spec");
  for (std::size_t i = 0; i < spec.tasks.size(); ++i)
    look(spec.tasks[i].policies, "spec.tasks[" + std::to_string(i) + "]");
  return error;
}

// Complaints that stand alone.
std::string fatal_error(const model::VcJobSpec& spec) {
  if (std::string error = first_duration_error(spec); !error.empty()) return error;
  if (spec.minAvailable < 0) return "job 'minAvailable' must be >= 0.";
  if (spec.maxRetry < 0) return "'maxRetry' cannot be less than zero.";
  if (spec.ttlSecondsAfterFinished && *spec.ttlSecondsAfterFinished < 0)
    return "'ttlSecondsAfterFinished' cannot be less than zero.";
  if (spec.tasks.empty()) return "No task specified in job spec";
  auto mpi = spec.plugins.find("mpi");
  if (mpi == spec.plugins.end()) return {};
  if (!has_task(spec, argument(mpi->second, "master", "master")))
    return "The specified mpi master task was not found";
  if (!has_task(spec, argument(mpi->second, "worker", "worker")))
    return "The specified mpi worker task was not found";
  return {};
}

// "in task: t, job: j;", without the job for a template.
std::string in_task(const model::TaskSpec& task, const std::string& job) {
  return " in task: " + task.name + (job.empty() ? "" : ", job: " + job) + ";";
}

std::string template_errors(const Settings& settings, const model::TaskSpec& task,
                            std::size_t index) {
  std::vector<std::string> fields;
  if (settings.pod_template_errors) fields = settings.pod_template_errors(task.podTemplate);
  if (fields.empty()) return topology_error(task, index);
  std::string errors = "spec.task[" + std::to_string(index) + "].";
  for (const std::string& field : fields) errors += field + ". ";
  return errors;
}

std::string task_errors(const JobSpecInput& input, std::size_t index) {
  const model::TaskSpec& task = input.spec.tasks[index];
  const std::string& job = input.job;
  std::string errors = policy_errors(task.policies, "spec.tasks.policies");
  if (!job.empty()) {
    std::string pod = job + "-" + task.name + "-" + std::to_string(index);
    std::vector<std::string> wrong = model::qualified_name_errors(pod);
    if (!wrong.empty())
      errors += "create pod with name " + pod + " validate failed " + bracketed(wrong) + ";";
  }
  return errors + template_errors(input.settings, task, index) + partition_errors(task, job);
}

std::string all_task_errors(const JobSpecInput& input) {
  const model::VcJobSpec& spec = input.spec;
  const std::string& job = input.job;
  std::string errors;
  std::set<std::string> names;
  for (std::size_t i = 0; i < spec.tasks.size(); ++i) {
    const model::TaskSpec& task = spec.tasks[i];
    if (task.replicas < 0) errors += " 'replicas' < 0" + in_task(task, job);
    if (task.minAvailable && *task.minAvailable < 0)
      errors += " 'minAvailable' < 0" + in_task(task, job);
    else if (task.minAvailable && *task.minAvailable > task.replicas)
      errors += " 'minAvailable' is greater than 'replicas'" + in_task(task, job);
    std::vector<std::string> wrong = model::dns1123_label_errors(task.name);
    if (!wrong.empty()) errors += " " + bracketed(wrong) + ";";
    if (!names.insert(task.name).second) {
      errors += " duplicated task name " + task.name + ";";
      break;
    }
    errors += task_errors(input, i);
  }
  return errors;
}

std::string volume_errors(const model::VcJobSpec& spec, std::vector<std::string>* warnings) {
  std::set<std::string> paths;
  bool some_name_a_claim =
      std::any_of(spec.volumes.begin(), spec.volumes.end(),
                  [](const model::JobVolume& volume) { return !volume.volumeClaimName.empty(); });
  auto warn = [&](std::string text) {
    if (warnings) warnings->push_back(std::move(text));
  };
  for (const model::JobVolume& volume : spec.volumes) {
    if (volume.mountPath.empty()) return " mountPath is required;";
    if (!paths.insert(volume.mountPath).second)
      return " duplicated mountPath: " + volume.mountPath + ";";
    bool described = !volume.volumeClaim.is_null();
    if (!described && volume.volumeClaimName.empty()) {
      if (!some_name_a_claim) return " either VolumeClaim or VolumeClaimName must be specified;";
      warn("volume " + volume.mountPath +
           " has neither volumeClaim nor volumeClaimName: each pod gets an empty directory there");
    }
    if (volume.volumeClaimName.empty()) continue;
    if (described)
      warn("volume " + volume.mountPath + " has both volumeClaim and volumeClaimName: the claim " +
           volume.volumeClaimName + " is created if it does not exist");
    std::vector<std::string> wrong = model::dns1123_subdomain_errors(volume.volumeClaimName);
    if (!wrong.empty())
      return "invalid VolumeClaimName " + volume.volumeClaimName + " : " + bracketed(wrong);
  }
  return {};
}

std::string queue_errors(const kube::AdmissionReader& reader, const std::string& name) {
  Result<model::Queue> queue = find_queue(reader, name);
  if (!queue) return " unable to find job queue: " + queue.error().message + ";";
  std::string errors;
  if (!is_open(*queue))
    errors += " can only submit job to queue with state `Open`, queue `" + name + "` status is `" +
              queue->status.state + "`;";
  if (name == "root") return errors + " can not submit job to root queue;";
  Result<std::vector<model::Queue>> children = child_queues(reader, name);
  if (!children) return errors + "failed to get list queues: " + children.error().message + ";";
  if (!children->empty())
    errors += " can only submit job to leaf queue, queue `" + name + "` has " +
              std::to_string(children->size()) + " child queues;";
  return errors;
}

// Roles are taken away one by one when nothing they wait for is left.
bool is_acyclic(const model::VcJobSpec& spec) {
  std::map<std::string, std::set<std::string>> waits;
  for (const model::TaskSpec& task : spec.tasks) {
    std::set<std::string>& on = waits[task.name];
    if (task.dependsOn) on.insert(task.dependsOn->name.begin(), task.dependsOn->name.end());
  }
  while (!waits.empty()) {
    auto free =
        std::find_if(waits.begin(), waits.end(), [](const auto& w) { return w.second.empty(); });
    if (free == waits.end()) return false;
    std::string name = free->first;
    waits.erase(free);
    for (auto& [task, on] : waits) on.erase(name);
  }
  return true;
}

// Tasks that wait for others are made when those run, and nobody runs before the whole gang is
// there. Volcano lets such jobs in, and they wait for ever.
void warn_of_deadlock(const JobSpecInput& input) {
  const model::VcJobSpec& spec = input.spec;
  const std::vector<std::string>& gangs = input.settings.scheduler_names;
  if (!input.warnings || std::find(gangs.begin(), gangs.end(), spec.schedulerName) == gangs.end())
    return;
  std::int64_t first = 0;
  const model::TaskSpec* waiting = nullptr;
  for (const model::TaskSpec& task : spec.tasks) {
    bool waits = task.dependsOn && !task.dependsOn->name.empty();
    if (!waits) first += task.replicas;
    if (waits && !waiting) waiting = &task;
  }
  if (!waiting || first >= spec.minAvailable) return;
  input.warnings->push_back("task " + waiting->name +
                            " waits for tasks that do not start before the gang has its " +
                            std::to_string(spec.minAvailable) + " pods: set minAvailable to " +
                            std::to_string(first) + " or less");
}

}  // namespace

std::string topology_conflict(const std::optional<model::NetworkTopologySpec>& topology) {
  if (!topology || !topology->highestTierAllowed || topology->highestTierName.empty()) return {};
  return "must not specify 'highestTierAllowed' and 'highestTierName' in networkTopology "
         "simultaneously";
}

std::string partition_errors(const model::TaskSpec& task, const std::string& job) {
  if (!task.partitionPolicy) return {};
  const model::PartitionPolicy& policy = *task.partitionPolicy;
  std::string errors;
  if (policy.totalPartitions <= 0)
    errors += " 'TotalPartitions' must be greater than 0" + in_task(task, job);
  if (policy.partitionSize <= 0)
    errors += " 'PartitionSize' must be greater than 0" + in_task(task, job);
  if (task.replicas != std::int64_t{policy.totalPartitions} * policy.partitionSize)
    errors += " 'Replicas' are not equal to TotalPartitions*PartitionSize" + in_task(task, job);
  if (policy.minPartitions > 0 && task.minAvailable &&
      *task.minAvailable != std::int64_t{policy.minPartitions} * policy.partitionSize)
    errors += " 'MinAvailable' is not equal to MinPartitions*PartitionSize" + in_task(task, job);
  std::string conflict = topology_conflict(policy.networkTopology);
  if (!conflict.empty()) errors += " " + conflict + ";";
  return errors;
}

bool is_open(const model::Queue& queue) {
  return queue.status.state.empty() || queue.status.state == "Open";
}

Result<model::Queue> find_queue(const kube::AdmissionReader& reader, const std::string& name) {
  Result<kube::SharedValue> found = reader.get(kube::resources::queues, kube::Key{"", name});
  if (!found && found.error().code == Code::not_found)
    return fail(Code::not_found, "queue.scheduling.volcano.sh " + quoted(name) + " not found");
  if (!found) return std::unexpected(found.error());
  return json::decode<model::Queue>(**found);
}

Result<std::vector<model::Queue>> child_queues(const kube::AdmissionReader& reader,
                                               const std::string& parent) {
  std::vector<model::Queue> children;
  for (const kube::SharedValue& value : TRY(reader.list(kube::resources::queues, ""))) {
    if (json::string_at(*value, {"spec", "parent"}) != parent) continue;
    children.push_back(TRY(json::decode<model::Queue>(*value)));
  }
  return children;
}

std::string job_spec_errors(const JobSpecInput& input) {
  const model::VcJobSpec& spec = input.spec;
  std::string errors = fatal_error(spec);
  if (!errors.empty()) return errors;
  errors = all_task_errors(input);
  if (!input.job.empty()) {
    std::vector<std::string> wrong = model::qualified_name_errors(input.job);
    if (!wrong.empty())
      errors += "create job with name " + input.job + " validate failed " + bracketed(wrong);
  }
  std::int64_t replicas = 0;
  bool depends = false;
  for (const model::TaskSpec& task : spec.tasks) {
    replicas += task.replicas;
    depends |= task.dependsOn.has_value();
  }
  if (replicas > kPodsMax)
    errors += " total replicas in tasks must not be greater than " + std::to_string(kPodsMax) + ";";
  if (replicas < spec.minAvailable)
    errors += " job 'minAvailable' should not be greater than total replicas in tasks;";
  errors += policy_errors(spec.policies, "spec.policies");
  for (const auto& [name, arguments] : spec.plugins)
    if (!kPlugins.contains(name)) errors += " unable to find job plugin: " + name + ";";
  errors += volume_errors(spec, input.warnings);
  std::string conflict = topology_conflict(spec.networkTopology);
  if (!conflict.empty()) errors += " " + conflict + ";";
  if (input.reader) errors += queue_errors(*input.reader, spec.queue);
  if (depends) warn_of_deadlock(input);
  if (depends && !is_acyclic(spec))
    errors +=
        " job has dependencies between tasks, but doesn't form a directed acyclic graph(DAG);";
  return errors;
}

}  // namespace hekla::admission
