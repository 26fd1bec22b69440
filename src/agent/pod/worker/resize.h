// pods/resize on the node: the limits of running containers follow the spec, or containers are
// replaced where the spec wants that. Lives inside the pod's worker.
#pragma once

#include <optional>

#include "agent/pod/worker/container_stops.h"
#include "agent/pod/worker/pod_state.h"

namespace hekla::agent {

class Resize {
 public:
  Resize(PodState& state, ContainerStops& stops) : state_(state), stops_(stops) {}

  // Gives the first container that has other amounts than its spec says what it shall have. True
  // when it has begun work.
  bool advance();
  // The spec has changed: a refused resize is tried at once.
  void retry() { retry_at_.reset(); }
  const ResizeView& view() const { return view_; }

 private:
  struct Wanted {
    std::size_t container = 0;
    model::ResourceRequirements resources;
  };
  std::optional<Wanted> find() const;
  bool needs_restart(const Wanted& wanted) const;
  void apply(const Wanted& wanted);

  PodState& state_;
  ContainerStops& stops_;
  ResizeView view_;
  std::optional<WallTime> retry_at_;  // the last attempt was refused or failed
};

}  // namespace hekla::agent
