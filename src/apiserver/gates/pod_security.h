// The Pod Security Standards: what the labels pod-security.kubernetes.io/* of a namespace ask for,
// and what a pod does that a level forbids. Texts, order of the checks and their versions are those
// of Kubernetes 1.34.
#pragma once

#include <compare>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "json/value.h"

namespace hekla::apiserver {

enum class PodSecurityLevel { privileged, baseline, restricted };

// Empty for any other word.
std::optional<PodSecurityLevel> parse_pod_security_level(std::string_view text);

inline constexpr int kLatestPodSecurity = 1'000'000;  // newer than every version there will be

struct PodSecurityStandard {
  PodSecurityLevel level = PodSecurityLevel::privileged;
  int minor = kLatestPodSecurity;  // v1.<minor>
  bool operator==(const PodSecurityStandard&) const = default;
  std::string text() const;  // "restricted:latest", "baseline:v1.30"
};

struct PodSecurityPolicy {
  PodSecurityStandard enforce, audit, warn;
  std::vector<Cause> problems;  // labels that say nothing
};

// A label that cannot be read enforces the most and warns of nothing.
PodSecurityPolicy pod_security_policy(const json::Value& ns, PodSecurityLevel by_default);

struct PodSecurityFinding {
  std::string reason, detail;
};

// `metadata` may be null. Empty: the pod keeps to the standard.
std::vector<PodSecurityFinding> check_pod_security(const PodSecurityStandard& standard,
                                                   const json::Value* metadata,
                                                   const json::Value& spec);

// "privileged, hostPort"; with details "privileged (container ...), hostPort (...)".
std::string finding_reasons(const std::vector<PodSecurityFinding>& findings);
std::string finding_details(const std::vector<PodSecurityFinding>& findings);

}  // namespace hekla::apiserver
