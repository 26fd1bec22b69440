#include "agent/pod/worker/pod_worker.h"

#include <algorithm>
#include <numeric>

#include "agent/network/address_pool.h"
#include "agent/pod/pod_admission.h"
#include "base/check.h"
#include "base/log.h"
#include "model/time.h"

namespace hekla::agent {
namespace {

bool is_over(const std::string& phase) { return phase == "Succeeded" || phase == "Failed"; }

bool has_live_run(const ContainerRecord& container) {
  return container.current && container.current->is_live();
}

}  // namespace

PodWorker::PodWorker(PodContext& context, AgentPodPtr pod, PodRecord record, bool adopted)
    : state_(context, std::move(pod), std::move(record)),
      probes_(state_, [this](std::size_t container, const std::string& why,
                             Nanos grace) { stops_.stop(container, why, grace); }),
      stops_(state_, probes_),
      images_(state_),
      launch_(state_, images_, [this](std::size_t container) { on_started(container); }),
      sandbox_(state_),
      resize_(state_, stops_),
      status_(state_),
      removal_(state_, status_) {
  CHECK(state_.record.uid == state_.pod->metadata.uid, "a record is that of its pod");
  state_.inspected = !adopted;
  state_.step = [this] { step(); };
  state_.report = [this] { report(); };
}

void PodWorker::start() {
  state_.life = weak_from_this();
  // An earlier process was about to end it.
  if (state_.record.reason == kEvicted && state_.record.outcome.empty())
    state_.ending = Ending::evicted;
  const bool adopted = !state_.inspected;
  if (!adopted && !state_.pod->metadata.deletionTimestamp) admit();
  step();
}

void PodWorker::update(AgentPodPtr pod) {
  CHECK(pod->metadata.uid == state_.record.uid, "another pod of the name has another worker");
  for (const ContainerRecord& container : state_.record.containers) {
    const model::Container* before = container_spec(*state_.pod, container);
    const model::Container* after = container_spec(*pod, container);
    if (!before || !after) continue;
    if (!resized(before->resources, after->resources).empty()) resize_.retry();
    if (before->image == after->image) continue;
    state_.holds.erase(container.name);  // that was about the old image
    images_.forget(container.name);
  }
  state_.pod = std::move(pod);
  step();
}

void PodWorker::vanish() {
  state_.ending = Ending::vanished;
  step();
}

void PodWorker::shut_down() {
  if (state_.ending == Ending::no) state_.ending = Ending::shutdown;
  step();
}

void PodWorker::evict(const std::string& message, Nanos grace) {
  if (state_.ending != Ending::no || !state_.record.outcome.empty()) return;
  state_.ending = Ending::evicted;
  state_.eviction_grace = grace;
  state_.record.reason = kEvicted;
  state_.record.message = message;
  state_.event("Warning", "Evicted", message);
  step();
}

void PodWorker::look() {
  if (std::ranges::none_of(state_.record.containers, has_live_run)) return;
  state_.inspected = false;
  look_again_ = true;  // work under way may have looked too early
  step();
}

bool PodWorker::has_run(const std::string& id) const {
  return std::ranges::any_of(state_.record.containers, [&](const ContainerRecord& container) {
    return container.current && container.current->id == id;
  });
}

std::optional<PodAddress> PodWorker::address() const {
  const PodRecord& record = state_.record;
  auto address = parse_ipv4(record.address);
  if (!address || !record.outcome.empty() || state_.ending == Ending::vanished) return std::nullopt;
  const AgentPod& pod = *state_.pod;
  return PodAddress{record.ns,
                    record.name,
                    pod.spec.hostname,
                    pod.spec.subdomain,
                    pod.metadata.labels,
                    *address,
                    is_ready(status_.status()) && !pod.metadata.deletionTimestamp};
}

// Everything but the machine's answer to a kill waits for the work under way.
void PodWorker::step() {
  if (removal_.is_over()) return;
  choose_ending();
  if (state_.is_busy()) return;
  sync_ephemeral(state_.record, *state_.pod);
  if (!state_.inspected) return inspect();
  follow_runs();
  if (state_.ending == Ending::no && pass_deadline()) state_.ending = Ending::deadline;
  if (state_.ending != Ending::no) return step_end();
  if (state_.record.outcome.empty()) return step_run();
  step_over();
}

// A deletion counts for more than the other reasons that leave the pod in the API. Nothing waits
// for a pull.
void PodWorker::choose_ending() {
  Ending& ending = state_.ending;
  if (state_.pod->metadata.deletionTimestamp &&
      (ending == Ending::no || ending == Ending::deadline || ending == Ending::evicted))
    ending = Ending::deleted;
  if (!images_.is_pulling()) return;
  if (ending == Ending::no && pass_deadline()) ending = Ending::deadline;
  if (ending != Ending::no) images_.give_up();
}

// Whether the pod has been active for longer than its spec allows; otherwise wakes for that.
bool PodWorker::pass_deadline() {
  const std::optional<std::int64_t>& seconds = state_.pod->spec.activeDeadlineSeconds;
  PodRecord& record = state_.record;
  if (!seconds || !record.outcome.empty()) return false;
  const WallTime deadline = from_ns(record.started_ns) + std::chrono::seconds(*seconds);
  if (deadline > state_.now()) {
    state_.wake_at(deadline);
    return false;
  }
  record.reason = "DeadlineExceeded";
  record.message = "Pod was active on the node longer than the specified deadline";
  state_.event("Normal", "DeadlineExceeded", record.message);
  return true;
}

void PodWorker::inspect() {
  look_again_ = false;
  auto done = state_.work<PodRecord>([this](Result<PodRecord> found) {
    if (found) state_.record = std::move(*found);
    state_.inspected = !look_again_;
    if (!found)
      log_warn("agent", "inspect a pod",
               {{"pod", state_.described()}, {"error", found.error().message}});
  });
  state_.context.machine.inspect(state_.pod, state_.record, std::move(done));
}

// Probes and stops follow the runs: those of ended containers go, running ones get their probes.
void PodWorker::follow_runs() {
  for (std::size_t i = 0; i < state_.record.containers.size(); ++i) {
    const ContainerRecord& container = state_.record.containers[i];
    if (!state_.is_running(i)) {
      probes_.end(container.name);
      stops_.forget(container.name);
    } else if (!is_plain_init(container) && !stops_.is_stopping(container.name)) {
      probes_.begin(i);
    }
  }
}

void PodWorker::on_started(std::size_t container) {
  if (probes_.post_start(container)) return;
  follow_runs();
  report();
}

void PodWorker::step_run() {
  if (remove_exited()) return;
  auto held_until = [this](std::size_t i) {
    auto held = state_.holds.find(state_.record.containers[i].name);
    return held == state_.holds.end() ? std::nullopt : std::optional(held->second.until);
  };
  const PodDecision decision = decide(state_.pod->spec, state_.record, state_.now(), held_until,
                                      [this](std::size_t i) { return probes_.is_started(i); });
  note_backing_off(decision);
  stops_.stop_all(decision.stop);
  for (std::size_t i : decision.replace) stops_.replace(i, "definition changed");
  if (decision.finished) {
    state_.record.outcome = *decision.finished ? "Succeeded" : "Failed";
    report();
    return step();
  }
  report();
  stops_.signal_due();
  if (decision.wake) state_.wake_at(*decision.wake);
  if (resize_.advance() || !decision.start) return;
  if (sandbox_.is_ready()) return launch_.begin(*decision.start);
  sandbox_.advance();
}

// Over, but still in the API: only logs and record are kept.
void PodWorker::step_over() {
  // An earlier process may have decided the end and not lived to report it.
  if (!status_.has_spoken() && !is_over(state_.pod->status.phase)) report();
  if (!remove_exited()) removal_.dismantle();
}

void PodWorker::note_backing_off(const PodDecision& decision) {
  for (std::size_t i : decision.backing_off) {
    const ContainerRecord& container = state_.record.containers[i];
    if (state_.holds.contains(container.name)) continue;
    const std::string delay = model::format_go_duration(restart_delay(backoff_steps(container)));
    const std::string pod = state_.described();
    state_.hold(container.name,
                {"CrashLoopBackOff", "back-off " + delay + " restarting failed container=" +
                                         container.name + " pod=" + pod},
                restart_time(container) - state_.now());
    state_.event("Warning", "BackOff",
                 "Back-off restarting failed container " + container.name + " in pod " + pod);
  }
}

// One exited container's remains, if there are any; the rest follows when that is done.
bool PodWorker::remove_exited() {
  const auto& containers = state_.record.containers;
  auto found = std::ranges::find_if(containers, [&](const ContainerRecord& container) {
    return container.current && !container.current->is_live() && !container.current->removed &&
           !left_behind_.contains(container.current->id);
  });
  if (found == containers.end()) return false;
  report();
  const auto index = static_cast<std::size_t>(found - containers.begin());
  auto done = state_.work<void>([this, index](const Result<void>& removed) {
    ContainerRecord& container = state_.record.containers[index];
    if (!container.current) return;
    // A run that cannot be removed now is removed with the pod.
    container.current->removed = removed.has_value();
    if (removed) return;
    left_behind_.insert(container.current->id);
    log_warn("agent", "remove a container",
             {{"pod", state_.described()},
              {"container", container.name},
              {"error", removed.error().message}});
  });
  state_.context.machine.remove_container(state_.record, index, std::move(done));
  return true;
}

void PodWorker::admit() {
  std::optional<Refusal> why = admission_refusal(*state_.pod, state_.context);
  if (!why) return;
  PodRecord& record = state_.record;
  record.outcome = "Failed";
  record.rejected = true;
  record.reason = why->reason;
  record.message = "Pod was rejected: " + why->message;
  state_.event("Warning", why->reason.c_str(), why->message);
}

void PodWorker::step_end() {
  state_.holds.clear();
  if (std::ranges::any_of(state_.record.containers, has_live_run)) {
    std::vector<std::size_t> all(state_.record.containers.size());
    std::iota(all.begin(), all.end(), std::size_t{0});
    stops_.stop_all(all);
    report();
    return stops_.signal_due();
  }
  if (!remove_exited()) finish_ending();
}

void PodWorker::finish_ending() {
  PodRecord& record = state_.record;
  Ending& ending = state_.ending;
  if (record.outcome.empty()) {
    const bool failed =
        ending == Ending::deadline || ending == Ending::evicted || ending == Ending::shutdown ||
        record.reason == kEvicted ||
        std::ranges::any_of(record.containers, [](const ContainerRecord& one) {
          return !one.init && !one.ephemeral && (!one.current || one.current->exit_code != 0);
        });
    record.outcome = failed ? "Failed" : "Succeeded";
    if (ending == Ending::shutdown) {
      record.reason = "Terminated";
      record.message = "Pod was terminated in response to imminent node shutdown.";
    }
  }
  report();
  switch (ending) {
    case Ending::deadline:
    case Ending::evicted:
      ending = Ending::no;  // over; stays in the API until somebody deletes it
      return step();
    case Ending::deleted:
      return removal_.remove();
    case Ending::shutdown:
      // The API must hear the end before its only witness is erased.
      if (status_.is_settled()) removal_.erase();
      return;
    case Ending::vanished:
    case Ending::no:
      return removal_.erase();
  }
}

}  // namespace hekla::agent
