// Byte-level helpers: checksums, base64, hex, little-endian integers.
#pragma once

#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>

namespace hekla {

__extension__ typedef __int128 Int128;
__extension__ typedef unsigned __int128 UInt128;

// CRC-32C (Castagnoli) of `data`, continuing from `seed`. Uses SSE4.2 where the CPU has it.
std::uint32_t crc32c(std::string_view data, std::uint32_t seed = 0);

std::string base64_encode(std::string_view data);
// Standard alphabet with padding; nullopt when the text is not base64.
std::optional<std::string> base64_decode(std::string_view text);
// URL-safe alphabet without padding (JWT).
std::string base64url_encode(std::string_view data);
std::optional<std::string> base64url_decode(std::string_view text);
std::string hex_encode(std::string_view data);

template <class Integer>
void append_le(std::string& out, Integer value) {
  char raw[sizeof value];
  std::memcpy(raw, &value, sizeof value);  // every target of ours is little-endian
  out.append(raw, sizeof value);
}

template <class Integer>
Integer load_le(const char* at) {
  Integer value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

}  // namespace hekla
