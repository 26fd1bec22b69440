#include "main/components.h"

#include <algorithm>

#include "admission/webhook_certificate.h"
#include "admission/webhook_server.h"
#include "base/disk.h"
#include "base/log.h"
#include "cli/verb.h"
#include "controllers/volcano_controllers.h"
#include "kube/http.h"
#include "main/cluster_process.h"
#include "model/time.h"
#include "scheduler/loop/scheduler.h"

namespace hekla {
namespace {

int failed(const Error& error) {
  cli::complain(error.message);
  return error.code == Code::unavailable ? cli::kUnreachable : cli::kFailed;
}

Result<std::vector<const admission::Step*>> enabled_steps(const cli::WebhookOptions& options) {
  std::vector<const admission::Step*> steps;
  if (options.enabled.empty()) {
    auto all = admission::all_steps();
    return std::vector<const admission::Step*>(all.begin(), all.end());
  }
  for (const std::string& path : options.enabled) {
    const admission::Step* step = admission::step_at(path);
    if (!step) return fail(Code::bad_request, "--enabled-admission: nothing is served at " + path);
    if (std::find(steps.begin(), steps.end(), step) == steps.end()) steps.push_back(step);
  }
  return steps;
}

Result<admission::WebhookCertificateOptions> certificate_options(const cli::WebhookOptions& options) {
  admission::WebhookCertificateOptions certificate;
  certificate.secret = {options.ns, options.secret_name};
  certificate.registration.service_name = options.service_name;
  certificate.registration.ns = options.ns;
  certificate.registration.url = options.url;
  certificate.steps = TRY(enabled_steps(options));
  certificate.ip_addresses = options.ip_addresses;
  if (options.tls_cert_file.empty()) return certificate;
  if (options.tls_key_file.empty() || options.ca_cert_file.empty())
    return fail(Code::bad_request,
                "--tls-cert-file needs --tls-private-key-file and --ca-cert-file beside it");
  certificate.given = admission::CertificateData{
      TRY(read_file(options.ca_cert_file)), "",
      KeyPair{TRY(read_file(options.tls_cert_file)), TRY(read_file(options.tls_key_file))}};
  return certificate;
}

admission::Settings settings_of(const cli::WebhookOptions& options) {
  admission::Settings settings;
  settings.scheduler_names = options.scheduler_names;
  settings.queue_depth_max = options.max_queue_depth;
  settings.queue_allocated_pods_check = options.queue_allocated_pods_check;
  settings.root_queue_protection = options.root_queue_protection;
  if (!options.admission_conf.empty())
    settings.read_configuration = [path = options.admission_conf] { return read_file(path); };
  return settings;
}

// The HTTPS server, begun with the first certificate and given every later one.
class Listener {
 public:
  Listener(const cli::WebhookOptions& options, net::Handler handler)
      : options_(options), handler_(std::move(handler)) {}

  Result<void> serve(const KeyPair& certificate) {
    if (server_) return server_->set_certificate(certificate);
    net::ServerOptions options;
    options.address = options_.listen_address;
    options.port = options_.port;
    options.certificate = certificate;
    options.max_body_bytes = std::size_t{8} << 20;  // a review carries the object twice
    server_ = TRY(net::Server::start(options, handler_));
    return {};
  }

 private:
  const cli::WebhookOptions& options_;
  net::Handler handler_;
  std::unique_ptr<net::Server> server_;
};

}  // namespace

int run_controllers(const cli::ControllersOptions& options) {
  ClusterProcess process(options, "vc-controller-manager");
  if (Result<void> opened = process.open(); !opened) return failed(opened.error());
  controllers::VolcanoControllers::Options chosen;
  chosen.scheduler_names = options.scheduler_names;
  chosen.inherit_owner_annotations = options.inherit_owner_annotations;
  auto controllers = std::make_unique<controllers::VolcanoControllers>(process.client(), chosen,
                                                                       process.metrics());
  return process.run(options.leader_elect, [&controllers] { controllers->start(); });
}

int run_scheduler(const cli::SchedulerOptions& options) {
  ClusterProcess process(options, options.scheduler_names.front());
  if (Result<void> opened = process.open(); !opened) return failed(opened.error());
  scheduler::Options chosen;
  if (!options.configuration.empty())
    chosen.read_configuration = [path = options.configuration] { return read_file(path); };
  Result<Nanos> period = model::parse_go_duration(options.period);
  if (!period) return failed(period.error());
  chosen.period = *period;
  chosen.default_queue = options.default_queue;
  // Pods of the default scheduler belong to the cluster's own.
  chosen.scheduler_names = options.scheduler_names;
  chosen.single_pod_schedulers.clear();
  Result<std::unique_ptr<kube::Http>> http = kube::make_http();
  if (!http) return failed(http.error());
  chosen.http = http->get();
  Result<std::unique_ptr<scheduler::Scheduler>> scheduler =
      scheduler::Scheduler::create(chosen, process.client(), process.metrics());
  if (!scheduler) return failed(scheduler.error());
  return process.run(options.leader_elect, [&scheduler] { (*scheduler)->start(); });
}

int run_webhook(const cli::WebhookOptions& options) {
  Result<admission::WebhookCertificateOptions> chosen = certificate_options(options);
  if (!chosen) {
    cli::complain(chosen.error().message);
    return cli::kUsage;
  }
  ClusterProcess process(options, "vc-webhook-manager");
  if (Result<void> opened = process.open(); !opened) return failed(opened.error());
  admission::WebhookServer webhooks(process.client(), settings_of(options), chosen->steps);
  Listener listener(options, webhooks.handler());
  admission::WebhookCertificate certificate(
      process.client(), *chosen, [&listener](const KeyPair& pair) -> Result<void> {
        return listener.serve(pair);
      });
  return process.run(false, [&] {
    webhooks.start();
    certificate.start();
  });
}

}  // namespace hekla
