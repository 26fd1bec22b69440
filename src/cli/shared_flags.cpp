#include "cli/shared_flags.h"

namespace hekla::cli {

Flag log_level_flag(std::string& level) {
  return Flag("--log-level", level, "how much is logged")
      .with(one_of({"debug", "info", "warn", "error"}));
}

Flag pod_security_flag(std::string& level) {
  return Flag("--pod-security-default", level,
              "Pod Security Standard of namespaces without pod-security.kubernetes.io labels (the "
              "system's own namespaces apart)")
      .with(one_of({"privileged", "baseline", "restricted"}));
}

std::vector<Flag> audit_flags(AuditFlags& audit) {
  return {
      Flag("--audit-log-path", audit.log_path,
           "record requests in this file, or - for standard output"),
      Flag("--audit-policy-file", audit.policy_file,
           "audit.k8s.io/v1 Policy (default: the metadata of every request)"),
      Flag("--audit-log-maxsize", audit.max_size_mb, "megabytes before the log is put aside")
          .with(at_least(1)),
      Flag("--audit-log-maxbackup", audit.max_backups, "how many old logs to keep; 0: all")
          .with(at_least(0)),
      Flag("--audit-log-maxage", audit.max_age_days, "days to keep old logs; 0: forever")
          .with(at_least(0)),
  };
}

std::vector<Flag> registry_flags(std::vector<std::string>& insecure,
                                 std::vector<std::string>& mirrors,
                                 std::vector<std::string>& authorities) {
  return {
      Flag("--insecure-registry", insecure,
           "HOST[:PORT] of an image registry that is spoken to in plain HTTP; repeatable "
           "(loopback always is)"),
      Flag("--registry-mirror", mirrors,
           "'HOST=URL' asks URL first for the images of the registry HOST; repeatable"),
      Flag("--registry-ca", authorities,
           "'HOST=FILE' trusts the certificate authority in FILE for the registry HOST; "
           "repeatable"),
  };
}

}  // namespace hekla::cli
