// What the API server itself says of FlowSchemas: whether the priority level they name is there. It also
// brings the mandatory objects back when somebody has taken them away.
#pragma once

#include <memory>

#include "apiserver/registry.h"
#include "apiserver/writes.h"
#include "base/executor.h"

namespace hekla::apiserver {

// Lives on `loop`; looks whenever one of the two kinds has changed.
class FlowUpkeep {
 public:
  FlowUpkeep(store::Store& store, Registry& registry, Writes& writes, Executor& loop);
  ~FlowUpkeep();
  // Once the first objects are there. On the loop.
  void start();

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace hekla::apiserver
