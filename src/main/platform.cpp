#include "main/platform.h"

#include <unistd.h>

#include <atomic>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <future>
#include <utility>

#include "admission/conversion.h"
#include "admission/step.h"
#include "agent/agent.h"
#include "agent/fake_nodes.h"
#include "apiserver/api_server.h"
#include "base/build_info.h"
#include "base/disk.h"
#include "base/log.h"
#include "base/loop.h"
#include "base/metrics.h"
#include "base/rng.h"
#include "cli/instance.h"
#include "cli/up_options.h"
#include "controllers/certificate_controllers.h"
#include "controllers/cluster_controllers.h"
#include "controllers/crds.h"
#include "controllers/training_controllers.h"
#include "controllers/volcano_controllers.h"
#include "controllers/workbench_controllers.h"
#include "gateway/gateway.h"
#include "json/parse.h"
#include "kube/http.h"
#include "kube/rest_client.h"
#include "main/allocator.h"
#include "main/audit_options.h"
#include "main/dashboard_part.h"
#include "main/first_profile.h"
#include "main/listen.h"
#include "main/parts/launcher_bytes.h"
#include "main/parts/objects_part.h"
#include "main/parts/pipelines_part.h"
#include "main/parts/standing_objects.h"
#include "main/pki.h"
#include "main/server_names.h"
#include "main/standin/standin_step.h"
#include "main/standin/standin_streams.h"
#include "main/standin/standins.h"
#include "main/store_disk.h"
#include "main/training_runtimes.h"
#include "main/web_front.h"
#include "model/in_process.h"
#include "model/program_image.h"
#include "net/server.h"
#include "scheduler/loop/scheduler.h"
#include "store/store.h"

