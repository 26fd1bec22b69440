#include "gateway/login/guess_limit.h"

#include <algorithm>

namespace hekla::gateway {

Nanos GuessLimit::wait(const std::string& key, MonoTime now) {
  std::lock_guard lock(mutex_);
  const auto at = tries_.find(key);
  if (at == tries_.end() || at->second.failures < options_.free_failures) return {};
  const int doublings = std::min(at->second.failures - options_.free_failures, 10);
  const Nanos pause = std::min<Nanos>(std::chrono::seconds(1 << doublings), options_.longest);
  return std::max<Nanos>(at->second.last + pause - now, Nanos{});
}

void GuessLimit::failed(const std::string& key, MonoTime now) {
  std::lock_guard lock(mutex_);
  auto [at, made] = tries_.try_emplace(key);
  if (made) {
    order_.push_back(key);
    if (order_.size() > options_.keys_max) {
      tries_.erase(order_.front());
      order_.pop_front();
    }
  } else if (now - at->second.last > options_.forgotten_after) {
    at->second.failures = 0;
  }
  ++at->second.failures;
  at->second.last = now;
}

void GuessLimit::succeeded(const std::string& key) {
  std::lock_guard lock(mutex_);
  if (const auto at = tries_.find(key); at != tries_.end()) at->second.failures = 0;
}

}  // namespace hekla::gateway
