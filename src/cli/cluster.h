// Which cluster a verb talks to, and finding resources by the names people type.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "cli/api_session.h"
#include "cli/flag.h"

namespace hekla::cli {

struct ClusterFlags {
  std::string kubeconfig, master, data_dir;
};

// --kubeconfig, --master, --data-dir; namespaces are each verb's own, for vcctl's letters differ.
std::vector<Flag> cluster_flags(ClusterFlags& flags);

// A session with the cluster that the rule of platform_choice.h finds; --master changes the address
// alone. unavailable when it is a platform of this machine that does not run.
Result<std::unique_ptr<ApiSession>> connect(const ClusterFlags& flags);

// A command's work: `work` on the cluster of the flags, which must live as long. A failure is said
// on stderr and is the exit code.
std::function<int()> on_cluster(const ClusterFlags& flags,
                                std::function<Result<void>(ApiSession&)> work);

// Lists all objects of a resource, with apiVersion and kind filled in. A resource that is not
// served or may not be read counts as empty when it is `optional`.
Result<std::vector<json::Value>> list_objects(ApiSession& session, const kube::Resource& resource,
                                              bool optional = false);

// vcjob, pods, po, jobs.batch.volcano.sh, Deployment: the resource meant.
Result<kube::Resource> find_resource(ApiSession& session, const std::string& name);

std::string lowered(std::string_view text);  // ASCII letters alone

// A cell of a table the server made.
std::string cell_text(const json::Value& cell);
// Text in columns three spaces apart, as kubectl prints them.
std::string columns(const std::vector<std::vector<std::string>>& rows);

}  // namespace hekla::cli
