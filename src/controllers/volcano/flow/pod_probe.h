// Whether something in a pod listens, or answers over HTTP: a connection through whoever runs the
// pod.
#pragma once

#include <functional>
#include <string>

#include "base/executor.h"
#include "kube/pod_streams.h"

namespace hekla::controllers {

struct PodProbe {
  kube::PodRef pod;
  std::uint16_t port = 0;
  std::string request;  // sent as it is; empty: a connection is enough
  Nanos timeout{std::chrono::seconds(5)};
};

// `done` runs once, on the executor. An HTTP answer counts when its status is 200 to 399.
void probe_pod(kube::PodStreams& streams, Executor& executor, PodProbe probe,
               std::function<void(bool)> done);

}  // namespace hekla::controllers
