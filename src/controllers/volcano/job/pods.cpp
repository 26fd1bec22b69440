#include "controllers/volcano/job/pods.h"

#include "controllers/volcano/job/names.h"
#include "controllers/volcano/job/volumes.h"

namespace hekla::controllers {
namespace {

namespace keys = model::keys;

const std::string kForwarding = "volcano.sh/job-forwarding";

json::Object copy_object(const json::Value& from, std::initializer_list<std::string_view> path) {
  const json::Object* found = json::object_at(from, path);
  return found ? *found : json::Object();
}

void copy_if_present(const std::map<std::string, std::string>& from, const std::string& key,
                     json::Object& to) {
  if (auto found = from.find(key); found != from.end()) to[key] = found->second;
}

json::Object pod_annotations(const model::VcJob& job, const model::TaskSpec& task,
                             const std::string& role, std::int32_t index) {
  const auto& of_job = job.metadata.annotations;
  json::Object annotations = copy_object(task.podTemplate, {"metadata", "annotations"});
  annotations[keys::task_index] = std::to_string(index);
  annotations[keys::task_spec] = role;
  annotations[keys::group_name] = pod_group_name(job);
  annotations[keys::job_name] = job.metadata.name;
  annotations[keys::job_queue] = job.spec.queue;
  annotations[keys::job_version] = std::to_string(job.status.version);
  annotations[keys::template_uid] = job.metadata.name + "-" + task.name;
  annotations[keys::job_retry_count] = std::to_string(job.status.retryCount);
  if (!task.topologyPolicy.empty()) annotations[keys::numa_topology_policy] = task.topologyPolicy;
  for (const std::string& key : {keys::preemptable, keys::cooldown_time, keys::revocable_zone})
    copy_if_present(of_job, key, annotations);
  copy_if_present(of_job,
                  of_job.contains(keys::jdb_min_available) ? keys::jdb_min_available
                                                           : keys::jdb_max_unavailable,
                  annotations);
  if (job.metadata.annotation(kForwarding) == "true") annotations[kForwarding] = "true";
  return annotations;
}

json::Object pod_labels(const model::VcJob& job, const model::TaskSpec& task,
                        const std::string& role, std::int32_t index) {
  json::Object labels = copy_object(task.podTemplate, {"metadata", "labels"});
  labels[keys::task_index] = std::to_string(index);
  labels[keys::job_name] = job.metadata.name;
  labels[keys::task_spec] = role;
  labels[keys::job_namespace] = job.metadata.ns;
  labels[keys::job_queue] = job.spec.queue;
  for (const std::string& key : {keys::preemptable, keys::cooldown_time})
    copy_if_present(job.metadata.labels, key, labels);
  if (task.partitionPolicy && task.partitionPolicy->partitionSize > 0)
    labels[keys::partition_id] = std::to_string(index / task.partitionPolicy->partitionSize);
  if (job.metadata.annotation(kForwarding) == "true") labels[kForwarding] = "true";
  return labels;
}

void set_if_empty(json::Object& object, std::string_view member, const std::string& value) {
  json::Value& slot = object[member];
  if (slot.is_string() && !slot.get_string().empty()) return;
  if (value.empty())
    object.erase(member);
  else
    slot = value;
}

}  // namespace

Result<json::Value> make_pod(const JobView& view, const model::TaskSpec& task, std::int32_t index) {
  const model::VcJob& job = *view.job;
  std::string role = task.name.empty() ? "default" : task.name;
  json::Object spec = copy_object(task.podTemplate, {"spec"});
  set_if_empty(spec, "schedulerName", job.spec.schedulerName);
  set_if_empty(spec, "priorityClassName", job.spec.priorityClassName);
  json::Value owner = json::encode(model::controller_reference(
      kube::resources::vcjobs.api_version(), kube::resources::vcjobs.kind, job.metadata));
  json::Value pod = json::Object{
      {"apiVersion", "v1"},
      {"kind", "Pod"},
      {"metadata", json::Object{{"name", pod_name(job.metadata.name, task.name, index)},
                                {"namespace", job.metadata.ns},
                                {"labels", pod_labels(job, task, role, index)},
                                {"annotations", pod_annotations(job, task, role, index)},
                                {"ownerReferences", json::Array{std::move(owner)}}}},
      {"spec", std::move(spec)}};
  mount_volumes(job, pod);
  for (const ActivePlugin& active : view.plugins)
    TRY(active.plugin->on_pod_create(PodPlace{job, task, index}, pod));
  return pod;
}

}  // namespace hekla::controllers
