#include "base/ssh_key.h"

#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/ec.h>
#include <openssl/encoder.h>
#include <openssl/evp.h>
#include <openssl/rsa.h>

#include <memory>
#include <vector>

#include "base/bytes.h"

namespace hekla {
namespace {

struct OpenSslFree {
  void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
  void operator()(BIGNUM* number) const { BN_free(number); }
  void operator()(OSSL_ENCODER_CTX* encoder) const { OSSL_ENCODER_CTX_free(encoder); }
  void operator()(unsigned char* bytes) const { OPENSSL_free(bytes); }
};
template <class T>
using Owned = std::unique_ptr<T, OpenSslFree>;

// RFC 4253: a length in network order, then the bytes.
void append_field(std::string& wire, std::string_view bytes) {
  auto length = static_cast<std::uint32_t>(bytes.size());
  for (int shift = 24; shift >= 0; shift -= 8) wire += static_cast<char>(length >> shift & 0xff);
  wire += bytes;
}

bool append_number(std::string& wire, const EVP_PKEY* key, const char* name) {
  BIGNUM* raw = nullptr;
  if (EVP_PKEY_get_bn_param(key, name, &raw) != 1) return false;
  Owned<BIGNUM> number(raw);
  std::vector<unsigned char> bytes(static_cast<std::size_t>(BN_num_bytes(number.get())));
  BN_bn2bin(number.get(), bytes.data());
  std::string field;
  if (!bytes.empty() && bytes.front() >= 0x80) field += '\0';  // it would be negative otherwise
  field.append(bytes.begin(), bytes.end());
  append_field(wire, field);
  return true;
}

Result<std::string> private_pem(const EVP_PKEY* key) {
  Owned<OSSL_ENCODER_CTX> encoder(
      OSSL_ENCODER_CTX_new_for_pkey(key, EVP_PKEY_KEYPAIR, "PEM", "type-specific", nullptr));
  unsigned char* raw = nullptr;
  std::size_t length = 0;
  if (!encoder || OSSL_ENCODER_to_data(encoder.get(), &raw, &length) != 1)
    return fail(Code::internal, "could not write an ssh key");
  Owned<unsigned char> pem(raw);
  return std::string(reinterpret_cast<const char*>(pem.get()), length);
}

}  // namespace

Result<SshKeyPair> make_ssh_key() {
  Owned<EVP_PKEY> key(EVP_RSA_gen(2048));
  if (!key) return fail(Code::internal, "could not make an RSA key");
  std::string wire;
  append_field(wire, "ssh-rsa");
  if (!append_number(wire, key.get(), OSSL_PKEY_PARAM_RSA_E) ||
      !append_number(wire, key.get(), OSSL_PKEY_PARAM_RSA_N))
    return fail(Code::internal, "could not write an RSA public key");
  return SshKeyPair{TRY(private_pem(key.get())), "ssh-rsa " + base64_encode(wire) + "\n"};
}

// RFC 5656: the name of the curve, then the point.
Result<SshKeyPair> make_ecdsa_ssh_key() {
  Owned<EVP_PKEY> key(EVP_EC_gen("P-521"));
  if (!key) return fail(Code::internal, "could not make an ECDSA key");
  unsigned char point[256];
  std::size_t length = 0;
  if (EVP_PKEY_get_octet_string_param(key.get(), OSSL_PKEY_PARAM_PUB_KEY, point, sizeof point,
                                      &length) != 1)
    return fail(Code::internal, "could not write an ECDSA public key");
  const std::string type = "ecdsa-sha2-nistp521";
  std::string wire;
  append_field(wire, type);
  append_field(wire, "nistp521");
  append_field(wire, {reinterpret_cast<const char*>(point), length});
  return SshKeyPair{TRY(private_pem(key.get())), type + " " + base64_encode(wire) + "\n"};
}

}  // namespace hekla
