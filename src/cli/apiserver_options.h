// The settings of `hekla apiserver`: the flags of kube-apiserver that test environments use.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/audit_flags.h"

namespace hekla::cli {

struct ApiServerOptions {
  std::string data_dir;  // empty: below cert_dir
  std::string cert_dir;  // apiserver.crt and apiserver.key are looked for here
  std::string bind_address = "127.0.0.1", advertise_address;
  std::uint16_t secure_port = 6443;
  std::string service_cidr = "10.96.0.0/16";
  std::vector<std::string> tls_sans;
  std::string pod_security_default = "privileged";
  bool anonymous_auth = true;
  int max_requests_inflight = 0, max_mutating_requests_inflight = 0;  // 0: Hekla's own limit
  std::vector<std::string>
      without_meaning;  // flags of kube-apiserver that were given and change nothing here
  std::string client_ca_file, tls_cert_file, tls_key_file, token_auth_file;
  std::vector<std::string> service_account_key_files;
  std::string service_account_signing_key_file, service_account_issuer;
  std::vector<std::string> authorization_modes, enable_admission, disable_admission;
  std::string etcd_servers, verbosity;
  bool allow_privileged = true;
  AuditFlags audit;
  std::string log_level = "warn";
};

}  // namespace hekla::cli
