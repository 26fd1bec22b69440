#include "agent/runtime/bundle.h"

#include <sys/prctl.h>

#include <algorithm>
#include <filesystem>

#include "agent/runtime/seccomp.h"

namespace hekla::agent {
namespace {

constexpr const char* kDefaultCapabilities[] = {
    "CHOWN",   "DAC_OVERRIDE", "FSETID",           "FOWNER",
    "MKNOD",   "NET_RAW",      "SETGID",           "SETUID",
    "SETFCAP", "SETPCAP",      "NET_BIND_SERVICE", "SYS_CHROOT",
    "KILL",    "AUDIT_WRITE"};

// In the order of their numbers.
constexpr const char* kAllCapabilities[] = {"CHOWN",
                                            "DAC_OVERRIDE",
                                            "DAC_READ_SEARCH",
                                            "FOWNER",
                                            "FSETID",
                                            "KILL",
                                            "SETGID",
                                            "SETUID",
                                            "SETPCAP",
                                            "LINUX_IMMUTABLE",
                                            "NET_BIND_SERVICE",
                                            "NET_BROADCAST",
                                            "NET_ADMIN",
                                            "NET_RAW",
                                            "IPC_LOCK",
                                            "IPC_OWNER",
                                            "SYS_MODULE",
                                            "SYS_RAWIO",
                                            "SYS_CHROOT",
                                            "SYS_PTRACE",
                                            "SYS_PACCT",
                                            "SYS_ADMIN",
                                            "SYS_BOOT",
                                            "SYS_NICE",
                                            "SYS_RESOURCE",
                                            "SYS_TIME",
                                            "SYS_TTY_CONFIG",
                                            "MKNOD",
                                            "LEASE",
                                            "AUDIT_WRITE",
                                            "AUDIT_CONTROL",
                                            "SETFCAP",
                                            "MAC_OVERRIDE",
                                            "MAC_ADMIN",
                                            "SYSLOG",
                                            "WAKE_ALARM",
                                            "BLOCK_SUSPEND",
                                            "AUDIT_READ",
                                            "PERFMON",
                                            "BPF",
                                            "CHECKPOINT_RESTORE"};

constexpr const char* kMaskedPaths[] = {"/proc/asound",
                                        "/proc/acpi",
                                        "/proc/kcore",
                                        "/proc/keys",
                                        "/proc/latency_stats",
                                        "/proc/timer_list",
                                        "/proc/timer_stats",
                                        "/proc/sched_debug",
                                        "/proc/scsi",
                                        "/sys/firmware",
                                        "/sys/devices/virtual/powercap"};

constexpr const char* kReadonlyPaths[] = {"/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys",
                                          "/proc/sysrq-trigger"};

template <class Range>
json::Array strings(const Range& range) {
  json::Array out;
  for (const auto& text : range) out.emplace_back(std::string_view(text));
  return out;
}

json::Object namespaces_member(const char* type, const std::string& path = {}) {
  json::Object out;
  out["type"] = type;
  if (!path.empty()) out["path"] = path;
  return out;
}

json::Object mount_entry(const OciMount& mount) {
  json::Object out;
  out["destination"] = mount.destination;
  out["type"] = mount.type;
  out["source"] = mount.source;
  out["options"] = strings(mount.options);
  return out;
}

// A pod without a network namespace of its own sees the host's sysfs: the kernel refuses a fresh
// mount of it in some set-ups. Alone, without what is mounted below: a runtime's `ro` is that of
// the topmost mount, and the host's control groups would stay writable.
OciMount host_sysfs(bool privileged) {
  if (privileged) return {"/sys", "none", "/sys", {"rbind", "nosuid", "noexec", "nodev", "rw"}};
  return {"/sys", "none", "/sys", {"bind", "nosuid", "noexec", "nodev", "ro"}};
}

std::vector<OciMount> standard_mounts(const BundleSpec& spec) {
  const bool privileged = spec.security.privileged;
  const char* sys_access = privileged ? "rw" : "ro";
  std::vector<OciMount> mounts = {
      {"/proc", "proc", "proc", {"nosuid", "noexec", "nodev"}},
      {"/dev", "tmpfs", "tmpfs", {"nosuid", "strictatime", "mode=755", "size=65536k"}},
      {"/dev/pts",
       "devpts",
       "devpts",
       {"nosuid", "noexec", "newinstance", "ptmxmode=0666", "mode=0620", "gid=5"}},
      {"/dev/mqueue", "mqueue", "mqueue", {"nosuid", "noexec", "nodev"}},
      {"/dev/shm", "tmpfs", "shm", {"nosuid", "noexec", "nodev", "mode=1777", "size=65536k"}},
      {"/sys", "sysfs", "sysfs", {"nosuid", "noexec", "nodev", sys_access}},
  };
  if (!spec.shared_memory.empty())
    mounts[4] = {
        "/dev/shm", "none", spec.shared_memory, {"rbind", "nosuid", "noexec", "nodev", "rw"}};
  const bool host_network = spec.network_namespace.empty();
  if (host_network) mounts.back() = host_sysfs(privileged);
  // Programs size themselves by the limits they find here. Those of the whole machine have come
  // with the host's sysfs.
  if (!host_network || !privileged)
    mounts.push_back({"/sys/fs/cgroup",
                      "cgroup",
                      "cgroup",
                      {"nosuid", "noexec", "nodev", "relatime", sys_access}});
  return mounts;
}

json::Object process_of(const BundleSpec& spec) {
  json::Object user;
  user["uid"] = spec.security.uid;
  user["gid"] = spec.security.gid;
  if (!spec.security.groups.empty()) {
    json::Array groups;
    for (std::uint32_t group : spec.security.groups) groups.emplace_back(group);
    user["additionalGids"] = std::move(groups);
  }
  json::Object capabilities;
  json::Array allowed;
  for (const std::string& name : capability_set(spec.security)) allowed.emplace_back("CAP_" + name);
  capabilities["bounding"] = allowed;
  // A process that is not root gets what its files or a set-uid program give it, no more.
  if (spec.security.uid == 0) {
    capabilities["effective"] = allowed;
    capabilities["permitted"] = allowed;
  }
  json::Object process;
  process["terminal"] = spec.terminal;
  process["user"] = std::move(user);
  process["args"] = strings(spec.args);
  process["env"] = strings(spec.env);
  process["cwd"] = spec.cwd;
  process["capabilities"] = std::move(capabilities);
  if (!spec.apparmor.empty()) process["apparmorProfile"] = spec.apparmor;
  process["noNewPrivileges"] = !spec.security.allow_privilege_escalation;
  return process;
}

json::Object resources_of(const BundleSpec& spec) {
  json::Object resources = oci_limits(spec.limits);
  json::Object pids;
  pids["limit"] = spec.limits.pids;
  resources["pids"] = std::move(pids);
  json::Object devices;
  devices["allow"] = spec.security.privileged;
  devices["access"] = "rwm";
  json::Array rules;
  rules.emplace_back(std::move(devices));  // the runtime adds the standard devices itself
  for (const OciDevice& device : spec.devices) {
    json::Object rule;
    rule["allow"] = true;
    rule["type"] = std::string(1, device.type);
    rule["major"] = device.major;
    rule["minor"] = device.minor;
    rule["access"] = "rwm";
    rules.emplace_back(std::move(rule));
  }
  resources["devices"] = std::move(rules);
  return resources;
}

json::Array devices_of(const BundleSpec& spec) {
  json::Array out;
  for (const OciDevice& device : spec.devices) {
    json::Object node;
    node["path"] = device.path;
    node["type"] = std::string(1, device.type);
    node["major"] = device.major;
    node["minor"] = device.minor;
    node["fileMode"] = device.mode;
    node["uid"] = device.uid;
    node["gid"] = device.gid;
    out.emplace_back(std::move(node));
  }
  return out;
}

json::Object linux_of(const BundleSpec& spec) {
  json::Array namespaces;
  namespaces.emplace_back(namespaces_member("mount"));
  namespaces.emplace_back(namespaces_member("uts"));
  if (!spec.host_pid) namespaces.emplace_back(namespaces_member("pid", spec.pid_namespace));
  if (!spec.host_ipc) namespaces.emplace_back(namespaces_member("ipc", spec.ipc_namespace));
  if (!spec.security.privileged) namespaces.emplace_back(namespaces_member("cgroup"));
  if (!spec.network_namespace.empty())
    namespaces.emplace_back(namespaces_member("network", spec.network_namespace));
  json::Object linux_section;
  linux_section["namespaces"] = std::move(namespaces);
  linux_section["cgroupsPath"] = spec.cgroup;
  if (!spec.root_propagation.empty()) linux_section["rootfsPropagation"] = spec.root_propagation;
  linux_section["resources"] = resources_of(spec);
  if (!spec.devices.empty()) linux_section["devices"] = devices_of(spec);
  if (!spec.sysctls.empty()) {
    json::Object values;
    for (const auto& [name, value] : spec.sysctls) values[name] = value;
    linux_section["sysctl"] = std::move(values);
  }
  if (!spec.security.privileged) {
    if (!spec.security.unmasked_proc) {
      linux_section["maskedPaths"] = strings(kMaskedPaths);
      linux_section["readonlyPaths"] = strings(kReadonlyPaths);
    }
    if (spec.security.default_seccomp)
      linux_section["seccomp"] = default_seccomp(capability_set(spec.security));
  }
  return linux_section;
}

void read_context(const json::Value& context, Security& out) {
  if (const json::Value* uid = json::find(context, "runAsUser"); uid && uid->is_number()) {
    out.uid = static_cast<std::uint32_t>(json::int_at(context, {"runAsUser"}));
    out.uid_given = true;
  }
  if (const json::Value* gid = json::find(context, "runAsGroup"); gid && gid->is_number()) {
    out.gid = static_cast<std::uint32_t>(json::int_at(context, {"runAsGroup"}));
    out.gid_given = true;
  }
  if (std::string_view profile = json::string_at(context, {"seccompProfile", "type"});
      !profile.empty()) {
    out.default_seccomp = profile == "RuntimeDefault";
    out.seccomp_given = true;
  }
  out.non_root_required = json::bool_at(context, {"runAsNonRoot"}, out.non_root_required);
}

std::vector<std::string> capability_names(const json::Value& context, const char* member) {
  std::vector<std::string> out;
  const json::Array* names = json::array_at(context, {"capabilities", member});
  if (!names) return out;
  for (const json::Value& name : *names) {
    if (!name.is_string()) continue;
    std::string text(json::sv(name.get_string()));
    for (char& c : text) c = static_cast<char>(::toupper(static_cast<unsigned char>(c)));
    out.push_back(text.starts_with("CAP_") ? text.substr(4) : text);
  }
  return out;
}

}  // namespace

Security merge_security(const json::Value& pod_context, const json::Value& container_context) {
  Security out;
  read_context(pod_context, out);
  if (const json::Array* groups = json::array_at(pod_context, {"supplementalGroups"}))
    for (const json::Value& group : *groups)
      if (group.is_number()) out.groups.push_back(group.to_number<std::uint32_t>());
  if (const json::Value* group = json::find(pod_context, "fsGroup"); group && group->is_number())
    out.groups.push_back(static_cast<std::uint32_t>(json::int_at(pod_context, {"fsGroup"})));
  out.strict_groups = json::string_at(pod_context, {"supplementalGroupsPolicy"}) == "Strict";
  read_context(container_context, out);
  out.unmasked_proc = json::string_at(container_context, {"procMount"}) == "Unmasked";
  out.privileged = json::bool_at(container_context, {"privileged"});
  out.read_only_root = json::bool_at(container_context, {"readOnlyRootFilesystem"});
  out.allow_privilege_escalation =
      json::bool_at(container_context, {"allowPrivilegeEscalation"}, true);
  out.added_capabilities = capability_names(container_context, "add");
  out.dropped_capabilities = capability_names(container_context, "drop");
  return out;
}

std::map<std::string, std::string> sysctls_of(const json::Value& pod_context) {
  std::map<std::string, std::string> out;
  const json::Array* all = json::array_at(pod_context, {"sysctls"});
  if (!all) return out;
  for (const json::Value& one : *all) {
    std::string name(json::string_at(one, {"name"}));
    std::ranges::replace(name, '/', '.');
    out[name] = json::string_at(one, {"value"});
  }
  return out;
}

std::optional<std::string> forbidden_sysctl(const json::Value& pod_context, bool host_network,
                                            bool host_ipc) {
  // The kubelet's list of safe ones.
  static constexpr std::string_view kSafe[] = {
      "kernel.shm_rmid_forced",           "net.ipv4.ip_local_port_range",
      "net.ipv4.ip_local_reserved_ports", "net.ipv4.ip_unprivileged_port_start",
      "net.ipv4.ping_group_range",        "net.ipv4.tcp_fin_timeout",
      "net.ipv4.tcp_keepalive_intvl",     "net.ipv4.tcp_keepalive_probes",
      "net.ipv4.tcp_keepalive_time",      "net.ipv4.tcp_rmem",
      "net.ipv4.tcp_syncookies",          "net.ipv4.tcp_wmem"};
  for (const auto& [name, value] : sysctls_of(pod_context)) {
    if (std::ranges::find(kSafe, name) == std::end(kSafe))
      return "forbidden sysctl: \"" + name + "\" not allowlisted";
    if (name.starts_with("net.") ? host_network : host_ipc)
      return "forbidden sysctl: \"" + name + "\" not allowed with host " +
             (name.starts_with("net.") ? "net" : "ipc") + " enabled";
  }
  return std::nullopt;
}

std::vector<std::string> capability_set(const Security& security) {
  std::vector<std::string> set;
  auto add_all = [&] { set.assign(std::begin(kAllCapabilities), std::end(kAllCapabilities)); };
  if (security.privileged)
    add_all();
  else
    set.assign(std::begin(kDefaultCapabilities), std::end(kDefaultCapabilities));
  // As in the CRI: "drop ALL" empties the set first, then additions count.
  for (const std::string& name : security.dropped_capabilities)
    if (name == "ALL") set.clear();
  for (const std::string& name : security.added_capabilities) {
    if (name == "ALL")
      add_all();
    else if (std::ranges::find(set, name) == set.end())
      set.push_back(name);
  }
  for (const std::string& name : security.dropped_capabilities) std::erase(set, name);
  for (std::size_t bit = 0; bit < std::size(kAllCapabilities); ++bit)
    if ((security.grantable >> bit & 1) == 0) std::erase(set, kAllCapabilities[bit]);
  return set;
}

std::uint64_t grantable_capabilities() {
  std::uint64_t out = 0;
  for (std::size_t bit = 0; bit < std::size(kAllCapabilities); ++bit)
    if (::prctl(PR_CAPBSET_READ, bit) == 1) out |= std::uint64_t{1} << bit;
  return out;
}

int oom_score_adjust(const std::string& qos_class, const model::ResourceRequirements& resources,
                     std::int64_t machine_memory_bytes) {
  if (qos_class == "Guaranteed") return -997;
  if (qos_class != "Burstable") return 1000;
  auto request = resources.requests.find("memory");
  std::int64_t bytes = request == resources.requests.end() ? 0 : request->second.value();
  std::int64_t capacity = std::max<std::int64_t>(1, machine_memory_bytes);
  std::int64_t adjust = 1000 - static_cast<std::int64_t>(static_cast<double>(bytes) * 1000.0 /
                                                         static_cast<double>(capacity));
  return static_cast<int>(std::clamp<std::int64_t>(adjust, 3, 999));
}

Limits limits_of(const model::ResourceRequirements& resources, const std::string& qos_class,
                 std::int64_t machine_memory_bytes) {
  auto find = [](const model::ResourceList& list,
                 const char* name) -> std::optional<model::Quantity> {
    auto found = list.find(name);
    if (found == list.end() || found->second.is_zero()) return std::nullopt;
    return found->second;
  };
  Limits limits;
  std::optional<model::Quantity> cpu_request = find(resources.requests, "cpu");
  std::optional<model::Quantity> cpu_limit = find(resources.limits, "cpu");
  if (!cpu_request) cpu_request = cpu_limit;
  if (cpu_request) limits.cpu_request_milli = cpu_request->milli_value();
  if (cpu_limit) limits.cpu_limit_milli = cpu_limit->milli_value();
  if (auto memory = find(resources.limits, "memory")) limits.memory_limit_bytes = memory->value();
  limits.oom_score_adjust = oom_score_adjust(qos_class, resources, machine_memory_bytes);
  return limits;
}

// An init container runs beside the sidecars that were started before it, and alone otherwise.
Limits pod_limits_of(const model::PodSpec& spec, const std::string& qos_class) {
  struct Sum {
    std::int64_t all = 0, sidecars = 0, peak = 0;
    bool everywhere = true;
    void add(std::int64_t amount, bool init, bool sidecar) {
      everywhere = everywhere && amount > 0;
      if (!init || sidecar) all += amount;
      if (sidecar) sidecars += amount;
      if (init) peak = std::max(peak, sidecars + (sidecar ? 0 : amount));
    }
    std::optional<std::int64_t> total(std::int64_t overhead) const {
      if (!everywhere) return std::nullopt;
      return std::max(all, peak) + overhead;
    }
  };
  auto milli = [](const model::ResourceList& list, const char* name) -> std::int64_t {
    auto found = list.find(name);
    return found == list.end() ? 0 : found->second.milli_value();
  };
  auto bytes = [](const model::ResourceList& list, const char* name) -> std::int64_t {
    auto found = list.find(name);
    return found == list.end() ? 0 : found->second.value();
  };
  Sum cpu, memory;
  for (const auto* containers : {&spec.initContainers, &spec.containers})
    for (const model::Container& one : *containers) {
      const bool init = containers == &spec.initContainers;
      const bool sidecar = init && one.restartPolicy == "Always";
      cpu.add(milli(one.resources.limits, "cpu"), init, sidecar);
      memory.add(bytes(one.resources.limits, "memory"), init, sidecar);
    }
  Limits out;
  if (qos_class != "BestEffort") out.cpu_request_milli = milli(model::pod_requests(spec), "cpu");
  out.cpu_limit_milli = cpu.total(milli(spec.overhead, "cpu"));
  out.memory_limit_bytes = memory.total(bytes(spec.overhead, "memory"));
  if (std::int64_t own = milli(spec.resources.limits, "cpu"); own > 0)
    out.cpu_limit_milli = own + milli(spec.overhead, "cpu");
  if (std::int64_t own = bytes(spec.resources.limits, "memory"); own > 0)
    out.memory_limit_bytes = own + bytes(spec.overhead, "memory");
  return out;
}

std::int64_t cpu_shares(const Limits& limits) {
  constexpr std::int64_t kLeast = 2, kMost = 262'144;  // the kernel's own bounds
  return std::clamp<std::int64_t>(limits.cpu_request_milli.value_or(0) * 1024 / 1000, kLeast,
                                  kMost);
}

std::int64_t cpu_weight(std::int64_t shares) { return 1 + (shares - 2) * 9999 / 262'142; }

std::optional<std::int64_t> cpu_quota_us(const Limits& limits) {
  if (!limits.cpu_limit_milli) return std::nullopt;
  return std::max<std::int64_t>(1000, *limits.cpu_limit_milli * kCpuPeriodUs / 1000);
}

void order_by_depth(std::span<OciMount> mounts) {
  std::ranges::stable_sort(mounts, {}, [](const OciMount& mount) {
    const std::filesystem::path path = std::filesystem::path(mount.destination).lexically_normal();
    return std::ranges::count_if(path, [](const auto& part) { return !part.empty(); });
  });
}

json::Object oci_limits(const Limits& limits) {
  json::Object cpu;
  cpu["shares"] = cpu_shares(limits);
  if (auto quota = cpu_quota_us(limits)) {
    cpu["period"] = kCpuPeriodUs;
    cpu["quota"] = *quota;
  }
  json::Object resources;
  resources["cpu"] = std::move(cpu);
  if (limits.memory_limit_bytes) {
    json::Object memory;
    memory["limit"] = *limits.memory_limit_bytes;
    memory["swap"] = *limits.memory_limit_bytes;  // memory plus swap: none of the latter
    resources["memory"] = std::move(memory);
  }
  return resources;
}

json::Value oci_config(const BundleSpec& spec) {
  json::Object root;
  root["path"] = spec.rootfs;
  root["readonly"] = spec.security.read_only_root;
  json::Array mounts;
  for (const OciMount& mount : standard_mounts(spec)) mounts.emplace_back(mount_entry(mount));
  for (const OciMount& mount : spec.mounts) mounts.emplace_back(mount_entry(mount));
  json::Object config;
  config["ociVersion"] = "1.0.2";
  config["process"] = process_of(spec);
  config["root"] = std::move(root);
  config["hostname"] = spec.hostname;
  config["mounts"] = std::move(mounts);
  config["linux"] = linux_of(spec);
  return config;
}

}  // namespace hekla::agent