namespace hekla {
namespace {

constexpr const char* kApiServiceAddress = "10.96.0.1";  // the first of the service range
constexpr const char* kRunDirectory = "/run/hekla";  // where the agent pins namespaces and sockets
constexpr std::size_t kLogLines = 5000;              // of each component, for kubectl logs
// Threads that give way when there is work for every core, so that a burst of jobs is bound first.
// Housekeeping follows every pod, mostly to find that it is no concern of it; fake nodes stand for
// other machines and are not to take this one's.
constexpr int kHousekeepingNice = 5;  // a third of the others' weight
constexpr int kFakeNodesNice = 10;    // a ninth
// Of the pods that people install for the front door, the dashboard and the web applications.
constexpr std::uint16_t kWebPorts[] = {8080, 8082, 5000};
constexpr auto kStartTimeout = std::chrono::seconds(30);
constexpr auto kStopTimeout = std::chrono::seconds(60);

// Files written outside the data directory that no pod shall read: they hold keys and passwords.
std::vector<std::string> files_outside(const cli::UpOptions& options) {
  std::vector<std::string> out;
  for (const std::string& path : {options.kubeconfig_out, options.record, options.audit.log_path})
    if (!path.empty() && path != "-") out.push_back(std::filesystem::absolute(path));
  return out;
}

// The release of Volcano's chart, under the name and in the namespace that its documentation gives.
json::Object volcano_release() { return hekla::helm_metadata("volcano", "volcano-system"); }
void mark_for_helm(json::Value& crd) {
  if (!json::string_at(crd, {"spec", "group"}).ends_with("volcano.sh")) return;
  for (const auto& part : volcano_release())
    for (const auto& one : part.value().get_object())
      json::at_path(crd, {"metadata", part.key(), one.key()}) = one.value();
}

// Components that work as soon as the process does; others add theirs where they are made.
void register_parts(kube::InProcessRegistry& registry) {
  registry.add(kube::InProcessPart{"admission", {"admission", "apiserver"}});
  registry.add(kube::InProcessPart{"admission-init", {"admission-init"}});
  registry.add(kube::InProcessPart{"controllers", {"controllers", "job-controller"}});
  registry.add(kube::InProcessPart{"scheduler", {"scheduler"}});
  registry.add(kube::InProcessPart{"notebooks", {"notebook-controller"}});
  registry.add(kube::InProcessPart{"poddefaults", {"poddefaults"}});
  registry.add(kube::InProcessPart{"profiles", {"profile-controller"}});
  registry.add(kube::InProcessPart{"pvcviewers", {"pvcviewer-controller"}});
  registry.add(kube::InProcessPart{"tensorboards", {"tensorboard-controller"}});
  registry.add(kube::InProcessPart{"local-path", {"local-path"}});
  // Components that nothing here makes use of: there is nothing they could fail at.
  for (const char* name :
       {"knative-eventing", "mesh", "metacontroller", "viewers", "volcano-agent"}) {
    log_info(name, "nothing here needs it; its objects are stored");
    registry.add(kube::InProcessPart{name, {name}});
  }
}

// Parts that stand down for their originals.
void register_training(kube::InProcessRegistry& registry) {
  log_info("training-operator", "started", {{"version", build_info().version}});
  registry.add(kube::InProcessPart{
      "training",
      {"training-operator", "tfjob-controller", "pytorchjob-controller", "mpijob-controller",
       "xgboostjob-controller", "paddlejob-controller", "jaxjob-controller", "mxjob-controller"}});
}
void register_certificates(kube::InProcessRegistry& registry) {
  log_info("certificates", "started", {{"version", build_info().version}});
  registry.add(kube::InProcessPart{"certificates", {"certificates"}});
}

// Runs `call(done)` and waits for its answer.
template <class T, class Call>
Result<T> wait_for(const std::string& what, std::chrono::seconds timeout, Call call) {
  auto promise = std::make_shared<std::promise<Result<T>>>();
  std::future<Result<T>> answer = promise->get_future();
  call([promise](Result<T> result) { promise->set_value(std::move(result)); });
  if (answer.wait_for(timeout) != std::future_status::ready)
    return fail(Code::timeout,
                what + " has not finished within " + std::to_string(timeout.count()) + " s");
  return answer.get();
}

// Asks until the object is there: components start on their own loops and make what they need.
void await_object(kube::Client& client, const kube::Resource& resource, const kube::Key& key,
                  std::function<void(Result<void>)> done) {
  client.get(resource, key, [&client, resource, key, done](const Result<kube::ObjectPtr>& got) {
    if (got) return done({});
    client.executor().post_after(std::chrono::milliseconds(2), [&client, resource, key, done] {
      await_object(client, resource, key, done);
    });
  });
}

// A file that is begun anew; every line is on its way to the disk before the scheduler goes on.
Result<std::function<void(const std::string&)>> open_record(const std::string& path) {
  auto file = std::make_shared<std::ofstream>(path, std::ios::trunc);
  if (!*file) return fail(Code::internal, "--record: " + path + " cannot be written");
  return [file](const std::string& line) { *file << line << '\n' << std::flush; };
}

// Containers that controllers add to pods need no registry here.
controllers::TrainingControllers::Options training_options() {
  controllers::TrainingControllers::Options options;
  options.jobs.pytorch_init_image = model::kProgramImage;
  options.jobs.kubectl_delivery_image = model::kProgramImage;
  return options;
}

controllers::workbench::WorkbenchOptions workbench_options(const cli::UpOptions& options) {
  controllers::workbench::WorkbenchOptions workbench;
  workbench.tensorboard_image = "hekla.io/tensorboard";  // small, and made on this machine
  // The gateway writes uses down within a minute, and what servers say within another.
  if (options.notebook_idle_minutes > 0)
    workbench.cull_after = std::chrono::minutes(options.notebook_idle_minutes + 2);
  return workbench;
}

controllers::VolcanoControllers::Options volcano_options() {
  controllers::VolcanoControllers::Options options;
  options.plugin_defaults["pytorch"] = {"--wait-master-image=" + std::string(model::kProgramImage)};
  return options;
}

}  // namespace

// Members are destroyed in reverse order: components, then what they stand on, loops last.
struct Platform::Parts {
  std::unique_ptr<cli::InstanceLock> lock;
  Metrics metrics;
  std::shared_ptr<LogRing> log_ring = std::make_shared<LogRing>(kLogLines);
  // Each component owns its thread; see docs/ARCHITECTURE.md, "Threads".
  Loop committer{"store"}, snapshots{"snapshots", kHousekeepingNice}, api_loop{"api"},
      scheduler_loop{"scheduler"}, volcano_loop{"volcano"},
      cluster_loop{"cluster", kHousekeepingNice}, agent_loop{"agent"};
  std::unique_ptr<Loop> fake_loop;
  ComponentTable components;
  kube::InProcessRegistry in_process;
  std::atomic<std::uint16_t> web_port = 0, web_tls_port = 0;  // on loopback; 0: none
  StandInNode standin_node;
  std::unique_ptr<Disk> disk;
  std::unique_ptr<store::Store> store;
  std::unique_ptr<apiserver::ApiServer> api;
  std::unique_ptr<net::Server> server;
  std::unique_ptr<kube::Client> scheduler_client, event_client, volcano_client, training_client,
      workbench_client, certificates_client, cluster_client, agent_client, fake_client;
  std::unique_ptr<kube::Http> http;
  std::unique_ptr<scheduler::Scheduler> scheduler;
  std::unique_ptr<controllers::VolcanoControllers> volcano;
  std::unique_ptr<controllers::TrainingControllers> training;
  std::unique_ptr<controllers::WorkbenchControllers> workbench;
  std::unique_ptr<controllers::CertificateControllers> certificates;
  std::unique_ptr<controllers::ClusterControllers> cluster;
  std::unique_ptr<agent::Agent> agent;
  std::unique_ptr<agent::FakeNodes> fake_nodes;
  std::unique_ptr<StandIns> standins;
  std::unique_ptr<kube::PodStreams> streams;
  std::unique_ptr<DashboardPart> dashboard;
  std::unique_ptr<WebFront> web;
  std::unique_ptr<StandingObjects> standing;
  std::unique_ptr<ObjectsPart> objects;
  std::unique_ptr<PipelinesPart> pipelines;
  Pki pki;
  std::string address, url, kubeconfig, nodes;
  std::uint16_t port = 0;
  bool stopping = false;

