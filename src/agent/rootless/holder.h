// The process that keeps a rootless platform's namespaces: it sleeps, and outlives Hekla as the
// pods do, so that the next start finds user namespace, mounts and networks again. Its number
// stands in <data dir>/holder.
#pragma once

#include <sys/types.h>

#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"

namespace hekla::agent {

class Holder {
  struct Private {};

 public:
  // Joins the namespaces of the data directory's holder, or starts one: afterwards this process is
  // root there. Only in a process of one thread. /run is the platform's own from then on (with what
  // was there), and control groups are out of sight. unavailable where namespaces are forbidden.
  static Result<std::unique_ptr<Holder>> join(const std::string& data_dir);
  Holder(Private, std::string data_dir, pid_t pid, uid_t user)
      : data_dir_(std::move(data_dir)), pid_(pid), user_(user) {}

  // The user that this process was before.
  uid_t user() const { return user_; }
  // Ends it, unless something of the platform is left that the next start has to find.
  void end();

 private:
  std::string data_dir_;
  pid_t pid_;
  uid_t user_;
};

// The same namespaces for this process and its children alone. Only in a process of one thread.
Result<void> enter_rootless();
// Whether join() would work, tried out in a child.
Result<void> try_rootless();

// Pure: what in the kernel's settings keeps ordinary users from namespaces, as a command that
// changes it; empty when nothing does. The texts of the files below /proc/sys, empty where there is
// none.
std::string user_namespace_fix(std::string_view unprivileged_userns_clone,
                               std::string_view max_user_namespaces,
                               std::string_view apparmor_restrict_unprivileged_userns);
// The same for this machine.
std::string user_namespace_fix();

}  // namespace hekla::agent
