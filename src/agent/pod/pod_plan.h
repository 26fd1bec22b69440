// The next step of a pod: a pure function of its spec, its record and the time.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "agent/record/pod_record.h"

namespace hekla::agent {

struct PodDecision {
  std::optional<std::size_t> start;      // this container, now
  std::vector<std::size_t> backing_off;  // exited, waiting for their next run
  std::vector<std::size_t> stop;         // sidecars that have outlived their pod's work
  std::vector<std::size_t> replace;      // they run what the spec no longer says
  std::optional<WallTime> wake;          // look again then
  std::optional<bool> finished;          // all is over: true when it went well
};

// A container that cannot be started at present (a missing ConfigMap) is held until some time.
using HeldUntil = std::function<std::optional<WallTime>(std::size_t container)>;

// Whether a running sidecar's startup probe has passed: what stands after it waits for that.
using IsStarted = std::function<bool(std::size_t container)>;

PodDecision decide(const model::PodSpec& spec, const PodRecord& record, WallTime now,
                   const HeldUntil& held_until, const IsStarted& is_started = {});

// The kubelet's crash-loop delays: none, 10 s, 20 s, 40 s, ... 5 min.
Nanos restart_delay(int restarts_in_a_row);
// A run that long clears the slate.
inline constexpr std::chrono::minutes kBackoffReset{10};

// The resources of which a running container can be given more or less: cpu and memory.
model::ResourceRequirements resizable(const model::ResourceRequirements& all);
// The names of resources of which a container has another amount than it shall have.
std::vector<std::string> resized(const model::ResourceRequirements& has,
                                 const model::ResourceRequirements& shall_have);

// The spec has another image than the container's latest run.
bool is_superseded(const model::PodSpec& spec, const ContainerRecord& container);

// Of an exited container: how many restarts in a row count, and when the next run may begin.
int backoff_steps(const ContainerRecord& container);
WallTime restart_time(const ContainerRecord& container);

bool init_finished(const PodRecord& record);

// Both want the same port of the host's, at addresses that overlap.
bool host_ports_clash(const model::PodSpec& one, const model::PodSpec& other);

}  // namespace hekla::agent
