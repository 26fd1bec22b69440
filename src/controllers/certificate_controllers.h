// The kinds of cert-manager that are obeyed here, and those of others that only say they are not,
// as one component on shared caches.
#pragma once

#include <memory>

#include "kube/client.h"

namespace hekla::controllers {

// Lives on the client's executor: constructed, started and destroyed there, or while it does not
// run.
class CertificateControllers {
 public:
  explicit CertificateControllers(kube::Client& client);
  ~CertificateControllers();

  void start();

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace hekla::controllers
