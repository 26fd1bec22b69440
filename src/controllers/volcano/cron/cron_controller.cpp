#include "controllers/volcano/cron/cron_controller.h"

#include <algorithm>
#include <tuple>

#include "controllers/vocabulary.h"
#include "controllers/volcano/job/state_machine.h"
#include "framework/held.h"
#include "model/cron.h"
#include "model/job_makers.h"

namespace hekla::controllers {
namespace {

const std::string kScheduledAt = "volcano.sh/cronjob-scheduled-timestamp";
constexpr Nanos kSlack = std::chrono::milliseconds(100);

std::string scheduled_job_name(const std::string& cron, WallTime scheduled) {
  auto minutes = std::chrono::floor<std::chrono::minutes>(scheduled.time_since_epoch()).count();
  return cron + "-" + std::to_string(minutes);
}

// The zone that stands before a schedule as robfig's cron reads it ("TZ=Asia/Tokyo 0 * * * *"), and
// the rest; admission refuses such, but where it does not run they come through.
std::optional<std::pair<std::string, std::string>> split_zone(const std::string& schedule) {
  if (!schedule.starts_with("TZ=") && !schedule.starts_with("CRON_TZ=")) return std::nullopt;
  std::size_t begin = schedule.find('=') + 1, end = schedule.find(' ', begin);
  if (end == std::string::npos) return std::nullopt;
  return std::pair(schedule.substr(begin, end - begin), schedule.substr(end + 1));
}

// A run that neither the status lists nor this controller can just have started.
bool is_orphan(const model::VcCronJob& cron, const model::VcJob& job) {
  for (const model::JobReference& known : cron.status.active)
    if (known.uid == job.metadata.uid) return false;
  Result<WallTime> scheduled = model::parse_rfc3339(job.metadata.annotation(kScheduledAt));
  return !scheduled ||
         (cron.status.lastScheduleTime && *scheduled <= *cron.status.lastScheduleTime.at);
}

Child scheduled_job(const model::VcCronJob& cron, WallTime scheduled, const std::string& zone) {
  const json::Value& from = cron.spec.jobTemplate;
  json::Object metadata{{"name", scheduled_job_name(cron.metadata.name, scheduled)}};
  if (const json::Object* labels = json::object_at(from, {"metadata", "labels"}))
    metadata["labels"] = *labels;
  json::Object annotations;
  if (const json::Object* given = json::object_at(from, {"metadata", "annotations"}))
    annotations = *given;
  annotations[kScheduledAt] = model::format_in_zone(scheduled, zone);
  metadata["annotations"] = std::move(annotations);
  const json::Value* spec = json::find(from, "spec");
  return {.resource = kube::resources::vcjobs,
          .body = json::Object{{"metadata", std::move(metadata)},
                               {"spec", spec ? *spec : json::Value(json::Object())}},
          .care = Care::create_once};
}

using JobRef = std::shared_ptr<const model::VcJob>;

// One look at a cron job.
class CronRound {
 public:
  CronRound(model::VcCronJob cron, const View& view)
      : cron_(std::move(cron)), view_(view), now_(view.now()), status_(cron_.status) {}

  Outcome run() {
    sort_children();
    trim_history();
    if (!cron_.spec.suspend) start_due();
    write_status();
    return std::move(outcome_);
  }

 private:
  void sort_children();
  void trim_history();
  // Nothing, and an event, when it cannot be read.
  std::optional<model::CronSchedule> read_schedule();
  void start_due();
  void make_job(WallTime scheduled, const std::string& zone);
  void write_status();
  void record(const char* type, const char* reason, const std::string& message) {
    outcome_.tell(type, reason, message);
  }
  void drop(const JobRef& job, const char* reason) {
    outcome_.removals.push_back(removal_of(kube::resources::vcjobs, job->metadata, reason));
  }

