#include "kube/decoded.h"

#include <array>
#include <cstdint>

namespace hekla::kube {

// A mutex in each of a hundred thousand objects would cost more than they ever contend for.
std::mutex& Decoded::lock() const {
  static std::array<std::mutex, 64> locks;
  return locks[(reinterpret_cast<std::uintptr_t>(this) / 64) % locks.size()];
}

std::shared_ptr<const void> Decoded::find(Source source) {
  std::lock_guard guard(lock());
  return source_ == source ? value_.lock() : nullptr;
}

std::shared_ptr<const void> Decoded::keep(Source source, std::shared_ptr<const void> value) {
  std::lock_guard guard(lock());
  if (source_ == source)
    if (std::shared_ptr<const void> first = value_.lock()) return first;
  source_ = source;
  value_ = value;
  return value;
}

}  // namespace hekla::kube
