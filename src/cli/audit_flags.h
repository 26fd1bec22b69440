// The settings of the audit log, for every command that serves the API.
#pragma once

#include <string>

namespace hekla::cli {

struct AuditFlags {
  std::string log_path, policy_file;  // no path: no audit log
  int max_size_mb = 100, max_backups = 0, max_age_days = 0;
};

}  // namespace hekla::cli
