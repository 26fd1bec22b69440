// The single checks of the Pod Security Standards, baseline ones first, each in the words of
// upstream's check of the same name.
#include <algorithm>
#include <array>
#include <set>

#include "apiserver/gates/pod_security.h"
#include "apiserver/text/field_error.h"

namespace hekla::apiserver {
namespace {

using Names = std::vector<std::string>;
using Sorted = std::set<std::string>;
using Finding = std::optional<PodSecurityFinding>;

struct CheckedPod {
  const json::Value* metadata = nullptr;
  const json::Value* spec = nullptr;
  int minor = 0;
  std::vector<const json::Value*> containers = {};  // init containers first, ephemeral ones last

  bool windows() const { return json::string_at(*spec, {"os", "name"}) == "windows"; }
};

template <class List>
std::string quoted(const List& items) {
  std::string text;
  for (const std::string& one : items) text += (text.empty() ? "\"" : ", \"") + one + "\"";
  return text;
}

template <class List>
std::string plain(const List& items, std::string_view separator) {
  std::string text;
  for (const std::string& one : items) text += (text.empty() ? "" : std::string(separator)) + one;
  return text;
}

std::string plural(std::string_view one, std::string_view many, std::size_t count) {
  return std::string(count == 1 ? one : many);
}

std::string containers_text(const Names& names) {
  return plural("container", "containers", names.size()) + " " + quoted(names);
}

std::string name_of(const json::Value& object) { return json::text_at(object, {"name"}); }

// A member of a securityContext; null when it is not set.
const json::Value* security(const json::Value& owner, std::string_view member) {
  const json::Value* found = json::find_path(owner, {"securityContext", member});
  return found && !found->is_null() ? found : nullptr;
}

// "pod and containers "a", "b"": who has set something.
std::string setters_text(bool pod, const Names& containers) {
  Names setters;
  if (pod) setters.emplace_back("pod");
  if (!containers.empty()) setters.push_back(containers_text(containers));
  return plain(setters, " and ");
}

// Of the pod and its containers those whose member of the securityContext `is_bad`.
struct Setters {
  bool pod = false;
  Names containers;
  bool none() const { return !pod && containers.empty(); }
  std::string text() const { return setters_text(pod, containers); }
};
template <class IsBad>
Setters setters_of(const CheckedPod& pod, std::string_view member, IsBad is_bad) {
  Setters found;
  if (const json::Value* set = security(*pod.spec, member)) found.pod = is_bad(*set);
  for (const json::Value* container : pod.containers)
    if (const json::Value* set = security(*container, member); set && is_bad(*set))
      found.containers.push_back(name_of(*container));
  return found;
}

bool is_true(const json::Value& value) { return value.is_bool() && value.get_bool(); }
bool is_false(const json::Value& value) { return value.is_bool() && !value.get_bool(); }

Names strings_at(const json::Value& value, std::initializer_list<std::string_view> path) {
  Names found;
  if (const json::Array* list = json::array_at(value, path))
    for (const json::Value& one : *list)
      if (one.is_string()) found.emplace_back(json::sv(one.get_string()));
  return found;
}

Finding app_armor(const CheckedPod& pod) {
  Sorted values;
  Setters setters = setters_of(pod, "appArmorProfile", [&](const json::Value& profile) {
    const std::string type = json::text_at(profile, {"type"});
    if (type == "RuntimeDefault" || type == "Localhost") return false;
    values.insert(type);
    return true;
  });
  Names setter_texts, value_list(values.begin(), values.end());
  if (!setters.none()) setter_texts.push_back(setters.text());
  Sorted annotations;
  const json::Object* all =
      pod.metadata ? json::object_at(*pod.metadata, {"annotations"}) : nullptr;
  if (all)
    for (const auto& member : *all) {
      const std::string key(member.key());
      const std::string value =
          member.value().is_string() ? std::string(json::sv(member.value().get_string())) : "";
      const bool good =
          value.empty() || value == "runtime/default" || value.starts_with("localhost/");
      if (key.starts_with("container.apparmor.security.beta.kubernetes.io/") && !good)
        annotations.insert(key + "=" + go_quote(value));
    }
  if (!annotations.empty()) {
    value_list.insert(value_list.end(), annotations.begin(), annotations.end());
    setter_texts.push_back(plural("annotation", "annotations", annotations.size()));
  }
  if (setter_texts.empty()) return {};
  return PodSecurityFinding{
      plural("forbidden AppArmor profile", "forbidden AppArmor profiles", value_list.size()),
      plain(setter_texts, " and ") + " must not set AppArmor profile type to " +
          quoted(value_list)};
}

Finding capabilities_baseline(const CheckedPod& pod) {
  static const Sorted kAllowed{"AUDIT_WRITE", "CHOWN",  "DAC_OVERRIDE",     "FOWNER",  "FSETID",
                               "KILL",        "MKNOD",  "NET_BIND_SERVICE", "SETFCAP", "SETGID",
                               "SETPCAP",     "SETUID", "SYS_CHROOT"};
  Names bad;
  Sorted capabilities;
  for (const json::Value* container : pod.containers) {
    bool valid = true;
    for (const std::string& one :
         strings_at(*container, {"securityContext", "capabilities", "add"})) {
      if (kAllowed.contains(one)) continue;
      valid = false;
      capabilities.insert(one);
    }
    if (!valid) bad.push_back(name_of(*container));
  }
  if (bad.empty()) return {};
  return PodSecurityFinding{"non-default capabilities",
                            containers_text(bad) + " must not include " + quoted(capabilities) +
                                " in securityContext.capabilities.add"};
}

Finding host_namespaces(const CheckedPod& pod) {
  Names found;
  for (std::string_view member : {"hostNetwork", "hostPID", "hostIPC"})
    if (json::bool_at(*pod.spec, {member})) found.push_back(std::string(member) + "=true");
  if (found.empty()) return {};
  return PodSecurityFinding{"host namespaces", plain(found, ", ")};
}

Finding host_path_volumes(const CheckedPod& pod) {
  Names found;
  if (const json::Array* volumes = json::array_at(*pod.spec, {"volumes"}))
    for (const json::Value& volume : *volumes)
      if (json::object_at(volume, {"hostPath"})) found.push_back(name_of(volume));
  if (found.empty()) return {};
  return PodSecurityFinding{"hostPath volumes",
                            plural("volume", "volumes", found.size()) + " " + quoted(found)};
}

Finding host_ports(const CheckedPod& pod) {
  Names bad;
  Sorted used;
  for (const json::Value* container : pod.containers) {
    bool valid = true;
    if (const json::Array* ports = json::array_at(*container, {"ports"}))
      for (const json::Value& port : *ports)
        if (const std::int64_t number = json::int_at(port, {"hostPort"}); number != 0) {
          valid = false;
          used.insert(std::to_string(number));
        }
    if (!valid) bad.push_back(name_of(*container));
  }
  if (bad.empty()) return {};
  return PodSecurityFinding{
      "hostPort", containers_text(bad) + " " + plural("uses", "use", bad.size()) + " " +
                      plural("hostPort", "hostPorts", used.size()) + " " + plain(used, ", ")};
}

Finding host_probes(const CheckedPod& pod) {
  Sorted bad, hosts;
  for (const json::Value* container : pod.containers) {
    auto look = [&](std::initializer_list<std::string_view> path) {
      const json::Value* handler = json::find_path(*container, path);
      if (!handler || !handler->is_object()) return;
      for (std::string_view kind : {"httpGet", "tcpSocket"})
        if (std::string host = json::text_at(*handler, {kind, "host"}); !host.empty()) {
          bad.insert(name_of(*container));
          hosts.insert(host);
        }
    };
    for (std::string_view probe : {"livenessProbe", "readinessProbe", "startupProbe"})
      look({probe});
    for (std::string_view hook : {"postStart", "preStop"}) look({"lifecycle", hook});
  }
  if (bad.empty()) return {};
  return PodSecurityFinding{
      "probe or lifecycle host",
      containers_text(Names(bad.begin(), bad.end())) + " " + plural("uses", "use", bad.size()) +
          " " + plural("probe or lifecycle host", "probe or lifecycle hosts", hosts.size()) + " " +
          quoted(hosts)};
}

Finding privileged(const CheckedPod& pod) {
  Names bad;
  for (const json::Value* container : pod.containers)
    if (json::bool_at(*container, {"securityContext", "privileged"}))
      bad.push_back(name_of(*container));
  if (bad.empty()) return {};
  return PodSecurityFinding{"privileged",
                            containers_text(bad) + " must not set securityContext.privileged=true"};
}

Finding proc_mount(const CheckedPod& pod) {
  Names bad;
  Sorted types;
  for (const json::Value* container : pod.containers) {
    const std::string type = json::text_at(*container, {"securityContext", "procMount"});
    if (type.empty() || type == "Default") continue;
    bad.push_back(name_of(*container));
    types.insert(type);
  }
  if (bad.empty()) return {};
  return PodSecurityFinding{
      "procMount",
      containers_text(bad) + " must not set securityContext.procMount to " + quoted(types)};
}

Finding selinux_options(const CheckedPod& pod) {
  static const Sorted kAllowed{"", "container_t", "container_init_t", "container_kvm_t"};
  Sorted types;
  bool user = false, role = false;
  const Setters setters = setters_of(pod, "seLinuxOptions", [&](const json::Value& options) {
    const std::string type = json::text_at(options, {"type"});
    const bool good = kAllowed.contains(type) || (pod.minor >= 31 && type == "container_engine_t");
    if (!good) types.insert(type);
    const bool sets_user = !json::string_at(options, {"user"}).empty();
    const bool sets_role = !json::string_at(options, {"role"}).empty();
    user |= sets_user;
    role |= sets_role;
    return !good || sets_user || sets_role;
  });
  if (setters.none()) return {};
  Names data;
  if (!types.empty()) data.push_back(plural("type", "types", types.size()) + " " + quoted(types));
  if (user) data.emplace_back("user may not be set");
  if (role) data.emplace_back("role may not be set");
  return PodSecurityFinding{
      "seLinuxOptions",
      setters.text() + " set forbidden securityContext.seLinuxOptions: " + plain(data, "; ")};
}

bool good_seccomp(std::string_view type) { return type == "Localhost" || type == "RuntimeDefault"; }

// Before 1.19 annotations said it.
Finding seccomp_annotations(const CheckedPod& pod) {
  Sorted forbidden;
  auto look = [&](const std::string& annotation) {
    const json::Value* value =
        pod.metadata ? json::find_path(*pod.metadata, {"annotations", annotation}) : nullptr;
    if (!value || !value->is_string()) return;
    std::string_view text = json::sv(value->get_string());
    if (text != "runtime/default" && text != "docker/default" && !text.starts_with("localhost/"))
      forbidden.insert(annotation + "=" + go_quote(text));
  };
  look("seccomp.security.alpha.kubernetes.io/pod");
  for (const json::Value* container : pod.containers)
    look("container.seccomp.security.alpha.kubernetes.io/" + name_of(*container));
  if (forbidden.empty()) return {};
  return PodSecurityFinding{
      "seccompProfile", "forbidden " + plural("annotation", "annotations", forbidden.size()) + " " +
                            plain(forbidden, ", ")};
}

Finding bad_seccomp(const CheckedPod& pod) {
  Sorted values;
  const Setters setters = setters_of(pod, "seccompProfile", [&](const json::Value& profile) {
    const std::string type = json::text_at(profile, {"type"});
    if (good_seccomp(type)) return false;
    values.insert(type);
    return true;
  });
  if (setters.none()) return {};
  return PodSecurityFinding{
      "seccompProfile",
      setters.text() + " must not set securityContext.seccompProfile.type to " + quoted(values)};
}

Finding seccomp_baseline(const CheckedPod& pod) {
  return pod.minor < 19 ? seccomp_annotations(pod) : bad_seccomp(pod);
}

Finding sysctls(const CheckedPod& pod) {
  static const std::vector<std::pair<std::string_view, int>> kAllowedSince{
      {"kernel.shm_rmid_forced", 0},
      {"net.ipv4.ip_local_port_range", 0},
      {"net.ipv4.tcp_syncookies", 0},
      {"net.ipv4.ping_group_range", 0},
      {"net.ipv4.ip_unprivileged_port_start", 0},
      {"net.ipv4.ip_local_reserved_ports", 27},
      {"net.ipv4.tcp_keepalive_time", 29},
      {"net.ipv4.tcp_fin_timeout", 29},
      {"net.ipv4.tcp_keepalive_intvl", 29},
      {"net.ipv4.tcp_keepalive_probes", 29},
      {"net.ipv4.tcp_rmem", 32},
      {"net.ipv4.tcp_wmem", 32},
  };
  Names forbidden;
  if (const json::Array* set = json::array_at(*pod.spec, {"securityContext", "sysctls"}))
    for (const json::Value& one : *set) {
      const std::string name = name_of(one);
      const bool allowed = std::ranges::any_of(kAllowedSince, [&](const auto& entry) {
        return entry.first == name && entry.second <= pod.minor;
      });
      if (!allowed) forbidden.push_back(name);
    }
  if (forbidden.empty()) return {};
  return PodSecurityFinding{"forbidden sysctls", plain(forbidden, ", ")};
}

Finding windows_host_process(const CheckedPod& pod) {
  const Setters setters = setters_of(pod, "windowsOptions", [](const json::Value& options) {
    return json::bool_at(options, {"hostProcess"});
  });
  if (setters.none()) return {};
  return PodSecurityFinding{
      "hostProcess",
      setters.text() + " must not set securityContext.windowsOptions.hostProcess=true"};
}

Finding privilege_escalation(const CheckedPod& pod) {
  if (pod.minor >= 25 && pod.windows()) return {};
  Names bad;
  for (const json::Value* container : pod.containers) {
    const json::Value* set = security(*container, "allowPrivilegeEscalation");
    if (!set || !is_false(*set)) bad.push_back(name_of(*container));
  }
  if (bad.empty()) return {};
  return PodSecurityFinding{
      "allowPrivilegeEscalation != false",
      containers_text(bad) + " must set securityContext.allowPrivilegeEscalation=false"};
}

Finding capabilities_restricted(const CheckedPod& pod) {
  if (pod.minor >= 25 && pod.windows()) return {};
  Names keeping, adding;
  Sorted capabilities;
  for (const json::Value* container : pod.containers) {
    const Names dropped = strings_at(*container, {"securityContext", "capabilities", "drop"});
    if (std::ranges::find(dropped, "ALL") == dropped.end()) keeping.push_back(name_of(*container));
    bool adds = false;
    for (const std::string& one :
         strings_at(*container, {"securityContext", "capabilities", "add"})) {
      if (one == "NET_BIND_SERVICE") continue;
      adds = true;
      capabilities.insert(one);
    }
    if (adds) adding.push_back(name_of(*container));
  }
  Names details;
  if (!keeping.empty())
    details.push_back(containers_text(keeping) +
                      " must set securityContext.capabilities.drop=[\"ALL\"]");
  if (!adding.empty())
    details.push_back(containers_text(adding) + " must not include " + quoted(capabilities) +
                      " in securityContext.capabilities.add");
  if (details.empty()) return {};
  return PodSecurityFinding{"unrestricted capabilities", plain(details, "; ")};
}

Finding restricted_volumes(const CheckedPod& pod) {
  static constexpr std::array<std::string_view, 9> kAllowed{
      "configMap", "csi",   "downwardAPI",           "emptyDir",
      "ephemeral", "image", "persistentVolumeClaim", "projected",
      "secret"};
  static constexpr std::array<std::string_view, 21> kForbidden{"hostPath",
                                                               "gcePersistentDisk",
                                                               "awsElasticBlockStore",
                                                               "gitRepo",
                                                               "nfs",
                                                               "iscsi",
                                                               "glusterfs",
                                                               "rbd",
                                                               "flexVolume",
                                                               "cinder",
                                                               "cephfs",
                                                               "flocker",
                                                               "fc",
                                                               "azureFile",
                                                               "vsphereVolume",
                                                               "quobyte",
                                                               "azureDisk",
                                                               "photonPersistentDisk",
                                                               "portworxVolume",
                                                               "scaleIO",
                                                               "storageos"};
  Names bad;
  Sorted types;
  const json::Array* volumes = json::array_at(*pod.spec, {"volumes"});
  if (!volumes) return {};
  for (const json::Value& volume : *volumes) {
    auto has = [&](std::string_view type) { return json::object_at(volume, {type}) != nullptr; };
    if (std::ranges::any_of(kAllowed, has)) continue;
    bad.push_back(name_of(volume));
    auto type = std::ranges::find_if(kForbidden, has);
    types.insert(type == kForbidden.end() ? "unknown" : std::string(*type));
  }
  if (bad.empty()) return {};
  return PodSecurityFinding{
      "restricted volume types",
      plural("volume", "volumes", bad.size()) + " " + quoted(bad) + " " +
          plural("uses", "use", bad.size()) + " " +
          plural("restricted volume type", "restricted volume types", types.size()) + " " +
          quoted(types)};
}

// Containers that say nothing themselves, when the pod does not say it for them.
template <class SaysWell>
Names silent_containers(const CheckedPod& pod, std::string_view member, SaysWell says_well) {
  Names found;
  if (const json::Value* set = security(*pod.spec, member); set && says_well(*set)) return found;
  for (const json::Value* container : pod.containers)
    if (!security(*container, member)) found.push_back(name_of(*container));
  return found;
}

Finding run_as_non_root(const CheckedPod& pod) {
  const Setters setters = setters_of(pod, "runAsNonRoot", is_false);
  if (!setters.none())
    return PodSecurityFinding{"runAsNonRoot != true",
                              setters.text() + " must not set securityContext.runAsNonRoot=false"};
  const Names silent = silent_containers(pod, "runAsNonRoot", is_true);
  if (silent.empty()) return {};
  return PodSecurityFinding{
      "runAsNonRoot != true",
      "pod or " + containers_text(silent) + " must set securityContext.runAsNonRoot=true"};
}

Finding run_as_user(const CheckedPod& pod) {
  const Setters setters = setters_of(pod, "runAsUser", [](const json::Value& user) {
    return (user.is_int64() && user.get_int64() == 0) ||
           (user.is_uint64() && user.get_uint64() == 0);
  });
  if (setters.none()) return {};
  return PodSecurityFinding{"runAsUser=0", setters.text() + " must not set runAsUser=0"};
}

Finding seccomp_restricted(const CheckedPod& pod) {
  if (pod.minor >= 25 && pod.windows()) return {};
  if (Finding bad = bad_seccomp(pod)) return bad;
  const Names silent = silent_containers(pod, "seccompProfile", [](const json::Value& profile) {
    return good_seccomp(json::string_at(profile, {"type"}));
  });
  if (silent.empty()) return {};
  return PodSecurityFinding{
      "seccompProfile",
      "pod or " + containers_text(silent) +
          " must set securityContext.seccompProfile.type to \"RuntimeDefault\" or \"Localhost\""};
}

constexpr int kNever = kLatestPodSecurity + 1;
constexpr int kNewest = 34;  // versions beyond are judged as this one

struct Check {
  Finding (*look)(const CheckedPod&);
  PodSecurityLevel level;
  int since;              // v1.<since>
  int replaced = kNever;  // from here on a check of the level restricted says more
};
constexpr PodSecurityLevel kBaseline = PodSecurityLevel::baseline,
                           kRestricted = PodSecurityLevel::restricted;
// Upstream orders each level by the names of its checks.
constexpr std::array<Check, 18> kChecks{{{app_armor, kBaseline, 0},
                                         {capabilities_baseline, kBaseline, 0, 22},
                                         {host_namespaces, kBaseline, 0},
                                         {host_path_volumes, kBaseline, 0, 0},
                                         {host_ports, kBaseline, 0},
                                         {host_probes, kBaseline, 34},
                                         {privileged, kBaseline, 0},
                                         {proc_mount, kBaseline, 0},
                                         {selinux_options, kBaseline, 0},
                                         {seccomp_baseline, kBaseline, 0, 19},
                                         {sysctls, kBaseline, 0},
                                         {windows_host_process, kBaseline, 0},
                                         {privilege_escalation, kRestricted, 8},
                                         {capabilities_restricted, kRestricted, 22},
                                         {restricted_volumes, kRestricted, 0},
                                         {run_as_non_root, kRestricted, 0},
                                         {run_as_user, kRestricted, 23},
                                         {seccomp_restricted, kRestricted, 19}}};

}  // namespace

std::vector<PodSecurityFinding> check_pod_security(const PodSecurityStandard& standard,
                                                   const json::Value* metadata,
                                                   const json::Value& spec) {
  std::vector<PodSecurityFinding> found;
  if (standard.level == PodSecurityLevel::privileged) return found;
  CheckedPod pod{metadata, &spec, std::min(standard.minor, kNewest)};
  for (std::string_view list : {"initContainers", "containers", "ephemeralContainers"})
    if (const json::Array* containers = json::array_at(spec, {list}))
      for (const json::Value& one : *containers) pod.containers.push_back(&one);
  const bool restricted = standard.level == PodSecurityLevel::restricted;
  for (const Check& check : kChecks) {
    const bool applies = check.since <= pod.minor && check.level <= standard.level &&
                         !(restricted && check.replaced <= pod.minor);
    if (!applies) continue;
    if (Finding finding = check.look(pod)) found.push_back(std::move(*finding));
  }
  return found;
}

}  // namespace hekla::apiserver
