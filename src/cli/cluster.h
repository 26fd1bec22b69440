// Which cluster a verb talks to, and finding resources by the names people type.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "cli/api_session.h"

namespace CLI {
class App;
}

namespace hekla::cli {

struct ClusterFlags {
  std::string kubeconfig, master, ns;
  bool all_namespaces = false;
};

// --kubeconfig and --master; namespaces are each verb's own, for vcctl's letters differ.
void add_cluster_flags(CLI::App& command, ClusterFlags& flags);

// --kubeconfig (or $KUBECONFIG), ~/.kube/config, the platform of the default data directory.
Result<std::unique_ptr<ApiSession>> connect(const ClusterFlags& flags);

// vcjob, pods, po, jobs.batch.volcano.sh, Deployment: the resource meant.
Result<kube::Resource> find_resource(ApiSession& session, const std::string& name);

// Text in columns three spaces apart, as kubectl prints them.
std::string columns(const std::vector<std::vector<std::string>>& rows);

}  // namespace hekla::cli
