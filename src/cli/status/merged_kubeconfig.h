// A context beside the others in somebody's kubeconfig.
#pragma once

#include <string>

#include "base/result.h"

namespace hekla::cli {

// "hekla"; for another directory than the default one "hekla-" and its last part.
std::string context_name(const std::string& data_dir);

// The text of the file `into` with the cluster, user and context of the kubeconfig text `from`
// under `name`; one that is there under this name is replaced. The current context stays unless
// there is none.
Result<std::string> merged_kubeconfig(const std::string& into, const std::string& from,
                                      const std::string& name);

struct Merged {
  std::string file, context;
  bool is_current = false;
};
// Into the first file of $KUBECONFIG, else into ~/.kube/config.
Result<Merged> merge_into_users_kubeconfig(const std::string& kubeconfig,
                                           const std::string& data_dir);

}  // namespace hekla::cli
