#include "controllers/workload/cron_job.h"

#include <algorithm>
#include <chrono>

#include "controllers/workload/batch_job.h"
#include "model/cron.h"
#include "model/time.h"

namespace hekla::controllers {
namespace {

const std::string kScheduledFor = "batch.kubernetes.io/cronjob-scheduled-timestamp";

std::optional<WallTime> time_at(const json::Value& value,
                                std::initializer_list<std::string_view> path) {
  Result<WallTime> parsed = model::parse_rfc3339(json::string_at(value, path));
  return parsed ? std::optional<WallTime>(*parsed) : std::nullopt;
}

class CronJobRound {
 public:
  CronJobRound(const AnyObject& cron, std::vector<AnyRef> jobs, WallTime now)
      : cron_(cron),
        jobs_(std::move(jobs)),
        now_(now),
        last_(time_at(cron.status, {"lastScheduleTime"})) {}

  Outcome plan() {
    look_at_jobs();
    trim(true, json::int_at(cron_.spec, {"successfulJobsHistoryLimit"}, 3));
    trim(false, json::int_at(cron_.spec, {"failedJobsHistoryLimit"}, 1));
    if (!json::bool_at(cron_.spec, {"suspend"})) keep_schedule();
    write_status();
    return std::move(plan_);
  }

 private:
  void look_at_jobs();
  void trim(bool succeeded, std::int64_t limit);
  void keep_schedule();
  void start(const model::CronSchedule& schedule, WallTime scheduled);
  void write_status();

