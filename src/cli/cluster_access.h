// How verbs that look at a cluster find it: a kubeconfig given, or the platform of a data
// directory.
#pragma once

#include <memory>
#include <string>

#include "cli/api_session.h"

namespace CLI {
class App;
}

namespace hekla::cli {

struct AccessOptions {
  std::string kubeconfig, data_dir;
};

// --kubeconfig (or the variable KUBECONFIG) and --data-dir.
void add_access_flags(CLI::App& command, AccessOptions& options);
Result<std::unique_ptr<ApiSession>> open_cluster(const AccessOptions& options);

// All objects of a resource, with apiVersion and kind filled in. A resource that is not served or
// may not be read counts as empty when it is `optional`.
Result<std::vector<json::Value>> list_objects(ApiSession& session, const kube::Resource& resource,
                                              bool optional = false);

}  // namespace hekla::cli
