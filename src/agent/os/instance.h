// The places on a machine that belong to one running Hekla, named after its data directory so that
// several can share the machine, and the mount namespace in which all of its pods are made.
//
// The namespace is pinned as a file and outlives the process: overlays, tmpfs volumes and pinned
// network namespaces stay where a restarted agent finds them, the host's mount table stays clean,
// and dropping the pin drops every mount at once. It also hides a cgroup2 mount that stands beside
// cgroup v1, where crun refuses to run ("hybrid mode").
#pragma once

#include <memory>
#include <string>

#include "agent/os/file_descriptor.h"
#include "base/check.h"
#include "base/result.h"

namespace hekla::agent {

struct InstancePaths {
  std::string data_dir;  // absolute
  std::string name;      // eight hex digits of the data directory's digest

  // On disk: survives a reboot.
  std::string pods() const { return data_dir + "/pods"; }
  std::string pod(const std::string& uid) const {
    CHECK(!uid.empty(), "a pod without uid would name every pod");
    return pods() + "/" + uid;
  }
  std::string exits() const { return data_dir + "/exits"; }
  // Below /run: meaningless after a reboot.
  std::string run_dir() const { return "/run/hekla/" + name; }
  std::string mount_pin() const { return run_dir() + "/mnt"; }
  std::string netns_dir() const { return run_dir() + "/netns"; }
  std::string netns(const std::string& uid) const { return netns_dir() + "/" + uid; }
  std::string ipc_dir() const { return run_dir() + "/ipc"; }
  std::string ipc(const std::string& uid) const { return ipc_dir() + "/" + uid; }
  // Not below /run for an ordinary user, whose marks for overlayfs need a disk on most kernels.
  std::string mask_dir() const;
  std::string crun_root() const { return run_dir() + "/crun"; }
  std::string runtime_mount() const { return run_dir() + "/oci-runtime"; }
  std::string exec_dir() const { return run_dir() + "/x"; }
  std::string sockets() const { return run_dir() + "/s"; }
  // Below the root of every cgroup hierarchy.
  std::string cgroup() const { return "/hekla-" + name; }
  std::string pod_cgroup(const std::string& uid) const { return cgroup() + "/" + uid; }
};

InstancePaths instance_paths(const std::string& absolute_data_dir);

// Thread-safe after open().
class InstanceNamespace {
 public:
  // Makes the directories and joins the pinned mount namespace, or makes and pins a new one.
  // Blocks.
  static Result<std::unique_ptr<InstanceNamespace>> open(const InstancePaths& paths);

  // Moves the calling thread into the namespace for good; repeated calls cost nothing.
  Result<void> enter() const;
  // True when open() made the namespace: no container of an earlier run can be alive.
  bool is_new() const { return is_new_; }
  int host_netns() const { return host_netns_.get(); }
  // Unpins the namespace and removes the run directory. The mounts go with the last thread in it.
  Result<void> remove(const InstancePaths& paths);

 private:
  Result<void> open_held(const InstancePaths& paths);

  FileDescriptor namespace_, host_mounts_, host_netns_;
  bool is_new_ = false;
};

// True when `path` is a pinned namespace (bind mount of an nsfs file).
bool is_pinned_namespace(const std::string& path);

// mkdir -p with mode 0700 for what is missing.
Result<void> make_directories(const std::string& path, unsigned mode = 0700);

}  // namespace hekla::agent