  const AnyObject& cron_;
  const std::vector<AnyRef> jobs_;
  WallTime now_;
  Outcome plan_;
  std::optional<WallTime> last_, last_success_;
  std::vector<AnyRef> active_;
};

void CronJobRound::look_at_jobs() {
  last_success_ = time_at(cron_.status, {"lastSuccessfulTime"});
  const json::Array* listed = json::array_at(cron_.status, {"active"});
  for (const AnyRef& job : jobs_) {
    // The job itself says which start it was: nothing is lost when the status could not be written.
    Result<WallTime> scheduled = model::parse_rfc3339(job->metadata.annotation(kScheduledFor));
    if (scheduled) last_ = std::max(last_, std::optional<WallTime>(*scheduled));
    bool succeeded = false;
    bool was_active = listed && std::any_of(listed->begin(), listed->end(), [&](const auto& one) {
                        return json::string_at(one, {"uid"}) == job->metadata.uid;
                      });
    if (!batch_job_finished(*job, &succeeded)) {
      if (scheduled || was_active)
        active_.push_back(job);
      else  // a job that a person started from this template is not one of ours
        plan_.tell("Warning", "UnexpectedJob",
                   "Saw a job that the controller did not create or forgot: " + job->metadata.name);
      continue;
    }
    if (succeeded)
      last_success_ = std::max(last_success_, time_at(job->status, {"completionTime"}));
    if (was_active)
      plan_.tell("Normal", "SawCompletedJob",
                 "Saw completed job: " + job->metadata.name +
                     ", condition: " + (succeeded ? "Complete" : "Failed"));
  }
  if (!listed) return;
  for (const json::Value& one : *listed)
    if (std::none_of(jobs_.begin(), jobs_.end(), [&](const AnyRef& job) {
          return job->metadata.uid == json::string_at(one, {"uid"});
        }))
      plan_.tell("Normal", "MissingJob",
                 "Active job went missing: " + std::string(json::string_at(one, {"name"})));
}

void CronJobRound::trim(bool succeeded, std::int64_t limit) {
  std::vector<AnyRef> done;
  for (const AnyRef& job : jobs_) {
    bool good = false;
    if (batch_job_finished(*job, &good) && good == succeeded && !job->metadata.deletionTimestamp)
      done.push_back(job);
  }
  std::sort(done.begin(), done.end(), [](const AnyRef& a, const AnyRef& b) {
    auto x = time_at(a->status, {"startTime"}), y = time_at(b->status, {"startTime"});
    return x != y ? x < y : a->metadata.name < b->metadata.name;
  });
  for (std::size_t i = 0;
       i + static_cast<std::size_t>(std::max<std::int64_t>(0, limit)) < done.size(); ++i)
    plan_.removals.push_back(removal_of(kube::resources::batch_jobs, done[i]->metadata));
}

void CronJobRound::keep_schedule() {
  std::string text(json::string_at(cron_.spec, {"schedule"}));
  std::string zone(json::string_at(cron_.spec, {"timeZone"}));
  if (!zone.empty() && !model::is_time_zone(zone)) {
    plan_.tell("Warning", "UnknownTimeZone",
               "invalid timeZone: \"" + zone + "\": unknown time zone " + zone);
    return;
  }
  Result<model::CronSchedule> schedule = model::CronSchedule::parse(text, zone);
  if (!schedule) {
    plan_.tell("Warning", "UnparseableSchedule",
               "unparseable schedule: \"" + text + "\" : " + schedule.error().message);
    return;
  }
  std::optional<WallTime> next = schedule->next(now_);
  if (!next) {  // the thirtieth of February
    plan_.tell("Warning", "InvalidSchedule",
               "invalid schedule: " + text +
                   " : time difference between two schedules is less than 1 second");
    return;
  }
  wake_in(plan_.again_after, *next - now_);
  WallTime from = last_ ? *last_ : cron_.metadata.creationTimestamp.at.value_or(now_);
  if (const json::Value* deadline = json::find(cron_.spec, "startingDeadlineSeconds"))
    from = std::max(from, now_ - std::chrono::seconds(deadline->to_number<std::int64_t>()));
  std::optional<model::CronSchedule::Missed> missed = schedule->missed(from, now_);
  if (!missed) return;
  if (missed->too_many)
    plan_.tell("Warning", "TooManyMissedTimes",
               "too many missed start times. Set or decrease "
               ".spec.startingDeadlineSeconds or check clock skew");
  std::string_view policy = json::string_at(cron_.spec, {"concurrencyPolicy"});
  if (policy == "Forbid" && !active_.empty()) {
    plan_.tell("Normal", "JobAlreadyActive",
               "Not starting job because prior execution is running and "
               "concurrency policy is Forbid");
    return;
  }
  if (policy == "Replace")
    for (const AnyRef& job : active_)
      if (!job->metadata.deletionTimestamp)
        plan_.removals.push_back(removal_of(kube::resources::batch_jobs, job->metadata));
  // The new one follows when the old ones are on their way out: either write may fail.
  if (policy == "Replace" && std::any_of(active_.begin(), active_.end(), [](const AnyRef& job) {
        return !job->metadata.deletionTimestamp;
      }))
    return;
  start(*schedule, missed->last);
}

void CronJobRound::start(const model::CronSchedule& schedule, WallTime scheduled) {
  auto minutes =
      std::chrono::duration_cast<std::chrono::minutes>(scheduled.time_since_epoch()).count();
  json::Object metadata;
  for (std::string_view member : {"labels", "annotations"})
    if (const json::Value* given = json::find_path(cron_.spec, {"jobTemplate", "metadata", member}))
      metadata[member] = *given;
  metadata["name"] = cron_.metadata.name + "-" + std::to_string(minutes);
  json::Value job = json::Object{{"metadata", std::move(metadata)}};
  json::at_path(job, {"metadata", "annotations", kScheduledFor}) =
      model::format_in_zone(scheduled, schedule.zone());
  if (const json::Value* spec = json::find_path(cron_.spec, {"jobTemplate", "spec"}))
    job.get_object()["spec"] = *spec;
  plan_.children.push_back(once(kube::resources::batch_jobs, std::move(job)));
}

void CronJobRound::write_status() {
  json::Object status;
  if (last_) status["lastScheduleTime"] = model::format_rfc3339(*last_);
  if (last_success_) status["lastSuccessfulTime"] = model::format_rfc3339(*last_success_);
  json::Array active;
  for (const AnyRef& job : active_)
    active.push_back(json::Object{{"kind", "Job"},
                                  {"apiVersion", "batch/v1"},
                                  {"name", job->metadata.name},
                                  {"namespace", job->metadata.ns},
                                  {"uid", job->metadata.uid}});
  if (!active.empty()) status["active"] = std::move(active);
  plan_.status = std::move(status);
}

}  // namespace

KindDescription cron_job_kind() {
  return {
      .name = "cronjob-controller",
      .resource = workload_resources::cron_jobs,
      .owns = {{.resource = kube::resources::batch_jobs,
                .words = {.created = {{"Normal", "SuccessfulCreate", "Created job {name}"}},
                          .create_failed = {{"Warning", "FailedCreate", "Error creating: {error}"}},
                          .removed = {{"Normal", "SuccessfulDelete", "Deleted job {name}"}}}}},
      .reconcile = [](const AnyObject& cron, const View& view) -> Result<Outcome> {
        return CronJobRound(cron, view.children(kube::resources::batch_jobs), view.now()).plan();
      }};
}

}  // namespace hekla::controllers
