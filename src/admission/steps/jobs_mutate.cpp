// mutatejob.volcano.sh: what a new job leaves out. Queue, scheduler, retries, names of tasks, gang
// sizes, the plugins other plugins need. Templates come out as Kubernetes' own types would write
// them.
#include "admission/pod_template.h"
#include "admission/step.h"

namespace hekla::admission {
namespace {

void set_if_empty(json::Value& object, std::string_view member, std::string_view value) {
  if (is_left_out(object, {member})) object.get_object()[member] = value;
}

void set_if_zero(json::Value& object, std::string_view member, std::int64_t value) {
  json::Value& slot = object.get_object()[member];
  if (slot.is_null() || (slot.is_number() && slot.to_number<double>() == 0)) slot = value;
}

std::int64_t default_minimum(const json::Value& task) {
  std::int64_t partitions = json::int_at(task, {"partitionPolicy", "minPartitions"});
  if (partitions > 0) return partitions * json::int_at(task, {"partitionPolicy", "partitionSize"});
  return json::int_at(task, {"replicas"});
}

void default_task(json::Value& task, std::size_t index) {
  json::Object& object = task.get_object();
  set_if_empty(task, "name", "default" + std::to_string(index));
  if (object["minAvailable"].is_null()) object["minAvailable"] = default_minimum(task);
  set_if_zero(task, "maxRetry", 3);
  json::Value& pod = object["template"];
  normalise_template(pod);
  if (json::bool_at(pod, {"spec", "hostNetwork"}) && is_left_out(pod, {"spec", "dnsPolicy"}))
    json::at_path(pod, {"spec", "dnsPolicy"}) = "ClusterFirstWithHostNet";
}

void add_needed_plugins(json::Object& spec) {
  json::Value* value = spec.if_contains("plugins");
  if (!value || !value->is_object()) return;
  json::Object& plugins = value->get_object();
  bool mpi = plugins.contains("mpi");
  bool distributed = mpi || plugins.contains("tensorflow") || plugins.contains("pytorch") ||
                     plugins.contains("ray");
  if (distributed && !plugins.contains("svc")) plugins["svc"] = json::Array();
  if (mpi && !plugins.contains("ssh")) plugins["ssh"] = json::Array();
}

// An addition to Volcano's spec, kept where the controller finds it on any cluster. It may be
// edited.
void note_deadline(const kube::AdmissionRequest& request, json::Value& job) {
  constexpr std::string_view kDeadline = "hekla.io/active-deadline-seconds";
  auto seconds_of = [](const json::Value& one) {
    return json::int_at(one, {"spec", "activeDeadlineSeconds"});
  };
  if (std::int64_t seconds = seconds_of(job); seconds > 0)
    json::at_path(job, {"metadata", "annotations", kDeadline}) = std::to_string(seconds);
  else if (request.old_object && seconds_of(*request.old_object) > 0 &&
           json::object_at(job, {"metadata", "annotations"}))
    json::at_path(job, {"metadata", "annotations"}).get_object().erase(kDeadline);
}

Result<void> mutate_job(const Settings& settings, const kube::AdmissionRequest& request,
                        json::Value& job) {
  note_deadline(request, job);
  if (request.operation != kube::Operation::create) return {};
  json::Value& spec = json::at_path(job, {"spec"});
  if (!spec.is_object()) return {};
  set_if_empty(spec, "queue", "default");
  set_if_empty(spec, "schedulerName", settings.scheduler_names.front());
  set_if_zero(spec, "maxRetry", 3);
  std::int64_t minimum = 0;
  if (json::Value* tasks = spec.get_object().if_contains("tasks"); tasks && tasks->is_array()) {
    json::Array& array = tasks->get_array();
    for (std::size_t i = 0; i < array.size(); ++i) {
      if (!array[i].is_object()) continue;
      default_task(array[i], i);
      minimum += json::int_at(array[i], {"minAvailable"});
    }
  }
  set_if_zero(spec, "minAvailable", minimum);
  add_needed_plugins(spec.get_object());
  return {};
}

}  // namespace

extern const Step step_jobs_mutate;
const Step step_jobs_mutate{
    .name = "mutatejob.volcano.sh",
    .path = "/jobs/mutate",
    .resources = {&kube::resources::vcjobs},
    .when = Step::When::create_or_update,
    .mutate = mutate_job,
};

}  // namespace hekla::admission
