// Files that outlive pods: the volumes of claims, and the logs of gone pods of jobs. Lives on the
// agent's executor.
#pragma once

#include <memory>
#include <string>

#include "agent/logs/kept_log_expiry.h"
#include "agent/machine/linux_machine.h"
#include "agent/node/node_pods.h"
#include "agent/volumes/claim_store.h"

namespace hekla::agent {

class NodeStorage {
 public:
  // Blocks: makes the directory of volumes below `data_dir`. All but the texts outlive this.
  static Result<std::unique_ptr<NodeStorage>> open(kube::Client& client, LinuxMachine& machine,
                                                   const NodePods& pods,
                                                   const std::string& data_dir,
                                                   const std::string& node_name);
  NodeStorage(kube::Client& client, LinuxMachine& machine, ClaimStoreOptions options);

  void start();
  // Logs are looked at no more.
  void stop() { log_expiry_.reset(); }
  ClaimStore& claims() { return claims_; }

 private:
  kube::Client& client_;
  LinuxMachine& machine_;
  ClaimStore claims_;
  std::shared_ptr<KeptLogExpiry> log_expiry_;
};

}  // namespace hekla::agent
