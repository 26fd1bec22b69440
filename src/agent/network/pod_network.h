// The pod network: one parent network namespace with a bridge, one namespace per pod joined to it
// by a veth pair. Nothing of it is in the host's namespace, so instances cannot collide, and the
// host has no route to a pod: reach pods by a socket made inside (socket_in).
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "agent/network/address_pool.h"
#include "agent/runtime/file_descriptor.h"
#include "agent/runtime/instance.h"
#include "base/result.h"

namespace hekla::agent {

// Thread-safe. Every call blocks, is made inside the instance's mount namespace, and leaves the
// calling thread in the host's network namespace.
class PodNetwork {
 public:
  PodNetwork(InstancePaths paths, Subnet subnet, int host_netns)
      : paths_(std::move(paths)), subnet_(subnet), host_netns_(host_netns) {}

  // Makes the parent namespace and its bridge unless they are there already.
  Result<void> prepare();
  // Makes the pod's namespace with lo, eth0 and a default route. Starts afresh if one is there.
  Result<void> add_pod(const std::string& uid, std::uint32_t address);
  bool has_pod(const std::string& uid) const { return is_pinned_namespace(paths_.netns(uid)); }
  // Missing is fine.
  Result<void> remove_pod(const std::string& uid);
  // A socket that lives in the parent namespace (or a pod's, by uid) for good, whoever uses it.
  Result<FileDescriptor> socket_in_parent(int type);
  Result<FileDescriptor> socket_in_pod(const std::string& uid, int type);
  // Gives the parent namespace a way to the outside by pasta, which carries connections on in the
  // host's namespace as a program of its own, and outlives us as the pods do. Nothing for `inner`
  // networks (CIDR) ever leaves that way.
  Result<void> connect_outside(const std::vector<std::string>& inner);
  // Whether pasta is installed.
  static bool can_reach_outside();
  // Loads a text of nftables rules into the parent namespace; `name` is that of its file.
  Result<void> set_rules(const std::string& name, const std::string& rules);
  Result<void> remove();

 private:
  std::string parent() const { return paths_.netns("parent"); }
  std::string outside_pid_file() const { return paths_.run_dir() + "/pasta.pid"; }
  std::optional<pid_t> outside_process() const;
  Result<FileDescriptor> socket_at(const std::string& netns, int type);

  InstancePaths paths_;
  Subnet subnet_;
  int host_netns_;
};

}  // namespace hekla::agent
