// The OCI runtime configuration (config.json) of one container. Pure: text in, text out.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "json/value.h"
#include "model/core.h"

namespace hekla::agent {

struct OciMount {
  std::string destination, type, source;
  std::vector<std::string> options;
  bool operator==(const OciMount&) const = default;
};

// A device node of the machine.
struct OciDevice {
  std::string path;
  char type = 'c';
  std::uint32_t major = 0, minor = 0, mode = 0666, uid = 0, gid = 0;
  bool operator==(const OciDevice&) const = default;
};

// securityContext of pod and container, merged; the container's word is the last.
struct Security {
  std::uint32_t uid = 0, gid = 0;
  bool uid_given = false, gid_given = false;  // otherwise the image decides
  std::vector<std::uint32_t> groups;
  bool privileged = false;
  bool allow_privilege_escalation = true;
  bool read_only_root = false;
  bool non_root_required = false;
  bool default_seccomp = false;  // the profile RuntimeDefault
  bool seccomp_given = false;    // otherwise the node decides
  bool unmasked_proc = false;    // procMount: Unmasked
  bool strict_groups = false;    // none beside those the pod names, whatever the image's files say
  std::vector<std::string> added_capabilities, dropped_capabilities;  // without CAP_
  std::uint64_t grantable = ~std::uint64_t{0};  // the capabilities there are to give, by number
};

// Capabilities that this process may give to others: all of them on most machines.
std::uint64_t grantable_capabilities();

Security merge_security(const json::Value& pod_context, const json::Value& container_context);

// A pod's parameters of the kernel, by dotted names.
std::map<std::string, std::string> sysctls_of(const json::Value& pod_context);
// Why the node does not set one: only those that concern nobody but the pod are allowed.
std::optional<std::string> forbidden_sysctl(const json::Value& pod_context, bool host_network,
                                            bool host_ipc);

// Limits that the cgroup enforces; absent means no limit.
struct Limits {
  std::optional<std::int64_t> cpu_request_milli, cpu_limit_milli, memory_limit_bytes;
  std::int64_t pids = 32768;
  int oom_score_adjust = 0;
};

// The kubelet's oom_score_adj: guaranteed pods die last, best-effort pods first.
int oom_score_adjust(const std::string& qos_class, const model::ResourceRequirements& resources,
                     std::int64_t machine_memory_bytes);
Limits limits_of(const model::ResourceRequirements& resources, const std::string& qos_class,
                 std::int64_t machine_memory_bytes);

// Limits of all containers of a pod together: requests are added up, limits only when every
// container has one, and what the pod's own spec.resources say counts for more.
Limits pod_limits_of(const model::PodSpec& spec, const std::string& qos_class);

// Mounts nearer to the root first, otherwise in the order given, so that none hides another.
void order_by_depth(std::span<OciMount> mounts);

struct BundleSpec {
  std::vector<std::string> args, env;  // env as NAME=value
  std::string cwd = "/";
  bool terminal = false;
  std::string hostname;
  std::string rootfs;
  std::string network_namespace;  // empty: the host's network
  bool host_pid = false, host_ipc = false;
  std::string pid_namespace;  // to join; empty: one of its own
  std::string ipc_namespace;  // the pod's; empty: one of its own
  std::string shared_memory;  // the pod's directory for /dev/shm; empty: one of its own
  std::string cgroup;
  Security security;
  std::map<std::string, std::string> sysctls;
  Limits limits;
  std::vector<OciMount> mounts;    // after the standard ones, in order
  std::string root_propagation;    // rslave or rshared where a volume's mounts are to be passed on
  std::string apparmor;            // a profile that the kernel knows
  std::vector<OciDevice> devices;  // beside those that every container has
};

json::Value oci_config(const BundleSpec& spec);
// cgroup v1's, and v2's that means the same.
std::int64_t cpu_shares(const Limits& limits);
std::int64_t cpu_weight(std::int64_t shares);
// Microseconds in each period of kCpuPeriodUs.
inline constexpr std::int64_t kCpuPeriodUs = 100'000;
std::optional<std::int64_t> cpu_quota_us(const Limits& limits);
// The part of it that a running container can be given anew.
json::Object oci_limits(const Limits& limits);

// Docker's default set, which Kubernetes pods have too.
std::vector<std::string> capability_set(const Security& security);

}  // namespace hekla::agent
