#include "controllers/cron/cron_controller.h"

#include <algorithm>
#include <tuple>

#include "controllers/job/state_machine.h"

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

bool is_terminating_namespace(const Error& error) {
  return std::any_of(error.details.causes.begin(), error.details.causes.end(),
                     [](const Cause& cause) { return cause.reason == "NamespaceTerminating"; });
}

bool of_cron_job(const model::ObjectMeta& meta) {
  const model::OwnerReference* owner = meta.controller();
  return owner && owner->kind == "CronJob" && owner->apiVersion.starts_with("batch.volcano.sh/");
}

// A run that neither the status lists nor this controller can just have started.
bool is_orphan(const model::VcCronJob& cron, const model::VcJob& job) {
  for (const model::JobReference& known : cron.status.active)
    if (known.uid == job.metadata.uid) return false;
  Result<WallTime> scheduled = model::parse_rfc3339(job.metadata.annotation(kScheduledAt));
  return !scheduled ||
         (cron.status.lastScheduleTime && *scheduled <= *cron.status.lastScheduleTime.at);
}

json::Value scheduled_job(const model::VcCronJob& cron, WallTime scheduled,
                          const std::string& zone) {
  const json::Value& from = cron.spec.jobTemplate;
  json::Object metadata{{"name", scheduled_job_name(cron.metadata.name, scheduled)},
                        {"namespace", cron.metadata.ns}};
  if (const json::Object* labels = json::object_at(from, {"metadata", "labels"}))
    metadata["labels"] = *labels;
  json::Object annotations;
  if (const json::Object* given = json::object_at(from, {"metadata", "annotations"}))
    annotations = *given;
  annotations[kScheduledAt] = model::format_in_zone(scheduled, zone);
  metadata["annotations"] = std::move(annotations);
  metadata["ownerReferences"] = json::Array{
      json::encode(model::controller_reference(kube::resources::vc_cron_jobs.api_version(),
                                               kube::resources::vc_cron_jobs.kind, cron.metadata))};
  const json::Value* spec = json::find(from, "spec");
  return json::Object{{"apiVersion", kube::resources::vcjobs.api_version()},
                      {"kind", kube::resources::vcjobs.kind},
                      {"metadata", std::move(metadata)},
                      {"spec", spec ? *spec : json::Value(json::Object())}};
}

}  // namespace

struct CronController::Turn {
  std::shared_ptr<const model::VcCronJob> cron;
  WallTime now;
  std::vector<JobRef> active, succeeded, failed;  // oldest first
  model::VcCronJobStatus status;
  kube::Round round;
};

CronController::CronController(kube::Client& client, Caches& caches, kube::EventRecorder& events)
    : caches_(caches),
      events_(events),
      crons_(client, kube::resources::vc_cron_jobs),
      loop_(
          client, {.name = "cronjob-controller"},
          [this](const kube::Key& key, WallTime now) { return reconcile(key, now); },
          [this](const kube::Write& write, const kube::ObjectPtr& result) {
            caches_.overlay(write, result);
            controllers::overlay(crons_, write, result);
          }) {
  crons_.on_change([this](const auto& before, const auto& after) {
    if (after && (!before || before->metadata.generation != after->metadata.generation))
      loop_.add(kube::Key{after->metadata.ns, after->metadata.name});
  });
  crons_.on_settled([this] { try_enable(); });
  caches_.jobs.on_change([this](const auto& before, const auto& after) {
    const model::VcJob& job = after ? *after : *before;
    if (before && after && before->status.state.phase == after->status.state.phase) return;
    if (of_cron_job(job.metadata))
      loop_.add(kube::Key{job.metadata.ns, job.metadata.controller()->name});
  });
}

void CronController::enable() {
  caches_ready_ = true;
  try_enable();
}

void CronController::try_enable() {
  if (caches_ready_ && crons_.synced()) loop_.enable();
}

kube::Round CronController::reconcile(const kube::Key& key, WallTime now) {
  Turn turn;
  turn.cron = crons_.get(key);
  turn.now = now;
  if (!turn.cron || turn.cron->metadata.deletionTimestamp) return {};
  turn.status = turn.cron->status;
  sort_children(turn);
  trim_history(turn);
  if (!turn.cron->spec.suspend) start_due(turn);
  write_status(turn);
  return std::move(turn.round);
}

