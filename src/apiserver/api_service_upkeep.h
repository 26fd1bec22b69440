// What the API server itself says of APIServices: there is one for every version it serves, and those that name another
// server are told that nobody asks it.
#pragma once

#include <memory>

#include "apiserver/registry.h"
#include "apiserver/writes.h"
#include "base/executor.h"

namespace hekla::apiserver {

// Lives on `loop`; looks whenever APIServices or the served kinds have changed.
class ApiServiceUpkeep {
 public:
  ApiServiceUpkeep(store::Store& store, Registry& registry, Writes& writes, Executor& loop);
  ~ApiServiceUpkeep();
  // Once the first objects are there. On the loop.
  void start();

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace hekla::apiserver
