// The subscribers of each bucket. Thread-safe. A subscription's destructor waits for a
// notification of its own that is just running; afterwards none comes.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "store/item.h"
#include "store/subscription.h"

namespace hekla::store {

class Subscriptions {
 public:
  Subscriptions();
  std::unique_ptr<Subscription> add(BucketId bucket, std::function<void()> notify);
  // Each subscriber of each of the buckets once.
  void notify(const std::vector<BucketId>& buckets);

  struct Registry;  // shared with the tokens, which may outlive the store

 private:
  std::shared_ptr<Registry> registry_;
};

}  // namespace hekla::store
