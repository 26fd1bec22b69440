// The settings of the components that run against somebody's cluster: the flags of
// vc-controller-manager, vc-scheduler and vc-webhook-manager that people use.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace hekla::cli {

struct ComponentOptions {
  std::string kubeconfig, master;  // both empty: the pod's own cluster
  std::vector<std::string> scheduler_names{"volcano"};
  bool leader_elect = true;
  std::string lease_namespace = "volcano-system", lease_name;
  std::string lease_duration = "15s", renew_deadline = "10s", retry_period = "2s";
  bool healthz = false, metrics = false;
  std::string healthz_address = ":11251", metrics_address;
  std::string log_level = "info";
  std::string feature_gates;
  // Flags that were given and change nothing here, and why.
  std::vector<std::pair<std::string, std::string>> idle;
};

struct ControllersOptions : ComponentOptions {
  bool inherit_owner_annotations = true;
  std::vector<std::string> controllers{"*"};
  int max_requeue = 15;
};

struct SchedulerOptions : ComponentOptions {
  std::string configuration, default_queue = "default", period = "1s";
  std::vector<std::string> node_selector;  // "label:value"; empty: all nodes
  std::string sharding_mode = "none";
};

struct WebhookOptions : ComponentOptions {
  std::string listen_address = "0.0.0.0";
  std::uint16_t port = 8443;
  std::vector<std::string> enabled;  // paths; empty: every step
  std::string tls_cert_file, tls_key_file, ca_cert_file;
  std::string ns = "volcano-system", service_name = "volcano-admission-service", url;
  std::string secret_name = "volcano-admission-secret";
  std::string owner;  // a ClusterRole
  std::vector<std::string> ip_addresses;
  std::string admission_conf;
  int max_queue_depth = 5;
  bool queue_allocated_pods_check = false, root_queue_protection = true;
};

// Of the training controllers, under the Training Operator's flags.
struct TrainingFlags {
  std::vector<std::string> kinds;  // empty: all
  std::string gang_scheduler;
  std::string pytorch_init_image = "alpine:3.10", kubectl_image;
  int pytorch_init_tries = 100;
};

// The components in one process; with the Training Operator's flags they stand in for it.
struct OperatorOptions : ComponentOptions {
  // The ones that run.
  std::vector<std::string> parts{"scheduler", "volcano", "training", "workbench", "webhook"};
  std::string name = "hekla-operator";
  std::string ns;  // of lease, Secret and ConfigMaps; empty: the pod's
  std::string linger = "3s";
  // Of these only their own settings count, not those that they share.
  SchedulerOptions scheduler;
  ControllersOptions controllers;
  WebhookOptions webhook;
  TrainingFlags training;

  bool has(std::string_view part) const { return std::ranges::find(parts, part) != parts.end(); }
};

// The page for somebody's cluster.
struct WebOptions : ComponentOptions {
  std::string listen = "0.0.0.0:8080";
  std::string tls_cert_file, tls_key_file;  // empty: plain HTTP, TLS is somebody else's
};

}  // namespace hekla::cli
