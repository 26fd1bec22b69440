// One of several equal processes works, the others wait: whoever renews a Lease leads. The rules
// are client-go's: times written by others are not compared with our clock, a lease counts as
// abandoned when it has not changed for its duration since we first saw it so.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "kube/client.h"

namespace hekla::kube {

struct LeaderElectionOptions {
  Key lease{"volcano-system", ""};
  std::string identity;  // of this process, unlike any other's
  Nanos lease_duration{15'000'000'000};
  Nanos renew_deadline{10'000'000'000};
  Nanos retry_period{2'000'000'000};
};

// Lives on the client's executor. Destroying it gives nothing up: call release() first for others
// to take over at once.
class LeaderElection {
 public:
  // `elected` runs once; `lost` once after that, when the lease could not be renewed in time.
  // Whoever has lost must stop writing: another may lead already.
  LeaderElection(Client& client, LeaderElectionOptions options, std::function<void()> elected,
                 std::function<void(std::string reason)> lost);
  ~LeaderElection();
  void start();
  // Gives the lease up if it is ours.
  void release(std::function<void()> done);

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace hekla::kube
