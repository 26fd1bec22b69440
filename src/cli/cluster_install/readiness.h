// Waiting for an installation.
#pragma once

#include <string>

#include "base/clock.h"
#include "cli/api_session.h"

namespace hekla::cli {

// Until every Deployment of Hekla's in the namespace runs what was asked for; each change of what
// is missing is said. A timeout tells what was missing last.
Result<void> wait_until_ready(ApiSession& session, const std::string& ns, Nanos timeout);

}  // namespace hekla::cli
