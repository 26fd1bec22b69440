// How busy nodes really are, from the source the configuration names under `metrics`: {type:
// prometheus, address, interval (30s)}, or {type: metrics_server, interval} for metrics.k8s.io,
// whose numbers are divided by the node's capacity. Asks every interval; keeps the last answer with
// its time. Lives on its executor; questions (of) belong to sessions on the same one.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/executor.h"
#include "json/value.h"
#include "kube/client.h"
#include "kube/http.h"
#include "scheduler/session/services.h"

namespace hekla::scheduler {

class NodeLoadSource final : public NodeLoads {
 public:
  struct Capacity {
    std::int64_t cpu_milli = 0, memory_bytes = 0;
  };
  using CapacityOf = std::function<std::optional<Capacity>(std::string_view node)>;

  // `http` and `client` may be null: then their sources know nothing.
  NodeLoadSource(Executor& executor, kube::Http* http, kube::Client* client = nullptr,
                 CapacityOf capacity = {});
  ~NodeLoadSource() override;

  // Begins to ask anew, or stops when `metrics` says nothing. Fails on a source of another type.
  Result<void> configure(const json::Value& metrics);
  std::optional<NodeLoad> of(std::string_view node) const override;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace hekla::scheduler
