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

// The rights of pipeline-runner upstream: for steps that write objects, and programs in steps.
void add_runner_rights(StandingObjects& standing) {
  const kube::Resource roles{"rbac.authorization.k8s.io", "v1", "roles", "Role"},
      bindings{"rbac.authorization.k8s.io", "v1", "rolebindings", "RoleBinding"};
  const auto rule = [](json::Array groups, json::Array kinds, json::Array verbs) {
    return json::Object{{"apiGroups", std::move(groups)},
                        {"resources", std::move(kinds)},
                        {"verbs", std::move(verbs)}};
  };
  const json::Object metadata{{"name", "pipeline-runner"}, {"namespace", kNamespace}};
  json::Array rules{
      rule({""}, {"secrets"}, {"get"}),
      rule({""}, {"configmaps"}, {"get", "watch", "list", "create", "update", "patch", "delete"}),
      rule({""}, {"persistentvolumeclaims", "pods", "pods/exec", "pods/log", "services"}, {"*"}),
      rule({"snapshot.storage.k8s.io"}, {"volumesnapshots"}, {"create", "delete", "get"}),
      rule({"argoproj.io"}, {"workflows"}, {"get", "list", "watch", "update", "patch"}),
      rule({"apps"}, {"deployments", "replicasets"}, {"*"}),
      rule({"batch"}, {"jobs"}, {"*"}),
      rule({"kubeflow.org", "batch.volcano.sh"}, {"*"}, {"*"})};
  standing.add(roles, {{"metadata", metadata}, {"rules", std::move(rules)}});
  standing.add(bindings, {{"metadata", metadata},
                          {"roleRef", json::Object{{"apiGroup", "rbac.authorization.k8s.io"},
                                                   {"kind", "Role"},
                                                   {"name", "pipeline-runner"}}},
                          {"subjects", json::Array{json::Object{{"kind", "ServiceAccount"},
                                                                {"name", "pipeline-runner"},
                                                                {"namespace", kNamespace}}}}});
}

// The account that steps run as, and the names by which pods find the API.
void add_surroundings(StandingObjects& standing, const std::string& gateway) {
  standing.add(
      kube::resources::service_accounts,
      {{"metadata", json::Object{{"name", "pipeline-runner"}, {"namespace", kNamespace}}}});
  add_runner_rights(standing);
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
  pipelines::RunTopic topic{loop};
  std::unique_ptr<pipelines::StepLogs> logs;
  std::unique_ptr<pipelines::PageRoutes> page;
  std::unique_ptr<pipelines::LaunchServer> launches;
  std::unique_ptr<pipelines::WorkflowObjects> workflows;
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
        [api = api.get(), page = page.get()](net::Request request, auto writer) {
          if (api_path(request.path).starts_with("/k8s/pod/")) {
            request.path = api_path(std::move(request.path));
            return page->serve_pods(request, std::move(writer));
          }
          serve(*api, std::move(request), std::move(writer));
        },
        std::move(socket));
  }

  Result<std::unique_ptr<net::Server>> serve_launches(net::Socket socket) {
    net::ServerOptions launching;
    launching.name = "launch";
    launching.tls = false;
    launching.router = pipelines::LaunchServer::rules;
    return net::Server::start(
        launching,
        [launches = launches.get()](net::Request request, auto writer) {
          launches->handle(std::move(request), std::move(writer));
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
  const auto touched = [state = state.get()](const std::vector<std::string>& ids) {
    state->driver->touched(ids);
    state->topic.runs_changed(ids);
  };
  state->workflows = std::make_unique<pipelines::WorkflowObjects>(
      pipelines::WorkflowOptions{.client = state->client.get(),
                                 .records = state->records.get(),
                                 .rng = &real_rng(),
                                 .touched = touched});
  state->logs = std::make_unique<pipelines::StepLogs>(*options.objects, *options.streams);
  state->page = std::make_unique<pipelines::PageRoutes>(
      pipelines::PageOptions{.records = state->records.get(),
                             .objects = options.objects,
                             .logs = state->logs.get(),
                             .client = state->client.get(),
                             .ns = kNamespace});
  state->driver = std::make_unique<pipelines::Driver>(pipelines::DriverOptions{
      .client = state->client.get(),
      .records = state->records.get(),
      .objects = options.objects,
      .launches = state->launches.get(),
      .launch_address = options.gateway + ":" + std::to_string(kLaunchPort),
      .token_key = TRY(token_key(root + "/token.key")),
      .discovery = options.discovery,
      .authorizer = options.authorizer,
      .workflow_changed =
          [workflows = state->workflows.get()](const std::string& id) { workflows->changed(id); },
      .changed = [topic = &state->topic](const std::string& id) { topic->runs_changed({id}); },
      .keep_log = [logs = state->logs.get()](
                      const std::string& run, const kube::PodRef& pod,
                      auto done) { logs->keep(run, pod, std::move(done)); }});
  state->api = std::make_unique<pipelines::Api>(pipelines::ApiOptions{
      .records = state->records.get(),
      .executor = &state->loop,
      .rng = &real_rng(),
      .touched = touched,
      .changed = [topic = &state->topic](const std::string& list) { topic->list_changed(list); }});
  state->launch_server = TRY(state->serve_launches(TRY(options.listen_for_pods(kLaunchPort))));
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
    state->workflows->start();
    state->api->start_schedules();
  });
  log_info("pipelines", "started", {});
  return std::make_unique<PipelinesPart>(Private{}, std::move(state));
}

PipelinesPart::PipelinesPart(Private, std::unique_ptr<State> state) : state_(std::move(state)) {}
PipelinesPart::~PipelinesPart() { stop(); }
void PipelinesPart::stop() { state_->stop(); }

kube::WebRoutes PipelinesPart::routes() {
  kube::WebRoutes routes = state_->page->routes();
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

kube::StreamTopic PipelinesPart::topic() { return state_->topic.topic(); }

}  // namespace hekla
