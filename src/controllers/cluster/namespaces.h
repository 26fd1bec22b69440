// What every namespace has and how it ends: the service account `default` and the root CA's
// ConfigMap while it lives; when it is deleted, everything in it first, pods before the rest, then
// itself.
#pragma once

#include <memory>
#include <string>

#include "kube/client.h"

namespace hekla::controllers {

// Lives on the client's executor.
class Namespaces {
 public:
  Namespaces(kube::Client& client, kube::Discovery& discovery, std::string root_ca_pem);
  ~Namespaces();
  void start();

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace hekla::controllers
