// The mount at /, which a plain chroot does not have.
#pragma once

#include <string>

#include "base/result.h"

namespace hekla::agent {

// From now on mounts of the host are still seen here (hostPath), and ours never reach the host; on
// the calling thread's mount namespace. Where / is no mount point it says how to make it one.
Result<void> make_root_a_slave();
// What keeps containers from being started where this is /proc/self/mountinfo: / is no mount point
// in a plain chroot. Empty: nothing.
std::string chroot_obstacle(const std::string& mountinfo);
inline constexpr const char* kChrootFix =
    "bind-mount its directory onto itself before the chroot (mount --bind DIR DIR; mount "
    "--make-private "
    "DIR), or enter it with unshare --mount and pivot_root, or use hekla up --no-agent";

}  // namespace hekla::agent