  Result<void> open_store(const cli::UpOptions& options);
  Result<void> serve(const cli::UpOptions& options);
  Result<apiserver::Options> api_options_for(const cli::UpOptions& options);
  Result<void> write_kubeconfig(const std::string& path);
  Result<void> start_control(const cli::UpOptions& options);
  Result<void> start_nodes(const cli::UpOptions& options);
  void start_standins(agent::Agent* node);
  Result<void> start_pipelines(const cli::UpOptions& options);
  // The front door where pods and workloads of its originals look for it.
  Result<void> show_web(WebFront& front);
  // Returns when the object exists.
  Result<void> await(const std::string& what, const kube::Resource& resource,
                     const std::string& name);
  void stop(bool keep_pods);
  void remove_live_pods();
};

Result<void> Platform::Parts::open_store(const cli::UpOptions& options) {
  const store::Options store_options{.was_in_use = store_was_in_use(options.data_dir),
                                     .history_changes = options.history_changes};
  disk = TRY(open_store_disk(options.data_dir + "/store"));
  store = TRY(store::Store::open(store_options, *disk, committer, snapshots,
                                 apiserver::attach_header, &metrics));
  return {};
}

Result<void> Platform::Parts::serve(const cli::UpOptions& options) {
  ListenAddress listen = TRY(choose_listen_address(options.listen, options.data_dir));
  std::vector<std::string> names = server_names(listen.address, options.tls_sans);
  names.emplace_back(kApiServiceAddress);
  pki = TRY(load_or_make_pki(options.data_dir, names, real_clock()));
  Result<net::Socket> listener = net::listen_on(listen.address, listen.port);
  if (!listener) return std::unexpected(listen_error(listener.error(), listen.port, "--listen"));
  port = net::local_port(*listener);

  apiserver::Options api_options = TRY(api_options_for(options));
  api_options.advertise_address = advertised_address(listen.address);
  api_options.advertise_port = port;
  api = TRY(apiserver::ApiServer::create(std::move(api_options)));
  TRY(wait_for<void>("preparing the API", kStartTimeout,
                     [this](auto done) { api->bootstrap(std::move(done)); }));

  net::ServerOptions server_options;
  server_options.certificate = pki.server;
  server_options.client_ca_pem = pki.ca.certificate_pem;
  server = TRY(net::Server::start(server_options, api->handler(), std::move(*listener)));
  log_info("admission", "serving", {{"version", build_info().version}});
  remember_port(options.data_dir, port);
  address = local_address(listen.address);
  url = local_url(listen.address, port);
  return {};
}

Result<apiserver::Options> Platform::Parts::api_options_for(const cli::UpOptions& options) {
  apiserver::Options api_options;
  api_options.store = store.get();
  api_options.loop = &api_loop;
  api_options.clock = &real_clock();
  api_options.rng = &real_rng();
  api_options.metrics = &metrics;
  api_options.node_reports = !options.no_agent;
  api_options.beta_kinds = true;
  admission::Settings rules;
  rules.pod_template_errors = apiserver::pod_template_errors;
  api_options.admission = admission::admission_steps(rules);
  components = TRY(ComponentTable::parse(component_yamls()));
  TRY(components.leave_out(options.without));
  api_options.admission.push_back(standin_step(components, standin_node));
  api_options.in_process_mark = model::kInProcess;
  api_options.answered_here = [this](std::string_view ns, std::string_view service) {
    return components.answers(ns, service);
  };
  api_options.auth.signing_key_pem = pki.token_key;
  api_options.auth.verify_key_pems = pki.old_token_keys;
  api_options.auth.root_ca_pem = pki.ca.certificate_pem;
  api_options.front_proxy = {pki.front_proxy_ca.certificate_pem, pki.front_proxy};
  api_options.client_ca_pem = pki.ca.certificate_pem;
  api_options.components = {"controller-manager", "scheduler"};
  api_options.audit = TRY(audit_options(options.audit));
  auto crds = controllers::crd_yamls();
  api_options.crd_yamls.assign(crds.begin(), crds.end());
  auto open_kinds = controllers::open_kind_yamls();
  api_options.open_kind_yamls.assign(open_kinds.begin(), open_kinds.end());
  api_options.adorn_crd = mark_for_helm;
  api_options.conversions = admission::conversions();
  if (!options.no_agent) api_options.returning_objects = {agent::local_path_class()};
  api_options.pod_security_default =
      apiserver::parse_pod_security_level(options.pod_security_default)
          .value_or(apiserver::PodSecurityLevel::restricted);
  if (!options.no_agent) {
    const agent::Options ranges;
    api_options.own_ranges = TRY(net::OwnRanges::parse({ranges.pod_cidr, ranges.service_cidr}));
    const std::string data_dir = std::filesystem::absolute(options.data_dir);
    api_options.host_paths = {{data_dir, kRunDirectory}, {data_dir + "/storage"}};
    for (std::string& path : files_outside(options))
      api_options.host_paths.hidden.push_back(std::move(path));
  }
  return api_options;
}

Result<void> Platform::Parts::write_kubeconfig(const std::string& path) {
  return write_file_atomically(
      path, kube::make_kubeconfig("hekla", url, pki.ca.certificate_pem, pki.admin), 0600);
}

Result<void> Platform::Parts::start_control(const cli::UpOptions& options) {
  cluster_client = api->client(cluster_loop, {"kube-controller-manager"});
  if (options.only_stop) return {};
  scheduler::Options scheduler_options;
  if (!options.scheduler_conf.empty())
    scheduler_options.read_configuration = [file = options.scheduler_conf] {
      return read_file(file);
    };
  if (!options.record.empty()) scheduler_options.record = TRY(open_record(options.record));
  scheduler_options.configuration_map_metadata = volcano_release();
  http = TRY(kube::make_http());
  scheduler_options.http = http.get();
  scheduler_client = api->client(scheduler_loop, {"volcano"});
  event_client = api->client(cluster_loop, {"volcano"});
  scheduler_options.event_client = event_client.get();
  scheduler = TRY(scheduler::Scheduler::create(scheduler_options, *scheduler_client, &metrics));
  scheduler_loop.post([this] { scheduler->start(); });
  log_info("scheduler", "started", {{"version", build_info().version}});

  volcano_client = api->client(volcano_loop, {"vc-controller-manager"});
  volcano = std::make_unique<controllers::VolcanoControllers>(*volcano_client, volcano_options(),
                                                              &metrics);
  if (components.find("training-operator")) {
    training_client = api->client(volcano_loop, {"training-operator"});
    controllers::TrainingControllers::Options jobs = training_options();
    jobs.jobs.gang_scheduler = options.gang_scheduler;
    training = std::make_unique<controllers::TrainingControllers>(*training_client, std::move(jobs),
                                                                  &metrics);
  }
  workbench_client = api->client(volcano_loop, {"hekla-workbench"});
  workbench = std::make_unique<controllers::WorkbenchControllers>(*workbench_client,
                                                                  workbench_options(options));
  if (components.find("cert-manager")) {
    certificates_client = api->client(volcano_loop, {"cert-manager"});
    certificates = std::make_unique<controllers::CertificateControllers>(*certificates_client);
  }
  volcano_loop.post([this] {
    volcano->start();
    if (training) {
      training->start();
      install_training_runtimes(*training_client);
    }
    workbench->start();
    if (certificates) certificates->start();
    ensure_first_profile(*workbench_client);
  });
  log_info("controllers", "started", {{"version", build_info().version}});
  if (training) register_training(in_process);
  if (certificates) register_certificates(in_process);
  for (const char* name : {"notebook-controller", "profile-controller", "tensorboard-controller",
                           "pvcviewer-controller", "poddefaults"})
    log_info(name, "started", {{"version", build_info().version}});

  cluster = std::make_unique<controllers::ClusterControllers>(
      *cluster_client,
      controllers::ClusterControllers::Options{.look_after_nodes = true,
                                               .discovery = &api->discovery(),
                                               .root_ca_pem = pki.ca.certificate_pem,
                                               .ca = pki.ca});
  cluster_loop.post([this] { cluster->start(); });
  register_parts(in_process);
  return await("making the default queue", kube::resources::queues, "default");
}

Result<void> Platform::Parts::start_nodes(const cli::UpOptions& options) {
  if (options.fake_nodes.count > 0) {
    fake_loop = std::make_unique<Loop>("fake-nodes", kFakeNodesNice);
    fake_client = api->client(*fake_loop, {"hekla-fake-node"});
    fake_nodes = std::make_unique<agent::FakeNodes>(options.fake_nodes, *fake_client);
    fake_loop->post([this] { fake_nodes->start(); });
    TRY(await("registering fake nodes", kube::resources::nodes,
              agent::fake_node_name(options.fake_nodes.count - 1)));
    nodes = std::to_string(options.fake_nodes.count) + " fake nodes";
    standin_node.set(agent::fake_node_name(0));
  }
  if (options.no_agent) {
    if (!options.only_stop) start_standins(nullptr);
    if (nodes.empty()) nodes = "no nodes";
    return {};
  }
  agent::Options agent_options = options.agent;
  agent_options.data_dir = options.data_dir;
  agent_options.announced = true;
  agent_options.protect_from_oom = true;
  agent_options.hidden_paths = files_outside(options);
  agent_options.ca_pem = pki.ca.certificate_pem;
  agent_options.api_host = kApiServiceAddress;
  agent_options.launcher = launcher_bytes();
  agent_options.host_api = {address, port};
  agent_options.token_source = [this](agent::TokenRequest request, auto done) {
    apiserver::TokenSubject subject;
    subject.ns = request.ns;
    subject.name = request.service_account;
    subject.pod_name = request.pod_name;
    subject.pod_uid = request.pod_uid;
    done(api->pod_token(std::move(subject), request.audience, request.expiration_seconds));
  };
  agent_client = api->client(agent_loop, {"kubelet"});
  agent = TRY(agent::Agent::create(std::move(agent_options), *agent_client, &metrics));
  standin_node.set(agent->node_name());
  if (options.only_stop)
    api->set_pod_streams(&agent->streams());
  else
    start_standins(agent.get());
  if (volcano) volcano_loop.post([this] { volcano->set_pod_streams(&agent->streams()); });
  server->serve_on(agent->take_api_socket());
  if (!options.only_stop) TRY(start_pipelines(options));
  agent->start();
  log_info("local-path", "volumes are made below the data directory",
           {{"path", options.data_dir + "/storage"}});
  TRY(await("registering this machine's node", kube::resources::nodes, agent->node_name()));
  nodes = (nodes.empty() ? "" : nodes + " and ") + std::string("node ") + agent->node_name();
  return {};
}

// Components that nobody has installed show themselves where pods run.
void Platform::Parts::start_standins(agent::Agent* node) {
  standins = std::make_unique<StandIns>(*cluster_client, components, in_process,
                                        StandIns::Options{real_clock().wall(), node != nullptr});
  streams = with_standin_streams(
      node, *standins, *log_ring, cluster_loop,
      [this](const std::string& part, std::uint16_t port) -> std::optional<std::uint16_t> {
        if (part != "gateway" || (port != 8080 && port != 8443)) return std::nullopt;
        const std::uint16_t here = port == 8080 ? web_port : web_tls_port;
        return here ? std::optional(here) : std::nullopt;
      });
  api->set_pod_streams(streams.get());
  cluster_loop.post([this] { standins->start(); });
}

// Objects and pipelines listen for pods before the first of those is started.
Result<void> Platform::Parts::start_pipelines(const cli::UpOptions& options) {
  const auto listen_for_pods = [this](std::uint16_t port) { return agent->listen_for_pods(port); };
  const auto make_client = [this](Executor& executor, kube::Identity identity) {
    return api->client(executor, std::move(identity));
  };
  standing = std::make_unique<StandingObjects>(*cluster_client);
  objects = TRY(ObjectsPart::start({.data_dir = options.data_dir,
                                    .listen = options.objects_listen,
                                    .gateway = agent->gateway_address(),
                                    .listen_for_pods = listen_for_pods,
                                    .standing = standing.get(),
                                    .make_client = make_client}));
  pipelines = TRY(PipelinesPart::start({.data_dir = options.data_dir,
                                        .listen = options.pipelines_listen,
                                        .gateway = agent->gateway_address(),
                                        .listen_for_pods = listen_for_pods,
                                        .objects = &objects->artifacts(),
                                        .streams = &agent->streams(),
                                        .standing = standing.get(),
                                        .make_client = make_client,
                                        .discovery = &api->discovery(),
                                        .authorizer = &api->authorizer()}));
  for (const char* name : {"objects", "pipelines", "pipelines-ui"})
    in_process.add(
        kube::InProcessPart{.name = name, .log = {name}, .address = agent->gateway_address()});
  // The webhook of the cache is answered in this process: nothing is to reach it at an address.
  in_process.add(kube::InProcessPart{"pipelines-cache", {"pipelines"}});
  standing->add(kProfiles, first_profile(), true);
  cluster_loop.post([this] { standing->start(); });
  return {};
}

Result<void> Platform::Parts::show_web(WebFront& front) {
  for (std::uint16_t door : kWebPorts)
    if (agent) front.serve_on(TRY(agent->listen_for_pods(door)));
  for (const char* name : {"gateway", "login", "dashboard", "jupyter-web-app", "volumes-web-app",
                           "tensorboards-web-app"}) {
    log_info(name, "started", {{"url", front.url()}});
    in_process.add(kube::InProcessPart{
        .name = name, .log = {name}, .address = agent ? agent->gateway_address() : ""});
  }
  return {};
}

Result<void> Platform::Parts::await(const std::string& what, const kube::Resource& resource,
                                    const std::string& name) {
  return wait_for<void>(what, kStartTimeout, [&](auto done) {
    cluster_loop.post([this, resource, name, done] {
      await_object(*cluster_client, resource, kube::Key{"", name}, done);
    });
  });
}

// Removed by force they are nobody's, and the agent ends such pods at once.
void Platform::Parts::remove_live_pods() {
  if (!agent) return;
  kube::ListOptions here;
  here.field_selector = "spec.nodeName=" + agent->node_name();
  cluster_client->list(kube::resources::pods, here, [this](const Result<kube::List>& pods) {
    std::vector<kube::Write> removals;
    for (std::size_t i = 0; pods && i < pods->items.size(); ++i) {
      const kube::Object& pod = *pods->items[i];
      Result<json::Value> body = json::parse(*pod.json);
      const std::string_view phase = body ? json::string_at(*body, {"status", "phase"}) : "";
      if (phase == "Succeeded" || phase == "Failed" ||
          (body && json::find_path(*body, {"metadata", "annotations", model::kInProcess})))
        continue;
      kube::Write removal;
      removal.verb = kube::Write::Verb::remove;
      removal.resource = kube::resources::pods;
      removal.key = {pod.ns, pod.name};
      removal.precondition_uid = pod.uid;
      removal.grace_period_seconds = 0;
      removals.push_back(std::move(removal));
    }
    cluster_client->batch(std::move(removals), [](const std::vector<kube::WriteResult>&) {});
  });
}

void Platform::Parts::stop(bool keep_pods) {
  if (agent && !std::exchange(stopping, true)) {
    Result<void> ended = wait_for<void>("ending pods", kStopTimeout, [&](auto done) {
      agent->shutdown(keep_pods, [done] { done({}); });
    });
    if (!ended) log_error("main", ended.error().message);
  }
  if (web) web->stop();
  if (dashboard) dashboard->stop();
  if (pipelines) pipelines->stop();
  if (objects) objects->stop();
  if (server) server->stop();
  for (Loop* loop : {fake_loop.get(), &agent_loop, &cluster_loop, &volcano_loop, &scheduler_loop,
                     &api_loop, &committer, &snapshots})
    if (loop) loop->stop();
}

Result<std::unique_ptr<Platform>> Platform::start(const cli::UpOptions& options) {
  if (!options.no_agent && ::geteuid() != 0)
    return fail(Code::forbidden,
                "running pods needs root: use sudo hekla up, or --no-agent to run without this "
                "machine's own node");
  set_up_allocator();
  auto parts = std::make_unique<Parts>();
  set_log_capture([ring = parts->log_ring](std::string_view component, std::string_view line) {
    ring->add(component, real_clock().wall(), line);
  });
  parts->lock = TRY(cli::InstanceLock::take(options.data_dir));
  if (!options.only_stop) cli::remember_arguments(options);
  auto platform = std::make_unique<Platform>(Private{}, std::move(parts));
  Parts& p = *platform->parts_;
  TRY(p.open_store(options));
  TRY(p.serve(options));
  TRY(p.start_control(options));
  // Before the node: only a file that exists can be hidden from pods wherever it lies.
  if (!options.kubeconfig_out.empty()) TRY(p.write_kubeconfig(options.kubeconfig_out));
  TRY(p.start_nodes(options));
  if (!options.only_stop && options.web.listen != "none") {
    p.dashboard = std::make_unique<DashboardPart>(
        *p.api,
        [agent = !options.no_agent](const std::string& origin, const kube::User&) {
          return dashboard::DoorFacts{.logout_url = "/oauth2/sign_out",
                                      .shares_origin = !gateway::has_content_origin(origin),
                                      .local_volumes = agent};
        },
        p.pipelines ? kube::StreamTopics{p.pipelines->topic()} : kube::StreamTopics{});
    auto pod_sockets = [&streams = p.streams](std::function<void(Result<int>)> done) {
      if (streams) return streams->open_socket(std::move(done));
      done(fail(Code::unavailable, "no node agent reaches pods from this process"));
    };
    WebFrontParts parts{*p.api, p.pki.ca, p.dashboard->routes(), std::move(pod_sockets),
                        options.notebook_idle_minutes > 0};
    if (p.pipelines)
      for (kube::WebRoute& route : p.pipelines->routes()) parts.routes.push_back(std::move(route));
    p.web = TRY(WebFront::start(options.web, options.data_dir, std::move(parts)));
    (options.web.tls ? p.web_tls_port : p.web_port) = p.web->loopback_port();
    TRY(p.show_web(*p.web));
  }
  p.kubeconfig = options.data_dir + "/admin.kubeconfig";
  TRY(p.write_kubeconfig(p.kubeconfig));
  return platform;
}

Platform::Platform(Private, std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}

Platform::~Platform() { parts_->stop(false); }

void Platform::stop(bool keep_pods) { parts_->stop(keep_pods); }
void Platform::hurry() {
  parts_->cluster_loop.post([parts = parts_.get()] { parts->remove_live_pods(); });
}

std::unique_ptr<kube::Client> Platform::client(Executor& executor, kube::Identity identity) {
  return parts_->api->client(executor, std::move(identity));
}
const std::string& Platform::url() const { return parts_->url; }
const std::string& Platform::kubeconfig() const { return parts_->kubeconfig; }
const std::string& Platform::nodes() const { return parts_->nodes; }
std::string Platform::objects_url() const { return parts_->objects ? parts_->objects->url() : ""; }
std::string Platform::web_url() const { return parts_->web ? parts_->web->url() : ""; }

}  // namespace hekla
