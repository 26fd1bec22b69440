#include "gateway/password.h"

#include <crypt.h>

#include <algorithm>
#include <cstring>
#include <memory>

namespace hekla::gateway {
namespace {

constexpr std::size_t kHashBytes = 60, kMaxPassword = 72;

// 32 KB, and cleared: too large for the stack of a worker.
std::string crypted(const std::string& password, const std::string& setting) {
  auto data = std::make_unique<crypt_data>();
  const char* out = ::crypt_r(password.c_str(), setting.c_str(), data.get());
  return out ? out : "";
}

bool equal_in_constant_time(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  unsigned char difference = 0;
  for (std::size_t i = 0; i < a.size(); ++i) difference |= static_cast<unsigned char>(a[i] ^ b[i]);
  return difference == 0;
}

}  // namespace

bool is_bcrypt(std::string_view hash) {
  if (hash.size() != kHashBytes || !hash.starts_with("$2")) return false;
  if (hash[2] != 'a' && hash[2] != 'b' && hash[2] != 'y') return false;
  if (hash[3] != '$' || hash[6] != '$') return false;
  const int cost = (hash[4] - '0') * 10 + (hash[5] - '0');
  if (hash[4] < '0' || hash[4] > '1' || hash[5] < '0' || hash[5] > '9' || cost < 4 || cost > 16)
    return false;
  return std::ranges::all_of(
      hash.substr(7), [](unsigned char c) { return std::isalnum(c) != 0 || c == '.' || c == '/'; });
}

bool verify_password(std::string_view password, const std::string& hash) {
  if (!is_bcrypt(hash) || password.contains('\0') || password.empty()) {
    verify_nothing(password);
    return false;
  }
  return equal_in_constant_time(crypted(std::string(password), hash), hash);
}

void verify_nothing(std::string_view password) {
  // Of no password that anybody knows.
  static const std::string kNobody = "$2y$12$AAAAAAAAAAAAAAAAAAAAAuAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";
  (void)crypted(std::string(password.substr(0, password.find('\0'))), kNobody);
}

Result<std::string> hash_password(std::string_view password, Rng& rng, int cost) {
  if (password.empty()) return fail(Code::invalid, "the password is empty");
  if (password.size() > kMaxPassword)
    return fail(Code::invalid, "the password is longer than the 72 bytes that bcrypt looks at");
  if (password.contains('\0')) return fail(Code::invalid, "the password has a zero byte");
  char random[16];
  for (int i = 0; i < 2; ++i) {
    const std::uint64_t word = rng.next();
    std::memcpy(random + 8 * i, &word, sizeof word);
  }
  char setting[CRYPT_GENSALT_OUTPUT_SIZE];
  if (!::crypt_gensalt_rn("$2y$", static_cast<unsigned long>(cost), random, sizeof random, setting,
                          sizeof setting))
    return fail(Code::internal, "this system's crypt(3) makes no bcrypt hashes");
  std::string hash = crypted(std::string(password), setting);
  if (!is_bcrypt(hash)) return fail(Code::internal, "this system's crypt(3) knows no bcrypt");
  return hash;
}

}  // namespace hekla::gateway
