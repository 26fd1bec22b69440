// Certificate signing requests (PKCS #10, PEM), and certificates that are ordered in other words.
#pragma once

#include "base/crypto.h"

namespace hekla {

// Whether it is a request, signed by the key that it is about.
Result<void> check_signing_request(const std::string& pem);

struct ClientUsage {
  bool digital_signature = false, key_encipherment = false;
};
// A client certificate (PEM) for the subject, the alternative names and the key of the request. It
// does not outlive the CA's.
Result<std::string> sign_client_request(const KeyPair& ca, const std::string& request_pem,
                                        ClientUsage usage, std::chrono::seconds valid_for,
                                        const Clock& clock);

// A certificate as somebody orders it.
struct CertificateOrder {
  CertificateRequest request;
  std::chrono::seconds valid_for{};  // instead of the request's
  bool for_authority = false;        // it may sign others
};
// Signed by the CA; without one by its own key.
Result<KeyPair> issue_certificate(const KeyPair* ca, const CertificateOrder& order,
                                  const Clock& clock);

}  // namespace hekla
