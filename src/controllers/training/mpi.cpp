#include "controllers/training/mpi.h"

#include <algorithm>

#include "base/check.h"
#include "framework/pods.h"

namespace hekla::controllers::training {

std::int64_t slots_per_worker(const TrainingJob& job) {
  return json::int_at(job.spec(), {"slotsPerWorker"}, 1);
}

json::Object& first_container(json::Value& pod) {
  json::Value& containers = json::at_path(pod, {"spec", "containers"});
  CHECK(containers.is_array() && !containers.get_array().empty(),
        "a job that was read has containers");
  return containers.get_array().front().get_object();
}

json::Value config_item(std::string_view key, int mode) {
  return json::Object{{"key", key}, {"path", key}, {"mode", mode}};
}

void mount_config(const TrainingJob& job, json::Value& pod, json::Array items) {
  framework::add_volume(pod,
                        json::Object{{"name", kMpiConfig},
                                     {"configMap", json::Object{{"name", job.name + "-config"},
                                                                {"items", std::move(items)}}}});
  framework::add_mount(first_container(pod),
                       json::Object{{"name", kMpiConfig}, {"mountPath", kMpiConfigPath}});
}

std::vector<framework::PodRef> running_workers(JobRound& round) {
  std::vector<framework::PodRef> running;
  if (const RoleState* workers = round.role("Worker"))
    for (const framework::PodRef& pod : workers->pods)
      if (pod && pod->status.phase == "Running" && !pod->metadata.deletionTimestamp)
        running.push_back(pod);
  std::sort(running.begin(), running.end(),
            [](const auto& a, const auto& b) { return a->metadata.name < b->metadata.name; });
  return running;
}

std::int32_t evicted_workers(JobRound& round) {
  const RoleState* workers = round.role("Worker");
  if (!workers) return 0;
  return static_cast<std::int32_t>(
      std::count_if(workers->pods.begin(), workers->pods.end(), [](const framework::PodRef& pod) {
        return pod && pod->status.phase == "Failed" && pod->status.reason == "Evicted";
      }));
}

void hide_gpus(json::Object& container) {
  append_env(container, "NVIDIA_VISIBLE_DEVICES", "");
  append_env(container, "NVIDIA_DRIVER_CAPABILITIES", "");
}

}  // namespace hekla::controllers::training
