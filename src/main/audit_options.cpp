#include "main/audit_options.h"

#include "base/disk.h"

namespace hekla {

Result<apiserver::AuditOptions> audit_options(const cli::AuditFlags& flags) {
  apiserver::AuditOptions audit;
  audit.log_path = flags.log_path;
  if (!flags.policy_file.empty()) {
    if (audit.log_path.empty())
      return fail(Code::bad_request, "--audit-policy-file: say where to write: --audit-log-path");
    audit.policy_yaml = TRY(read_file(flags.policy_file));
  }
  audit.rotation.max_bytes = static_cast<std::uint64_t>(flags.max_size_mb) << 20;
  audit.rotation.max_backups = flags.max_backups;
  audit.rotation.max_age = std::chrono::hours(24 * flags.max_age_days);
  return audit;
}

}  // namespace hekla
