#include "main/parts/pipelines_part.h"

#include <filesystem>

#include "base/disk.h"
#include "base/log.h"
#include "base/loop.h"
#include "base/rng.h"
#include "main/listen.h"
#include "main/parts/own_service.h"
#include "net/server.h"
#include "pipelines/pipelines.h"

namespace hekla {
namespace {

constexpr const char* kNamespace = "kubeflow";
// In the pods' network: for the launchers of steps, and the REST API.
constexpr std::uint16_t kLaunchPort = 6444, kApiPort = 6446;
// Of the API's and the page's pods as upstream installs them.
constexpr std::uint16_t kOriginalPorts[] = {8888, 3000};
constexpr std::string_view kPagePath = "/pipeline", kBelowPage = "/pipeline/apis/";

// Kept over restarts: tokens of running steps are made from it.
Result<std::string> token_key(const std::string& path) {
  if (Result<std::string> kept = read_file(path); kept && !kept->empty()) return kept;
  std::string made = uuid(real_rng()) + uuid(real_rng());
  TRY(write_file_atomically(path, made, 0600));
  return made;
}

// The account that steps run as, and the names by which pods find the API.
void add_surroundings(StandingObjects& standing, const std::string& gateway) {
  standing.add(
      kube::resources::service_accounts,
      {{"metadata", json::Object{{"name", "pipeline-runner"}, {"namespace", kNamespace}}}});
  for (const auto& [name, port] : {std::pair{"ml-pipeline", 8888}, std::pair{"ml-pipeline-ui", 80}})
    add_own_service(standing, kNamespace, name,
                    {{"http", static_cast<std::uint16_t>(port), kApiPort}}, gateway);
}

// The API's own path: upstream's page has the API below it, too, and the proxy of the API server
// leaves a slash too many.
std::string api_path(std::string path) {
  while (path.starts_with("//")) path.erase(0, 1);
  if (path.starts_with(kBelowPage)) path.erase(0, kPagePath.size());
  return path;
}

void serve(pipelines::Api& api, net::Request request, std::shared_ptr<net::ResponseWriter> writer) {
  request.path = api_path(std::move(request.path));
  api.handle(std::move(request), std::move(writer));
}

net::RouteRules rules(const net::Request& head) {
  net::Request inner;
  inner.path = api_path(head.path);
  return pipelines::Api::rules(inner);
}

}  // namespace

struct PipelinesPart::State {
  Loop records_loop{"records"}, loop{"pipelines"};
  std::unique_ptr<kube::Client> client;
  std::unique_ptr<records::Records> records;
  std::unique_ptr<pipelines::LaunchServer> launches;
  std::unique_ptr<pipelines::Driver> driver;
  std::unique_ptr<pipelines::Api> api;
  std::unique_ptr<net::Server> launch_server, pods_server, host_server;

  Result<std::unique_ptr<net::Server>> serve_api(net::Socket socket) {
    net::ServerOptions serving;
    serving.name = "ml-pipeline";
    serving.tls = false;
    serving.router = rules;
    return net::Server::start(
        serving,
        [api = api.get()](net::Request request, auto writer) {
          serve(*api, std::move(request), std::move(writer));
        },
        std::move(socket));
  }

  void stop() {
    if (host_server) host_server->stop();
    if (pods_server) pods_server->stop();
    if (launch_server) launch_server->stop();
    loop.stop();
    records_loop.stop();
  }
};

Result<std::unique_ptr<PipelinesPart>> PipelinesPart::start(PipelinesOptions options) {
  auto state = std::make_unique<State>();
  const std::string root = options.data_dir + "/pipelines";
  std::error_code error;
  std::filesystem::create_directories(root, error);
  if (error) return fail(Code::internal, "make " + root + ": " + error.message());
  std::filesystem::permissions(root, std::filesystem::perms::owner_all, error);
  state->records = TRY(
      records::Records::open(root + "/records.db", pipelines::migrations(), state->records_loop));
  state->client = options.make_client(state->loop, {"ml-pipeline"});
  state->launches = std::make_unique<pipelines::LaunchServer>(*options.objects);
  state->driver = std::make_unique<pipelines::Driver>(pipelines::DriverOptions{
      .client = state->client.get(),
      .records = state->records.get(),
      .objects = options.objects,
      .launches = state->launches.get(),
      .launch_address = options.gateway + ":" + std::to_string(kLaunchPort),
      .token_key = TRY(token_key(root + "/token.key"))});
  state->api = std::make_unique<pipelines::Api>(pipelines::ApiOptions{
      .records = state->records.get(),
      .executor = &state->loop,
      .rng = &real_rng(),
      .touched = [driver = state->driver.get()](const std::vector<std::string>& ids) {
        driver->touched(ids);
      }});
  net::ServerOptions launching;
  launching.name = "launch";
  launching.tls = false;
  launching.router = pipelines::LaunchServer::rules;
  state->launch_server = TRY(net::Server::start(
      launching,
      [launches = state->launches.get()](net::Request request, auto writer) {
        launches->handle(std::move(request), std::move(writer));
      },
      TRY(options.listen_for_pods(kLaunchPort))));
  state->pods_server = TRY(state->serve_api(TRY(options.listen_for_pods(kApiPort))));
  if (!options.listen.empty()) {
    const ListenAddress listen = TRY(parse_listen_address("--pipelines-listen", options.listen));
    state->host_server = TRY(state->serve_api(TRY(net::listen_on(listen.address, listen.port))));
  }
  // Where Services with a selector lead that somebody has installed.
  for (std::uint16_t port : kOriginalPorts)
    state->pods_server->serve_on(TRY(options.listen_for_pods(port)));
  add_surroundings(*options.standing, options.gateway);
  state->loop.post([state = state.get()] {
    state->driver->start();
    state->api->start_schedules();
  });
  log_info("pipelines", "started", {});
  return std::make_unique<PipelinesPart>(Private{}, std::move(state));
}

PipelinesPart::PipelinesPart(Private, std::unique_ptr<State> state) : state_(std::move(state)) {}
PipelinesPart::~PipelinesPart() { stop(); }
void PipelinesPart::stop() { state_->stop(); }

kube::WebRoutes PipelinesPart::routes() {
  kube::WebRoutes routes;
  net::Request head;
  head.path = "/apis/v2beta1";
  for (const char* prefix : {"/apis/v2beta1", "/apis/v1beta1", "/pipeline/apis"})
    routes.push_back({.prefix = prefix,
                      .handler =
                          [api = state_->api.get()](kube::WebExchange exchange) {
                            serve(*api, std::move(exchange.request), std::move(exchange.writer));
                          },
                      .csrf = kube::WebCsrf::origin,  // the SDK knows no other
                      .limits = pipelines::Api::rules(head)});
  return routes;
}

}  // namespace hekla
