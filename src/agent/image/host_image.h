// The image that is the machine itself: an overlay with / as its lower layer. Writes stay in the
// container. A mask layer above / leaves a system to be seen, and hides the rest of the machine
// (masked_paths.h), with empty, writable places instead of its directories.
#pragma once

#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "agent/image/image_map.h"
#include "agent/os/instance.h"
#include "agent/runtime/bundle.h"
#include "base/clock.h"
#include "base/result.h"

namespace hekla::agent {

// All calls block and are made inside the instance's mount namespace.
class HostImage {
 public:
  HostImage(InstancePaths paths, std::vector<std::string> hidden_paths,
            const Clock& clock = real_clock())
      : paths_(std::move(paths)), hidden_paths_(std::move(hidden_paths)), clock_(clock) {}

  // Builds the mask layer (a tmpfs: overlayfs refuses two layers of which one lies inside the
  // other).
  Result<void> prepare();
  // Mounts a fresh root for a container at bundle/rootfs, with the directories that are to lie over
  // the whole of it; the mounts of the others are answered.
  Result<std::vector<OciMount>> mount_root(const std::string& bundle,
                                           const std::vector<LaidDirectory>& files = {});
  // Mounts the machine's file system alone, read-only, for an image's layers to lie upon: the
  // directory of the mount. (Layers lie inside / themselves, so that one overlay cannot have both.)
  Result<std::string> mount_base(const std::string& bundle);
  // Unmounts what these have mounted; missing is fine.
  Result<void> unmount_root(const std::string& bundle);
  // Other file systems of the machine that belong to the picture (/usr on its own disk), read-only.
  std::vector<OciMount> extra_mounts() const;

 private:
  struct Masked {
    std::vector<std::string> directories, files;
  };
  Masked find_masked() const;
  // Hides what has come to the machine since the last look, unless that was a moment ago.
  Result<void> renew_mask();
  // mount_root() for an ordinary user.
  Result<std::vector<OciMount>> assemble_root(const std::string& bundle,
                                              const std::vector<LaidDirectory>& files);
  // All but those that lie over the whole root.
  Result<std::vector<OciMount>> lay_all(const std::string& bundle,
                                        const std::vector<LaidDirectory>& files);
  Result<OciMount> lay(const std::string& bundle, std::size_t number, const LaidDirectory& files);

  InstancePaths paths_;
  std::vector<std::string> hidden_paths_;
  const Clock& clock_;
  mutable std::mutex mutex_;  // of what follows, and of changes to the mask
  Masked masked_;
  std::optional<MonoTime> masked_at_;
};

// Pure half of extra_mounts(): mount points of disk file systems in the text of
// /proc/self/mountinfo that are part of the system (/usr, /opt, /var), outside the `hidden`
// directories.
std::vector<std::string> mount_points_to_bind(std::string_view mountinfo,
                                              const std::vector<std::string>& hidden);
// The hidden paths that those mounts would bring back to light. One below a mount that is not bound
// itself is not among them: only the empty place of that mount is there.
std::vector<std::string> paths_to_cover(std::string_view mountinfo,
                                        const std::vector<std::string>& bound,
                                        const std::vector<std::string>& hidden);

}  // namespace hekla::agent
