#include "base/bytes.h"

#include <nmmintrin.h>

#include <array>

namespace hekla {
namespace {

constexpr std::uint32_t kCastagnoli = 0x82f63b78;

constexpr std::array<std::uint32_t, 256> make_table() {
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t i = 0; i < 256; ++i) {
    std::uint32_t crc = i;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) ? kCastagnoli : 0);
    table[i] = crc;
  }
  return table;
}

std::uint32_t crc_by_table(std::string_view data, std::uint32_t crc) {
  static constexpr auto kTable = make_table();
  for (char c : data) crc = kTable[(crc ^ static_cast<std::uint8_t>(c)) & 0xff] ^ (crc >> 8);
  return crc;
}

__attribute__((target("sse4.2"))) std::uint32_t crc_by_cpu(std::string_view data,
                                                           std::uint32_t crc) {
  const char* at = data.data();
  std::size_t left = data.size();
  std::uint64_t wide = crc;
  for (; left >= 8; at += 8, left -= 8) wide = _mm_crc32_u64(wide, load_le<std::uint64_t>(at));
  crc = static_cast<std::uint32_t>(wide);
  for (; left > 0; ++at, --left) crc = _mm_crc32_u8(crc, static_cast<std::uint8_t>(*at));
  return crc;
}

constexpr std::string_view kStandard =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr std::string_view kUrl =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

std::string encode64(std::string_view data, std::string_view alphabet, bool pad) {
  std::string out;
  out.reserve((data.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < data.size(); i += 3) {
    std::uint32_t group = 0;
    std::size_t have = std::min<std::size_t>(3, data.size() - i);
    for (std::size_t j = 0; j < 3; ++j)
      group = group << 8 | (j < have ? static_cast<std::uint8_t>(data[i + j]) : 0);
    for (std::size_t j = 0; j < 4; ++j) {
      if (j <= have)
        out += alphabet[(group >> (18 - 6 * j)) & 63];
      else if (pad)
        out += '=';
    }
  }
  return out;
}

std::optional<std::string> decode64(std::string_view text, std::string_view alphabet) {
  while (!text.empty() && text.back() == '=') text.remove_suffix(1);
  std::string out;
  std::uint32_t group = 0;
  int bits = 0;
  for (char c : text) {
    if (c == '\n' || c == '\r') continue;
    std::size_t value = alphabet.find(c);
    if (value == std::string_view::npos) return std::nullopt;
    group = group << 6 | static_cast<std::uint32_t>(value);
    bits += 6;
    if (bits >= 8) {
      bits -= 8;
      out += static_cast<char>(group >> bits & 0xff);
    }
  }
  if (bits >= 6) return std::nullopt;
  return out;
}

}  // namespace

std::uint32_t crc32c(std::string_view data, std::uint32_t seed) {
  static const bool has_cpu_crc = __builtin_cpu_supports("sse4.2");
  std::uint32_t crc = ~seed;
  return ~(has_cpu_crc ? crc_by_cpu(data, crc) : crc_by_table(data, crc));
}

std::string base64_encode(std::string_view data) { return encode64(data, kStandard, true); }
std::optional<std::string> base64_decode(std::string_view text) {
  if (text.size() % 4 != 0 && text.find_first_of("\r\n") == std::string_view::npos)
    return std::nullopt;
  return decode64(text, kStandard);
}
std::string base64url_encode(std::string_view data) { return encode64(data, kUrl, false); }
std::optional<std::string> base64url_decode(std::string_view text) { return decode64(text, kUrl); }

std::string hex_encode(std::string_view data) {
  static constexpr std::string_view kDigits = "0123456789abcdef";
  std::string out;
  for (char c : data) {
    out += kDigits[static_cast<std::uint8_t>(c) >> 4];
    out += kDigits[static_cast<std::uint8_t>(c) & 15];
  }
  return out;
}

}  // namespace hekla
