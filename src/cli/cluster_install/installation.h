// Brings Hekla to a cluster and takes it away again; says each step on standard output.
#pragma once

#include <string>

#include "base/clock.h"
#include "cli/api_session.h"
#include "cli/cluster_install/manifests.h"

namespace hekla::cli {

struct InstallOptions {
  Installed what;  // without an image, that of the installation that is there
  bool wait = true;
  Nanos timeout{std::chrono::minutes(5)};
};

// Refuses where an installation is there already, of ours or of helm's.
Result<void> install(ApiSession& session, const InstallOptions& options);
// Refuses where none is there. What this version does not have any more is removed.
Result<void> upgrade(ApiSession& session, const InstallOptions& options);
// Definitions and the objects of those kinds stay, unless `with_definitions`.
Result<void> uninstall(ApiSession& session, const std::string& ns, bool with_definitions);

}  // namespace hekla::cli
