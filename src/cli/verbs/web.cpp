// hekla web: gateway, login and dashboard for somebody's cluster.
#include <memory>

#include "cli/component_flags.h"
#include "cli/component_options.h"
#include "cli/shared_flags.h"
#include "cli/verb.h"

namespace hekla::cli {
namespace {

std::vector<Command> web_commands(const Context& context) {
  auto options = std::make_shared<WebOptions>();
  options->healthz = options->metrics = true;
  options->metrics_address = ":8081";
  Command web{
      .name = "web",
      .summary = "serve login, dashboard and the way to notebooks for a cluster",
      .flags =
          {
              Flag("--kubeconfig", options->kubeconfig,
                   "the cluster and how to log in (default: the cluster this pod runs in)"),
              Flag("--master", options->master, "URL of the API server"),
              Flag("--listen", options->listen, "ADDR:PORT to serve at"),
              Flag("--tls-cert-file", options->tls_cert_file,
                   "the server's certificate (default: plain HTTP, behind an Ingress or a mesh)"),
              Flag("--tls-private-key-file", options->tls_key_file, "its private key"),
              Flag("--health-listen", options->metrics_address,
                   "where to serve /healthz, /readyz and /metrics"),
              log_level_flag(options->log_level),
          },
      .run =
          [&context, options] {
            options->healthz_address = options->metrics_address;
            return context.web(*options);
          },
      .version = version_text(),
  };
  return {std::move(web)};
}

}  // namespace

extern const Verb verb_web;
const Verb verb_web{"web", web_commands};

}  // namespace hekla::cli
