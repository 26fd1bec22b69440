// One container's way to a run: image, sources of its variables, cards, the machine's launch.
// Lives inside the pod's worker.
#pragma once

#include <functional>

#include "agent/pod/worker/image_pull.h"
#include "agent/pod/worker/pod_state.h"

namespace hekla::agent {

class ContainerLaunch {
 public:
  // `started`: a container runs, and its hooks and probes are to begin.
  ContainerLaunch(PodState& state, ImagePull& images,
                  std::function<void(std::size_t container)> started)
      : state_(state), images_(images), started_(std::move(started)) {}

  // Begins the container's next run; a failure holds it, and the worker steps.
  void begin(std::size_t container);

 private:
  void fetch(std::size_t container);
  void launch(std::size_t container, const PodSources& sources);
  Result<void> take_gpus(std::size_t container);
  void begin_run(std::size_t container, const LaunchRequest& request);
  void launched(std::size_t container, const Result<Launch>& outcome);

  PodState& state_;
  ImagePull& images_;
  std::function<void(std::size_t container)> started_;
};

}  // namespace hekla::agent
