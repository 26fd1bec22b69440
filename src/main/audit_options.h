// From the command line's audit flags to what the API server is told.
#pragma once

#include "apiserver/api_server.h"
#include "base/result.h"
#include "cli/audit_flags.h"

namespace hekla {

// Reads the policy file.
Result<apiserver::AuditOptions> audit_options(const cli::AuditFlags& flags);

}  // namespace hekla
