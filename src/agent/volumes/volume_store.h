// Volumes on disk: lays out what volume_plan.h computed, and turns a container's volumeMounts into
// bind mounts. Every call blocks and is made inside the instance's mount namespace.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "agent/runtime/bundle.h"
#include "agent/volumes/volume_plan.h"
#include "base/result.h"

namespace hekla::agent {

// Where a volume is, and whether pods may write to it.
struct VolumeSource {
  std::string path;
  bool read_only = false;
};
using VolumeSources = std::map<std::string, VolumeSource>;

// Where each volume of a pod is once laid out; needs the spec alone, so it also works after a
// restart.
VolumeSources volume_sources_of(const model::Pod& pod, const std::string& volumes_dir);

// Idempotent: emptyDirs keep their content, files are replaced all at once when they differ.
Result<void> lay_out_volumes(const std::string& volumes_dir, const std::vector<VolumePlan>& plans);

// Files as Kubernetes lays them out: real ones in a hidden directory, `..data` pointing at it,
// links through it, so that a change is one rename and readers never see a mixture.
Result<void> write_files(const std::string& directory, const std::vector<VolumeFile>& files,
                         std::optional<std::uint32_t> group);

// Sub-paths have been expanded by the caller; missing ones are made as directories. Each is mounted
// below the directory `pins`, for the caller to unmount when the container is gone.
Result<std::vector<OciMount>> volume_mounts(const model::Container& container,
                                            const VolumeSources& sources, const std::string& pins);

// Unmounts memory volumes and removes everything. Missing is fine.
Result<void> remove_volumes(const std::string& volumes_dir);

}  // namespace hekla::agent
