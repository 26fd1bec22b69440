#include "main/cluster/admission_front.h"

#include <algorithm>

#include "apiserver/api_server.h"
#include "base/disk.h"

namespace hekla {
namespace {

constexpr std::size_t kReviewBytesMax = std::size_t{8} << 20;  // a review carries the object twice
constexpr Nanos kReadyLook = std::chrono::milliseconds(100);

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

}  // namespace

Result<void> AdmissionFront::check(const cli::WebhookOptions& options) {
  TRY(certificate_options(options));
  return {};
}

Result<std::unique_ptr<AdmissionFront>> AdmissionFront::create(const cli::WebhookOptions& options,
                                                               kube::Client& client) {
  return std::make_unique<AdmissionFront>(Private{}, options, client,
                                          TRY(certificate_options(options)));
}

AdmissionFront::AdmissionFront(Private, const cli::WebhookOptions& options, kube::Client& client,
                               admission::WebhookCertificateOptions chosen)
    : options_(options),
      client_(client),
      webhooks_(client, settings_of(options), chosen.steps),
      certificate_(client, std::move(chosen),
                   [this](const KeyPair& certificate) { return serve(certificate); }) {}

AdmissionFront::~AdmissionFront() {
  if (server_) server_->stop();
}

Result<void> AdmissionFront::serve(const KeyPair& certificate) {
  if (server_) return server_->set_certificate(certificate);
  net::ServerOptions options;
  options.address = options_.listen_address;
  options.port = options_.port;
  options.certificate = certificate;
  options.max_body_bytes = kReviewBytesMax;
  server_ = TRY(net::Server::start(options, webhooks_.handler()));
  return {};
}

void AdmissionFront::start() {
  webhooks_.start();
  certificate_.start();
  look_whether_ready();
}

void AdmissionFront::look_whether_ready() {
  ready_ = server_ && webhooks_.synced();
  if (ready_) return;
  client_.executor().post_after(kReadyLook, [this, weak = std::weak_ptr(alive_)] {
    if (weak.lock()) look_whether_ready();
  });
}

}  // namespace hekla
