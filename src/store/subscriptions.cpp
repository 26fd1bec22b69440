#include "store/subscriptions.h"

#include <algorithm>

#include "base/check.h"

namespace hekla::store {
namespace {

struct Subscriber {
  std::mutex mutex;  // held while `notify` runs
  std::function<void()> notify;
};
using SubscriberPtr = std::shared_ptr<Subscriber>;

}  // namespace

struct Subscriptions::Registry {
  std::mutex mutex;
  std::vector<std::vector<SubscriberPtr>> buckets;
};

namespace {

class Token final : public Subscription {
 public:
  Token(std::shared_ptr<Subscriptions::Registry> registry, BucketId bucket,
        SubscriberPtr subscriber)
      : registry_(std::move(registry)), bucket_(bucket), subscriber_(std::move(subscriber)) {}

  ~Token() override {
    {
      std::lock_guard lock(registry_->mutex);
      CHECK(std::erase(registry_->buckets[bucket_], subscriber_) == 1, "a token is used up once");
    }
    std::lock_guard lock(subscriber_->mutex);
    subscriber_->notify = nullptr;
  }

 private:
  std::shared_ptr<Subscriptions::Registry> registry_;
  BucketId bucket_;
  SubscriberPtr subscriber_;
};

}  // namespace

Subscriptions::Subscriptions() : registry_(std::make_shared<Registry>()) {}

std::unique_ptr<Subscription> Subscriptions::add(BucketId bucket, std::function<void()> notify) {
  CHECK(notify, "a subscriber wants to be called");
  auto subscriber = std::make_shared<Subscriber>();
  subscriber->notify = std::move(notify);
  {
    std::lock_guard lock(registry_->mutex);
    if (bucket >= registry_->buckets.size()) registry_->buckets.resize(bucket + 1);
    registry_->buckets[bucket].push_back(subscriber);
  }
  return std::make_unique<Token>(registry_, bucket, std::move(subscriber));
}

void Subscriptions::notify(const std::vector<BucketId>& buckets) {
  std::vector<SubscriberPtr> wanted;
  {
    std::lock_guard lock(registry_->mutex);
    for (BucketId bucket : buckets) {
      if (bucket >= registry_->buckets.size()) continue;
      const auto& subscribers = registry_->buckets[bucket];
      wanted.insert(wanted.end(), subscribers.begin(), subscribers.end());
    }
  }
  for (const SubscriberPtr& subscriber : wanted) {
    std::lock_guard lock(subscriber->mutex);
    if (subscriber->notify) subscriber->notify();
  }
}

}  // namespace hekla::store
