// The token of whoever wants to hear of a bucket's commits.
#pragma once

namespace hekla::store {

// Notifications end when it is destroyed.
class Subscription {
 public:
  virtual ~Subscription() = default;
};

}  // namespace hekla::store
