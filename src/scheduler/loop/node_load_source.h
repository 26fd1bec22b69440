// How busy nodes really are, from the source the configuration names under `metrics`: {type:
// prometheus, address, interval (30s)}. Asks every interval; keeps the last answer with its time.
// Lives on its executor; questions (of) belong to sessions on the same one.
#pragma once

#include <memory>
#include <string>

#include "base/executor.h"
#include "json/value.h"
#include "kube/http.h"
#include "scheduler/session/services.h"

namespace hekla::scheduler {

class NodeLoadSource final : public NodeLoads {
 public:
  // `http` may be null: then nothing is ever known.
  NodeLoadSource(Executor& executor, kube::Http* http);
  ~NodeLoadSource() override;

  // Begins to ask anew, or stops when `metrics` says nothing. Fails on a source of another type.
  Result<void> configure(const json::Value& metrics);
  std::optional<NodeLoad> of(std::string_view node) const override;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace hekla::scheduler
