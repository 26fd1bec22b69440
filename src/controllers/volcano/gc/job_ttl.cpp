#include "controllers/volcano/gc/job_ttl.h"

#include <charconv>

#include "controllers/volcano/job/state_machine.h"

namespace hekla::controllers {

std::optional<WallTime> expiry_of(const model::VcJob& job) {
  if (!job.spec.ttlSecondsAfterFinished || job.metadata.deletionTimestamp) return std::nullopt;
  if (!is_finished(parse_phase(job.status.state.phase)) || !job.status.state.lastTransitionTime)
    return std::nullopt;
  return *job.status.state.lastTransitionTime.at +
         std::chrono::seconds(*job.spec.ttlSecondsAfterFinished);
}

JobTtlController::JobTtlController(Caches& caches)
    : caches_(caches),
      loop_(caches.set, {.name = "gc-controller"},
            [this](const kube::Key& key, WallTime now) { return reconcile(key, now); }) {
  caches_.jobs.on_change([this](const auto&, const auto& after) {
    if (after && expiry_of(*after)) loop_.add(kube::Key{after->metadata.ns, after->metadata.name});
  });
}

kube::Round JobTtlController::reconcile(const kube::Key& key, WallTime now) {
  kube::Round round;
  auto job = caches_.jobs.get(key);
  std::optional<WallTime> expiry = job ? expiry_of(*job) : std::nullopt;
  if (!expiry) return round;
  if (*expiry > now) {
    round.again_after = *expiry - now;
    return round;
  }
  // Tied to the revision that was judged: a job that has changed meanwhile is judged again.
  kube::Write write = remove(kube::resources::vcjobs, key, job->metadata.uid);
  write.propagation_policy = "Foreground";
  const std::string& revision = job->metadata.resourceVersion;
  std::from_chars(revision.data(), revision.data() + revision.size(),
                  write.precondition_resource_version);
  round.writes.push_back(std::move(write));
  return round;
}

}  // namespace hekla::controllers
