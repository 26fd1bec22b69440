// cert-manager's Issuers and ClusterIssuers: which of them can sign here.
#pragma once

#include "base/crypto.h"
#include "framework/kind_description.h"

namespace hekla::controllers::certificates {

extern const kube::Resource issuers, cluster_issuers, certificate_kind;

// Where the Secrets of ClusterIssuers are.
inline constexpr const char* kClusterNamespace = "cert-manager";

// An issuer that signs, or why it does not.
struct Signer {
  bool ready = false;
  std::string reason, message;  // of its condition Ready
  // Empty: certificates are signed by their own keys.
  KeyPair ca;
  std::string ca_chain;  // what is above the CA's certificate; empty: it is a root
};
Signer signer_of(const framework::AnyObject& issuer, const framework::View& view);

framework::KindDescription issuer_description(const kube::Resource& resource);

// A member of a Secret's data, decoded.
std::string secret_text(const framework::AnyObject& secret, std::string_view key);

}  // namespace hekla::controllers::certificates
