// Other API servers behind this one. An APIService that names a service gives that service a group
// version: its discovery is asked for again and again, what it says is listed beside what is served
// here, and requests below /apis/<group>/<version> are carried on to it in the name of whoever
// asks.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "apiserver/auth/front_proxy.h"
#include "apiserver/object/registry.h"
#include "apiserver/write/writes.h"
#include "base/executor.h"
#include "net/client.h"

namespace hekla::apiserver {

struct AggregatorOptions {
  FrontProxy proxy;
  std::string client_ca_pem;   // who signs the certificates of users
  net::OpenSocket pod_socket;  // services are reached through the pods' network
  net::OwnRanges own_ranges;
  // Tests have clients of their own.
  std::function<Result<std::unique_ptr<net::Client>>(net::ClientOptions)> make_client =
      net::Client::make;
};

// Lives on `loop`; what it finds out is in Registry's catalog.
class Aggregator {
 public:
  Aggregator(store::Store& store, Registry& registry, Writes& writes, Executor& loop,
             AggregatorOptions options);
  ~Aggregator();
  // Once the first objects are there. On the loop.
  void start();

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace hekla::apiserver
