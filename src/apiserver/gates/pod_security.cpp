#include "apiserver/gates/pod_security.h"

#include <charconv>

#include "apiserver/object/kind.h"
#include "apiserver/text/field_error.h"

namespace hekla::apiserver {
namespace {

constexpr std::string_view kLabelPrefix = "pod-security.kubernetes.io/";

std::string_view level_name(PodSecurityLevel level) {
  switch (level) {
    case PodSecurityLevel::privileged:
      return "privileged";
    case PodSecurityLevel::baseline:
      return "baseline";
    case PodSecurityLevel::restricted:
      break;
  }
  return "restricted";
}

std::optional<int> parse_minor(std::string_view text) {
  if (text == "latest") return kLatestPodSecurity;
  if (!text.starts_with("v1.")) return std::nullopt;
  text.remove_prefix(3);
  int minor = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), minor);
  const bool number = error == std::errc() && end == text.data() + text.size();
  if (!number || text.front() == '-' || (text.front() == '0' && text.size() > 1))
    return std::nullopt;
  return std::min(minor, kLatestPodSecurity - 1);
}

// The labels of one mode, in the order in which upstream complains of them.
struct ModeLabels {
  bool has_level = false, level_read = false, has_version = false;
};

ModeLabels read_mode(const json::Object& labels, std::string_view mode, PodSecurityLevel unreadable,
                     PodSecurityStandard& standard, std::vector<Cause>& problems) {
  ModeLabels found;
  auto complain = [&](const std::string& label, const json::Value& value, std::string why) {
    problems.push_back(invalid_value("metadata.labels[" + label + "]", value, std::move(why)));
  };
  const std::string level_label = std::string(kLabelPrefix) + std::string(mode);
  const std::string version_label = level_label + "-version";
  if (const json::Value* value = labels.if_contains(level_label); value && value->is_string()) {
    found.has_level = true;
    const std::optional<PodSecurityLevel> level =
        parse_pod_security_level(json::sv(value->get_string()));
    found.level_read = level.has_value();
    standard.level = level.value_or(unreadable);
    if (!level) complain(level_label, *value, "must be one of privileged, baseline, restricted");
  }
  if (const json::Value* value = labels.if_contains(version_label); value && value->is_string()) {
    found.has_version = true;
    const std::optional<int> minor = parse_minor(json::sv(value->get_string()));
    standard.minor = minor.value_or(kLatestPodSecurity);
    if (!minor) complain(version_label, *value, "must be \"latest\" or \"v1.x\"");
  }
  return found;
}

std::string joined(const std::vector<PodSecurityFinding>& findings, bool details) {
  std::string text;
  for (const PodSecurityFinding& one : findings) {
    if (!text.empty()) text += ", ";
    text += one.reason;
    if (details && !one.detail.empty()) text += " (" + one.detail + ")";
  }
  return text;
}

}  // namespace

std::optional<PodSecurityLevel> parse_pod_security_level(std::string_view text) {
  for (PodSecurityLevel level :
       {PodSecurityLevel::privileged, PodSecurityLevel::baseline, PodSecurityLevel::restricted})
    if (text == level_name(level)) return level;
  return std::nullopt;
}

std::string PodSecurityStandard::text() const {
  return std::string(level_name(level)) + ":" +
         (minor == kLatestPodSecurity ? "latest" : "v1." + std::to_string(minor));
}

PodSecurityPolicy pod_security_policy(const json::Value& ns, PodSecurityLevel by_default) {
  PodSecurityPolicy policy;
  policy.enforce.level = policy.audit.level = policy.warn.level = by_default;
  const json::Object* labels = json::object_at(ns, {"metadata", "labels"});
  if (!labels) return policy;
  const ModeLabels enforce =
      read_mode(*labels, "enforce", PodSecurityLevel::restricted, policy.enforce, policy.problems);
  read_mode(*labels, "audit", PodSecurityLevel::privileged, policy.audit, policy.problems);
  const ModeLabels warn =
      read_mode(*labels, "warn", PodSecurityLevel::privileged, policy.warn, policy.problems);
  // A namespace that enforces more than it warns of is warned of as much, on pod templates too.
  if (!warn.has_level && enforce.level_read && policy.enforce.level > policy.warn.level) {
    policy.warn.level = policy.enforce.level;
    if (!warn.has_version) policy.warn.minor = policy.enforce.minor;
  }
  return policy;
}

std::string finding_reasons(const std::vector<PodSecurityFinding>& findings) {
  return joined(findings, false);
}
std::string finding_details(const std::vector<PodSecurityFinding>& findings) {
  return joined(findings, true);
}

}  // namespace hekla::apiserver
