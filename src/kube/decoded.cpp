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
  for (Slot& slot : slots_)
    if (slot.source == source) return slot.value.lock();
  return nullptr;
}

std::shared_ptr<const model::ObjectMeta> Decoded::find_metadata(const std::string& text) {
  std::lock_guard guard(lock());
  for (Slot& slot : slots_)
    if (slot.source.text == &text && slot.metadata != nullptr)
      if (std::shared_ptr<const void> value = slot.value.lock())
        return {std::move(value), slot.metadata};
  return nullptr;
}

std::shared_ptr<const void> Decoded::keep(Source source, std::shared_ptr<const void> value,
                                          const model::ObjectMeta* metadata) {
  std::lock_guard guard(lock());
  Slot* into = nullptr;
  for (Slot& slot : slots_)
    if (slot.source.type == source.type) into = &slot;
  if (into == nullptr) into = slots_.front().value.expired() ? &slots_.front() : &slots_.back();
  if (into->source == source)
    if (std::shared_ptr<const void> first = into->value.lock()) return first;
  *into = {source, value, metadata};
  return value;
}

}  // namespace hekla::kube
