// `kubectl exec POD [-c CONTAINER] -- COMMAND` as the launcher of an MPIJob calls it: output goes
// where this process's goes, nothing is read from standard input. Blocks.
#pragma once

#include <string>
#include <vector>

#include "cli/api_session.h"

namespace hekla::cli {

struct PodCommand {
  std::string ns, pod, container;
  std::vector<std::string> words;
};

// The command's exit code.
Result<int> exec_in_pod(ApiSession& session, const PodCommand& command);

// Waits until all of `pods` run.
Result<void> wait_for_running(ApiSession& session, const std::string& ns,
                              const std::vector<std::string>& pods, std::chrono::seconds patience);

// The API server, with what a pod's service account may do.
Result<std::unique_ptr<ApiSession>> open_session_in_pod();

}  // namespace hekla::cli
