// Drops the kept logs of jobs that have been deleted, and what is beyond the limits. Lives on the
// client's executor; file work is done by whoever provides the two functions.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "agent/logs/kept_logs.h"
#include "kube/client.h"

namespace hekla::agent {

struct KeptLogWork {
  std::function<void(const std::string& job_uid)> remove_job;
  std::function<void()> trim;
};

class KeptLogExpiry : public std::enable_shared_from_this<KeptLogExpiry> {
 public:
  KeptLogExpiry(kube::Client& client, const KeptLogs& logs, KeptLogWork work)
      : client_(client), logs_(logs), work_(std::move(work)) {}

  // Now and from time to time.
  void look();

 private:
  void ask(const std::string& ns, const model::OwnerReference& job);

  kube::Client& client_;
  const KeptLogs& logs_;
  KeptLogWork work_;
};

// The resource of a job kind: the lower-case plural is the kind's own name with an s, for all of
// Kubernetes', Volcano's and Kubeflow's.
kube::Resource job_resource(const model::OwnerReference& job);

}  // namespace hekla::agent
