#include "base/rng.h"

#include <openssl/rand.h>

#include <array>
#include <mutex>
#include <string_view>

#include "base/bytes.h"
#include "base/check.h"

namespace hekla {
namespace {

// Draws from the system in blocks: a batch of pods wants thousands of numbers.
class RealRng final : public Rng {
 public:
  std::uint64_t next() override {
    std::lock_guard lock(mutex_);
    if (used_ == block_.size()) {
      int ok = RAND_bytes(reinterpret_cast<unsigned char*>(block_.data()), sizeof block_);
      CHECK(ok == 1, "the system has no randomness");
      used_ = 0;
    }
    return block_[used_++];
  }

 private:
  std::mutex mutex_;
  std::array<std::uint64_t, 64> block_{};
  std::size_t used_ = block_.size();
};

}  // namespace

Rng& real_rng() {
  static RealRng rng;
  return rng;
}

std::uint64_t uniform(Rng& rng, std::uint64_t bound) {
  CHECK(bound > 0);
  return static_cast<std::uint64_t>((static_cast<UInt128>(rng.next()) * bound) >> 64);
}

std::string uuid(Rng& rng) {
  std::uint64_t a = rng.next(), b = rng.next();
  a = (a & 0xffffffffffff0fffULL) | 0x4000;
  b = (b & 0x3fffffffffffffffULL) | 0x8000000000000000ULL;
  static constexpr char kHex[] = "0123456789abcdef";
  std::string text(36, '-');
  std::size_t at = 0;
  for (int digit = 0; digit < 32; ++digit) {
    if (digit == 8 || digit == 12 || digit == 16 || digit == 20) ++at;
    const std::uint64_t half = digit < 16 ? a : b;
    text[at++] = kHex[(half >> (60 - 4 * (digit % 16))) & 15];
  }
  return text;
}

std::string name_suffix(Rng& rng, int length) {
  static constexpr std::string_view kAlphabet = "bcdfghjklmnpqrstvwxz2456789";
  std::string text;
  for (int i = 0; i < length; ++i) text += kAlphabet[uniform(rng, kAlphabet.size())];
  return text;
}

}  // namespace hekla
