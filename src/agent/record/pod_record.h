// The agent's knowledge of one of its pods, as it is kept in state.json: enough for the next
// process to go on where this one was killed. Every change that leads to an action is saved before
// the action.
#pragma once

#include <csignal>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "model/core.h"

namespace hekla::agent {

// The steps of one run of a container.
namespace run_phase {
inline const std::string starting = "starting";  // being made; may have been started
inline const std::string running = "running";
inline const std::string exited = "exited";
}  // namespace run_phase

struct ContainerRun {
  std::string id;
  std::int32_t attempt = 0;
  std::string phase = run_phase::starting;
  std::int64_t started_ns = 0, finished_ns = 0;  // since 1970; 0 unknown
  std::int32_t exit_code = 0;
  std::string reason, message;
  std::string image_id;  // repository@digest; empty for the machine's own file system
  bool removed = false;  // nothing of it is left but the log
  std::int32_t stop_signal = SIGTERM;
  std::string image;                                     // as the spec called it then
  std::optional<model::ResourceRequirements> resources;  // cpu and memory that it has now
  bool replaced =
      false;  // asked to end for another run of a changed spec, whatever the restart policy

  bool is_live() const { return phase != run_phase::exited; }
};
BOOST_DESCRIBE_STRUCT(ContainerRun, (),
                      (id, attempt, phase, started_ns, finished_ns, exit_code, reason, message,
                       image_id, removed, stop_signal, image, resources, replaced))

struct ContainerRecord {
  std::string name;
  bool init = false, sidecar = false;  // a sidecar is an init container that keeps running
  bool ephemeral = false;              // of kubectl debug: runs once, nobody waits for it
  std::string target;                  // whose processes an ephemeral container sees
  std::int32_t attempts = 0;           // runs begun
  std::int32_t backoff = 0;            // restarts in a row, which decide the next delay
  std::vector<std::int32_t> gpus;      // the cards it holds while the pod lives
  std::optional<ContainerRun> current, previous;
};
BOOST_DESCRIBE_STRUCT(ContainerRecord, (),
                      (name, init, sidecar, ephemeral, target, attempts, backoff, gpus, current,
                       previous))

struct PodRecord {
  std::int32_t version = 1;
  std::string uid, ns, name;
  std::string address;  // empty with the host's network
  bool host_network = false;
  bool share_processes = false;
  bool sandbox = false;  // network and volumes are in place
  std::int64_t started_ns = 0;
  std::string outcome, reason, message;      // Succeeded or Failed once it is decided
  bool rejected = false;                     // by the node, before anything was made
  std::optional<model::OwnerReference> job;  // its controller, if that is a job of any kind
  std::vector<ContainerRecord> containers;   // init containers first, in the spec's order
};
BOOST_DESCRIBE_STRUCT(PodRecord, (),
                      (version, uid, ns, name, address, host_network, share_processes, sandbox,
                       started_ns, outcome, reason, message, rejected, job, containers))

// The reason of a pod that the node could not bear any longer.
inline const std::string kEvicted = "Evicted";

PodRecord new_record(const model::Pod& pod, WallTime now);
// The rule of records that this one breaks, if it does: a file may have been damaged, and the agent
// itself never writes such a record.
std::optional<std::string> record_fault(const PodRecord& record);
// For a pod the API says has run here but of which nothing is left: its containers count as lost.
void mark_lost(PodRecord& record, const model::Pod& pod);

// 64 hex digits, the same for the same run whoever computes them.
std::string container_id(const std::string& pod_uid, const std::string& container, int attempt);

// An init container that has done its work leaves its cards to those after it.
bool holds_gpus(const ContainerRecord& container);

const model::Container* container_spec(const model::Pod& pod, const ContainerRecord& record);

inline std::int64_t to_ns(WallTime when) { return when.time_since_epoch().count(); }
inline WallTime from_ns(std::int64_t ns) { return WallTime(Nanos(ns)); }

// A container whose end nobody witnessed, in the kubelet's words.
void set_unknown_exit(ContainerRun& run, WallTime now);

}  // namespace hekla::agent
