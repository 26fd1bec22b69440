// Nodes that exist in the API only, for tests, benchmarks and people who try queue policies: their
// pods are Running as soon as they are bound and end as fake_pod.h says. Beside those made here,
// any Node with the label hekla.io/fake-node is played.
#pragma once

#include <memory>
#include <string>

#include "base/clock.h"
#include "kube/client.h"
#include "model/quantity.h"

namespace hekla::agent {

struct FakeNodesOptions {
  int count = 0;
  model::ResourceList resources;  // capacity and allocatable of each
  Nanos pod_delay{0};             // that a pod takes to start, and to end when it is deleted
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
