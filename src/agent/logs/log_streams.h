// Serves container logs to the API server: finds the file, then pumps it into the sink on threads
// of its own, following it as it grows.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>

#include "agent/logs/kept_logs.h"
#include "agent/os/file_watch.h"
#include "base/done.h"
#include "base/executor.h"
#include "base/loop.h"
#include "kube/pod_streams.h"

namespace hekla::agent {

struct LogTarget {
  std::string path;
  std::string pod_uid, container_id;
};

// The pods whose logs are read; asked on the agent's executor.
class LogSource {
 public:
  virtual ~LogSource() = default;
  virtual Result<LogTarget> find_log(const kube::PodRef& pod,
                                     const kube::LogOptions& options) const = 0;
  // The run goes on, and its log may grow.
  virtual bool is_live(const LogTarget& target) const = 0;
  // Logs of gone pods.
  virtual std::vector<KeptPod> kept(const std::string& ns) const = 0;
};

class LogPump;

class LogStreams {
 public:
  // The source outlives this.
  static Result<std::unique_ptr<LogStreams>> open(Executor& executor, const LogSource& source);
  LogStreams(Executor& executor, const LogSource& source, std::unique_ptr<FileWatch> watch);
  // On the executor: nothing is asked of the source any more.
  ~LogStreams();

  // From any thread; `started` runs on the agent's executor.
  void logs(const kube::PodRef& pod, const kube::LogOptions& options,
            std::shared_ptr<kube::ByteSink> sink, Done<void> started);
  void kept_logs(const std::string& ns, Done<std::vector<kube::KeptLog>> done);

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace hekla::agent
