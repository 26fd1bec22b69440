// How the files of `hekla train` reach its pods: on a platform of this machine the directories
// themselves are mounted; on a cluster a small directory travels as a ConfigMap, a large one lies
// in a claim.
#pragma once

#include <string>

#include "cli/train/train_job.h"

namespace hekla::cli {

struct TrainSources {
  std::string script, venv, output, claim;  // as they were given; all but the script may be empty
};

// On this machine, whose pods see its directories by hostPath. `rootless`: the platform's pods have
// no other user than the one who runs it.
Result<TrainFiles> local_files(const TrainSources& sources, bool rootless);

// One directory in place of a script's: `script` of the answer is where it is mounted.
Result<TrainFiles> local_directory(const std::string& directory, const std::string& output,
                                   bool rootless);

// Whether the cluster has a node of a platform on this machine, whose pods can have its
// directories, and whether that is one without root; absent: it has none.
Result<std::optional<bool>> rootless_here(ApiSession& session);

// On a cluster: `directory` is the ConfigMap to make before the job, absent with a claim.
struct ClusterFiles {
  TrainFiles files;
  std::optional<json::Value> directory;
};
Result<ClusterFiles> cluster_files(const TrainSources& sources, const std::string& ns,
                                   const std::string& job);

}  // namespace hekla::cli
