// The machine's own file system as a rootless container's root. The kernel refuses one overlay of /
// to an ordinary user, because that would show what other mounts cover; so the root is put together
// from an overlay for each directory that nothing is mounted below.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace hekla::agent {

// Which parts of / can be layers of an overlay.
class MountTable {
 public:
  // `kept_out` is never part of a layer: layers may not lie within each other, and pods' own do
  // there.
  MountTable(std::string_view mountinfo, const std::vector<std::string>& kept_out);

  // Something else is mounted (or kept out) below the directory: it has to be taken apart.
  bool is_cut(std::string_view directory) const;
  // A mount that is no part of the picture: /proc, a tmpfs, and the like.
  bool is_foreign(std::string_view directory) const;

 private:
  std::vector<std::pair<std::string, bool>>
      points_;  // and whether a disk of the system is mounted there
};

struct HostRoot {
  std::string bundle;               // upper and work are made there, rootfs is the result
  std::vector<std::string> layers;  // directories that lie above /, the topmost first
  std::string data_dir;             // Hekla's own, which holds the bundle
};

// Makes the directories above a path in bundle/upper, with their looks on this machine: mounted
// there later, it finds them writable. Before mount_host_root().
Result<void> make_parents(const std::string& bundle, const std::string& path);
// Blocks. One umount of bundle/rootfs takes all of it away. What is written lies in bundle/upper.
Result<void> mount_host_root(const HostRoot& root);

}  // namespace hekla::agent
