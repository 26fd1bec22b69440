// hekla apiserver: the API server alone, with kube-apiserver's flags. Called as `kube-apiserver` (a
// symbolic link) it is this verb, so that test environments can start it.
#include <CLI/CLI.hpp>
#include <memory>

#include "cli/pod_security_flag.h"
#include "cli/verb.h"

namespace hekla::cli {
namespace {

void declare_tls_flags(CLI::App& command, ApiServerOptions& options) {
  command.add_option("--cert-dir", options.cert_dir,
                     "directory of apiserver.crt and apiserver.key (default: a certificate of "
                     "Hekla's own authority in the data directory)");
  command.add_option("--tls-cert-file", options.tls_cert_file, "the server's certificate");
  command.add_option("--tls-private-key-file", options.tls_key_file, "its private key");
  command.add_option("--tls-san", options.tls_sans,
                     "name or address that the certificate of Hekla's own authority shall have as "
                     "well; repeatable");
  command.add_option("--client-ca-file", options.client_ca_file,
                     "client certificates signed by this CA name their bearer (CN) and groups (O)");
}

void declare_auth_flags(CLI::App& command, ApiServerOptions& options) {
  command.add_option("--token-auth-file", options.token_auth_file,
                     "CSV of bearer tokens: token,user,uid,\"group1,group2\"");
  command.add_option(
      "--service-account-key-file", options.service_account_key_files,
      "ECDSA P-256 key or certificate that verifies service-account tokens; repeatable");
  command.add_option("--service-account-signing-key-file", options.service_account_signing_key_file,
                     "ECDSA P-256 private key that signs service-account tokens");
  command.add_option("--service-account-issuer", options.service_account_issuer,
                     "issuer of tokens");
  command
      .add_option("--authorization-mode", options.authorization_modes,
                  "RBAC (default), Node (part of RBAC here) or AlwaysAllow")
      ->delimiter(',')
      ->check(CLI::IsMember({"RBAC", "Node", "AlwaysAllow"}));
  command
      .add_option("--anonymous-auth", options.anonymous_auth,
                  "whether requests without credentials are judged as those of system:anonymous")
      ->capture_default_str();
}

void declare_limit_flags(CLI::App& command, ApiServerOptions& options) {
  command
      .add_option("--max-requests-inflight", options.max_requests_inflight,
                  "requests that are answered at the same time: this many and "
                  "--max-mutating-requests-inflight together")
      ->check(CLI::NonNegativeNumber);
  command
      .add_option("--max-mutating-requests-inflight", options.max_mutating_requests_inflight,
                  "see above")
      ->check(CLI::NonNegativeNumber);
}

// What test suites set and what changes nothing here: feature gates and versions, since everything
// that is built in is served; caches, workers and connections that Hekla has none of; the way to an
// etcd, to kubelets and to aggregated servers. Flags that would protect something are not among
// them: they are refused like a misspelt one.
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

void declare_flags_without_meaning(CLI::App& command,
                                   const std::shared_ptr<ApiServerOptions>& options) {
  for (const char* name : kWithoutMeaning)
    command
        .add_option_function<std::string>(
            name,
            [options, name](const std::string&) { options->without_meaning.emplace_back(name); })
        ->expected(0, 1)
        ->take_last()
        ->group("");
}

void declare(CLI::App& app, Context& context) {
  auto options = std::make_shared<ApiServerOptions>();
  CLI::App* command =
      app.add_subcommand("apiserver", "run the API server alone, with the flags of kube-apiserver");
  command->add_option("--data-dir", options->data_dir,
                      "where objects are kept (default: hekla-data in --cert-dir)");
  command->add_option("--bind-address", options->bind_address, "address to listen on")
      ->capture_default_str();
  command->add_option("--advertise-address", options->advertise_address,
                      "address clients are told (default: --bind-address)");
  command->add_option("--secure-port", options->secure_port, "port to listen on")
      ->capture_default_str();
  command->add_option("--service-cluster-ip-range", options->service_cidr, "addresses of services")
      ->capture_default_str();
  declare_tls_flags(*command, *options);
  declare_auth_flags(*command, *options);
  declare_limit_flags(*command, *options);
  declare_flags_without_meaning(*command, options);
  add_pod_security_flag(*command, options->pod_security_default);
  add_audit_flags(*command, options->audit);
  command
      ->add_option("--enable-admission-plugins", options->enable_admission,
                   "accepted; every plugin there is runs unless disabled")
      ->delimiter(',');
  command
      ->add_option("--disable-admission-plugins", options->disable_admission,
                   "admission plugins not to run, e.g. ServiceAccount")
      ->delimiter(',');
  command->add_flag("--allow-privileged", options->allow_privileged,
                    "accepted; privileged pods are always allowed");
  command->add_option("--etcd-servers", options->etcd_servers,
                      "accepted and not used; objects are kept in --data-dir");
  command->add_option("-v,--v", options->verbosity, "accepted; see --log-level");
  command->add_option("--log-level", options->log_level, "debug, info, warn or error")
      ->check(CLI::IsMember({"debug", "info", "warn", "error"}));
  command->callback([&context, options] { context.exit_code = context.apiserver(*options); });
}

}  // namespace

extern const Verb verb_apiserver;
const Verb verb_apiserver{"apiserver", declare};

}  // namespace hekla::cli
