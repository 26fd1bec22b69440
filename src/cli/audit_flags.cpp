#include "cli/audit_flags.h"

#include <CLI/CLI.hpp>

namespace hekla::cli {

void add_audit_flags(CLI::App& command, AuditFlags& flags) {
  command.add_option("--audit-log-path", flags.log_path,
                     "record requests in this file, or - for standard output");
  command.add_option("--audit-policy-file", flags.policy_file,
                     "audit.k8s.io/v1 Policy (default: the metadata of every request)");
  command
      .add_option("--audit-log-maxsize", flags.max_size_mb, "megabytes before the log is put aside")
      ->capture_default_str()
      ->check(CLI::PositiveNumber);
  command
      .add_option("--audit-log-maxbackup", flags.max_backups, "how many old logs to keep; 0: all")
      ->check(CLI::NonNegativeNumber);
  command.add_option("--audit-log-maxage", flags.max_age_days, "days to keep old logs; 0: forever")
      ->check(CLI::NonNegativeNumber);
}

std::vector<std::string> audit_arguments(const AuditFlags& flags) {
  if (flags.log_path.empty()) return {};
  std::vector<std::string> arguments{"--audit-log-path", flags.log_path, "--audit-log-maxsize",
                                     std::to_string(flags.max_size_mb)};
  if (!flags.policy_file.empty())
    arguments.insert(arguments.end(), {"--audit-policy-file", flags.policy_file});
  if (flags.max_backups > 0)
    arguments.insert(arguments.end(), {"--audit-log-maxbackup", std::to_string(flags.max_backups)});
  if (flags.max_age_days > 0)
    arguments.insert(arguments.end(), {"--audit-log-maxage", std::to_string(flags.max_age_days)});
  return arguments;
}

}  // namespace hekla::cli
