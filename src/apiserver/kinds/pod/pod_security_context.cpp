// As whom a pod's processes run, and what of the node they share.
#include <algorithm>
#include <cctype>

#include "apiserver/kinds/pod/pod_rules.h"

namespace hekla::apiserver {
namespace {

void check_id(const Field& id, Rules& rules) {
  if (id.present() && (id.number() < 0 || id.number() > 2147483647))
    rules.invalid(id, "must be between 0 and 2147483647, inclusive");
}

void check_seccomp(const Field& profile, Rules& rules) {
  if (!profile.present()) return;
  const Field type = profile["type"], file = profile["localhostProfile"];
  if (type.text().empty())
    rules.required(type, "type is required when seccompProfile is set");
  else
    rules.one_of(type, {"Localhost", "RuntimeDefault", "Unconfined"});
  if (type.text() != "Localhost") {
    if (file.present())
      rules.invalid(file, profile.value(), "can only be set when seccomp type is Localhost");
  } else if (!file.present()) {
    rules.required(file, "must be set when seccomp type is Localhost");
  } else {
    validate_descending_path(file, file.text(), rules);
  }
}

void check_app_armor(const Field& profile, Rules& rules) {
  if (!profile.present()) return;
  const Field type = profile["type"], name = profile["localhostProfile"];
  if (type.text().empty()) {
    rules.required(type, "type is required when appArmorProfile is set");
  } else if (!rules.one_of(type, {"Localhost", "RuntimeDefault", "Unconfined"})) {
    return;
  } else if (type.text() != "Localhost") {
    if (name.present()) rules.invalid(name, "can only be set when AppArmor type is Localhost");
  } else if (name.text().empty()) {
    rules.required(name, "must be set when AppArmor type is Localhost");
  } else if (std::isspace(static_cast<unsigned char>(name.text().front())) ||
             std::isspace(static_cast<unsigned char>(name.text().back()))) {
    rules.invalid(name, "must not be padded with whitespace");
  }
}

// Words of small letters and digits, with dashes and underscores inside, parted by dots or slashes.
bool is_sysctl_name(std::string_view name) {
  auto plain = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); };
  auto separates = [](char c) { return c == '.' || c == '/'; };
  if (name.empty() || name.size() > 253) return false;
  for (std::size_t i = 0; i < name.size(); ++i) {
    const bool at_edge =
        i == 0 || i + 1 == name.size() || separates(name[i - 1]) || separates(name[i + 1]);
    const bool inside = name[i] == '-' || name[i] == '_' || separates(name[i]);
    if (!plain(name[i]) && (!inside || at_edge)) return false;
  }
  return true;
}

// The namespace a parameter of the kernel belongs to.
std::string_view namespace_of(std::string name) {
  std::ranges::replace(name, '/', '.');
  for (std::string_view prefix : {"kernel.shm", "kernel.msg", "fs.mqueue."})
    if (name.starts_with(prefix)) return "ipc";
  if (name == "kernel.sem") return "ipc";
  return name.starts_with("net.") ? "net" : "";
}

void check_sysctls(const Field& spec, Rules& rules) {
  const Field sysctls = spec["securityContext"]["sysctls"];
  std::set<std::string> names;
  for (std::size_t i = 0; i < sysctls.items().size(); ++i) {
    const Field name = sysctls.at(i)["name"];
    if (rules.need_text(name)) {
      if (!is_sysctl_name(name.text()))
        rules.invalid(name,
                      "must have at most 253 characters and match regex "
                      "^([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\\./])*([a-z0-9][-_a-z0-9]*)?[a-z0-9]$");
      else
        rules.unique(names, name);
    }
    const std::string_view space = namespace_of(std::string(name.text()));
    if (space == "net" && spec["hostNetwork"].flag())
      rules.invalid(name, "may not be specified when 'hostNetwork' is true");
    else if (space == "ipc" && spec["hostIPC"].flag())
      rules.invalid(name, "may not be specified when 'hostIPC' is true");
  }
}

// The whole of /proc is the machine's: root in such a pod would write the kernel's settings.
void refuse_unmasked(const Field& spec, Rules& rules) {
  for (std::string_view list : {"initContainers", "containers", "ephemeralContainers"})
    for (std::size_t i = 0; i < spec[list].items().size(); ++i)
      if (const Field mount = spec[list].at(i)["securityContext"]["procMount"];
          mount.text() == "Unmasked")
        rules.invalid(mount, "`hostUsers` must be false to use `Unmasked`");
}

// Users of a namespace of their own have nothing to say in one of the host's.
void check_host_users(const Field& spec, Rules& rules) {
  if (!spec["hostUsers"].present() || spec["hostUsers"].flag()) return refuse_unmasked(spec, rules);
  constexpr std::string_view kWhy = "when `hostUsers` is false";
  if (spec["hostNetwork"].flag()) rules.forbidden(spec["hostNetwork"], std::string(kWhy));
  if (spec["hostPID"].flag()) rules.forbidden(spec["HostPID"], std::string(kWhy));
  if (spec["hostIPC"].flag()) rules.forbidden(spec["HostIPC"], std::string(kWhy));
  for (std::string_view list : {"initContainers", "containers", "ephemeralContainers"})
    for (std::size_t i = 0; i < spec[list].items().size(); ++i)
      if (const Field devices = spec[list].at(i)["volumeDevices"]; !devices.items().empty())
        rules.forbidden(devices, std::string(kWhy));
}

}  // namespace

void validate_container_security(const Field& security, Rules& rules) {
  if (!security.present()) return;
  for (std::string_view member : {"runAsUser", "runAsGroup"}) check_id(security[member], rules);
  rules.one_of(security["procMount"], {"Default", "Unmasked"});
  check_seccomp(security["seccompProfile"], rules);
  if (security["allowPrivilegeEscalation"].present() &&
      !security["allowPrivilegeEscalation"].flag()) {
    if (security["privileged"].flag())
      rules.invalid(security,
                    "cannot set `allowPrivilegeEscalation` to false and `privileged` to true");
    for (const json::Value& one : security["capabilities"]["add"].items())
      if (one.is_string() && one.get_string() == "CAP_SYS_ADMIN")
        rules.invalid(
            security,
            "cannot set `allowPrivilegeEscalation` to false and `capabilities.Add` CAP_SYS_ADMIN");
  }
  check_app_armor(security["appArmorProfile"], rules);
}

void validate_pod_security(const Field& spec, Rules& rules) {
  const Field security = spec["securityContext"];
  for (std::string_view member : {"fsGroup", "runAsUser", "runAsGroup"})
    check_id(security[member], rules);
  for (std::size_t i = 0; i < security["supplementalGroups"].items().size(); ++i)
    check_id(security["supplementalGroups"].at(i), rules);
  if (spec["hostPID"].flag() && spec["shareProcessNamespace"].flag())
    rules.invalid(security["shareProcessNamespace"], json::Value(true),
                  "ShareProcessNamespace and HostPID cannot both be enabled");
  check_sysctls(spec, rules);
  rules.one_of(security["fsGroupChangePolicy"], {"Always", "OnRootMismatch"});
  check_seccomp(security["seccompProfile"], rules);
  check_app_armor(security["appArmorProfile"], rules);
  rules.one_of(security["supplementalGroupsPolicy"], {"Merge", "Strict"});
  rules.one_of(security["seLinuxChangePolicy"], {"MountOption", "Recursive"});
  check_host_users(spec, rules);
}

}  // namespace hekla::apiserver
