#include "main/cluster/web_process.h"

#include "base/disk.h"
#include "dashboard/dashboard.h"
#include "gateway/gateway.h"
#include "kube/authorizer.h"
#include "main/cluster/cluster_process.h"
#include "main/listen.h"
#include "net/forward.h"
#include "net/server.h"

namespace hekla {
namespace {

constexpr auto kHeaderTimeout = std::chrono::seconds(10);
constexpr auto kIdleTimeout = std::chrono::seconds(75);

// Members are destroyed in reverse order; the server is stopped before anything it answers from.
struct Web {
  explicit Web(ClusterProcess& of) : process(of) {}
  ~Web() { stop(); }
  Result<void> make(const cli::WebOptions& options);
  Result<void> make_dashboard();
  Result<void> serve(const cli::WebOptions& options);
  void stop() {
    if (server) server->stop();
    dashboard_loop.stop();
  }

  ClusterProcess& process;
  Loop dashboard_loop{"dashboard"};
  std::unique_ptr<net::Client> api;
  std::unique_ptr<kube::Client> dashboard_client;
  std::unique_ptr<kube::ReviewAuthorizer> authorizer;
  std::unique_ptr<dashboard::Dashboard> dashboard;
  std::unique_ptr<gateway::Gateway> gateway;
  std::unique_ptr<net::Server> server;
};

// The page reads and writes as its visitor: with this process's right to impersonate.
Result<void> Web::make_dashboard() {
  api = TRY(net::Client::make(process.access().http));
  dashboard_client = TRY(process.make_client(dashboard_loop, {"hekla-dashboard"}));
  authorizer = std::make_unique<kube::ReviewAuthorizer>(*dashboard_client);
  std::string origin = process.access().server;
  while (origin.ends_with('/')) origin.pop_back();
  dashboard::Options options;
  options.loop = &dashboard_loop;
  options.client = dashboard_client.get();
  options.authorizer = authorizer.get();
  options.api = [http = api.get(), origin](const net::Request& request,
                                           std::shared_ptr<net::ResponseWriter> writer) {
    net::Forwarding forwarding;
    forwarding.upstream.url = origin + request.target;
    forwarding.upstream.headers = net::end_to_end_headers(request.headers);
    net::forward(request, std::move(writer), *http, std::move(forwarding));
  };
  options.facts = [](const std::string& origin, const kube::User&) {
    return dashboard::DoorFacts{.logout_url = "/oauth2/sign_out",
                                .shares_origin = !gateway::has_content_origin(origin)};
  };
  dashboard = std::make_unique<dashboard::Dashboard>(std::move(options));
  return {};
}

Result<void> Web::serve(const cli::WebOptions& options) {
  const ListenAddress listen = TRY(parse_listen_address("--listen", options.listen));
  net::ServerOptions serving;
  serving.name = "gateway";
  serving.tls = !options.tls_cert_file.empty();
  serving.header_timeout = kHeaderTimeout;
  serving.idle_timeout = kIdleTimeout;
  serving.router = gateway->router();
  if (serving.tls) {
    if (options.tls_key_file.empty())
      return fail(Code::bad_request, "--tls-cert-file needs --tls-private-key-file beside it");
    serving.certificate =
        KeyPair{TRY(read_file(options.tls_cert_file)), TRY(read_file(options.tls_key_file))};
  }
  net::Socket socket = TRY(net::listen_on(listen.address, listen.port));
  server = TRY(net::Server::start(serving, gateway->handler(serving.tls ? "https" : "http"),
                                  std::move(socket)));
  return {};
}

Result<void> Web::make(const cli::WebOptions& options) {
  TRY(make_dashboard());
  gateway::Options door;
  door.client = &process.client();
  door.clock = &real_clock();
  door.rng = &real_rng();
  door.routes = dashboard->routes();
  gateway = TRY(gateway::Gateway::create(std::move(door)));
  TRY(serve(options));
  gateway->start();
  return {};
}

}  // namespace

int run_web(const cli::WebOptions& options) {
  ClusterProcess process(options, "hekla-web");
  if (Result<void> opened = process.open(); !opened) return complain_of(opened.error());
  Web web(process);
  if (Result<void> made = web.make(options); !made) return complain_of(made.error());
  return process.run(false, {.start = [] {}, .stop = [&web] { web.stop(); }});
}

}  // namespace hekla
