// Where the parts of a pod lie below its directory.
#pragma once

#include <string>

#include "agent/os/instance.h"
#include "agent/record/pod_record.h"

namespace hekla::agent {

inline std::string containers_dir(const InstancePaths& paths, const std::string& uid) {
  return paths.pod(uid) + "/containers";
}

inline std::string container_dir(const InstancePaths& paths, const std::string& uid,
                                 const std::string& container) {
  return containers_dir(paths, uid) + "/" + container;
}

// Files of the pod's directory that its containers have in /etc, and may write.
inline constexpr const char* kPodFiles[] = {"hosts", "hostname", "resolv.conf"};

// Below it the container's sub-paths are mounted; not in the bundle, which is removed whole.
inline std::string pins_dir(const InstancePaths& paths, const std::string& uid,
                            const ContainerRun& run) {
  return paths.pod(uid) + "/subpaths/" + run.id.substr(0, 16);
}

// The directory that the pod's containers see as /dev/shm.
inline std::string shm_dir(const InstancePaths& paths, const std::string& uid) {
  return paths.pod(uid) + "/shm";
}

// Volumes whose mounts are passed on between the pod's containers, each bound below it once.
inline std::string shared_dir(const InstancePaths& paths, const std::string& uid) {
  return paths.pod(uid) + "/shared";
}

// Where the log of one run is, below the pod's directory `containers`.
std::string log_path(const std::string& containers, const std::string& container, int attempt);

}  // namespace hekla::agent