void CronController::sort_children(Turn& turn) {
  const model::VcCronJob& cron = *turn.cron;
  std::vector<JobRef> children = caches_.jobs_of(cron.metadata.uid);
  std::stable_sort(children.begin(), children.end(), [](const JobRef& a, const JobRef& b) {
    return a->metadata.creationTimestamp.at < b->metadata.creationTimestamp.at;
  });
  for (const JobRef& job : children) {
    Phase phase = parse_phase(job->status.state.phase);
    if (phase == Phase::completed) {
      turn.succeeded.push_back(job);
      model::Time ended = job->status.state.lastTransitionTime;
      if (ended &&
          (!turn.status.lastSuccessfulTime || ended.at > turn.status.lastSuccessfulTime.at))
        turn.status.lastSuccessfulTime = ended;
    } else if (phase == Phase::failed) {
      turn.failed.push_back(job);
    } else if (!is_finished(phase) && !job->metadata.deletionTimestamp) {
      turn.active.push_back(job);
      if (is_orphan(cron, *job))
        record(cron, "Warning", "OrphanedJob",
               "Detected orphaned job forgotted or not managed by controller: " +
                   job->metadata.name + " (UID: " + job->metadata.uid + ")");
    }
  }
}

void CronController::trim_history(Turn& turn) {
  const model::VcCronJob& cron = *turn.cron;
  for (const model::JobReference& known : cron.status.active) {
    JobRef job = caches_.jobs.get(kube::Key{known.ns, known.name});
    if (!job)
      record(cron, "Warning", "StaleReference",
             "Active job \"" + known.name + "\" no longer exists (UID: " + known.uid + ")");
    else if (job->metadata.uid != known.uid)
      record(cron, "Warning", "StaleReference",
             "Active job reference \"" + known.name + "\" points to a different UID (expected: " +
                 known.uid + ", actual: " + job->metadata.uid + ")");
    else if (is_finished(parse_phase(job->status.state.phase)))
      record(cron, "Normal", "SawCompletedJob",
             "Saw completed job: " + known.name + " in active, remove");
  }
  auto trim = [&](const std::vector<JobRef>& ended, std::int32_t limit) {
    for (std::size_t i = 0; i + static_cast<std::size_t>(limit) < ended.size(); ++i) {
      const model::ObjectMeta& meta = ended[i]->metadata;
      if (meta.deletionTimestamp) continue;
      kube::Write write = remove(kube::resources::vcjobs, {meta.ns, meta.name}, meta.uid);
      write.propagation_policy = "Background";
      turn.round.writes.push_back(std::move(write));
    }
  };
  trim(turn.succeeded, std::max(cron.spec.successfulJobsHistoryLimit.value_or(3), 0));
  trim(turn.failed, std::max(cron.spec.failedJobsHistoryLimit.value_or(1), 0));
}

std::optional<model::CronSchedule> CronController::read_schedule(const model::VcCronJob& cron) {
  std::string zone = cron.spec.timeZone.value_or(""), text = cron.spec.schedule;
  if (!zone.empty() && !model::is_time_zone(zone)) {
    record(cron, "Warning", "InvalidTimeZone",
           "Invalid time zone \"" + zone + "\": unknown time zone " + zone);
    return std::nullopt;
  }
  if (text.find("TZ") != std::string::npos)
    record(cron, "Warning", "UnsupportedSchedule",
           "CRON_TZ or TZ in the schedule \"" + text +
               "\" is not officially supported. If set, the TimeZone field will be ignored during "
               "execution.");
  if (auto parts = split_zone(text)) std::tie(zone, text) = std::move(*parts);
  Result<model::CronSchedule> schedule = model::CronSchedule::parse(text, zone);
  if (schedule) return std::move(*schedule);
  record(
      cron, "Warning", "UnParseableCronJobSchedule",
      "unparseable schedule for cronjob: " + cron.spec.schedule + ": " + schedule.error().message);
  return std::nullopt;
}

void CronController::start_due(Turn& turn) {
  const model::VcCronJob& cron = *turn.cron;
  std::optional<model::CronSchedule> schedule = read_schedule(cron);
  if (!schedule) return;
  std::optional<WallTime> next = schedule->next(turn.now);
  if (!next)  // the thirtieth of February
    return record(cron, "Warning", "InvalidSchedule",
                  "Error getting schedule time: time difference between two schedules is less than "
                  "1 second");
  turn.round.again_after = *next - turn.now + kSlack;
  model::Time since =
      cron.status.lastScheduleTime ? cron.status.lastScheduleTime : cron.metadata.creationTimestamp;
  if (!since) return;
  WallTime from = *since.at;
  if (cron.spec.startingDeadlineSeconds)
    from = std::max(from, turn.now - std::chrono::seconds(*cron.spec.startingDeadlineSeconds));
  std::optional<model::CronSchedule::Missed> due = schedule->missed(from, turn.now);
  if (!due) return;
  if (due->too_many)
    record(cron, "Warning", "TooManyMissedTimes",
           "too many missed start times. Set or decrease .spec.startingDeadlineSeconds or check "
           "clock skew");
  make_job(turn, due->last, schedule->zone());
}

