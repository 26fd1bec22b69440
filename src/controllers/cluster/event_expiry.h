// Events live for an hour after they were last written. Deletion is by watch-visible removes, in
// batches.
#pragma once

#include <memory>

#include "kube/client.h"

namespace hekla::controllers {

// Lives on the client's executor.
class EventExpiry {
 public:
  EventExpiry(kube::Client& client, Nanos time_to_live = std::chrono::hours(1));
  ~EventExpiry();
  void start();

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace hekla::controllers
