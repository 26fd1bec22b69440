// A hint to the processor that an object is about to be needed: whoever goes through hundreds that
// do not fit into the nearer caches asks for the next ones while one is at work.
#pragma once

#include <cstddef>

namespace hekla {

inline void fetch_ahead(const void* object, std::size_t bytes) {
  constexpr std::size_t kLine = 64;
  for (std::size_t at = 0; at < bytes; at += kLine)
    __builtin_prefetch(static_cast<const char*>(object) + at);
}

}  // namespace hekla
