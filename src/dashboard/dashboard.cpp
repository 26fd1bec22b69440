#include "dashboard/dashboard.h"

#include <array>
#include <utility>

#include "base/rng.h"
#include "dashboard/apps/app.h"
#include "dashboard/files/files_route.h"
#include "dashboard/page/assets.h"
#include "dashboard/page/explain_route.h"

namespace hekla::dashboard {

namespace {

constexpr std::size_t kExplanations = 8;  // waiting for the one thread that makes them
constexpr std::size_t kFileSteps = 256;
constexpr std::string_view kAssets = "/hekla/assets/", kApi = "/hekla/v1/k8s";

// Every path that nobody else answers is the page: it finds its own way from there.
void serve_document(const kube::WebExchange& exchange, std::string_view name) {
  const std::string& method = exchange.request.method;
  if (method != "GET" && method != "HEAD")
    return exchange.writer->respond({.status = 405, .body = "method not allowed\n"});
  net::Response response = document_response(name, exchange.request);
  // A token's owner needs no proof, but upstream's scripts take the cookie and send it back.
  const std::string token = exchange.csrf_token.empty() ? uuid(real_rng()) : exchange.csrf_token;
  response.headers.add("Set-Cookie", "XSRF-TOKEN=" + token + "; Path=/; SameSite=Strict" +
                                         (exchange.origin.starts_with("https:") ? "; Secure" : ""));
  exchange.writer->respond(std::move(response));
}

// App is one of Kubeflow's web apps: its own routes, then those that all of them have.
struct App {
  std::string_view prefix;   // that upstream's gateway takes off
  std::string_view claimed;  // where its answers are instead of the page
  std::span<const AppRoute> (*routes)();
  bool shares = true;
};
constexpr std::array<App, 8> kApps{{{"/jupyter", "/jupyter/api", jupyter_routes},
                                    {"/jupyter", "/jupyter/healthz", jupyter_routes},
                                    {"/volumes", "/volumes/api", volumes_routes},
                                    {"/volumes", "/volumes/healthz", volumes_routes},
                                    {"/tensorboards", "/tensorboards/api", tensorboards_routes},
                                    {"/tensorboards", "/tensorboards/healthz", tensorboards_routes},
                                    {"/kfam", "/kfam", kfam_routes, false},
                                    {"/api", "/api", central_routes, false}}};

void serve_app(const App& app, kube::WebExchange exchange, const ApiDoor& door,
               const Clock& clock) {
  auto call = std::make_shared<AppCall>(std::move(exchange), door, clock);
  if (run_route(app.routes(), app.prefix, call)) return;
  if (app.shares && run_route(shared_routes(), app.prefix, call)) return;
  call->refuse(404, "there is no " + call->request().method + " " + call->request().path);
}

void serve_asset(const kube::WebExchange& exchange) {
  const Asset* asset = find_asset(std::string_view(exchange.request.path).substr(kAssets.size()));
  if (!asset) return exchange.writer->respond({.status = 404, .body = "no such file\n"});
  exchange.writer->respond(asset_response(*asset, exchange.request));
}

}  // namespace

struct Dashboard::Parts {
  Options options;
  WorkerPool workers{"explain", 1, kExplanations};
  WorkerPool files{"files", 2, kFileSteps};
  Streams streams;
  explicit Parts(Options given)
      : options(std::move(given)),
        streams(*options.loop, *options.client, *options.authorizer, options.topics,
                options.stream_limits) {}
};

Dashboard::Dashboard(Options options) : parts_(std::make_unique<Parts>(std::move(options))) {}
Dashboard::~Dashboard() {
  parts_->workers.stop();
  parts_->files.stop();
}

kube::WebRoutes Dashboard::routes() {
  Options& options = parts_->options;
  kube::WebRoutes out;
  out.push_back({.prefix = "/", .handler = [](const kube::WebExchange& exchange) {
                   serve_document(exchange, "index.html");
                 }});
  out.push_back(
      {.prefix = std::string(kAssets), .handler = serve_asset, .gate = kube::WebGate::anybody});
  for (const App& app : kApps)
    out.push_back({.prefix = std::string(app.claimed),
                   .handler = [&app, door = options.api,
                               clock = &options.loop->clock()](kube::WebExchange exchange) {
                     serve_app(app, std::move(exchange), door, *clock);
                   }});
  out.push_back({.prefix = "/hekla/terminal", .handler = [](const kube::WebExchange& exchange) {
                   serve_document(exchange, "terminal.html");
                 }});
  out.push_back({.prefix = "/hekla/v1/stream",
                 .handler = [streams = &parts_->streams](kube::WebExchange exchange) {
                   streams->serve(std::move(exchange));
                 }});
  out.push_back({.prefix = std::string(kApi),
                 .handler = api_handler(options.api, std::string(kApi)),
                 .limits = {.max_body_bytes = 3 * 1024 * 1024}});
  out.push_back({.prefix = "/hekla/v1/session",
                 .handler = session_handler(*options.loop, *options.client, *options.authorizer,
                                            options.facts)});
  out.push_back({.prefix = "/hekla/v1/explain",
                 .handler = explain_handler(*options.loop, *options.client, *options.authorizer,
                                            parts_->workers)});
  out.push_back(files_route(*options.loop, *options.client, parts_->files));
  return out;
}

bool has_page() { return !assets().empty(); }

}  // namespace hekla::dashboard
