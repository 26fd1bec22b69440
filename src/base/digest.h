// Digests of what arrives in pieces, and keyed ones.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace hekla {

// One owner; finish() or finish_hex() is called once.
class Digest {
 public:
  // MD5 and SHA-1 are for protocols that ask for them (S3's ETag and checksums), never for trust.
  enum class Algorithm : std::uint8_t { md5, sha1, sha256 };
  Digest() : Digest(Algorithm::sha256) {}
  explicit Digest(Algorithm algorithm);
  ~Digest();
  Digest(Digest&&) noexcept;
  Digest& operator=(Digest&&) noexcept;

  void add(std::string_view data);
  std::string finish();      // raw bytes
  std::string finish_hex();  // lower-case digits

 private:
  struct State;
  std::unique_ptr<State> state_;
};

std::string hmac_sha256(std::string_view key, std::string_view data);  // 32 raw bytes

// Compares secrets in a time that depends on their lengths alone.
bool equal_secrets(std::string_view a, std::string_view b);

}  // namespace hekla
