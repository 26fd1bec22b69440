// Endpoints and EndpointSlices of services with a selector, from the pods' addresses and readiness.
#pragma once

#include <memory>

#include "kube/client.h"
#include "model/core.h"

namespace hekla::controllers {

// Lives on the client's executor.
class Endpoints {
 public:
  explicit Endpoints(kube::Client& client);
  ~Endpoints();
  void start();

 private:
  struct State;
  std::shared_ptr<State> state_;
};

// Pure: the `subsets` of the Endpoints object, and the slices' `endpoints` and `ports`.
using PodRefs = std::vector<std::shared_ptr<const model::Pod>>;
json::Array endpoint_subsets(const model::Service& service, const PodRefs& pods);
json::Array slice_endpoints(const model::Service& service, const PodRefs& pods);
json::Array slice_ports(const model::Service& service, const PodRefs& pods);

}  // namespace hekla::controllers
