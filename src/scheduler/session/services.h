// What plugins may ask beyond the cluster state. Injected by whoever runs sessions; all may be
// null.
#pragma once

#include <optional>
#include <string_view>

#include "base/clock.h"
#include "kube/http.h"

namespace hekla::scheduler {

// How busy a node really is, in percent of what it has, on average over some minutes.
struct NodeLoad {
  double cpu = 0, memory = 0;
  WallTime at{};
};

class NodeLoads {
 public:
  virtual ~NodeLoads() = default;
  virtual std::optional<NodeLoad> of(std::string_view node) const = 0;
};

struct Services {
  const NodeLoads* loads = nullptr;
  kube::Http* http = nullptr;  // for extenders; sessions wait for the answers
};

}  // namespace hekla::scheduler