void CronController::make_job(Turn& turn, WallTime scheduled, const std::string& zone) {
  const model::VcCronJob& cron = *turn.cron;
  std::string name = scheduled_job_name(cron.metadata.name, scheduled);
  // The status follows once the job is seen: a failure in between starts the same job again.
  if (JobRef job = caches_.jobs.get(kube::Key{cron.metadata.ns, name})) {
    const model::OwnerReference* owner = job->metadata.controller();
    if (!owner || owner->uid != cron.metadata.uid)
      record(cron, "Warning", "ForeignJob",
             "Job " + name + " exists but is not owned by this CronJob (current owner: " +
                 (owner ? owner->name : "none") + ")");
    else if (job->metadata.annotation(kScheduledAt) != model::format_in_zone(scheduled, zone))
      record(cron, "Warning", "FailedCreate",
             "Skipping a run: job " + name +
                 " was made for an earlier one, and names tell minutes apart only");
    turn.status.lastScheduleTime = model::Time(scheduled);
    return;
  }
  if (!turn.active.empty() && cron.spec.concurrencyPolicy == "Forbid") {
    record(cron, "Warning", "ForbidConcurrent",
           "Skipping job creation because another job is already running");
    return;
  }
  if (!turn.active.empty() && cron.spec.concurrencyPolicy == "Replace") {
    record(cron, "Warning", "ReplaceConcurrent", "Replacing active job for CronJob");
    for (const JobRef& job : turn.active) {
      kube::Write write = remove(kube::resources::vcjobs, {job->metadata.ns, job->metadata.name},
                                 job->metadata.uid);
      write.propagation_policy = "Background";
      turn.round.writes.push_back(std::move(write));
    }
    turn.active.clear();
  }
  turn.round.writes.push_back(
      create(kube::resources::vcjobs, cron.metadata.ns, scheduled_job(cron, scheduled, zone)));
}

void CronController::write_status(Turn& turn) {
  const model::VcCronJob& cron = *turn.cron;
  turn.status.active.clear();
  for (const JobRef& job : turn.active)
    turn.status.active.push_back({kube::resources::vcjobs.api_version(),
                                  kube::resources::vcjobs.kind, job->metadata.name,
                                  job->metadata.ns, job->metadata.uid});
  json::Value after = json::encode(turn.status);
  if (!json::equal(after, json::encode(cron.status))) {
    if (turn.status.active.empty()) after.get_object()["active"] = nullptr;
    turn.round.writes.push_back(merge_patch(kube::resources::vc_cron_jobs,
                                            {cron.metadata.ns, cron.metadata.name},
                                            json::Object{{"status", std::move(after)}}, "status"));
  }
  auto sent = std::make_shared<std::vector<kube::Write>>(turn.round.writes);
  turn.round.settle = [this, cron = turn.cron,
                       sent](const std::vector<kube::WriteResult>& results) -> Result<void> {
    std::optional<Error> first;
    for (std::size_t i = 0; i < results.size(); ++i) {
      report(*cron, (*sent)[i], results[i]);
      if (results[i]) continue;
      const Error& error = results[i].error();
      bool creating = (*sent)[i].verb == kube::Write::Verb::create;
      if (error.code == (creating ? Code::already_exists : Code::not_found)) continue;
      if (!first) first = error;
    }
    if (first) return std::unexpected(*first);
    return {};
  };
}

void CronController::report(const model::VcCronJob& cron, const kube::Write& write,
                            const kube::WriteResult& result) {
  const std::string quoted = "\"" + write.key.name + "\"";
  if (write.verb == kube::Write::Verb::create) {
    if (result)
      record(cron, "Normal", "SuccessfulCreate",
             "Created job " + write.key.name + " for CronJob " + cron.metadata.ns + "/" +
                 cron.metadata.name);
    else if (is_terminating_namespace(result.error()))
      record(cron, "Warning", "NamespaceTerminating",
             "Namespace " + cron.metadata.ns + " is terminating, skipping job creation");
    else if (result.error().code != Code::already_exists)
      record(cron, "Warning", "FailedCreate", "Failed to create job: " + result.error().message);
  } else if (write.verb == kube::Write::Verb::remove) {
    if (result)
      record(cron, "Normal", "SuccessfulDelete", "Deleted job " + quoted);
    else if (result.error().code != Code::not_found)
      record(cron, "Warning", "FailedDelete",
             "Error deleting job " + quoted + ": " + result.error().message);
  }
}

void CronController::record(const model::VcCronJob& cron, const char* type, const char* reason,
                            const std::string& message) {
  events_.record({kube::resources::vc_cron_jobs.api_version(), kube::resources::vc_cron_jobs.kind,
                  cron.metadata.ns, cron.metadata.name, cron.metadata.uid, 0},
                 type, reason, message);
}

}  // namespace hekla::controllers
