// ClusterRoles put together from others: a role with an aggregationRule holds the rules of every
// role its selectors find.
#pragma once

#include <memory>

#include "kube/client.h"

namespace hekla::controllers {

// Lives on the client's executor.
class RoleAggregation {
 public:
  explicit RoleAggregation(kube::Client& client);
  ~RoleAggregation();
  void start();

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace hekla::controllers
