// Which platform a verb works with, by one rule for all of them: --kubeconfig or --data-dir, then
// KUBECONFIG, then the platform that runs on this machine, then ~/.kube/config.
#pragma once

#include <string>

#include "base/result.h"
#include "cli/flag.h"

namespace hekla::cli {

// The flags that name a platform; empty: not given.
struct PlatformFlags {
  std::string kubeconfig, data_dir;
};

// The rest of what the rule looks at, as an argument for tests.
struct PlatformSurroundings {
  std::string kubeconfig;  // $KUBECONFIG: a file, or several with colons between them
  std::string home;
  std::string data_dir;  // the default one

  static PlatformSurroundings of_process();
};

struct PlatformChoice {
  std::string kubeconfig;  // to log in with; a platform that never ran has none yet
  std::string data_dir;    // of a platform of this machine, running or not; empty: another cluster
};

// Verbs that start the platform, stop it or use its files take the local one also while it rests;
// for them ~/.kube/config has no part in the rule.
enum class LocalPlatform { must_run, may_rest };

// bad_request when both flags are given and name two platforms.
Result<PlatformChoice> choose_platform(
    const PlatformFlags& flags, LocalPlatform local,
    const PlatformSurroundings& around = PlatformSurroundings::of_process());

// The data directory by the same rule, for verbs that need it: bad_request when KUBECONFIG names a
// cluster that has none here.
Result<std::string> choose_data_dir(
    const std::string& flag,
    const PlatformSurroundings& around = PlatformSurroundings::of_process());

// The flag --data-dir of such verbs.
Flag chosen_data_dir_flag(std::string& data_dir);

}  // namespace hekla::cli
