#include "controllers/cron/cron_controller.h"

#include <algorithm>

#include "controllers/job/state_machine.h"

namespace hekla::controllers {
namespace {

const std::string kScheduledAt = "volcano.sh/cronjob-scheduled-timestamp";
constexpr Nanos kSlack = std::chrono::milliseconds(100);

std::string scheduled_job_name(const std::string& cron, WallTime scheduled) {
  auto minutes = std::chrono::floor<std::chrono::minutes>(scheduled.time_since_epoch()).count();
  return cron + "-" + std::to_string(minutes);
}

bool of_cron_job(const model::ObjectMeta& meta) {
  const model::OwnerReference* owner = meta.controller();
  return owner && owner->kind == "CronJob" && owner->apiVersion.starts_with("batch.volcano.sh/");
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
  metadata["ownerReferences"] = json::Array{json::encode(
      model::controller_reference(kube::resources::vc_cron_jobs.api_version(),
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

void CronController::sort_children(Turn& turn) const {
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
      if (ended && (!turn.status.lastSuccessfulTime ||
                    ended.at > turn.status.lastSuccessfulTime.at))
        turn.status.lastSuccessfulTime = ended;
    } else if (phase == Phase::failed) {
      turn.failed.push_back(job);
    } else if (!is_finished(phase) && !job->metadata.deletionTimestamp) {
      turn.active.push_back(job);
    }
  }
}

void CronController::trim_history(Turn& turn) {
  const model::VcCronJob& cron = *turn.cron;
  for (const model::JobReference& known : cron.status.active) {
    JobRef job = caches_.jobs.get(kube::Key{known.ns, known.name});
    if (!job || job->metadata.uid != known.uid)
      record(cron, "Normal", "StaleReference", "Active job went missing: " + known.name);
    else if (is_finished(parse_phase(job->status.state.phase)))
      record(cron, "Normal", "SawCompletedJob",
             "Saw completed job: " + known.name + ", status: " + job->status.state.phase);
  }
  auto trim = [&](const std::vector<JobRef>& ended, std::int32_t limit) {
    for (std::size_t i = 0; i + static_cast<std::size_t>(limit) < ended.size(); ++i) {
      const model::ObjectMeta& meta = ended[i]->metadata;
      if (meta.deletionTimestamp) continue;
      kube::Write write = remove(kube::resources::vcjobs, {meta.ns, meta.name}, meta.uid);
      write.propagation_policy = "Background";
      turn.round.writes.push_back(std::move(write));
      record(cron, "Normal", "SuccessfulDelete", "Deleted job " + meta.name);
    }
  };
  trim(turn.succeeded, std::max(cron.spec.successfulJobsHistoryLimit.value_or(3), 0));
  trim(turn.failed, std::max(cron.spec.failedJobsHistoryLimit.value_or(1), 0));
}

void CronController::start_due(Turn& turn) {
  const model::VcCronJob& cron = *turn.cron;
  const std::string zone = cron.spec.timeZone.value_or("");
  Result<model::CronSchedule> schedule = model::CronSchedule::parse(cron.spec.schedule, zone);
  if (!schedule) {
    bool bad_zone = !zone.empty() && !model::is_time_zone(zone);
    record(cron, "Warning", bad_zone ? "InvalidTimeZone" : "UnParseableCronJobSchedule",
           (bad_zone ? "invalid timeZone: \"" + zone : "unparseable schedule: \"" +
                                                           cron.spec.schedule) +
               "\": " + schedule.error().message);
    return;
  }
  if (std::optional<WallTime> next = schedule->next(turn.now))
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
             "Job " + name + " exists but does not belong to this CronJob");
    turn.status.lastScheduleTime = model::Time(scheduled);
    return;
  }
  if (!turn.active.empty() && cron.spec.concurrencyPolicy == "Forbid") {
    record(cron, "Normal", "ForbidConcurrent",
           "Skipping job creation because another job is already running");
    return;
  }
  if (!turn.active.empty() && cron.spec.concurrencyPolicy == "Replace") {
    record(cron, "Normal", "ReplaceConcurrent", "Replacing active job for CronJob");
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
  turn.round.settle = [this, cron = turn.cron, sent](
                          const std::vector<kube::WriteResult>& results) -> Result<void> {
    std::optional<Error> first;
    for (std::size_t i = 0; i < results.size(); ++i) {
      const kube::Write& write = (*sent)[i];
      bool creating = write.verb == kube::Write::Verb::create;
      if (results[i]) {
        if (creating)
          record(*cron, "Normal", "SuccessfulCreate", "Created job " + write.key.name);
        continue;
      }
      const Error& error = results[i].error();
      if (!creating && error.code == Code::not_found) continue;
      if (creating && error.code == Code::already_exists) continue;
      if (creating)
        record(*cron, "Warning", "FailedCreate", "Error creating job: " + error.message);
      else if (write.verb == kube::Write::Verb::remove)
        record(*cron, "Warning", "FailedDelete", "Deleted job: " + error.message);
      if (!first) first = error;
    }
    if (first) return std::unexpected(*first);
    return {};
  };
}

void CronController::record(const model::VcCronJob& cron, const char* type, const char* reason,
                            const std::string& message) {
  events_.record({kube::resources::vc_cron_jobs.api_version(), kube::resources::vc_cron_jobs.kind,
                  cron.metadata.ns, cron.metadata.name, cron.metadata.uid, 0},
                 type, reason, message);
}

}  // namespace hekla::controllers
