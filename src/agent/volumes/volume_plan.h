// The contents of a pod's volumes, computed from its spec and the objects it refers to. Pure;
// laying it out on disk is volume_store.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "agent/spec/downward.h"
#include "agent/spec/pod_sources.h"
#include "base/result.h"
#include "model/core.h"

namespace hekla::agent {

struct VolumeFile {
  std::string path;  // relative, may have directories
  std::string content;
  unsigned mode = 0644;
  bool operator==(const VolumeFile&) const = default;
};

struct VolumePlan {
  enum class Kind { files, directory, memory, host_path, claim };
  std::string name;
  Kind kind = Kind::directory;
  std::vector<VolumeFile> files;                 // files
  std::optional<std::int64_t> size_limit_bytes;  // memory
  std::string host_path, host_path_type;         // host_path; of a claim the path alone
  bool provisioned = false;                      // claim: a directory of ours
  bool must_exist = false;                       // claim: nothing is made in its place
  bool read_only = false;                        // claim: whatever the pod says
  bool group_on_mismatch = false;                // fsGroupChangePolicy: OnRootMismatch
  std::optional<std::uint32_t> group;            // fsGroup
};

struct VolumePlanOptions {
  // Stands in for the ConfigMap kube-root-ca.crt until its publisher has made it.
  std::string ca_pem;
  // The program that volumes of the driver launcher.hekla.io hold; empty: there is none.
  std::string_view launcher = {};
};

// Fails in the kubelet's words: `MountVolume.SetUp failed for volume "x" : configmap "y" not
// found`. A projected token that nobody supplied is left out: a Hekla without a token issuer still
// runs pods that never look at it.
Result<std::vector<VolumePlan>> plan_volumes(const model::Pod& pod, const PodFacts& facts,
                                             const PodSources& sources,
                                             const VolumePlanOptions& options);

}  // namespace hekla::agent
