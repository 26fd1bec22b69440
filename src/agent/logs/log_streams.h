// Serves container logs to the API server: finds the file, then pumps it into the sink on threads
// of its own, following it as it grows.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>

#include "agent/logs/kept_logs.h"
#include "agent/os/file_watch.h"
#include "base/executor.h"
#include "base/loop.h"
#include "kube/pod_streams.h"

namespace hekla::agent {

struct LogTarget {
  std::string path;
  std::string pod_uid, container_id;
};

// How the streams ask the agent; called on its executor.
struct LogSource {
  std::function<Result<LogTarget>(const std::string& ns, const std::string& pod,
                                  const std::string& uid, const kube::LogOptions& options)>
      find;
  std::function<bool(const LogTarget& target)> is_live;
  std::function<Result<std::vector<KeptPod>>(const std::string& ns)> kept;
};

class LogPump;

class LogStreams {
 public:
  static Result<std::unique_ptr<LogStreams>> open(Executor& executor, LogSource source);
  LogStreams(Executor& executor, LogSource source, std::unique_ptr<FileWatch> watch);
  ~LogStreams();

  // From any thread; `started` runs on the agent's executor.
  void logs(const std::string& ns, const std::string& pod, const std::string& pod_uid,
            const kube::LogOptions& options, std::shared_ptr<kube::ByteSink> sink,
            std::move_only_function<void(Result<void>)> started);
  void kept_logs(const std::string& ns,
                 std::move_only_function<void(Result<std::vector<kube::KeptLog>>)> done);

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace hekla::agent
