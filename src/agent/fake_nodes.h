// Nodes that exist in the API only, for tests, benchmarks and people who try queue policies: their
// pods are Running as soon as they are bound and end as fake_pod.h says.
#pragma once

#include <memory>
#include <string>

#include "base/metrics.h"
#include "kube/client.h"
#include "model/quantity.h"

namespace hekla::agent {

struct FakeNodesOptions {
  int count = 0;
  model::ResourceList resources;  // capacity and allocatable of each
};

std::string fake_node_name(int index);

// Lives on the client's executor.
class FakeNodes {
 public:
  FakeNodes(FakeNodesOptions options, kube::Client& client);
  ~FakeNodes();
  void start();

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace hekla::agent
