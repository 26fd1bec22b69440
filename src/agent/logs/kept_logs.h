// Logs of pods that are gone, kept for as long as the job they belonged to is there, within limits
// of size and age. One directory per pod: pod.json and the pod's own `containers`. Thread-safe;
// everything that touches files blocks.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "agent/record/pod_record.h"
#include "base/clock.h"
#include "base/result.h"
#include "kube/pod_streams.h"

namespace hekla::agent {

struct KeptPod {
  PodRecord record;  // with a job
  std::int64_t ended_ns = 0, bytes = 0;
};
BOOST_DESCRIBE_STRUCT(KeptPod, (), (record, ended_ns, bytes))

struct KeptLogLimits {
  std::int64_t bytes = 2LL << 30;  // of all together; the oldest go first
  Nanos age = std::chrono::hours(24 * 7);
};

class KeptLogs {
 public:
  explicit KeptLogs(std::string directory, KeptLogLimits limits = {})
      : directory_(std::move(directory)), limits_(limits) {}

  // Finds what an earlier process kept.
  Result<void> open();
  // Takes over the directory `containers` of a pod whose record names a job. A second call, or one
  // for a pod without logs, does nothing.
  Result<void> keep(const PodRecord& record, const std::string& containers, WallTime now);
  // All pods of a job.
  Result<void> remove_job(const std::string& job_uid);
  Result<void> trim(WallTime now);

  // In the order in which the pods ended. An empty namespace means all.
  std::vector<KeptPod> list(const std::string& ns) const;
  // The last pod of that name, or the one of that uid.
  std::optional<KeptPod> find(const kube::PodRef& pod) const;
  std::string containers_dir(const std::string& pod_uid) const {
    return directory_ + "/" + pod_uid + "/containers";
  }

 private:
  Result<void> remove(const std::string& pod_uid);

  const std::string directory_;
  const KeptLogLimits limits_;
  mutable std::mutex mutex_;
  std::map<std::string, KeptPod> pods_;  // by uid
};

}  // namespace hekla::agent