  const model::VcCronJob cron_;
  const View& view_;
  const WallTime now_;
  std::vector<JobRef> active_, succeeded_, failed_;  // oldest first
  model::VcCronJobStatus status_;
  Outcome outcome_;
};

void CronRound::sort_children() {
  std::vector<JobRef> children = view_.children<model::VcJob>(kube::resources::vcjobs);
  std::stable_sort(children.begin(), children.end(), [](const JobRef& a, const JobRef& b) {
    return a->metadata.creationTimestamp.at < b->metadata.creationTimestamp.at;
  });
  for (const JobRef& job : children) {
    Phase phase = parse_phase(job->status.state.phase);
    if (phase == Phase::completed) {
      succeeded_.push_back(job);
      model::Time ended = job->status.state.lastTransitionTime;
      if (ended && (!status_.lastSuccessfulTime || ended.at > status_.lastSuccessfulTime.at))
        status_.lastSuccessfulTime = ended;
    } else if (phase == Phase::failed) {
      failed_.push_back(job);
    } else if (!is_finished(phase) && !job->metadata.deletionTimestamp) {
      active_.push_back(job);
      if (is_orphan(cron_, *job))
        record("Warning", "OrphanedJob",
               "Detected orphaned job forgotted or not managed by controller: " +
                   job->metadata.name + " (UID: " + job->metadata.uid + ")");
    }
  }
}

void CronRound::trim_history() {
  for (const model::JobReference& known : cron_.status.active) {
    JobRef job = view_.find<model::VcJob>(kube::resources::vcjobs, {known.ns, known.name});
    if (!job)
      record("Warning", "StaleReference",
             "Active job \"" + known.name + "\" no longer exists (UID: " + known.uid + ")");
    else if (job->metadata.uid != known.uid)
      record("Warning", "StaleReference",
             "Active job reference \"" + known.name + "\" points to a different UID (expected: " +
                 known.uid + ", actual: " + job->metadata.uid + ")");
    else if (is_finished(parse_phase(job->status.state.phase)))
      record("Normal", "SawCompletedJob",
             "Saw completed job: " + known.name + " in active, remove");
  }
  auto trim = [&](const std::vector<JobRef>& ended, std::int32_t limit) {
    for (std::size_t i = 0; i + static_cast<std::size_t>(limit) < ended.size(); ++i) {
      if (!ended[i]->metadata.deletionTimestamp) drop(ended[i], "the history is full");
    }
  };
  trim(succeeded_, std::max(cron_.spec.successfulJobsHistoryLimit.value_or(3), 0));
  trim(failed_, std::max(cron_.spec.failedJobsHistoryLimit.value_or(1), 0));
}

std::optional<model::CronSchedule> CronRound::read_schedule() {
  std::string zone = cron_.spec.timeZone.value_or(""), text = cron_.spec.schedule;
  if (!zone.empty() && !model::is_time_zone(zone)) {
    record("Warning", "InvalidTimeZone",
           "Invalid time zone \"" + zone + "\": unknown time zone " + zone);
    return std::nullopt;
  }
  if (text.find("TZ") != std::string::npos)
    record("Warning", "UnsupportedSchedule",
           "CRON_TZ or TZ in the schedule \"" + text +
               "\" is not officially supported. If set, the TimeZone field will be ignored during "
               "execution.");
  if (auto parts = split_zone(text)) std::tie(zone, text) = std::move(*parts);
  Result<model::CronSchedule> schedule = model::CronSchedule::parse(text, zone);
  if (schedule) return std::move(*schedule);
  record(
      "Warning", "UnParseableCronJobSchedule",
      "unparseable schedule for cronjob: " + cron_.spec.schedule + ": " + schedule.error().message);
  return std::nullopt;
}

void CronRound::start_due() {
  std::optional<model::CronSchedule> schedule = read_schedule();
  if (!schedule) return;
  std::optional<WallTime> next = schedule->next(now_);
  if (!next)  // the thirtieth of February
    return record("Warning", "InvalidSchedule",
                  "Error getting schedule time: time difference between two schedules is less than "
                  "1 second");
  outcome_.again_after = *next - now_ + kSlack;
  model::Time since = cron_.status.lastScheduleTime ? cron_.status.lastScheduleTime
                                                    : cron_.metadata.creationTimestamp;
  if (!since) return;
  WallTime from = *since.at;
  if (cron_.spec.startingDeadlineSeconds)
    from = std::max(from, now_ - std::chrono::seconds(*cron_.spec.startingDeadlineSeconds));
  std::optional<model::CronSchedule::Missed> due = schedule->missed(from, now_);
  if (!due) return;
  if (due->too_many)
    record("Warning", "TooManyMissedTimes",
           "too many missed start times. Set or decrease .spec.startingDeadlineSeconds or check "
           "clock skew");
  make_job(due->last, schedule->zone());
}

void CronRound::make_job(WallTime scheduled, const std::string& zone) {
  std::string name = scheduled_job_name(cron_.metadata.name, scheduled);
  // The status follows once the job is seen: a failure in between starts the same job again.
  if (JobRef job = view_.find<model::VcJob>(kube::resources::vcjobs, {cron_.metadata.ns, name})) {
    const model::OwnerReference* owner = job->metadata.controller();
    if (!owner || owner->uid != cron_.metadata.uid)
      record("Warning", "ForeignJob",
             "Job " + name + " exists but is not owned by this CronJob (current owner: " +
                 (owner ? owner->name : "none") + ")");
    else if (job->metadata.annotation(kScheduledAt) != model::format_in_zone(scheduled, zone))
      record("Warning", "FailedCreate",
             "Skipping a run: job " + name +
                 " was made for an earlier one, and names tell minutes apart only");
    status_.lastScheduleTime = model::Time(scheduled);
    return;
  }
  if (!active_.empty() && cron_.spec.concurrencyPolicy == "Forbid") {
    record("Warning", "ForbidConcurrent",
           "Skipping job creation because another job is already running");
    return;
  }
  if (!active_.empty() && cron_.spec.concurrencyPolicy == "Replace") {
    record("Warning", "ReplaceConcurrent", "Replacing active job for CronJob");
    // The new one follows when the old ones are gone: either write may fail.
    for (const JobRef& job : active_) drop(job, "it is replaced");
    return;
  }
  outcome_.children.push_back(scheduled_job(cron_, scheduled, zone));
}

void CronRound::write_status() {
  status_.active.clear();
  for (const JobRef& job : active_)
    status_.active.push_back({kube::resources::vcjobs.api_version(), kube::resources::vcjobs.kind,
                              job->metadata.name, job->metadata.ns, job->metadata.uid});
  outcome_.status = json::encode(status_).get_object();
}

const std::vector<OwnedKind>& owned_jobs() {
  static const std::vector<OwnedKind> owned = {
      {.resource = kube::resources::vcjobs,
       .wakes = false,
       .words =
           {.created = {{"Normal", "SuccessfulCreate",
                         "Created job {name} for CronJob {namespace}/{owner}"}},
            .create_failed = {{"Warning", "FailedCreate", "Failed to create job: {error}"}},
            .removed = {{"Normal", "SuccessfulDelete", "Deleted job \"{name}\""}},
            .remove_failed = {{"Warning", "FailedDelete",
                               "Error deleting job \"{name}\": {error}"}},
            .refused_for = {{"NamespaceTerminating",
                             {"Warning", "NamespaceTerminating",
                              "Namespace {namespace} is terminating, skipping job creation"}}}},
       .hold = held_as<model::VcJob>}};
  return owned;
}

// A run matters when it comes, goes or changes its phase.
void wake_owner(const model::VcJob* before, const model::VcJob* after, const Wake& wake) {
  if (before && after && before->status.state.phase == after->status.state.phase &&
      before->metadata.deletionTimestamp == after->metadata.deletionTimestamp)
    return;
  const model::ObjectMeta& job = (after ? after : before)->metadata;
  const model::OwnerReference* owner = job.controller();
  if (owner && owner->kind == "CronJob" && owner->apiVersion.starts_with("batch.volcano.sh/"))
    wake({job.ns, owner->name});
}

}  // namespace

KindDescription cron_kind() {
  return {.name = "cronjob-controller",
          .event_source = "vc-controller-manager",
          .resource = kube::resources::vc_cron_jobs,
          .optional = true,
          .owns = owned_jobs(),
          .follows = {follow<model::VcJob>(kube::resources::vcjobs, wake_owner)},
          .reconcile = [](const AnyObject& object, const View& view) -> Result<Outcome> {
            return CronRound({object.metadata, TRY(json::decode<model::VcCronJobSpec>(object.spec)),
                              TRY(json::decode<model::VcCronJobStatus>(object.status))},
                             view)
                .run();
          },
          .concerns =
              [](const AnyObject* before, const AnyObject& after) {
                return !before || before->metadata.generation != after.metadata.generation;
              }};
}

}  // namespace hekla::controllers
