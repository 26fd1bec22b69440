// Deletes the resources of a CRD that is being deleted, then lets it go.
#pragma once

#include <memory>

#include "apiserver/crd/crds.h"
#include "apiserver/write/writes.h"
#include "base/executor.h"

namespace hekla::apiserver {

// Lives on `loop`; kick() may be called from any thread.
class CrdCleanup {
 public:
  CrdCleanup(store::Store& store, Registry& registry, Crds& crds, Writes& writes, Executor& loop);
  ~CrdCleanup();
  void kick();

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace hekla::apiserver
