#include "agent/pod/worker/pod_state.h"

#include <algorithm>

namespace hekla::agent {
namespace {

constexpr std::chrono::seconds kDefaultGrace{30};

}  // namespace

void PodState::hold(const std::string& container, WaitingReason why, Nanos delay) {
  CHECK(!container.empty(), "a hold is that of a container");
  const WallTime until = now() + delay;
  holds[container] = {until, std::move(why)};
  report();
  wake_at(until);
}

PodFacts PodState::facts() const {
  return PodFacts{record.host_network ? context.host_ip : record.address, context.host_ip,
                  context.node_name, context.allocatable};
}

std::string PodState::described() const {
  return record.name + "_" + record.ns + "(" + record.uid + ")";
}

const model::Container* PodState::spec_of(std::size_t container) const {
  CHECK(container < record.containers.size(), "a container of this pod");
  return container_spec(*pod, record.containers[container]);
}

bool PodState::is_running(std::size_t container) const {
  const std::optional<ContainerRun>& run = record.containers[container].current;
  return run && run->phase == run_phase::running;
}

Nanos PodState::grace() const {
  if (ending == Ending::vanished) return Nanos(0);
  if (ending == Ending::evicted) return eviction_grace;
  if (pod->metadata.deletionTimestamp && pod->metadata.deletionGracePeriodSeconds)
    return std::chrono::seconds(*pod->metadata.deletionGracePeriodSeconds);
  return std::chrono::seconds(
      pod->spec.terminationGracePeriodSeconds.value_or(kDefaultGrace.count()));
}

void PodState::event(const char* type, const char* reason, const std::string& message) const {
  kube::EventTarget target{"v1", "Pod", record.ns, record.name, record.uid, 0};
  context.events.record(target, type, reason, message);
}

void PodState::wake_at(WallTime when) {
  if (wake_ && *wake_ <= when) return;
  wake_ = when;
  const Nanos delay = std::max<Nanos>(Nanos(0), when - now());
  context.client.executor().post_after(delay, guarded([this, when] {
                                         if (wake_ != when) return;
                                         wake_.reset();
                                         step();
                                       }));
}

}  // namespace hekla::agent
