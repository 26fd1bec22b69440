// How often somebody may be wrong about a password: by account and by address. The first failures
// cost nothing; each further one doubles the wait, up to a minute. Nobody is locked out for good.
#pragma once

#include <deque>
#include <mutex>
#include <string>
#include <unordered_map>

#include "base/clock.h"

namespace hekla::gateway {

// Thread-safe.
class GuessLimit {
 public:
  struct Options {
    int free_failures = 5;
    Nanos longest = std::chrono::minutes(1), forgotten_after = std::chrono::minutes(15);
    std::size_t keys_max = 16384;  // the oldest are forgotten first
  };
  explicit GuessLimit(Options options) : options_(options) {}
  // How long the key has still to wait; zero: it may try.
  Nanos wait(const std::string& key, MonoTime now);
  void failed(const std::string& key, MonoTime now);
  void succeeded(const std::string& key);

 private:
  struct Tries {
    int failures = 0;
    MonoTime last;
  };
  const Options options_;
  std::mutex mutex_;
  std::unordered_map<std::string, Tries> tries_;
  std::deque<std::string> order_;
};

}  // namespace hekla::gateway
