// hekla apiserver: the API server alone, with kube-apiserver's flags. Called as `kube-apiserver` (a
// symbolic link) it is this verb, so that test environments can start it.
#include <memory>

#include "cli/apiserver_options.h"
#include "cli/shared_flags.h"
#include "cli/verb.h"

namespace hekla::cli {
namespace {

std::vector<Flag> tls_flags(ApiServerOptions& options) {
  return {
      Flag("--cert-dir", options.cert_dir,
           "directory of apiserver.crt and apiserver.key (default: a certificate of Hekla's own "
           "authority in the data directory)"),
      Flag("--tls-cert-file", options.tls_cert_file, "the server's certificate"),
      Flag("--tls-private-key-file", options.tls_key_file, "its private key"),
      Flag("--tls-san", options.tls_sans,
           "name or address that the certificate of Hekla's own authority shall have as well; "
           "repeatable"),
      Flag("--client-ca-file", options.client_ca_file,
           "client certificates signed by this CA name their bearer (CN) and groups (O)"),
  };
}

std::vector<Flag> auth_flags(ApiServerOptions& options) {
  return {
      Flag("--token-auth-file", options.token_auth_file,
           "CSV of bearer tokens: token,user,uid,\"group1,group2\""),
      Flag("--service-account-key-file", options.service_account_key_files,
           "ECDSA P-256 key or certificate that verifies service-account tokens; repeatable"),
      Flag("--service-account-signing-key-file", options.service_account_signing_key_file,
           "ECDSA P-256 private key that signs service-account tokens"),
      Flag("--service-account-issuer", options.service_account_issuer, "issuer of tokens"),
      Flag("--authorization-mode", options.authorization_modes,
           "RBAC (default), Node (part of RBAC here) or AlwaysAllow")
          .split_at(',')
          .with(one_of({"RBAC", "Node", "AlwaysAllow"})),
      Flag::yes_or_no("--anonymous-auth", options.anonymous_auth,
                      "whether requests without credentials are judged as those of "
                      "system:anonymous"),
  };
}

std::vector<Flag> limit_flags(ApiServerOptions& options) {
  return {
      Flag("--max-requests-inflight", options.max_requests_inflight,
           "requests that are answered at the same time: this many and "
           "--max-mutating-requests-inflight together; both 0: a limit of Hekla's own")
          .with(at_least(0)),
      Flag("--max-mutating-requests-inflight", options.max_mutating_requests_inflight, "see above")
          .with(at_least(0)),
  };
}

std::vector<Flag> admission_flags(ApiServerOptions& options) {
  return {
      pod_security_flag(options.pod_security_default),
      Flag("--enable-admission-plugins", options.enable_admission,
           "accepted; every plugin there is runs unless disabled")
          .split_at(','),
      Flag("--disable-admission-plugins", options.disable_admission,
           "admission plugins not to run, e.g. ServiceAccount")
          .split_at(','),
      Flag("--allow-privileged", options.allow_privileged,
           "accepted; privileged pods are always allowed"),
  };
}

// Flags that test suites set and that change nothing here: feature gates and versions, since
// everything that is built in is served; caches, workers and connections that Hekla has none of;
// the way to an etcd, to kubelets and to aggregated servers. Flags that would protect something are
// not among them: they are refused like a misspelt one.
constexpr const char* kWithoutMeaning[] = {"--feature-gates",
                                           "--runtime-config",
                                           "--delete-collection-workers",
                                           "--emulated-version",
                                           "--runtime-config-emulation-forward-compatible",
                                           "--watch-cache",
                                           "--watch-cache-sizes",
                                           "--default-watch-cache-size",
                                           "--enable-garbage-collector",
                                           "--enable-priority-and-fairness",
                                           "--max-connection-bytes-per-sec",
                                           "--min-request-timeout",
                                           "--request-timeout",
                                           "--event-ttl",
                                           "--shutdown-delay-duration",
                                           "--shutdown-send-retry-after",
                                           "--goaway-chance",
                                           "--livez-grace-period",
                                           "--http2-max-streams-per-connection",
                                           "--permit-port-sharing",
                                           "--permit-address-sharing",
                                           "--profiling",
                                           "--contention-profiling",
                                           "--storage-backend",
                                           "--storage-media-type",
                                           "--storage-initialization-timeout",
                                           "--etcd-prefix",
                                           "--etcd-cafile",
                                           "--etcd-certfile",
                                           "--etcd-keyfile",
                                           "--etcd-compaction-interval",
                                           "--etcd-count-metric-poll-period",
                                           "--etcd-db-metric-poll-interval",
                                           "--etcd-healthcheck-timeout",
                                           "--etcd-readycheck-timeout",
                                           "--etcd-servers-overrides",
                                           "--lease-reuse-duration-seconds",
                                           "--enable-aggregator-routing",
                                           "--aggregator-reject-forwarding-redirect",
                                           "--proxy-client-cert-file",
                                           "--proxy-client-key-file",
                                           "--kubelet-certificate-authority",
                                           "--kubelet-client-certificate",
                                           "--kubelet-client-key",
                                           "--kubelet-port",
                                           "--kubelet-read-only-port",
                                           "--kubelet-timeout",
                                           "--kubelet-preferred-address-types",
                                           "--endpoint-reconciler-type",
                                           "--apiserver-count",
                                           "--external-hostname",
                                           "--insecure-port",
                                           "--insecure-bind-address",
                                           "--service-node-port-range",
                                           "--cors-allowed-origins",
                                           "--logging-format",
                                           "--log-json-info-buffer-size",
                                           "--log-json-split-stream",
                                           "--log-flush-frequency",
                                           "--vmodule",
                                           "--audit-log-format",
                                           "--audit-log-mode",
                                           "--audit-log-version",
                                           "--service-account-lookup",
                                           "--service-account-extend-token-expiration",
                                           "--service-account-jwks-uri",
                                           "--show-hidden-metrics-for-version",
                                           "--disabled-metrics",
                                           "--allow-metric-labels",
                                           "--tls-min-version"};

std::vector<Flag> flags_without_meaning(ApiServerOptions& options) {
  std::vector<Flag> flags;
  for (const char* name : kWithoutMeaning)
    flags.push_back(
        Flag::call(
            name,
            [&options, name](const std::string&) { options.without_meaning.emplace_back(name); },
            "")
            .value_optional()
            .not_in_help());
  return flags;
}

std::vector<Flag> apiserver_flags(ApiServerOptions& options) {
  std::vector<Flag> flags{
      Flag("--data-dir", options.data_dir,
           "where objects are kept (default: hekla-data in --cert-dir)"),
      Flag("--bind-address", options.bind_address, "address to listen on"),
      Flag("--advertise-address", options.advertise_address,
           "address clients are told (default: --bind-address)"),
      Flag("--secure-port", options.secure_port, "port to listen on"),
      Flag("--service-cluster-ip-range", options.service_cidr, "addresses of services"),
  };
  append(flags, tls_flags(options));
  append(flags, auth_flags(options));
  append(flags, limit_flags(options));
  append(flags, flags_without_meaning(options));
  append(flags, admission_flags(options));
  append(flags, audit_flags(options.audit));
  append(flags, {Flag("--etcd-servers", options.etcd_servers,
                      "accepted and not used; objects are kept in --data-dir"),
                 Flag("-v,--v", options.verbosity, "accepted; see --log-level"),
                 log_level_flag(options.log_level)});
  return flags;
}

std::vector<Command> apiserver_commands(const Context& context) {
  auto options = std::make_shared<ApiServerOptions>();
  return {{
      .name = "apiserver",
      .summary = "run the API server alone, with the flags of kube-apiserver",
      .flags = apiserver_flags(*options),
      .run = [&context, options] { return context.apiserver(*options); },
  }};
}

}  // namespace

extern const Verb verb_apiserver;
const Verb verb_apiserver{"apiserver", apiserver_commands};

}  // namespace hekla::cli
