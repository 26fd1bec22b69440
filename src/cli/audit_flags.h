// The flags of the audit log, as kube-apiserver has them.
#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace hekla::cli {

struct AuditFlags {
  std::string log_path, policy_file;  // no path: no audit log
  int max_size_mb = 100, max_backups = 0, max_age_days = 0;
};

// Values are kept in `flags`, which must outlive the parse.
void add_audit_flags(CLI::App& command, AuditFlags& flags);
// The same as arguments for a child process.
std::vector<std::string> audit_arguments(const AuditFlags& flags);

}  // namespace hekla::cli
