// Digests, keys and certificates (OpenSSL lives here and in net). All functions are thread-safe.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/result.h"

namespace hekla {

std::string sha256(std::string_view data);      // 32 raw bytes
std::string sha256_hex(std::string_view data);  // 64 lower-case digits

// A certificate with its private key, both PEM.
struct KeyPair {
  std::string certificate_pem;
  std::string key_pem;
};

struct CertificateRequest {
  std::string common_name;
  std::vector<std::string> organizations;  // groups, for a client certificate
  std::vector<std::string> dns_names;
  std::vector<std::string> ip_addresses;
  bool for_server = false;
  bool for_client = false;
  std::chrono::hours valid_for{24 * 365 * 10};
};

// ECDSA P-256: a handshake costs a third of RSA-2048's, and kubectl makes one per command.
Result<KeyPair> make_ca(const std::string& common_name, const Clock& clock);
Result<KeyPair> make_certificate(const KeyPair& ca, const CertificateRequest& request,
                                 const Clock& clock);

// The organizations in the subject of a PEM certificate signing request.
Result<std::vector<std::string>> signing_request_organizations(const std::string& pem);

// An ECDSA P-256 private key as PEM, for service-account tokens.
Result<std::string> make_signing_key();
// A P-256 key, parsed once: reading the PEM costs more than verifying with it. Copies share it.
class Es256Key {
 public:
  // The PEM of a private key, a public key or a certificate; only with the first one can be signed.
  static Result<Es256Key> read(const std::string& key_pem);
  // ES256 in JWS form (raw r||s).
  Result<std::string> sign(std::string_view data) const;
  bool verify(std::string_view data, std::string_view signature) const;
  // base64url(SHA-256(DER SubjectPublicKeyInfo)): the "kid" of a token.
  Result<std::string> id() const;
  // The coordinates of the public key: x and y, 32 bytes each.
  Result<std::string> point() const;

 private:
  std::shared_ptr<void> key_;  // EVP_PKEY
  bool private_ = false;
};

}  // namespace hekla
