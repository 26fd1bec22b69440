#include "main/web_front.h"

#include "apiserver/api_server.h"
#include "base/log.h"
#include "base/loop.h"
#include "base/rng.h"
#include "cli/up_options.h"
#include "gateway/gateway.h"
#include "main/listen.h"
#include "main/server_names.h"
#include "net/server.h"

namespace hekla {
namespace {

constexpr std::uint16_t kUsualPort = 8080;  // the one that tutorials type
// For whom tokens are made that are shown here: upstream's gateway, and its pipelines' clients.
constexpr const char* kGatewayAudience = "istio-ingressgateway.istio-system.svc.cluster.local";
constexpr const char* kPipelinesAudience = "pipelines.kubeflow.org";

// For `hekla dashboard`, wherever it runs.
void tell_where(kube::Client& client, const std::string& url) {
  kube::Write write;
  write.verb = kube::Write::Verb::patch;
  write.patch_type = kube::PatchType::apply;
  write.force = true;
  write.resource = kube::resources::config_maps;
  write.key = {"hekla-system", "hekla-gateway"};
  write.body = json::Object{
      {"apiVersion", "v1"},
      {"kind", "ConfigMap"},
      {"metadata", json::Object{{"name", write.key.name}, {"namespace", write.key.ns}}},
      {"data", json::Object{{"url", url}}}};
  client.write(std::move(write), [](const kube::WriteResult& result) {
    if (!result)
      log_warn("gateway", "its address could not be written down",
               {{"error", result.error().message}});
  });
}

bool is_loopback(const std::string& address) {
  return address.starts_with("127.") || address == "::1" || address == "localhost";
}

}  // namespace

struct WebFront::Parts {
  Loop loop{"gateway"};
  std::unique_ptr<kube::Client> client;
  std::unique_ptr<gateway::Gateway> gateway;
  std::unique_ptr<net::Server> server;
  std::string url;
  std::uint16_t loopback_port = 0;
};

Result<std::unique_ptr<WebFront>> WebFront::start(const cli::WebFlags& flags,
                                                  const std::string& data_dir, WebFrontParts with) {
  ListenAddress listen;
  net::Socket listener =
      TRY(listen_on_kept({"--web-listen", "web-port", kUsualPort}, flags.listen, data_dir, listen));
  if (flags.auth == "none" && !is_loopback(listen.address))
    return fail(Code::forbidden,
                "--auth none opens the dashboard to whoever reaches it: only with "
                "--web-listen on 127.0.0.1");
  auto parts = std::make_unique<Parts>();
  parts->client = with.api.client(parts->loop, {"hekla-gateway"});
  gateway::Options options;
  options.client = parts->client.get();
  options.authorize = [&api = with.api](const kube::User& user, const kube::Access& access,
                                        kube::Authorizer::Done done) {
    api.authorizer().may(user, access, std::move(done));
  };
  options.verify_token = [&api = with.api](const std::string& token, auto done) {
    done(api.user_of_token(token, {kGatewayAudience, kPipelinesAudience}));
  };
  options.clock = &real_clock();
  options.rng = &real_rng();
  options.routes = std::move(with.routes);
  options.pod_sockets = std::move(with.pod_sockets);
  options.ask_kernels = with.ask_kernels;
  options.login = flags.auth != "none";
  parts->gateway = TRY(gateway::Gateway::create(std::move(options)));

  const std::string scheme = flags.tls ? "https" : "http";
  net::ServerOptions server_options;
  server_options.name = "gateway";
  server_options.tls = flags.tls;
  server_options.header_timeout = std::chrono::seconds(10);
  server_options.idle_timeout = std::chrono::seconds(75);
  server_options.router = parts->gateway->router();
  if (flags.tls) {
    CertificateRequest request;
    request.common_name = "hekla-gateway";
    for (const std::string& name : server_names(listen.address, {"localhost", "content.localhost"}))
      (is_ip_address(name) ? request.ip_addresses : request.dns_names).push_back(name);
    request.for_server = true;
    server_options.certificate = TRY(make_certificate(with.ca, request, real_clock()));
  }
  parts->server =
      TRY(net::Server::start(server_options, parts->gateway->handler(scheme), std::move(listener)));
  const std::string host =
      is_loopback(listen.address) || is_wildcard(listen.address) ? "localhost" : listen.address;
  parts->url = scheme + "://" + host + ":" + std::to_string(listen.port);
  if (is_wildcard(listen.address) || listen.address == "127.0.0.1" || listen.address == "localhost")
    parts->loopback_port = listen.port;
  parts->gateway->start();
  parts->loop.post([client = parts->client.get(), url = parts->url] { tell_where(*client, url); });
  return std::make_unique<WebFront>(Private{}, std::move(parts));
}

WebFront::WebFront(Private, std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
WebFront::~WebFront() { stop(); }

void WebFront::stop() {
  parts_->server->stop();
  parts_->loop.stop();
}

void WebFront::serve_on(net::Socket listener) { parts_->server->serve_on(std::move(listener)); }

const std::string& WebFront::url() const { return parts_->url; }
std::uint16_t WebFront::loopback_port() const { return parts_->loopback_port; }

}  // namespace hekla
