#include "controllers/volcano/job/names.h"

#include "controllers/volcano/job/state_machine.h"

namespace hekla::controllers {

std::string pod_name(const std::string& job, const std::string& task, std::int32_t index) {
  return job + "-" + task + "-" + std::to_string(index);
}

std::string pod_group_name(const model::VcJob& job) {
  return job.metadata.name + "-" + job.metadata.uid;
}

std::string pod_host(const model::VcJob& job, const model::TaskSpec& task, std::int32_t index) {
  std::string host(json::string_at(task.podTemplate, {"spec", "hostname"}));
  std::string subdomain(json::string_at(task.podTemplate, {"spec", "subdomain"}));
  if (host.empty()) host = pod_name(job.metadata.name, task.name, index);
  if (subdomain.empty()) subdomain = job.metadata.name;
  return host + "." + subdomain;
}

std::vector<std::string> role_hosts(const model::VcJob& job, const model::TaskSpec& task) {
  std::vector<std::string> hosts;
  bool fixed = !json::string_at(task.podTemplate, {"spec", "hostname"}).empty();
  for (std::int32_t index = 0; index < task.replicas; ++index) {
    hosts.push_back(pod_host(job, task, index));
    if (fixed) break;
  }
  return hosts;
}

Result<void> check_hosts(const model::VcJob& job) {
  std::int64_t hosts = total_replicas(job.spec);
  if (hosts <= kHostsMax) return {};
  return fail(Code::invalid, "the job has " + std::to_string(hosts) + " pods: no more than " +
                                 std::to_string(kHostsMax) + " hosts can be listed");
}

std::string stable_suffix(const std::string& text) {
  std::uint64_t hash = 14695981039346656037u;  // FNV-1a
  for (unsigned char byte : text) hash = (hash ^ byte) * 1099511628211u;
  static constexpr std::string_view kDigits = "0123456789abcdefghijklmnopqrstuvwxyz";
  std::string suffix;
  for (int i = 0; i < 12; ++i) {
    suffix += kDigits[hash % kDigits.size()];
    hash /= kDigits.size();
  }
  return suffix;
}

const model::TaskSpec* find_task(const model::VcJob& job, const std::string& name) {
  for (const model::TaskSpec& task : job.spec.tasks)
    if (task.name == name) return &task;
  return nullptr;
}

}  // namespace hekla::controllers
