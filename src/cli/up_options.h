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
  std::string scheduler_conf, record;
  std::vector<std::string> image_maps;
  std::vector<std::string> insecure_registries, registry_mirrors, registry_authorities;
  std::string node_name;
  std::string node_resources;
  int gpu_replicas = 1;
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
  std::string resolv_conf = "/etc/resolv.conf";
  bool no_agent = false;
  int fake_nodes = 0;
  std::string fake_node_resources = "cpu=32,memory=256Gi,pods=110";
  std::size_t history_changes = 200'000;
  AuditFlags audit;
  std::string log_level = "warn";
};

// The flags, with their help. Values are kept in `options`, which must outlive the parse.
void add_up_flags(CLI::App& command, UpOptions& options);
// The same options as arguments for a child process.
std::vector<std::string> up_arguments(const UpOptions& options);

// /var/lib/hekla for root, otherwise under the user's home.
std::string default_data_dir();

}  // namespace hekla::cli
