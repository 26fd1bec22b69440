#include "base/sha256.h"

#include <openssl/evp.h>

#include "base/bytes.h"
#include "base/check.h"

namespace hekla {

struct Sha256::State {
  struct Free {
    void operator()(EVP_MD_CTX* context) const { EVP_MD_CTX_free(context); }
  };
  std::unique_ptr<EVP_MD_CTX, Free> context{EVP_MD_CTX_new()};
};

Sha256::Sha256() : state_(std::make_unique<State>()) {
  CHECK(EVP_DigestInit_ex(state_->context.get(), EVP_sha256(), nullptr) == 1, "SHA-256 exists");
}

Sha256::~Sha256() = default;

void Sha256::add(std::string_view data) {
  CHECK(EVP_DigestUpdate(state_->context.get(), data.data(), data.size()) == 1, "digest update");
}

std::string Sha256::finish_hex() {
  std::string raw(EVP_MAX_MD_SIZE, '\0');
  unsigned size = 0;
  CHECK(EVP_DigestFinal_ex(state_->context.get(), reinterpret_cast<unsigned char*>(raw.data()),
                           &size) == 1,
        "digest end");
  return hex_encode(std::string_view(raw).substr(0, size));
}

}  // namespace hekla
