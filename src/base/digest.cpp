#include "base/digest.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include "base/bytes.h"
#include "base/check.h"

namespace hekla {
namespace {

const EVP_MD* method_of(Digest::Algorithm algorithm) {
  switch (algorithm) {
    case Digest::Algorithm::md5:
      return EVP_md5();
    case Digest::Algorithm::sha1:
      return EVP_sha1();
    case Digest::Algorithm::sha256:
      return EVP_sha256();
  }
  check_failed(__FILE__, __LINE__, "algorithm", "unknown digest");
}

}  // namespace

struct Digest::State {
  struct Free {
    void operator()(EVP_MD_CTX* context) const { EVP_MD_CTX_free(context); }
  };
  std::unique_ptr<EVP_MD_CTX, Free> context{EVP_MD_CTX_new()};
};

Digest::Digest(Algorithm algorithm) : state_(std::make_unique<State>()) {
  CHECK(EVP_DigestInit_ex(state_->context.get(), method_of(algorithm), nullptr) == 1,
        "the digest exists");
}

Digest::~Digest() = default;
Digest::Digest(Digest&&) noexcept = default;
Digest& Digest::operator=(Digest&&) noexcept = default;

void Digest::add(std::string_view data) {
  CHECK(EVP_DigestUpdate(state_->context.get(), data.data(), data.size()) == 1, "digest update");
}

std::string Digest::finish() {
  std::string raw(EVP_MAX_MD_SIZE, '\0');
  unsigned size = 0;
  CHECK(EVP_DigestFinal_ex(state_->context.get(), reinterpret_cast<unsigned char*>(raw.data()),
                           &size) == 1,
        "digest end");
  raw.resize(size);
  return raw;
}

std::string Digest::finish_hex() { return hex_encode(finish()); }

std::string hmac_sha256(std::string_view key, std::string_view data) {
  std::string raw(EVP_MAX_MD_SIZE, '\0');
  unsigned size = 0;
  CHECK(HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()),
             reinterpret_cast<const unsigned char*>(data.data()), data.size(),
             reinterpret_cast<unsigned char*>(raw.data()), &size) != nullptr,
        "HMAC-SHA-256 exists");
  raw.resize(size);
  return raw;
}

bool equal_secrets(std::string_view a, std::string_view b) {
  return a.size() == b.size() && CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

}  // namespace hekla
