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
  std::vector<std::string> added_capabilities, dropped_capabilities;  // without CAP_
  std::uint64_t grantable = ~std::uint64_t{0};  // the capabilities there are to give, by number
};

// Those that this process may give to others: all of them on most machines.
std::uint64_t grantable_capabilities();

Security merge_security(const json::Value& pod_context, const json::Value& container_context);

// A pod's parameters of the kernel, by dotted names.
std::map<std::string, std::string> sysctls_of(const json::Value& pod_context);
// Why the node does not set one: only those that concern nobody but the pod are allowed.
std::optional<std::string> forbidden_sysctl(const json::Value& pod_context, bool host_network, bool host_ipc);

// What the cgroup enforces; absent means no limit.
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
  std::string cgroup;
  Security security;
  std::map<std::string, std::string> sysctls;
  Limits limits;
  std::vector<OciMount> mounts;  // after the standard ones, in order
};

json::Value oci_config(const BundleSpec& spec);

// Docker's default set, which Kubernetes pods have too.
std::vector<std::string> capability_set(const Security& security);

}  // namespace hekla::agent
