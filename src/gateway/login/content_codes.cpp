#include "gateway/login/content_codes.h"

#include <algorithm>

#include "base/crypto.h"
#include "gateway/login/sessions.h"

namespace hekla::gateway {
namespace {

constexpr std::size_t kMaxCodes = 10'000;
constexpr Nanos kCodeLife = std::chrono::seconds(30);

}  // namespace

std::string ContentCodes::issue(Pass pass) {
  std::string code = random_secret(rng_);
  std::lock_guard lock(mutex_);
  const MonoTime now = clock_.mono();
  std::erase_if(passes_, [&](const auto& one) { return now - one.second.second > kCodeLife; });
  if (passes_.size() >= kMaxCodes)
    passes_.erase(
        std::ranges::min_element(passes_, {}, [](const auto& one) { return one.second.second; }));
  passes_[code] = {std::move(pass), now};
  return code;
}

std::optional<ContentCodes::Pass> ContentCodes::redeem(const std::string& code,
                                                       const std::vector<std::string>& kept) {
  std::lock_guard lock(mutex_);
  const auto at = passes_.find(code);
  if (at == passes_.end()) return std::nullopt;
  auto [pass, issued] = std::move(at->second);
  passes_.erase(at);
  const bool same_browser = std::ranges::any_of(
      kept, [&](const std::string& one) { return sha256_hex(one) == pass.state; });
  if (!same_browser || clock_.mono() - issued > kCodeLife) return std::nullopt;
  return std::move(pass);
}

}  // namespace hekla::gateway
