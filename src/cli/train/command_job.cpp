#include "cli/train/command_job.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>

namespace hekla::cli {
namespace {

bool is_installed(const std::string& program) {
  for (const char* directory :
       {"/usr/local/sbin/", "/usr/local/bin/", "/usr/sbin/", "/usr/bin/", "/sbin/", "/bin/"})
    if (::access((directory + program).c_str(), X_OK) == 0) return true;
  return false;
}

bool is_manifest(const std::string& word) {
  std::error_code error;
  const std::string suffix = std::filesystem::path(word).extension();
  return (suffix == ".yaml" || suffix == ".yml" || suffix == ".json") &&
         std::filesystem::exists(word, error);
}

json::Object container_of(const CommandPlan& plan) {
  json::Array words, env;
  for (const std::string& word : plan.command) words.emplace_back(word);
  env.push_back(json::Object{{"name", "PYTHONUNBUFFERED"}, {"value", "1"}});
  json::Object limits, requests;
  if (!plan.cpu.empty()) requests["cpu"] = plan.cpu;
  if (!plan.memory.empty()) requests["memory"] = limits["memory"] = plan.memory;
  if (plan.gpus > 0) limits["nvidia.com/gpu"] = plan.gpus;
  json::Object resources;
  if (!requests.empty()) resources["requests"] = std::move(requests);
  if (!limits.empty()) resources["limits"] = std::move(limits);
  json::Object container{{"name", "main"},
                         {"image", plan.image},
                         {"command", std::move(words)},
                         {"env", std::move(env)}};
  if (!resources.empty()) container["resources"] = std::move(resources);
  if (!plan.files.mounts.empty()) {
    container["volumeMounts"] = plan.files.mounts;
    container["workingDir"] = plan.files.script;
  }
  return container;
}

}  // namespace

json::Value command_job(const CommandPlan& plan) {
  json::Object spec{{"containers", json::Array{container_of(plan)}}, {"restartPolicy", "Never"}};
  if (!plan.files.volumes.empty()) spec["volumes"] = plan.files.volumes;
  if (plan.files.user) {
    json::Object context{{"runAsUser", *plan.files.user}, {"runAsGroup", *plan.files.group}};
    json::Array groups;
    for (std::uint32_t group : plan.files.groups) groups.emplace_back(group);
    if (!groups.empty()) context["supplementalGroups"] = std::move(groups);
    spec["securityContext"] = std::move(context);
  }
  json::Object task{{"name", "worker"},
                    {"replicas", plan.replicas},
                    {"template", json::Object{{"spec", std::move(spec)}}}};
  // The others would wait for the one that has failed.
  json::Array policies{json::Object{{"event", "PodFailed"}, {"action", "TerminateJob"}}};
  json::Object job{{"minAvailable", plan.replicas},
                   {"schedulerName", "volcano"},
                   {"plugins", json::Object{{"env", json::Array{}}, {"svc", json::Array{}}}},
                   {"policies", std::move(policies)},
                   {"tasks", json::Array{std::move(task)}}};
  if (!plan.queue.empty()) job["queue"] = plan.queue;
  json::Object metadata{{"name", plan.name}};
  if (!plan.ns.empty()) metadata["namespace"] = plan.ns;
  return json::Object{{"apiVersion", "batch.volcano.sh/v1alpha1"},
                      {"kind", "Job"},
                      {"metadata", std::move(metadata)},
                      {"spec", std::move(job)}};
}

std::string name_of_command(const std::vector<std::string>& command, std::string_view suffix) {
  static constexpr std::array kInterpreters{"python", "python3", "sh", "bash", "node", "torchrun"};
  for (const std::string& word : command) {
    const std::string name = std::filesystem::path(word).filename();
    const bool tells =
        !name.starts_with('-') &&
        std::find(kInterpreters.begin(), kInterpreters.end(), name) == kInterpreters.end() &&
        name.find(' ') == std::string::npos;
    if (tells) return job_name_of(name, suffix);
  }
  return job_name_of(command.empty() ? "run" : command[0], suffix);
}

Result<void> check_command(const std::vector<std::string>& command) {
  for (const std::string& word : command)
    if (command.size() == 1 && is_manifest(word))
      return fail(Code::bad_request,
                  word + " is a file of objects, no program: hekla run -f " + word);
  return {};
}

std::string program_here(const std::string& program) {
  const bool plain = program.find('/') == std::string::npos;
  return plain && !is_installed(program) && is_installed(program + "3") ? program + "3" : program;
}

}  // namespace hekla::cli
