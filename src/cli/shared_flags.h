// Rows of flags that several commands have in common.
#pragma once

#include <string>
#include <vector>

#include "cli/audit_flags.h"
#include "cli/flag.h"

namespace hekla::cli {

Flag log_level_flag(std::string& level);
// The Pod Security Standard that holds for pods of namespaces without labels.
Flag pod_security_flag(std::string& level);
std::vector<Flag> audit_flags(AuditFlags& audit);
// Ways to image registries that are not spoken to as all others are.
std::vector<Flag> registry_flags(std::vector<std::string>& insecure,
                                 std::vector<std::string>& mirrors,
                                 std::vector<std::string>& authorities);

}  // namespace hekla::cli
