// Persistent volume claims on this node: finds where a pod's claims are, makes volumes for those of
// the class local-path when their first pod comes (at once where a class says so), binds others to
// volumes made by hand, and takes away what deleted claims leave. Lives on the agent's executor.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "agent/spec/pod_sources.h"
#include "base/result.h"
#include "kube/client.h"

namespace hekla::agent {

struct ClaimStoreOptions {
  std::string directory;  // where volumes are made; exists
  std::string node_name;
  // Removes a volume's files without blocking.
  std::function<void(const std::string& path, std::move_only_function<void(Result<void>)>)> remove;
  // Whether a pod that still runs here has the claim: its files then stay, deleted or not.
  std::function<bool(const std::string& ns, const std::string& claim)> in_use;
};

class ClaimStore {
 public:
  ClaimStore(ClaimStoreOptions options, kube::Client& client);
  ~ClaimStore();
  // Makes the storage class unless somebody has, and begins to look after volumes.
  void start();

  using Claims = std::map<std::string, ClaimVolume>;  // by the claim's name
  // Where each claim of the pod is. Fails in the kubelet's words while one is not bound.
  void resolve(const model::Pod& pod, std::move_only_function<void(Result<Claims>)> done);

 private:
  struct State;
  std::shared_ptr<State> state_;
};

// The names of the claims behind a pod's volumes.
std::vector<std::string> claim_names(const model::Pod& pod);

}  // namespace hekla::agent
