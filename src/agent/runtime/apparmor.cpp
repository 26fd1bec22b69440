#include "agent/runtime/apparmor.h"

#include "base/disk.h"

namespace hekla::agent {
namespace {

// The profile that is named, if one is.
std::string local_profile(const json::Value& pod_context, const json::Value& container_context) {
  for (const json::Value* context : {&container_context, &pod_context}) {
    const json::Value* profile = json::find(*context, "appArmorProfile");
    if (!profile) continue;
    if (json::string_at(*profile, {"type"}) != "Localhost") return {};
    return std::string(json::string_at(*profile, {"localhostProfile"}));
  }
  return {};
}

}  // namespace

AppArmor read_apparmor() {
  AppArmor out;
  out.enabled = read_file("/sys/module/apparmor/parameters/enabled").value_or("").starts_with('Y');
  if (out.enabled) out.profiles = read_file("/sys/kernel/security/apparmor/profiles").value_or("");
  return out;
}

std::optional<std::string> missing_apparmor(const model::Pod& pod, const AppArmor& kernel) {
  if (kernel.enabled) return std::nullopt;
  for (const auto* containers : {&pod.spec.initContainers, &pod.spec.containers})
    for (const model::Container& one : *containers)
      if (!local_profile(pod.spec.securityContext, one.securityContext).empty())
        return "Cannot enforce AppArmor: AppArmor is not enabled on the host";
  return std::nullopt;
}

Result<std::string> apparmor_profile(const json::Value& pod_context,
                                     const json::Value& container_context, const AppArmor& kernel) {
  std::string name = local_profile(pod_context, container_context);
  if (!name.empty() && !("\n" + kernel.profiles).contains("\n" + name + " ("))
    return fail(Code::invalid, "apparmor profile not found " + name);
  return name;
}

}  // namespace hekla::agent
