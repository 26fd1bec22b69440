// The pod network: one parent network namespace that routes, one namespace per pod joined to it
// by a veth pair of its own. Nothing of it is in the host's namespace, so instances cannot collide,
// and the host has no route to a pod: reach pods by a socket made inside (socket_in).
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "agent/network/address_pool.h"
#include "agent/os/file_descriptor.h"
#include "agent/os/instance.h"
#include "agent/rootless/netns_thread.h"
#include "base/result.h"

namespace hekla::agent {

// Thread-safe. Every call blocks, is made inside the instance's mount namespace, and leaves the
// calling thread in the host's network namespace.
class PodNetwork {
 public:
  // `visits`: the thread for work in other namespaces where the calling one could not return; may
  // be null.
  PodNetwork(InstancePaths paths, Subnet subnet, int host_netns,
             std::unique_ptr<NetnsThread> visits = nullptr)
      : paths_(std::move(paths)),
        subnet_(subnet),
        host_netns_(host_netns),
        visits_(std::move(visits)) {
    if (visits_) host_netns_ = visits_->home();
  }

  // Makes the parent namespace unless it is there already.
  Result<void> prepare() {
    return visiting<void>([this] { return prepare_here(); });
  }
  // Makes the pod's namespace with lo, eth0 and a default route. Starts afresh if one is there.
  Result<void> add_pod(const std::string& uid, std::uint32_t address) {
    return visiting<void>([&] { return add_pod_here(uid, address); });
  }
  bool has_pod(const std::string& uid) const { return is_pinned_namespace(paths_.netns(uid)); }
  // Missing is fine.
  Result<void> remove_pod(const std::string& uid) {
    return visiting<void>([&] { return remove_pod_here(uid); });
  }
  // A socket that lives in the parent namespace (or a pod's, by uid) for good, whoever uses it.
  Result<FileDescriptor> socket_in_parent(int type);
  Result<FileDescriptor> socket_in_pod(const std::string& uid, int type);
  // Gives the parent namespace a way to the outside by pasta, which carries connections on in the
  // host's namespace as a program of its own, and outlives us as the pods do. Nothing for the
  // `refused` networks (CIDR) ever leaves that way. Does nothing as long as pasta runs.
  Result<void> connect_outside(const std::vector<std::string>& refused);
  // Why that cannot be done here: pasta is not installed, or what it needs is not ours. Empty when
  // it can.
  static std::string outside_obstacle();
  // A namespace with nothing in it, pinned at `path`.
  static Result<void> make_empty(const std::string& path);
  // Makes the parts of pods' networks once, in a namespace that goes at once; nothing of it is
  // seen elsewhere. The error's first word is what is missing: bridge, veth, nftables. Needs root.
  static Result<void> try_out();
  // Runs what leaves its thread's network or IPC namespace, and returns to it, where that is
  // possible.
  Result<void> elsewhere(const std::function<Result<void>()>& work) { return visiting<void>(work); }
  // Loads a text of nftables rules into the parent namespace; `name` is that of its file.
  Result<void> set_rules(const std::string& name, const std::string& rules) {
    return visiting<void>([&] { return run_nft(name, rules, {}); });
  }
  // Whether they could be loaded; loads nothing.
  Result<void> check_rules(const std::string& name, const std::string& rules) {
    return visiting<void>([&] { return run_nft(name, rules, {"-c"}); });
  }
  Result<void> remove();

 private:
  std::string parent() const { return paths_.netns("parent"); }
  std::string outside_pid_file() const { return paths_.run_dir() + "/pasta.pid"; }
  std::optional<pid_t> outside_process() const;
  Result<void> set_outside_rules(const std::vector<std::string>& refused);
  Result<FileDescriptor> socket_at(const std::string& netns, int type) {
    return visiting<FileDescriptor>([&] { return socket_at_here(netns, type); });
  }
  template <class T>
  Result<T> visiting(const std::function<Result<T>()>& work) {
    return visits_ ? visits_->run<T>(work) : work();
  }
  Result<void> prepare_here();
  Result<void> add_pod_here(const std::string& uid, std::uint32_t address);
  Result<void> remove_pod_here(const std::string& uid);
  Result<void> run_nft(const std::string& name, const std::string& rules,
                       std::vector<std::string> options);
  Result<FileDescriptor> socket_at_here(const std::string& netns, int type);
  Result<bool> is_connected_here();

  InstancePaths paths_;
  Subnet subnet_;
  int host_netns_;
  std::unique_ptr<NetnsThread> visits_;
  std::mutex outside_mutex_;    // of what follows
  pid_t outside_child_ = 0;     // pasta, when it was we who started it
  bool outside_rules_ = false;  // those of this process are set
  bool removed_ = false;
};

}  // namespace hekla::agent
