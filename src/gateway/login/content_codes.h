// One-time codes that carry a login from the page's origin to the content's. A code works once, for
// half a minute, and only in the browser that asked for it.
#pragma once

#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/rng.h"

namespace hekla::gateway {

// Thread-safe.
class ContentCodes {
 public:
  ContentCodes(const Clock& clock, Rng& rng) : clock_(clock), rng_(rng) {}
  struct Pass {
    std::string cookie;     // the value of the content's cookie
    std::string state;      // the digest of what the asking browser keeps
    std::string return_to;  // a path
  };
  std::string issue(Pass pass);
  // `kept` is what the browser has kept.
  std::optional<Pass> redeem(const std::string& code, const std::vector<std::string>& kept);

 private:
  const Clock& clock_;
  Rng& rng_;
  std::mutex mutex_;
  std::map<std::string, std::pair<Pass, MonoTime>> passes_;  // by code, with the time of issue
};

}  // namespace hekla::gateway
