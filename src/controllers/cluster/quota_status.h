// ResourceQuota status: counts what a namespace uses when a quota is new or has changed, and again
// every five minutes. In between Hekla's API server keeps status.used itself, write by write.
#pragma once

#include <memory>

#include "kube/client.h"

namespace hekla::controllers {

// Lives on the client's executor.
class QuotaStatus {
 public:
  QuotaStatus(kube::Client& client, kube::Discovery& discovery);
  ~QuotaStatus();
  void start();

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace hekla::controllers
