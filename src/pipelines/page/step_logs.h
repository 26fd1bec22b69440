// The logs of steps: from the pod while it is there, else as they were kept in the object store
// when it had ended.
#pragma once

#include <memory>
#include <string>

#include "base/done.h"
#include "kube/pod_streams.h"
#include "net/http.h"
#include "pipelines/object_bytes.h"

namespace hekla::pipelines::page {

// Thread-safe; destroyed after those who call it.
class StepLogs {
 public:
  // `streams` reaches the logs of pods.
  StepLogs(ObjectBytes& objects, kube::PodStreams& streams);
  ~StepLogs();

  // Keeps an ended pod's log, unless that has been done; `done` comes on any thread.
  void keep(const std::string& run, const kube::PodRef& pod, Done<void> done);
  // Answers with the kept log, or with the pod's own, as it grows if `follow` says so.
  void send(const std::string& run, const kube::PodRef& pod, bool follow,
            std::shared_ptr<net::ResponseWriter> writer);

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace hekla::pipelines::page
