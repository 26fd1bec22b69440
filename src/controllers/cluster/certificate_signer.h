// Issues the certificates of approved signing requests for clients of the API server, those to the
// signer kubernetes.io/kube-apiserver-client, and clears away requests whose time is over.
#pragma once

#include <memory>

#include "base/crypto.h"
#include "kube/client.h"

namespace hekla::controllers {

// Lives on the client's executor.
class CertificateSigner {
 public:
  CertificateSigner(kube::Client& client, KeyPair ca);
  ~CertificateSigner();
  void start();

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace hekla::controllers
