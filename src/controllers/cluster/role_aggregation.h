// ClusterRoles put together from others: a role with an aggregationRule holds the rules of every
// role its selectors find.
#pragma once

#include <memory>

#include "kube/cache_set.h"

namespace hekla::controllers {

// Lives on the caches' executor.
class RoleAggregation {
 public:
  explicit RoleAggregation(kube::CacheSet& caches);
  ~RoleAggregation();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace hekla::controllers
