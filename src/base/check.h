// Assertions that are always on. For programmer errors only: nothing a user or the world may send
// reaches a CHECK.
#pragma once

#include <string_view>

namespace hekla {
[[noreturn]] void check_failed(const char* file, int line, const char* condition,
                               std::string_view reason = {});
}  // namespace hekla

#define CHECK(condition, ...)                                                           \
  do {                                                                                  \
    if (!(condition)) [[unlikely]]                                                      \
      ::hekla::check_failed(__FILE__, __LINE__, #condition __VA_OPT__(, ) __VA_ARGS__); \
  } while (false)

#ifdef NDEBUG
#define DCHECK(condition, ...) \
  do {                         \
  } while (false)
#else
#define DCHECK(condition, ...) CHECK(condition __VA_OPT__(, ) __VA_ARGS__)
#endif
