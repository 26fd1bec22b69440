#include "agent/node/node_storage.h"

#include "agent/os/instance.h"

namespace hekla::agent {

Result<std::unique_ptr<NodeStorage>> NodeStorage::open(kube::Client& client, LinuxMachine& machine,
                                                       const NodePods& pods,
                                                       const std::string& data_dir,
                                                       const std::string& node_name) {
  ClaimStoreOptions options;
  options.directory = data_dir + "/storage";
  options.node_name = node_name;
  options.remove = [&machine](const std::string& path, Done<void> done) {
    machine.remove_storage(path, std::move(done));
  };
  options.in_use = [&pods](const std::string& ns, const std::string& claim) {
    return pods.has_claim(ns, claim);
  };
  TRY(make_directories(options.directory));
  return std::make_unique<NodeStorage>(client, machine, std::move(options));
}

NodeStorage::NodeStorage(kube::Client& client, LinuxMachine& machine, ClaimStoreOptions options)
    : client_(client), machine_(machine), claims_(std::move(options), client) {}

void NodeStorage::start() {
  claims_.start();
  log_expiry_ = std::make_shared<KeptLogExpiry>(
      client_, machine_.kept_logs(),
      KeptLogWork{[&machine = machine_](const std::string& job) { machine.remove_kept_logs(job); },
                  [&machine = machine_] { machine.trim_kept_logs(); }});
  log_expiry_->look();
}

}  // namespace hekla::agent
