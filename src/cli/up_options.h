// What `hekla up` (and whatever starts it, like `hekla run`) can be told.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "cli/audit_flags.h"

namespace CLI {
class App;
}

namespace hekla::cli {

struct UpOptions {
  std::string data_dir;
  std::string kubeconfig_out;
  std::string listen;
  std::vector<std::string> tls_sans;
  std::string pod_security_default = "privileged";
  std::string scheduler_conf, record;
  std::vector<std::string> image_maps;
  std::vector<std::string> insecure_registries, registry_mirrors, registry_authorities;
  std::string node_name;
  std::string node_resources;
  int gpu_replicas = 1;
  bool seccomp_default = false;
  std::string runtime;
  // Less of a disk than the kubelet's tenth: it is seldom the platform's alone.
  std::string eviction_hard =
      "memory.available<100Mi,nodefs.available<1Gi,nodefs.inodesFree<5%,imagefs.available<1Gi,"
      "imagefs.inodesFree<5%";
  std::string eviction_soft, eviction_soft_grace_period, eviction_minimum_reclaim;
  int eviction_transition_seconds = 300;
  int eviction_max_pod_grace = 0;
  int image_gc_high = 85, image_gc_low = 80, image_minimum_age_seconds = 120;
  int pod_max_pids = 0;
  bool no_outside = false;
  bool allow_link_local = false;
  std::string resolv_conf = "/etc/resolv.conf";
  bool no_agent = false;
  int fake_nodes = 0;
  std::string fake_node_resources = "cpu=32,memory=256Gi,pods=110";
  double fake_pod_delay_seconds = 0;
  std::size_t history_changes = 200'000;
  AuditFlags audit;
  std::string log_level = "warn";
  bool only_stop = false;        // of `hekla down`: no scheduler and no controllers, pods only end
  bool end_with_output = false;  // of `hekla run`: ends when nobody reads its output any more
};

// The flags, with their help. Values are kept in `options`, which must outlive the parse.
void add_up_flags(CLI::App& command, UpOptions& options);
// The same options as arguments for a child process.
std::vector<std::string> up_arguments(const UpOptions& options);
// Those of the last start, kept in the data directory, for whoever has to end what it left: under
// another node name its pods would be nobody's.
void remember_arguments(const UpOptions& options);
std::vector<std::string> arguments_to_stop(const std::string& data_dir);

// /var/lib/hekla for root, otherwise $XDG_DATA_HOME/hekla or ~/.local/share/hekla.
std::string default_data_dir();

}  // namespace hekla::cli
