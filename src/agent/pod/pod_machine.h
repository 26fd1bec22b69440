// The machine as a pod worker needs it. linux_machine.h does it with crun, namespaces and
// mounts; tests have a machine that only remembers what it was asked.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "agent/image/image_map.h"
#include "agent/image/image_store.h"
#include "agent/pod/pod_files.h"
#include "agent/probes/probe.h"
#include "agent/record/pod_record.h"
#include "agent/runtime/bundle.h"
#include "agent/volumes/volume_plan.h"
#include "base/done.h"

namespace hekla::agent {

struct SandboxRequest {
  PodRecord record;
  PodFiles files;
  std::vector<VolumePlan> volumes;
  bool host_ipc = false;
};

struct LaunchRequest {
  PodRecord record;
  std::size_t container = 0;  // into record.containers; its current run is `creating`
  std::shared_ptr<const model::Pod> pod;
  model::Container spec;  // sub-paths expanded
  BundleSpec bundle;      // root, namespaces, cgroup and mounts are the machine's to fill in
  std::optional<StoredImage> image;           // without one, the machine's own file system
  HostImageSpec host_image;                   // and what that brings along
  std::set<std::string> recursive_read_only;  // mount paths below which nothing can be written
};

// How a launch ended when it did not simply succeed: the text is the OCI runtime's own.
struct Launch {
  WallTime started;
  std::optional<std::string> failure;
};

// On the agent's executor: a word about a build for people who wait.
using BuildProgress = std::function<void(const std::string& text)>;

// Called on the agent's executor; completions come back there. Each of them first saves the record.
class PodMachine {
 public:
  virtual ~PodMachine() = default;

  virtual Result<std::string> take_address() = 0;
  virtual void release_address(const std::string& address) = 0;

  virtual void make_sandbox(SandboxRequest request, Done<void> done) = 0;
  // An image that is here already, if it is.
  virtual void find_image(const ImageReference& image, Done<std::optional<StoredImage>> done) = 0;
  // From its registry; one after the other. `logins` come before the machine's own.
  virtual void pull_image(const ImageReference& image, RegistryLogins logins,
                          Done<StoredImage> done) = 0;
  // The image of a recipe: found, or built now; those who ask meanwhile get the same. `progress` is
  // told when a build is needed, and what it does.
  virtual void make_image(const std::string& recipe, BuildProgress progress,
                          Done<StoredImage> done) = 0;
  // An error means that nothing has run and nothing will: inspect() finds the container as it was
  // before.
  virtual void launch(LaunchRequest request, Done<Launch> done) = 0;
  virtual void signal(const PodRecord& record, const ContainerRun& run, int number) = 0;
  // Other limits for a running container, and what its pod has as a whole then; those it cannot
  // have at present are an error. The record is what holds afterwards.
  virtual void resize(const PodRecord& record, const ContainerRun& run, const Limits& limits,
                      const Limits& pod_limits, Done<void> done) = 0;
  // A probe or a hook of a running container; an error when it could not be tried.
  virtual void probe(const PodRecord& record, std::size_t container, const ProbeAction& action,
                     Done<ProbeOutcome> done) = 0;
  // Brings a record up to date with what happened to its containers meanwhile.
  virtual void inspect(std::shared_ptr<const model::Pod> pod, PodRecord record,
                       Done<PodRecord> done) = 0;
  // Takes away an exited container's root and cgroup; logs stay.
  virtual void remove_container(PodRecord record, std::size_t container, Done<void> done) = 0;
  // Network and volumes of a pod whose containers are gone; logs and record stay.
  virtual void dismantle(PodRecord record, Done<void> done) = 0;
  // Everything, whatever state it is in.
  virtual void erase(PodRecord record, Done<void> done) = 0;
  // New contents of file volumes of a running pod.
  virtual void refresh_volumes(const std::string& uid, std::vector<VolumePlan> volumes) = 0;
};

}  // namespace hekla::agent
