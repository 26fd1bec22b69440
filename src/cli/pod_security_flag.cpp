#include "cli/pod_security_flag.h"

#include <CLI/CLI.hpp>

namespace hekla::cli {

void add_pod_security_flag(CLI::App& command, std::string& level) {
  command
      .add_option("--pod-security-default", level,
                  "Pod Security Standard of namespaces without pod-security.kubernetes.io labels: "
                  "privileged, "
                  "baseline or restricted (the system's own namespaces apart)")
      ->check(CLI::IsMember({"privileged", "baseline", "restricted"}))
      ->capture_default_str();
}

}  // namespace hekla::cli
