// The files every pod gets over its image's: /etc/hosts, /etc/hostname, /etc/resolv.conf. Pure.
#pragma once

#include <string>

#include "base/result.h"
#include "model/core.h"

namespace hekla::agent {

struct PodFiles {
  std::string hosts, hostname, resolv_conf;
};

struct PodFilesInput {
  std::string pod_ip;
  std::string node_name;
  std::string cluster_domain, dns_address;
  std::string host_hosts, host_resolv_conf;  // the machine's own, for pods on its network
  std::string kernel_hostname;               // for /etc/hostname; empty: the pod's
};

// spec.hostname, else the pod's name cut to 63 characters; the node's name on the host's network.
std::string pod_hostname(const model::Pod& pod, const std::string& node_name);

// The kernel's name for the machine that the pod is: with the pod's whole domain when `fqdn` and it
// has one. The kernel has room for 64 characters.
Result<std::string> kernel_hostname(const model::Pod& pod, const std::string& node_name,
                                    const std::string& cluster_domain, bool fqdn);

PodFiles pod_files(const model::Pod& pod, const PodFilesInput& input);

}  // namespace hekla::agent
