// Memory that the containers of a pod share: an IPC namespace (System V objects,
// message queues), pinned as a file, and the tmpfs behind /dev/shm.
#pragma once

#include <string>

#include "base/result.h"

namespace hekla::agent {

// A new IPC namespace pinned at `pin`; one that is there already stays. The calling thread is in
// its own again afterwards.
Result<void> make_ipc_namespace(const std::string& pin);
Result<void> remove_ipc_namespace(const std::string& pin);  // missing is fine

// A tmpfs as large as other runtimes give a pod, mounted at `directory`; one that is there stays.
Result<void> mount_shared_memory(const std::string& directory);
Result<void> unmount_shared_memory(const std::string& directory);  // missing is fine

}  // namespace hekla::agent
