#include "controllers/volcano/flow/flow_status.h"

#include "controllers/volcano/job/state_machine.h"

namespace hekla::controllers {
namespace {

// Which list a job stands in; jobs that are on their way to an end stand in none.
std::string_view list_of(const std::string& phase) {
  if (phase == "Pending") return "pendingJobs";
  if (phase == "Running") return "runningJobs";
  if (phase == "Completed") return "completedJobs";
  if (phase == "Failed") return "failedJobs";
  if (phase == "Terminated") return "terminatedJobs";
  if (phase == "Completing" || phase == "Terminating") return {};
  return "unKnowJobs";
}

json::Value job_status(const model::VcJob& job) {
  const model::VcJobStatus& status = job.status;
  json::Array histories;
  for (std::size_t i = 0; i < status.conditions.size(); ++i) {
    json::Object entry{{"state", status.conditions[i].status},
                       {"startTimestamp", status.conditions[i].lastTransitionTime.to_json()}};
    if (i + 1 < status.conditions.size())
      entry["endTimestamp"] = status.conditions[i + 1].lastTransitionTime.to_json();
    histories.push_back(std::move(entry));
  }
  json::Object one{{"name", job.metadata.name},
                   {"state", status.state.phase},
                   {"startTimestamp", job.metadata.creationTimestamp.to_json()},
                   {"restartCount", status.retryCount},
                   {"runningHistories", std::move(histories)}};
  if (is_finished(parse_phase(status.state.phase)))
    one["endTimestamp"] = status.state.lastTransitionTime.to_json();
  return one;
}

std::string next_flow_phase(const std::string& now, std::size_t running, std::size_t completed,
                            std::size_t failed) {
  if (now == "Failed" || now == "Terminating" || now == "Succeed") return now;
  if (failed > 0) return "Failed";
  if (running > 0 || completed > 0) return "Running";
  return now.empty() ? "Pending" : now;
}

}  // namespace

json::Value flow_status(const model::JobFlowSpec& flow, std::string_view before,
                        const std::vector<std::shared_ptr<const model::VcJob>>& jobs) {
  json::Object status;
  json::Object conditions;
  json::Array states;
  std::map<std::string, std::size_t, std::less<>> counts;
  for (const auto& job : jobs) {
    const std::string& phase = job->status.state.phase;
    if (std::string_view list = list_of(phase); !list.empty()) {
      ++counts[std::string(list)];
      if (!status.contains(list)) status[list] = json::Array();
      status[list].get_array().push_back(json::Value(job->metadata.name));
    }
    states.push_back(job_status(*job));
    json::Object condition{{"phase", phase},
                           {"createTime", job->metadata.creationTimestamp.to_json()}};
    if (!job->status.runningDuration.empty())
      condition["runningDuration"] = job->status.runningDuration;
    if (!job->status.taskStatusCount.empty())
      condition["taskStatusCount"] = json::encode(job->status.taskStatusCount);
    conditions[job->metadata.name] = std::move(condition);
  }
  if (!states.empty()) status["jobStatusList"] = std::move(states);
  if (!conditions.empty()) status["conditions"] = std::move(conditions);
  std::string phase =
      next_flow_phase(std::string(before), counts["runningJobs"], counts["completedJobs"],
                      counts["failedJobs"] + counts["terminatedJobs"]);
  if (phase == "Running" && counts["completedJobs"] == flow.flows.size()) phase = "Succeed";
  status["state"] = json::Object{{"phase", phase}};
  return status;
}

}  // namespace hekla::controllers
