#include "main/components.h"

#include <algorithm>

#include "admission/webhook_certificate.h"
#include "admission/webhook_server.h"
#include "apiserver/api_server.h"
#include "base/disk.h"
#include "base/log.h"
#include "cli/component_flags.h"
#include "cli/verb.h"
#include "controllers/volcano_controllers.h"
#include "kube/http.h"
#include "main/cluster_process.h"
#include "main/node_filter.h"
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

Result<admission::WebhookCertificateOptions> certificate_options(
    const cli::WebhookOptions& options) {
  admission::WebhookCertificateOptions certificate;
  certificate.secret = {options.ns, options.secret_name};
  certificate.registration.service_name = options.service_name;
  certificate.registration.ns = options.ns;
  certificate.registration.url = options.url;
  certificate.steps = TRY(enabled_steps(options));
  certificate.ip_addresses = options.ip_addresses;
  certificate.owner = options.owner;
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
  settings.pod_template_errors = apiserver::pod_template_errors;
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

// Gates that switch something here; others are logged.
void apply_gates(const std::map<std::string, bool>& gates,
                 controllers::VolcanoControllers::Options& chosen) {
  for (const auto& [name, on] : gates) {
    if (name == "WorkLoadSupport")
      chosen.follow_owners = on;
    else if (name == "QueueCommandSync")
      chosen.queue_commands = on;
    else if (name == "VolcanoJobSupport" && !on)
      chosen.disabled.insert("job-controller");
    else if ((name == "CronVolcanoJobSupport" || name == "VolcanoCronJobSupport") && !on)
      chosen.disabled.insert("cronjob-controller");
    else
      log_info("vc-controller-manager", "a feature gate changes nothing here",
               {{"gate", name}, {"value", on ? "true" : "false"}});
  }
}

Result<controllers::VolcanoControllers::Options> controllers_options(
    const cli::ControllersOptions& options) {
  // Volcano has them, this binary does not.
  static const std::vector<std::string> absent = {"sharding-controller",
                                                  "colocation-config-controller"};
  controllers::VolcanoControllers::Options chosen;
  chosen.scheduler_names = options.scheduler_names;
  chosen.inherit_owner_annotations = options.inherit_owner_annotations;
  chosen.max_requeue = options.max_requeue;
  std::vector<std::string> disabled = TRY(cli::disabled_controllers(
      options.controllers, controllers::VolcanoControllers::names(), absent));
  chosen.disabled.insert(disabled.begin(), disabled.end());
  for (const std::string& name : absent)
    for (const std::string& wanted : {name, "+" + name})
      if (std::find(options.controllers.begin(), options.controllers.end(), wanted) !=
          options.controllers.end())
        log_warn("vc-controller-manager", "a controller is not there", {{"controller", name}});
  apply_gates(TRY(cli::parse_feature_gates(options.feature_gates)), chosen);
  return chosen;
}

}  // namespace

int run_controllers(const cli::ControllersOptions& options) {
  Result<controllers::VolcanoControllers::Options> chosen = controllers_options(options);
  if (!chosen) {
    cli::complain(chosen.error().message);
    return cli::kUsage;
  }
  ClusterProcess process(options, "vc-controller-manager");
  if (Result<void> opened = process.open(); !opened) return failed(opened.error());
  auto controllers = std::make_unique<controllers::VolcanoControllers>(process.client(), *chosen,
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
  Result<NodeLabels> nodes = parse_node_selector(options.node_selector);
  Result<std::map<std::string, bool>> gates = cli::parse_feature_gates(options.feature_gates);
  if (!nodes || !gates) {
    cli::complain((nodes ? gates.error() : nodes.error()).message);
    return cli::kUsage;
  }
  for (const auto& [name, on] : *gates)
    log_info("vc-scheduler", "a feature gate changes nothing here",
             {{"gate", name}, {"value", on ? "true" : "false"}});
  NodeFilter some_nodes(process.client(), *nodes);
  kube::Client& client = nodes->empty() ? process.client() : some_nodes;
  Result<std::unique_ptr<kube::Http>> http = kube::make_http();
  if (!http) return failed(http.error());
  chosen.http = http->get();
  Result<std::unique_ptr<scheduler::Scheduler>> scheduler =
      scheduler::Scheduler::create(chosen, client, process.metrics());
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
      process.client(), *chosen,
      [&listener](const KeyPair& pair) -> Result<void> { return listener.serve(pair); });
  return process.run(false, [&] {
    webhooks.start();
    certificate.start();
  });
}

}  // namespace hekla
